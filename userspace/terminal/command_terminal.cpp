// SPDX-License-Identifier: BSD-2-Clause
#include "terminal/command_terminal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <pthread.h>
#include <pty.h>
#include <sys/eventfd.h>
#include <sys/fsuid.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "core/text.h"
#include "rescue.h"

namespace rsslag::terminal {
namespace {

constexpr std::size_t kLines = 200;
constexpr std::size_t kLongestLine = 1024;
constexpr std::size_t kMostTyped = std::size_t{1} << 20;

core::Error system_error(const char *what) {
    return {core::Kind::Internal, fmt::format("{}: {}", what, std::strerror(errno)), errno, ""};
}

/// The last lines of a stream of bytes, without terminal control sequences (ECMA-48).
class LastLines {
  public:
    void add(std::string_view bytes) {
        for (const char c : bytes)
            add(c);
    }
    std::vector<std::string> lines() const {
        std::vector<std::string> all(lines_.begin(), lines_.end());
        if (!open_.empty()) all.push_back(open_);
        return all;
    }

  private:
    enum class In { Text, Escape, Intermediate, Control, String };

    void add(char c) {
        const bool cancels = c == 0x18 || c == 0x1A;
        if (cancels && in_ != In::Text) {
            in_ = In::Text;
            return;
        }
        if (c == 0x1B) {
            in_ = In::Escape;
            return;
        }
        switch (in_) {
            case In::Text: text(c); break;
            case In::Escape: in_ = after_escape(c); break;
            case In::Intermediate:
                if (c >= 0x30 && c <= 0x7E) in_ = In::Text;
                break;
            case In::Control:
                if (c >= 0x40 && c <= 0x7E) in_ = In::Text;
                break;
            case In::String:
                if (c == 0x07) in_ = In::Text;
                break;
        }
    }
    /// CSI; DCS, SOS, OSC, PM and APC; a sequence of three or more bytes, such as that of a character set; or a whole
    /// sequence.
    static In after_escape(char c) {
        if (c == '[') return In::Control;
        if (std::string_view("PX]^_").find(c) != std::string_view::npos) return In::String;
        return c >= 0x20 && c <= 0x2F ? In::Intermediate : In::Text;
    }
    void text(char c) {
        if (c == '\n') {
            lines_.push_back(std::move(open_));
            open_.clear();
            over_ = false;
            if (lines_.size() > kLines) lines_.pop_front();
        } else if (c == '\r') {
            over_ = true;  // the next byte overwrites the line, unless it is a newline
        } else if (c == '\b') {
            const auto within = [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80; };  // UTF-8
            while (!open_.empty() && within(open_.back()))
                open_.pop_back();
            if (!open_.empty()) open_.pop_back();
        } else if (c != 0x07) {
            if (over_) open_.clear();
            over_ = false;
            if (c == '\t') c = ' ';
            if (open_.size() < kLongestLine) open_ += c;
        }
    }

    std::deque<std::string> lines_;
    std::string open_;
    In in_ = In::Text;
    bool over_ = false;
};

}  // namespace

struct CommandTerminal::State {
    core::Fd ours, commands, file, stop, typed;
    std::string path;
    std::optional<uid_t> owner;
    std::thread thread;
    std::mutex mutex;
    LastLines last;
    std::uint64_t bytes = 0, kept = 0;
    std::string why_not_kept;
    int error_at_close = 0;
    std::string unsent;  ///< typed, but not taken by the terminal yet
    bool changed = true;

    void run();
    short events();
    void send();
    void take(std::string_view text);
    void remove_file() const;
};

CommandTerminal::CommandTerminal(std::unique_ptr<State> state) : state_(std::move(state)) {}
CommandTerminal::CommandTerminal(CommandTerminal &&) noexcept = default;

core::Result<CommandTerminal> CommandTerminal::open() {
    auto state = std::make_unique<State>();
    int ours = -1;
    int commands = -1;
    winsize size{24, 80, 0, 0};
    if (openpty(&ours, &commands, nullptr, nullptr, &size) != 0)
        return system_error("cannot open a terminal for the command");
    state->ours = core::Fd(ours);
    state->commands = core::Fd(commands);
    for (const int fd : {ours, commands})
        fcntl(fd, F_SETFD, FD_CLOEXEC);
    fcntl(ours, F_SETFL, O_NONBLOCK);
    state->stop = core::Fd(eventfd(0, EFD_CLOEXEC));
    if (state->stop.open()) state->typed = core::Fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!state->typed.open()) return system_error("cannot open a terminal for the command");
    const char *const directory = std::getenv("TMPDIR");
    state->path =
        fmt::format("{}/rsslag-output-XXXXXX", directory != nullptr && *directory == '/' ? directory : "/tmp");
    state->file = core::Fd(mkostemp(state->path.data(), O_CLOEXEC));
    if (!state->file.open()) return system_error("cannot create a file for the command's output");
    remove_at_death(state->path);
    return CommandTerminal(std::move(state));
}

CommandTerminal::~CommandTerminal() {
    if (!state_) return;
    hang_up();
    keep_at_death();
    if (state_->bytes == 0) state_->remove_file();
}

int CommandTerminal::command_side() const {
    return state_->commands.get();
}

void CommandTerminal::start() {
    state_->commands = core::Fd();
    state_->thread = std::thread([raw = state_.get()] { raw->run(); });
}

void CommandTerminal::give_file_to(unsigned uid, unsigned gid) {
    state_->owner = uid;
    for (const int fd : {state_->file.get(), state_->commands.get()}) {
        [[maybe_unused]] const int given = fchown(fd, uid, gid);  // without the right to do so it stays ours
    }
}

std::string CommandTerminal::kept() const {
    const State &state = *state_;
    if (state.bytes == 0) return "";
    if (state.error_at_close != 0)
        return fmt::format("what the command wrote is in {}, but part of it may be lost: {}", state.path,
                           std::strerror(state.error_at_close));
    if (state.why_not_kept.empty()) return fmt::format("what the command wrote is in {}", state.path);
    return fmt::format("the first {} of {} bytes that the command wrote are in {}, the others are lost: {}",
                       core::with_thousands(static_cast<std::int64_t>(state.kept)),
                       core::with_thousands(static_cast<std::int64_t>(state.bytes)), state.path, state.why_not_kept);
}

/// After the first failed write the file stays as it is: it holds a prefix of the output.
void CommandTerminal::State::take(std::string_view text) {
    if (!text.empty()) keep_at_death();
    std::string_view left = text;
    int err = 0;
    if (why_not_kept.empty()) err = core::write_all(file.get(), left);
    const std::lock_guard lock(mutex);
    last.add(text);
    bytes += text.size();
    kept += text.size() - left.size();
    if (err != 0) why_not_kept = std::strerror(err);
    changed = true;
}

/// What to wait for on the terminal.
short CommandTerminal::State::events() {
    eventfd_t count = 0;
    eventfd_read(typed.get(), &count);
    const std::lock_guard lock(mutex);
    return unsent.empty() ? POLLIN : POLLIN | POLLOUT;
}

void CommandTerminal::State::send() {
    const std::lock_guard lock(mutex);
    const ssize_t sent = write(ours.get(), unsent.data(), unsent.size());
    if (sent > 0) unsent.erase(0, static_cast<std::size_t>(sent));
}

void CommandTerminal::State::run() {
    pthread_setname_np(pthread_self(), "output");
    std::array<char, 65536> buffer{};
    std::size_t left = 16 * buffer.size();  // bytes still read after the stop; CMD may go on writing
    for (;;) {
        std::array<pollfd, 3> waiting{{{ours.get(), events(), 0}, {stop.get(), POLLIN, 0}, {typed.get(), POLLIN, 0}}};
        if (poll(waiting.data(), waiting.size(), -1) < 0 && errno != EINTR) return;
        const bool ending = waiting[1].revents != 0;
        if (ending && (left -= std::min(left, buffer.size())) == 0) return;
        if (waiting[0].revents & POLLOUT) send();
        const ssize_t got = read(ours.get(), buffer.data(), buffer.size());
        if (got < 0 && (errno == EINTR || (errno == EAGAIN && !ending))) continue;
        if (got <= 0) return;  // EIO: no process has the other side open
        take({buffer.data(), static_cast<std::size_t>(got)});
    }
}

/// In a private directory only its owner may unlink the file, and rsslag has dropped the capability to override that.
void CommandTerminal::State::remove_file() const {
    if (unlink(path.c_str()) == 0 || !owner) return;
    setfsuid(*owner);
    unlink(path.c_str());
    setfsuid(geteuid());
}

bool CommandTerminal::type(const std::string &bytes) {
    const std::lock_guard lock(state_->mutex);
    if (state_->unsent.size() + bytes.size() > kMostTyped) return false;
    state_->unsent += bytes;
    eventfd_write(state_->typed.get(), 1);
    return true;
}

std::optional<screen::CommandOutput> CommandTerminal::take_output() {
    const std::lock_guard lock(state_->mutex);
    if (!state_->changed) return std::nullopt;
    state_->changed = false;
    screen::CommandOutput output;
    output.file = state_->path;
    output.lines = state_->last.lines();
    output.bytes = state_->bytes;
    output.kept = state_->kept;
    output.why_not_kept = state_->why_not_kept;
    return output;
}

void CommandTerminal::hang_up() {
    if (state_->thread.joinable()) {
        eventfd_write(state_->stop.get(), 1);
        state_->thread.join();
    }
    state_->ours = core::Fd();
    if (state_->file.open()) state_->error_at_close = state_->file.close();
}

}  // namespace rsslag::terminal
