// SPDX-License-Identifier: BSD-2-Clause
#include "terminal/screen.h"

#include <fmt/format.h>
#include <poll.h>
#include <spdlog/sinks/ringbuffer_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>

#include "core/fd.h"
#include "terminal/log_format.h"
#include "terminal/terminal.h"

namespace rsslag::terminal {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

/// A tick of each process comes at the same moment, while the screen may be drawing.
constexpr std::size_t kMostWaiting = 4096, kMostWaitingOfProcess = 4;
constexpr milliseconds kFrame{50};  ///< least time between frames
/// The redraw interval without ticks: ages are shown in tenths of a second. It is longer if drawing would take more
/// than half a percent of the time, as with thousands of rows.
constexpr milliseconds kAges{100}, kAgesAtMost{2000};
constexpr int kAgesCostAtMost = 200;
constexpr milliseconds kBlocked{1000};
constexpr char kEndOfTyping = 0x1D;  ///< Ctrl-]

sigset_t screen_signals() {
    sigset_t set;
    sigemptyset(&set);
    for (const int signal : {SIGTSTP, SIGCONT, SIGWINCH})
        sigaddset(&set, signal);
    return set;
}

/// Keeps log messages while the screen is open if stderr is a terminal, and writes them to it at the end.
class LogKeeper {
  public:
    LogKeeper() {
        before_ = spdlog::default_logger();
        const bool to_stderr = before_ && !before_->sinks().empty() &&
                               dynamic_cast<spdlog::sinks::stderr_sink_mt *>(before_->sinks().front().get()) != nullptr;
        if (!to_stderr || isatty(STDERR_FILENO) != 1) return;
        constexpr std::size_t kMost = 100;
        kept_ = std::make_shared<spdlog::sinks::ringbuffer_sink_mt>(kMost);
        auto logger = std::make_shared<spdlog::logger>("rsslag", kept_);
        logger->set_formatter(log_format());
        logger->set_level(before_->level());
        spdlog::set_default_logger(std::move(logger));
    }
    ~LogKeeper() {
        if (!kept_) return;
        spdlog::set_default_logger(before_);
        for (const std::string &line : kept_->last_formatted()) {
            [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
        }
    }
    LogKeeper(const LogKeeper &) = delete;
    LogKeeper &operator=(const LogKeeper &) = delete;

  private:
    std::shared_ptr<spdlog::logger> before_;
    std::shared_ptr<spdlog::sinks::ringbuffer_sink_mt> kept_;
};

core::Error cannot_open(int error) {
    return {core::Kind::Internal, fmt::format("cannot open the screen: {}", std::strerror(error)), error,
            "use --format lines"};
}

}  // namespace

struct Screen::State {
    explicit State(Terminal &&opened) : terminal(std::move(opened)) {}

    LogKeeper log;
    std::optional<Terminal> terminal;  // only for the screen's thread, open() and the destructor
    Shown shown;                       // only for the screen's thread
    core::Fd signals, wake;

    std::mutex mutex;
    std::condition_variable ended_changed;
    std::deque<Change> waiting;
    std::vector<screen::Intent> intents;
    std::function<bool(const std::string &)> typed;
    std::size_t most_waiting = kMostWaiting;
    std::uint64_t skipped = 0;   ///< changes that were dropped from the queue
    int process = 0;             ///< of the last Show
    bool dropped = false;        ///< changes were dropped since the last take_changes()
    std::exception_ptr failure;  ///< the exception that ended the thread, for intents()
    bool stop = false;
    bool ended = false;
    std::thread thread;

    bool typing = false;
    bool dirty = true;
    Clock::time_point drawn, ticked;
    milliseconds ages = kAges;  ///< the redraw interval without ticks

    void run();
    void show();
    void take_changes();
    void take_signals();
    void take_keys();
    void type();
    documents::Grid grid() const;
    void copy();
    void draw();
    void show_what_was_missed(Clock::duration took);
};

bool Screen::possible() {
    return Terminal::possible();
}

void Screen::block_signals() {
    const sigset_t set = screen_signals();
    sigprocmask(SIG_BLOCK, &set, nullptr);
}

Screen::Screen(std::unique_ptr<State> state) : state_(std::move(state)) {}
Screen::Screen(Screen &&) noexcept = default;

core::Result<Screen> Screen::open(const documents::TextStyle &style) {
    block_signals();
    const sigset_t set = screen_signals();
    core::Fd signals(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!signals.open()) return cannot_open(errno);
    core::Fd wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!wake.open()) return cannot_open(errno);
    auto terminal = Terminal::open(style.color, style.mouse);
    if (!terminal) return terminal.error();
    auto state = std::make_unique<State>(std::move(*terminal));
    state->signals = std::move(signals);
    state->wake = std::move(wake);
    state->thread = std::thread([raw = state.get()] { raw->run(); });
    return Screen(std::move(state));
}

/// Resumes a terminal that Ctrl-S has stopped. If the terminal is not read, its pending output is discarded.
Screen::~Screen() {
    if (!state_) return;
    State &state = *state_;
    std::unique_lock lock(state.mutex);
    state.stop = true;
    eventfd_write(state.wake.get(), 1);
    const auto ended = [&state] { return state.ended; };
    constexpr milliseconds kPatience{300};
    // Resume output after Ctrl-S: TCOON undoes only a TCOOFF (drivers/tty/tty_ioctl.c).
    tcflow(STDOUT_FILENO, TCOOFF);
    if (tcflow(STDOUT_FILENO, TCOON) != 0) tcflow(STDOUT_FILENO, TCOON);  // else the terminal stays stopped
    while (!state.ended_changed.wait_for(lock, kPatience, ended))
        tcflush(STDOUT_FILENO, TCOFLUSH);
    lock.unlock();
    state.thread.join();
    state.terminal.reset();
}

void Screen::post(Change change, std::size_t processes) {
    const std::lock_guard lock(state_->mutex);
    state_->most_waiting = std::max(state_->most_waiting, kMostWaiting + kMostWaitingOfProcess * processes);
    if (state_->waiting.size() >= state_->most_waiting) {
        state_->waiting.pop_front();
        state_->skipped++;
        state_->dropped = true;
    }
    state_->waiting.push_back(std::move(change));
    eventfd_write(state_->wake.get(), 1);
}

std::vector<screen::Intent> Screen::intents() {
    const std::lock_guard lock(state_->mutex);
    if (state_->failure) std::rethrow_exception(std::exchange(state_->failure, nullptr));
    return std::exchange(state_->intents, {});
}

bool Screen::asked_to_quit() {
    const std::lock_guard lock(state_->mutex);
    return std::any_of(state_->intents.begin(), state_->intents.end(),
                       [](const screen::Intent &intent) { return std::holds_alternative<screen::Quit>(intent); });
}

void Screen::on_typed(std::function<bool(const std::string &)> typed) {
    const std::lock_guard lock(state_->mutex);
    state_->typed = std::move(typed);
}

void Screen::State::take_changes() {
    eventfd_t count = 0;
    eventfd_read(wake.get(), &count);
    std::deque<Change> changes;
    {
        const std::lock_guard lock(mutex);
        changes.swap(waiting);
        if (std::exchange(dropped, false)) intents.push_back(screen::ReadAll{});
    }
    for (const Change &change : changes)
        change(shown);
    if (changes.empty()) return;
    dirty = true;
    ticked = Clock::now();
}

void Screen::State::take_signals() {
    signalfd_siginfo info{};
    while (read(signals.get(), &info, sizeof(info)) == sizeof(info)) {
        switch (info.ssi_signo) {
            case SIGTSTP: terminal->suspend(); break;
            case SIGCONT: terminal->resume(); break;
            default: terminal->resize(); break;
        }
        dirty = true;
        drawn = {};
    }
}

void Screen::State::type() {
    std::string bytes = terminal->typed_bytes();
    const std::size_t end = bytes.find(kEndOfTyping);
    if (end != std::string::npos) {
        bytes.resize(end);
        typing = false;
        terminal->pass_through(false);
        if (shown.live) shown.live->type_to_command(false);
        dirty = true;
    }
    const std::lock_guard lock(mutex);
    const bool taken = !typed || bytes.empty() || typed(bytes);
    if (!taken && shown.live) shown.live->notify("the command does not read its input: the last keys were dropped");
}

void Screen::State::take_keys() {
    for (const screen::Key &key : terminal->keys()) {
        std::optional<screen::Intent> intent;
        if (key.name == screen::Key::Name::Click) {
            if (const auto click = terminal->click_at(key.row, key.column))
                intent = shown.live ? shown.live->click(*click) : shown.top ? shown.top->click(*click) : std::nullopt;
        } else if (shown.live) {
            intent = shown.live->key(key);
        } else if (shown.top) {
            intent = shown.top->key(key);
        } else if (key.name == screen::Key::Name::Character && key.character == U'q') {
            intent = screen::Quit{};
        }
        dirty = true;
        drawn = {};
        if (!intent) continue;
        if (std::holds_alternative<screen::TypeToCommand>(*intent)) {
            typing = true;
            terminal->pass_through(true);
            shown.live->type_to_command(true);
            return;
        }
        if (std::holds_alternative<screen::Copy>(*intent)) {
            copy();
            continue;
        }
        const std::lock_guard lock(mutex);
        intents.push_back(*intent);
    }
    const int now = shown.live ? shown.live->shown() : 0;
    if (std::exchange(process, now) == now) return;
    const std::lock_guard lock(mutex);
    intents.push_back(screen::Show{now});
}

void Screen::State::copy() {
    const std::string row = grid().selected_text();
    if (!row.empty()) terminal->copy(row);
    const std::string notice = row.empty() ? "no row is selected: press up or down first"
                                           : "sent to the clipboard, if the terminal permits OSC 52: " + row;
    if (shown.live)
        shown.live->notify(notice);
    else if (shown.top)
        shown.top->notify(notice);
}

/// Shows a notice about the time during which the terminal took no output.
void Screen::State::show_what_was_missed(Clock::duration took) {
    const std::uint64_t lost_before = shown.live ? shown.live->lost() : 0;
    take_changes();
    std::uint64_t not_drawn = 0;
    {
        const std::lock_guard lock(mutex);
        not_drawn = std::exchange(skipped, 0);
    }
    if (!shown.live) return;
    shown.live->notify(fmt::format(
        "the terminal took no output for {:.1f} s: {} events were lost meanwhile, {} ticks are not in the chart",
        std::chrono::duration<double>(took).count(), shown.live->lost() - lost_before, not_drawn));
}

documents::Grid Screen::State::grid() const {
    const documents::Size size = terminal->size();
    if (shown.live) return shown.live->draw(size, std::chrono::duration_cast<milliseconds>(Clock::now() - ticked));
    return shown.top ? shown.top->draw(size) : documents::Grid(size);
}

void Screen::State::draw() {
    const auto now = Clock::now();
    const documents::Grid made = grid();
    const auto took = std::chrono::ceil<milliseconds>((Clock::now() - now) * kAgesCostAtMost);
    ages = std::clamp(took, kAges, kAgesAtMost);
    terminal->draw(made);
    drawn = Clock::now();
    dirty = false;
    if (drawn - now >= kBlocked) show_what_was_missed(drawn - now);
}

void Screen::State::run() {
    pthread_setname_np(pthread_self(), "screen");
    std::exception_ptr thrown;
    try {
        show();
    } catch (...) {
        thrown = std::current_exception();
    }
    const std::lock_guard lock(mutex);
    failure = thrown;
    ended = true;
    ended_changed.notify_all();
}

void Screen::State::show() {
    ticked = Clock::now();
    for (;;) {
        {
            const std::lock_guard lock(mutex);
            if (stop) break;
        }
        take_changes();
        if (typing && shown.live && !shown.live->command_runs()) {
            typing = false;
            terminal->pass_through(false);
            shown.live->type_to_command(false);
        }
        const auto since = Clock::now() - drawn;
        if ((dirty && since >= kFrame) || since >= ages) draw();
        const auto left = std::chrono::ceil<milliseconds>((dirty ? kFrame : ages) - (Clock::now() - drawn));
        std::array<pollfd, 3> waiting_for{
            {{STDIN_FILENO, POLLIN, 0}, {signals.get(), POLLIN, 0}, {wake.get(), POLLIN, 0}}};
        const int timeout = static_cast<int>(std::max<std::int64_t>(left.count(), 0));
        // If a frame is due, changes can wait for it: do not wake up for them.
        if (poll(waiting_for.data(), dirty ? 2 : 3, timeout) <= 0) continue;
        if (waiting_for[1].revents != 0) take_signals();
        if (waiting_for[0].revents & (POLLHUP | POLLERR)) {  // the terminal is gone; HUP ends rsslag
            const std::lock_guard lock(mutex);
            intents.push_back(screen::Quit{});
            break;
        }
        if (waiting_for[0].revents != 0) typing ? type() : take_keys();
    }
}

}  // namespace rsslag::terminal
