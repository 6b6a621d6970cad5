// SPDX-License-Identifier: BSD-2-Clause
#include "rsslag/recording/writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include "assembler.h"
#include "columns.h"

namespace rsslag::recording {
namespace {

using core::Error;
using core::Kind;
using Clock = std::chrono::steady_clock;

/// A chunk is open no longer.
constexpr std::chrono::seconds kOpenAtMost{1};
constexpr std::size_t kMostWaiting = std::size_t{64} << 20;

/// What an item takes in memory, about.
std::size_t size_of(const Item &item) {
    constexpr std::size_t kTask = 160;
    std::size_t size = sizeof(Item);
    if (const auto *const records = std::get_if<Records>(&item)) size += records->bytes.size();
    if (const auto *const faults = std::get_if<Faults>(&item)) size += faults->tasks.size() * sizeof(Faults::Task);
    if (const auto *const counters = std::get_if<Counters>(&item); counters != nullptr && counters->told)
        size += counters->told->counters.tasks.size() * kTask;
    if (const auto *const reading = std::get_if<Reading>(&item); reading != nullptr && reading->told) {
        for (const core::CounterReading &each : reading->told->bracket.readings)
            size += each.tasks.size() * kTask;
    }
    return size;
}

std::uint64_t records_in(const Item &item) {
    const auto *const records = std::get_if<Records>(&item);
    return records == nullptr ? 0 : count_records(records->bytes);
}

Error cannot_make(const std::string &path, int err) {
    return {Kind::BadInput, fmt::format("{} cannot be made: {}", path, std::strerror(err)), err,
            "name a file in a directory that exists and may be written"};
}

core::Status make_room(const std::string &path, bool force) {
    struct stat status {};
    if (lstat(path.c_str(), &status) != 0) return core::success();
    if (S_ISDIR(status.st_mode)) return Error{Kind::BadInput, path + " is a directory", 0, "name a file"};
    if (!S_ISREG(status.st_mode)) return Error{Kind::BadInput, path + " is no regular file", 0, "name another one"};
    if (!force) return Error{Kind::BadInput, path + " exists", 0, "name another file, or --force"};
    if (unlink(path.c_str()) != 0) return cannot_make(path, errno);
    return core::success();
}

}  // namespace

struct Writer::State {
    std::string path;
    Options options;
    int fd = -1;

    mutable std::mutex mutex;
    std::condition_variable wake;
    std::deque<Item> waiting;
    std::size_t waiting_bytes = 0;
    Overflow missed;  ///< since the last item that found room
    Progress progress;
    std::optional<Peak> peak;
    bool stop = false;
    bool began = false;

    // The thread's own.
    Assembler assembler{[this](const Bytes &bytes) { write_all(bytes); }};
    std::uint64_t written = 0;
    int err = 0;
    Clock::time_point opened, synced;
    std::thread thread;

    ~State();
    void run();
    void write_all(const Bytes &bytes);
    void look_at_clocks();
    void tell_progress();
};

Writer::State::~State() {
    if (fd >= 0) close(fd);
}

core::Result<Writer> Writer::create(const std::string &path, const Options &options) {
    if (const core::Status room = make_room(path, options.force); !room) return room.error();
    auto state = std::make_unique<State>();
    state->path = path;
    state->options = options;
    state->fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (state->fd < 0) return cannot_make(path, errno);
    if (options.owner && fchown(state->fd, options.owner->uid, options.owner->gid) != 0) {
        const int err = errno;
        unlink(path.c_str());
        return Error{Kind::Io, fmt::format("{} cannot be given to its owner: {}", path, std::strerror(err)), err, ""};
    }
    return Writer(std::move(state));
}

Writer::Writer(std::unique_ptr<State> state) : state_(std::move(state)) {}
Writer::Writer(Writer &&) noexcept = default;

Writer::~Writer() {
    if (!state_) return;
    if (!state_->began) unlink(state_->path.c_str());
    [[maybe_unused]] const core::Status done = finish();
}

void Writer::begin(Header header) {
    State &state = *state_;
    state.began = true;
    state.thread = std::thread([&state, header = std::move(header)] {
        pthread_setname_np(pthread_self(), "recorder");
        state.opened = state.synced = Clock::now();
        state.assembler.begin(header);
        state.run();
    });
}

void Writer::put(Item item) {
    State &state = *state_;
    const std::size_t size = size_of(item);
    const std::lock_guard lock(state.mutex);
    if (state.progress.failed || !state.began) return;
    if (state.waiting_bytes + size > kMostWaiting) {
        const std::uint64_t records = records_in(item);
        state.missed.records += records;
        state.missed.items++;
        state.progress.records_lost += records;
        state.progress.items_lost++;
        return;
    }
    if (state.missed.items > 0) state.waiting.emplace_back(std::exchange(state.missed, {}));
    state.waiting.push_back(std::move(item));
    state.waiting_bytes += size;
    // Ever so often is enough: a chunk is written once a second.
    if (state.waiting_bytes > kMostWaiting / 64) state.wake.notify_one();
}

Writer::Progress Writer::progress() const {
    const std::lock_guard lock(state_->mutex);
    return state_->progress;
}

core::Status Writer::finish(const std::optional<Peak> &peak) {
    State &state = *state_;
    if (state.thread.joinable()) {
        {
            const std::lock_guard lock(state.mutex);
            if (state.missed.items > 0) state.waiting.emplace_back(std::exchange(state.missed, {}));
            state.peak = peak;
            state.stop = true;
        }
        state.wake.notify_one();
        state.thread.join();
    }
    const Progress progress = this->progress();
    return progress.failed ? core::Status(*progress.failed) : core::success();
}

/// A chunk that could not be written whole is taken away: what was written before it stays readable.
void Writer::State::write_all(const Bytes &bytes) {
    std::size_t done = 0;
    while (err == 0 && done < bytes.size()) {
        const ssize_t wrote = write(fd, bytes.data() + done, bytes.size() - done);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote < 0) {
            err = errno;
            [[maybe_unused]] const int cut = ftruncate(fd, static_cast<off_t>(written));
            return;
        }
        done += static_cast<std::size_t>(wrote);
    }
    if (err == 0) written += bytes.size();
}

void Writer::State::look_at_clocks() {
    const auto now = Clock::now();
    if (!assembler.open()) opened = now;
    if (now - opened >= kOpenAtMost) {
        assembler.close();
        opened = now;
    }
    if (now - synced >= options.sync) {
        if (fdatasync(fd) != 0 && err == 0) err = errno;
        synced = now;
    }
}

void Writer::State::tell_progress() {
    const std::lock_guard lock(mutex);
    progress.records = assembler.records();
    progress.bytes = written;
    if (err == 0 || progress.failed) return;
    progress.failed = Error{Kind::Io, fmt::format("{} cannot be written any more: {}", path, std::strerror(err)), err,
                            "what was written until then can be read"};
    waiting.clear();
}

void Writer::State::run() {
    constexpr std::chrono::milliseconds kLook{200};
    for (;;) {
        std::deque<Item> items;
        bool last = false;
        {
            std::unique_lock lock(mutex);
            wake.wait_for(lock, kLook, [this] { return stop || waiting_bytes > kMostWaiting / 64; });
            items.swap(waiting);
            waiting_bytes = 0;
            last = stop;
        }
        for (const Item &item : items) {
            if (err != 0) break;
            if (!assembler.open()) opened = Clock::now();
            assembler.add(item);
        }
        if (err == 0) look_at_clocks();
        if (last && err == 0) {
            assembler.end(peak);
            if (err == 0 && fdatasync(fd) != 0) err = errno;
        }
        tell_progress();
        if (last) return;
    }
}

}  // namespace rsslag::recording
