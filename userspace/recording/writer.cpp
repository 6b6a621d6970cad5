// SPDX-License-Identifier: BSD-2-Clause
#include "recording/writer.h"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>
#include <variant>

#include "assembler.h"
#include "columns.h"
#include "files.h"

namespace rsslag::recording {
namespace {

using core::Error;
using core::Kind;
using Clock = std::chrono::steady_clock;

/// A chunk is closed after this time at the latest.
constexpr std::chrono::seconds kOpenAtMost{1};
constexpr std::size_t kMostWaiting = std::size_t{64} << 20;

/// Queued bytes that wake the writer: small against the size limit, so that it notices a full segment in time.
std::size_t waking(const Writer::Options &options) {
    constexpr std::size_t kWaking = kMostWaiting / 64;
    return options.max_bytes ? static_cast<std::size_t>(std::min<std::uint64_t>(*options.max_bytes / 8, kWaking))
                             : kWaking;
}

/// Approximate size of an event in memory.
std::size_t size_of(const event::Event &event) {
    constexpr std::size_t kTask = 160;
    std::size_t size = sizeof(event::Event);
    if (const auto *const records = std::get_if<event::Records>(&event)) size += records->bytes.size();
    if (const auto *const faults = std::get_if<event::Faults>(&event))
        size += faults->tasks.size() * sizeof(event::Faults::Task);
    if (const auto *const attach = std::get_if<event::Attach>(&event))
        size += attach->counters.counters.tasks.size() * (kTask + sizeof(event::Faults::Task));
    if (const auto *const counters = std::get_if<event::Counters>(&event); counters != nullptr && counters->reported)
        size += counters->reported->counters.tasks.size() * kTask;
    if (const auto *const reading = std::get_if<event::Reading>(&event); reading != nullptr && reading->reported) {
        for (const core::CounterReading &each : reading->reported->bracket.readings)
            size += each.tasks.size() * kTask;
    }
    if (const auto *const changes = std::get_if<event::MappingChanges>(&event))
        size += changes->changes.size() * sizeof(core::MappingChange);
    if (const auto *const samples = std::get_if<event::Samples>(&event))
        size += samples->samples.size() * sizeof(core::Sample);
    if (const auto *const stacks = std::get_if<event::Stacks>(&event)) {
        constexpr std::size_t kFrame = 200, kStack = 128;
        size +=
            stacks->frames.size() * kFrame + stacks->stacks.size() * kStack + stacks->of.size() * sizeof(std::uint32_t);
    }
    if (const auto *const absent = std::get_if<event::AbsentPages>(&event))
        size += absent->pages.size() * sizeof(std::uint64_t);
    if (const auto *const listed = std::get_if<event::MappingListing>(&event))
        size += listed->listing.entries.size() * sizeof(core::MappingListing::Entry);
    return size;
}

std::uint64_t records_in(const event::Event &event) {
    const auto *const records = std::get_if<event::Records>(&event);
    return records == nullptr ? 0 : count_records(records->bytes);
}

/// Chunks are small against the size limit.
std::size_t full_chunk(const Writer::Options &options) {
    constexpr std::uint64_t kLeast = std::uint64_t{16} << 10;
    constexpr std::uint64_t kChunks = 32;
    return options.max_bytes
               ? static_cast<std::size_t>(std::clamp<std::uint64_t>(*options.max_bytes / kChunks, kLeast, kFullChunk))
               : kFullChunk;
}

}  // namespace

struct Writer::State {
    State(std::optional<Files> made, const Options &chosen) : options(chosen), files(std::move(made)) {}

    Options options;
    std::size_t waking_bytes = waking(options);

    mutable std::mutex mutex;
    std::condition_variable wake;
    std::deque<std::variant<event::Event, Header>> waiting;  ///< a header starts the next segment
    std::size_t waiting_bytes = 0;
    event::Gap missed;           ///< events that did not fit into the queue since the last one that did
    std::optional<Files> saved;  ///< of save(), until the recorder thread uses them
    Progress progress;
    std::optional<PeakLag> peak;
    bool stop = false;
    bool began = false;
    bool held = options.hold;       ///< until keep()
    std::uint64_t given_bytes = 0;  ///< queued since the last header
    Clock::time_point given_since;
    double packed = 1.0 / 16;  ///< bytes of file per queued byte: an estimate until the first write

    // Used by the recorder thread only.
    std::optional<Files> files;  ///< nullopt: the recording is in memory
    std::vector<Bytes> memory;
    std::uint64_t memory_bytes = 0;
    Assembler assembler = new_assembler();
    std::uint64_t records_before = 0;                   ///< in earlier segments
    std::uint64_t packed_bytes = 0, written_bytes = 0;  ///< total given to the assembler; total written
    event::Gap left_out;                                ///< since the last event other than records
    int err = 0;
    Clock::time_point opened, synced;
    std::thread thread;

    Assembler new_assembler();
    void begin(const Header &header);
    void next(const Header &header);
    void end();
    void run();
    void write_all(const Bytes &bytes);
    void move_to(Files made);
    void write_event(const event::Event &event);
    void add_left_out();
    void look_at_clocks();
    bool full() const;
    void next_begins();
    void report_progress(bool last);
    void report_missed();
};

core::Result<Writer> Writer::create(const std::string &path, const Options &options) {
    auto files = Files::create(path, options);
    if (!files) return files.error();
    return Writer(std::make_unique<State>(std::move(*files), options));
}

Writer Writer::in_memory(Options options) {
    options.max_bytes.reset();
    return Writer(std::make_unique<State>(std::nullopt, options));
}

Writer::Writer(std::unique_ptr<State> state) : state_(std::move(state)) {}
Writer::Writer(Writer &&) noexcept = default;

Writer::~Writer() {
    if (!state_) return;
    if (!state_->began && state_->files) state_->files->remove();
    [[maybe_unused]] const core::Status done = finish();
}

void Writer::begin(Header header) {
    State &state = *state_;
    state.began = true;
    state.next_begins();
    state.thread = std::thread([&state, header = std::move(header)] {
        pthread_setname_np(pthread_self(), "recorder");
        state.synced = Clock::now();
        state.begin(header);
        state.run();
    });
}

void Writer::keep() {
    {
        const std::lock_guard lock(state_->mutex);
        state_->held = false;
    }
    state_->wake.notify_one();
}

void Writer::put(event::Event event) {
    State &state = *state_;
    const std::size_t size = size_of(event);
    const std::lock_guard lock(state.mutex);
    if (state.progress.failed || !state.began || state.stop) return;
    if (state.waiting_bytes + size > kMostWaiting) {
        const std::uint64_t records = records_in(event);
        state.missed.records += records;
        state.missed.events++;
        state.progress.records_lost += records;
        state.progress.events_lost++;
        return;
    }
    state.report_missed();
    state.waiting.emplace_back(std::move(event));
    state.waiting_bytes += size;
    state.given_bytes += size;
    // No need to wake it for each event: a chunk is written once a second.
    if (state.waiting_bytes > state.waking_bytes) state.wake.notify_one();
}

void Writer::next(Header header) {
    State &state = *state_;
    const std::lock_guard lock(state.mutex);
    if (state.progress.failed || !state.began || state.stop) return;
    state.report_missed();
    state.waiting.emplace_back(std::move(header));
    state.next_begins();
}

core::Status Writer::save(const std::string &path) {
    auto files = Files::create(path, state_->options);
    if (!files) return files.error();
    {
        const std::lock_guard lock(state_->mutex);
        state_->saved.emplace(std::move(*files));
    }
    state_->wake.notify_one();
    return core::success();
}

void Writer::State::next_begins() {
    given_bytes = 0;
    given_since = Clock::now();
}

Writer::Progress Writer::progress() const {
    const std::lock_guard lock(state_->mutex);
    Progress progress = state_->progress;
    progress.full = state_->full();
    return progress;
}

void Writer::end() {
    State &state = *state_;
    {
        const std::lock_guard lock(state.mutex);
        if (state.stop) return;
        state.report_missed();
        state.stop = true;
    }
    state.wake.notify_one();
}

core::Status Writer::finish(const std::optional<PeakLag> &peak) {
    {
        const std::lock_guard lock(state_->mutex);
        if (!state_->stop) state_->peak = peak;
    }
    end();
    if (state_->thread.joinable()) state_->thread.join();
    const Progress progress = this->progress();
    return progress.failed ? core::Status(*progress.failed) : core::success();
}

/// Queues a Gap for the events that did not fit. The caller holds the lock.
void Writer::State::report_missed() {
    if (missed.events > 0) waiting.emplace_back(event::Event(std::exchange(missed, {})));
}

Assembler Writer::State::new_assembler() {
    return Assembler([this](const Bytes &bytes) { write_all(bytes); }, full_chunk(options),
                     options.max_bytes.value_or(UINT64_MAX));
}

void Writer::State::write_all(const Bytes &bytes) {
    if (files) {
        if (err == 0) err = files->write(bytes);
    } else {
        memory.push_back(bytes);
        memory_bytes += bytes.size();
    }
    written_bytes += bytes.size();
    const std::lock_guard lock(mutex);
    if (packed_bytes > 0) packed = static_cast<double>(written_bytes) / static_cast<double>(packed_bytes);
}

void Writer::State::move_to(Files made) {
    files.emplace(std::move(made));
    for (const Bytes &each : std::exchange(memory, {}))
        if (err == 0) err = files->write(each);
    memory_bytes = 0;
}

void Writer::State::begin(const Header &header) {
    opened = Clock::now();
    assembler.begin(header);
}

void Writer::State::end() {
    add_left_out();
    assembler.end(peak);
    if (err == 0 && files) err = files->end();
}

void Writer::State::add_left_out() {
    if (left_out.events > 0) assembler.add(std::exchange(left_out, {}));
}

/// Drops records that would make the segment exceed the size limit: the thread that starts segments may be far behind.
void Writer::State::write_event(const event::Event &event) {
    if (!assembler.open()) opened = Clock::now();
    packed_bytes += size_of(event);
    const bool of_records = std::holds_alternative<event::Records>(event);
    if (!of_records) add_left_out();
    const std::uint64_t records = assembler.add(event);
    if (records == 0) return;
    packed_bytes -= size_of(event) * records / std::max(records_in(event), records);
    left_out.records += records;
    left_out.events++;
    const std::lock_guard lock(mutex);
    progress.records_lost += records;
    progress.events_lost++;
}

void Writer::State::look_at_clocks() {
    const auto now = Clock::now();
    if (!assembler.open()) opened = now;
    if (now - opened >= kOpenAtMost) {
        assembler.close();
        opened = now;
    }
    if (now - synced >= options.sync) {
        if (const int failed = files ? files->sync() : 0; err == 0) err = failed;
        synced = now;
    }
}

/// Estimated from all bytes given to this segment, as the recorder may be far behind with writing them. Between one and
/// two shares a segment is full only after a second, as each starts with the state of all traced processes.
bool Writer::State::full() const {
    constexpr std::chrono::seconds kAtLeast{1};
    if (!options.max_bytes) return false;
    const double share = static_cast<double>(*options.max_bytes) / kSegmentShare;
    const double segment = packed * static_cast<double>(given_bytes);
    return segment >= 2 * share || (segment >= share && Clock::now() - given_since >= kAtLeast);
}

void Writer::State::report_progress(bool last) {
    const std::lock_guard lock(mutex);
    progress.ended = last;
    progress.records = records_before + assembler.records();
    progress.bytes = files ? files->kept() : memory_bytes;
    if (err == 0 || progress.failed) return;
    progress.failed = Error{Kind::Io, fmt::format("cannot write {}: {}", files->path(), std::strerror(err)), err,
                            "use rsslag replay or report to read the part that was written"};
    waiting.clear();
}

void Writer::State::run() {
    constexpr std::chrono::milliseconds kLook{200};
    for (;;) {
        std::deque<std::variant<event::Event, Header>> some;
        std::optional<Files> made;
        bool last = false, held_yet = false;
        {
            std::unique_lock lock(mutex);
            wake.wait_for(lock, kLook, [this] { return stop || saved || waiting_bytes > waking_bytes; });
            some.swap(waiting);
            waiting_bytes = 0;
            last = stop;
            held_yet = held;
            made = std::exchange(saved, std::nullopt);
        }
        if (made) move_to(std::move(*made));
        if (!held_yet && files && err == 0) err = files->keep();
        for (const auto &each : some) {
            if (err != 0) break;
            if (const auto *const event = std::get_if<event::Event>(&each)) {
                write_event(*event);
            } else {
                next(std::get<Header>(each));
            }
        }
        if (err == 0) look_at_clocks();
        if (last && held_yet) {
            files->remove();
        } else if (last && err == 0) {
            end();
        }
        report_progress(last);
        if (last) return;
    }
}

void Writer::State::next(const Header &header) {
    end();
    if (err == 0) err = files->next();
    if (err != 0) return;
    records_before += assembler.records();
    assembler = new_assembler();
    begin(header);
}

}  // namespace rsslag::recording
