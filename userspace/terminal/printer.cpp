// SPDX-License-Identifier: BSD-2-Clause
#include "terminal/printer.h"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <tuple>
#include <utility>

#include "terminal/output.h"

namespace rsslag::terminal {
namespace {

using core::Status;
using Clock = std::chrono::steady_clock;

/// Most bytes of one write(2): PIPE_BUF of Linux. A pipe takes them as a whole, so what CMD writes to it comes between
/// two lines, unless a line is longer. The reader's progress is observed in these pieces.
constexpr std::size_t kPiece = 4096;

std::uint64_t lines_in(std::string_view text) {
    return static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n'));
}

/// The lines from the front that fit.
std::string_view that_fit(std::string_view lines, std::size_t space) {
    if (lines.size() <= space) return lines;
    const std::size_t end = space == 0 ? std::string_view::npos : lines.rfind('\n', space - 1);
    return lines.substr(0, end == std::string_view::npos ? 0 : end + 1);
}

}  // namespace

struct Printer::State {
    State(int descriptor, Options chosen) : fd(descriptor), options(std::move(chosen)) {}

    const int fd;
    const Options options;
    std::mutex mutex;
    std::condition_variable came, went;
    std::deque<std::string> waiting;
    std::size_t bytes = 0;  ///< in the queue and in the write in progress
    bool full = false;      ///< set until the queue is half empty, so that gaps are few and long
    std::uint64_t missing = 0, dropped = 0;
    std::uint64_t written = 0;  ///< pieces written
    std::string current;        ///< being written; `at` bytes of it are done
    std::size_t at = 0;
    std::optional<core::Error> failed;
    bool closed = false;
    bool left_behind = false;
    std::thread thread;

    void run();
    bool next();
    bool write_piece();
    void queue(std::string text);
    void mark_gap();
    void take(std::string_view lines);
    bool done() const { return bytes == 0 || failed; }
    std::uint64_t lines_left() const;
};

Printer::Printer(int fd, Options options) : state_(std::make_shared<State>(fd, std::move(options))) {
    state_->thread = std::thread([state = state_] { state->run(); });
}

Printer::Printer(Printer &&) noexcept = default;

Printer::~Printer() {
    if (!state_) return;
    std::ignore = finish([] { return true; });
    {
        const std::lock_guard lock(state_->mutex);
        state_->closed = true;
        state_->came.notify_one();
    }
    state_->left_behind ? state_->thread.detach() : state_->thread.join();
}

/// Waits for the next text; false at the end.
bool Printer::State::next() {
    std::unique_lock lock(mutex);
    came.wait(lock, [this] { return closed || !waiting.empty(); });
    if (closed) return false;
    current = std::move(waiting.front());
    waiting.pop_front();
    at = 0;
    return true;
}

bool Printer::State::write_piece() {
    const std::string_view left = std::string_view(current).substr(at);
    const std::string_view lines = that_fit(left, kPiece);
    const std::string_view piece = lines.empty() ? left.substr(0, kPiece) : lines;
    const Status printed = print(piece, fd, nullptr);  // finish() limits the wait
    const std::lock_guard lock(mutex);
    at += piece.size();
    bytes -= piece.size();
    written++;
    if (!printed) failed = printed.error();
    went.notify_one();
    return printed && !left_behind;
}

void Printer::State::run() {
    pthread_setname_np(pthread_self(), "printer");
    while (next()) {
        while (at < current.size())
            if (!write_piece()) return;
    }
}

void Printer::State::queue(std::string text) {
    if (text.empty()) return;
    bytes += text.size();
    waiting.push_back(std::move(text));
    came.notify_one();
}

void Printer::State::mark_gap() {
    full = false;
    if (const std::uint64_t lines = std::exchange(missing, 0); lines > 0 && options.gap) queue(options.gap(lines));
}

void Printer::State::take(std::string_view lines) {
    if (full && bytes <= options.most_bytes / 2) mark_gap();
    const std::size_t space = full ? 0 : options.most_bytes - std::min(bytes, options.most_bytes);
    const std::string_view fit =
        bytes == 0 ? lines : that_fit(lines, space);  // a single text may be longer than the queue
    queue(std::string(fit));
    if (fit.size() == lines.size()) return;
    full = true;
    const std::uint64_t count = lines_in(lines.substr(fit.size()));
    missing += count;
    dropped += count;
}

Status Printer::put(std::string_view lines) {
    const std::lock_guard lock(state_->mutex);
    if (state_->failed) return *state_->failed;
    state_->take(lines);
    return core::success();
}

Status Printer::put_last(std::string_view lines) {
    const std::lock_guard lock(state_->mutex);
    if (state_->failed) return *state_->failed;
    state_->mark_gap();
    state_->queue(std::string(lines));
    return core::success();
}

std::uint64_t Printer::dropped() const {
    const std::lock_guard lock(state_->mutex);
    return state_->dropped;
}

std::uint64_t Printer::State::lines_left() const {
    std::uint64_t lines = lines_in(std::string_view(current).substr(at));
    for (const std::string &text : waiting)
        lines += lines_in(text);
    return lines;
}

Status Printer::finish(const std::function<bool()> &stopped) {
    constexpr std::chrono::milliseconds kLook{50};
    State &state = *state_;
    std::unique_lock lock(state.mutex);
    std::optional<Clock::time_point> since, moved;
    std::uint64_t written = 0;
    while (!state.left_behind && !state.went.wait_for(lock, kLook, [&state] { return state.done(); })) {
        lock.unlock();
        const bool over = stopped();
        lock.lock();
        if (!over) continue;
        const auto now = Clock::now();
        if (!since) since = now;
        if (!moved || std::exchange(written, state.written) != state.written) moved = now;
        state.left_behind = now - *moved >= state.options.still || now - *since >= state.options.in_all;
    }
    if (state.failed) return *state.failed;
    if (!state.left_behind) return core::success();
    return core::Error{core::Kind::Io,
                       fmt::format("cannot write the last {} lines: the reader stopped reading", state.lines_left()), 0,
                       ""};
}

}  // namespace rsslag::terminal
