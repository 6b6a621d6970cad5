// SPDX-License-Identifier: BSD-2-Clause
#include "terminal/terminal.h"

#include <curses.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <optional>

#include "rescue.h"
#include "terminfo.h"

namespace rsslag::terminal {
namespace {

using documents::Look;
using screen::Key;

/// How a look is shown: attributes, and a colour pair that is used if there is colour.
struct Paint {
    attr_t plain;
    short pair;
};

constexpr short kDefault = 0;
constexpr short kGreen = 1;
constexpr short kYellow = 2;
constexpr short kRed = 3;
constexpr short kBlue = 4;
constexpr short kCyan = 5;

Paint paint(Look look) {
    switch (look) {
        case Look::Plain: return {A_NORMAL, kDefault};
        case Look::Bold: return {A_BOLD, kDefault};
        case Look::Faint: return {A_NORMAL, kCyan};
        case Look::Heading:
        case Look::Selected: return {A_REVERSE, kDefault};
        case Look::Flushed: return {A_NORMAL, kBlue};
        case Look::Cached: return {A_NORMAL, kYellow};
        case Look::Walk:
        case Look::Good: return {A_BOLD, kGreen};
        case Look::Uncertain: return {A_BOLD, kYellow};
        case Look::Bad: break;
    }
    return {A_BOLD, kRed};
}

void begin_colors() {
    if (!has_colors()) return;
    start_color();
    use_default_colors();
    init_pair(kGreen, COLOR_GREEN, -1);
    init_pair(kYellow, COLOR_YELLOW, -1);
    init_pair(kRed, COLOR_RED, -1);
    init_pair(kBlue, COLOR_BLUE, -1);
    init_pair(kCyan, COLOR_CYAN, -1);
}

std::optional<Key> key_of(int code, bool function) {
    if (!function) {
        switch (code) {
            case 27: return Key{Key::Name::Escape};
            case '\r':
            case '\n': return Key{Key::Name::Enter};
            case '\t': return Key{Key::Name::Tab};
            case 8:
            case 127: return Key{Key::Name::Backspace};
            default: return Key{Key::Name::Character, static_cast<char32_t>(code)};
        }
    }
    switch (code) {
        case KEY_UP: return Key{Key::Name::Up};
        case KEY_DOWN: return Key{Key::Name::Down};
        case KEY_LEFT: return Key{Key::Name::Left};
        case KEY_RIGHT: return Key{Key::Name::Right};
        case KEY_PPAGE: return Key{Key::Name::PageUp};
        case KEY_NPAGE: return Key{Key::Name::PageDown};
        case KEY_HOME: return Key{Key::Name::Home};
        case KEY_END: return Key{Key::Name::End};
        case KEY_ENTER: return Key{Key::Name::Enter};
        case KEY_BACKSPACE: return Key{Key::Name::Backspace};
        case KEY_F(1): return Key{Key::Name::Help};
        default: return std::nullopt;
    }
}

/// Appends the keys that the next event of the mouse means.
void take_mouse(std::vector<Key> &keys) {
    constexpr std::size_t kRows = 3;  // that a turn of the wheel moves
    MEVENT event{};
    if (getmouse(&event) != OK) return;
    if ((event.bstate & BUTTON1_PRESSED) != 0) keys.push_back({Key::Name::Click, 0, event.y, event.x});
    if ((event.bstate & BUTTON4_PRESSED) != 0) keys.insert(keys.end(), kRows, Key{Key::Name::Up});
    if ((event.bstate & BUTTON5_PRESSED) != 0) keys.insert(keys.end(), kRows, Key{Key::Name::Down});
}

std::string base64(std::string_view bytes) {
    constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string text;
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        std::uint32_t three = 0;
        for (std::size_t j = i; j < i + 3; ++j)
            three = three << 8U | (j < bytes.size() ? static_cast<unsigned char>(bytes[j]) : 0U);
        for (std::size_t digit = 0; digit < 4; ++digit)
            text += i + digit <= bytes.size() ? kDigits[three >> (18 - 6 * digit) & 63U] : '=';
    }
    return text;
}

}  // namespace

struct Terminal::State {
    termios before{};  ///< the modes of the terminal before newterm()
    SCREEN *screen = nullptr;
    bool color = false;
    mmask_t mouse = 0;  ///< the events that are taken
    bool paint_all = true;
    std::optional<documents::Grid> shown;

    void draw_row(const documents::Grid &grid, int row) const {
        for (int column = 0; column < grid.size().columns; ++column) {
            const documents::Cell &cell = grid.at(row, column);
            if (cell.continues) continue;
            const Paint how = paint(cell.look);
            const std::array<wchar_t, 2> text{static_cast<wchar_t>(cell.glyph), L'\0'};
            cchar_t drawn{};
            setcchar(&drawn, text.data(), how.plain, color ? how.pair : kDefault, nullptr);
            mvadd_wch(row, column, &drawn);
        }
    }
};

bool Terminal::possible() {
    const char *const name = std::getenv("TERM");
    if (isatty(STDIN_FILENO) != 1 || isatty(STDOUT_FILENO) != 1 || name == nullptr || *name == '\0') return false;
    return can_be_drawn_on(name, STDOUT_FILENO);
}

Terminal::Terminal(std::unique_ptr<State> state) : state_(std::move(state)) {}
Terminal::Terminal(Terminal &&) noexcept = default;

core::Result<Terminal> Terminal::open(bool color, bool mouse) {
    auto state = std::make_unique<State>();
    tcgetattr(STDIN_FILENO, &state->before);  // newterm() changes them
    state->screen = newterm(nullptr, stdout, stdin);
    if (state->screen == nullptr) {
        return core::Error{core::Kind::Unsupported, "cannot draw on this terminal", 0, "use --format lines"};
    }
    restore_at_death(restoring(mouse), state->before);
    set_term(state->screen);
    cbreak();
    noecho();
    nonl();
    keypad(stdscr, TRUE);
    nodelay(stdscr, TRUE);
    set_escdelay(25);
    curs_set(0);
    leaveok(stdscr, TRUE);
    state->color = color && has_colors();
    if (state->color) begin_colors();
    state->mouse = mouse ? BUTTON1_PRESSED | BUTTON4_PRESSED | BUTTON5_PRESSED : 0;
    mouseinterval(0);  // no click waits for a second one
    mousemask(state->mouse, nullptr);
    return Terminal(std::move(state));
}

Terminal::~Terminal() {
    if (!state_) return;
    if (endwin() == ERR) tcsetattr(STDIN_FILENO, TCSADRAIN, &state_->before);
    delscreen(state_->screen);
    forget_restoring();
}

documents::Size Terminal::size() const {
    return {LINES, COLS};
}

void Terminal::draw(const documents::Grid &grid) {
    const bool all = state_->paint_all || !state_->shown || !(state_->shown->size() == grid.size());
    if (all) {
        erase();
        clearok(curscr, TRUE);
    }
    for (int row = 0; row < grid.size().rows; ++row) {
        bool same = !all;
        for (int column = 0; same && column < grid.size().columns; ++column)
            same = grid.at(row, column) == state_->shown->at(row, column);
        if (!same) state_->draw_row(grid, row);
    }
    state_->shown = grid;
    state_->paint_all = false;
    wnoutrefresh(stdscr);
    doupdate();
}

void Terminal::resize() {
    winsize size{};
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0) {
        resizeterm(size.ws_row, size.ws_col);
    }
    state_->paint_all = true;
}

/// TSTP, not STOP: the kernel ignores it in an orphaned process group, which no shell could continue.
void Terminal::suspend() {
    def_prog_mode();
    if (endwin() == ERR) tcsetattr(STDIN_FILENO, TCSADRAIN, &state_->before);
    std::signal(SIGTSTP, SIG_DFL);
    sigset_t stop;
    sigemptyset(&stop);
    sigaddset(&stop, SIGTSTP);
    kill(getpid(), SIGTSTP);
    pthread_sigmask(SIG_UNBLOCK, &stop, nullptr);
    pthread_sigmask(SIG_BLOCK, &stop, nullptr);
    resume();
}

void Terminal::resume() {
    reset_prog_mode();
    resize();
    refresh();
}

std::vector<Key> Terminal::keys() {
    std::vector<Key> keys;
    wint_t code = 0;
    for (int kind = get_wch(&code); kind != ERR; kind = get_wch(&code)) {
        if (kind == KEY_CODE_YES && code == KEY_MOUSE)
            take_mouse(keys);
        else if (const auto key = key_of(static_cast<int>(code), kind == KEY_CODE_YES))
            keys.push_back(*key);
    }
    return keys;
}

std::optional<documents::Click> Terminal::click_at(int row, int column) const {
    return state_->shown ? state_->shown->click_at(row, column) : std::nullopt;
}

void Terminal::copy(std::string_view text) {
    const std::string sequence = fmt::format("\x1b]52;c;{}\a", base64(text));
    for (std::string_view left = sequence; !left.empty();) {
        const ssize_t written = write(STDOUT_FILENO, left.data(), left.size());
        if (written <= 0) return;
        left.remove_prefix(static_cast<std::size_t>(written));
    }
}

void Terminal::pass_through(bool on) {
    mousemask(on ? 0 : state_->mouse, nullptr);
    if (on) {
        raw();
    } else {
        noraw();
        cbreak();
    }
}

std::string Terminal::typed_bytes() {
    std::array<char, 4096> bytes{};
    const ssize_t got = read(STDIN_FILENO, bytes.data(), bytes.size());
    return got > 0 ? std::string(bytes.data(), static_cast<std::size_t>(got)) : std::string();
}

}  // namespace rsslag::terminal
