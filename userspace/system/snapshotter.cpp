// SPDX-License-Identifier: BSD-2-Clause
#include "system/snapshotter.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <charconv>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "calibration.h"
#include "core/process_reading.h"
#include "evidence.h"
#include "probe/snapshot.h"
#include "probe/traits.h"
#include "proc_files.h"
#include "procfs/memory_map.h"
#include "procfs/pagemap.h"
#include "procfs/process.h"
#include "procfs/program.h"
#include "procfs/stack_pointer.h"
#include "system/machine.h"
#include "system/own_cost.h"
#include "system/privileges.h"
#include "system/targets.h"
#include "walker.h"

namespace rsslag::system {
namespace {

using core::Error;
using core::Kind;
using std::chrono::milliseconds;

/// "08:01", hexadecimal.
std::uint64_t device_of(const std::string &text) {
    std::uint32_t major_number = 0, minor_number = 0;
    const char *const end = text.data() + text.size();
    const auto first = std::from_chars(text.data(), end, major_number, 16);
    if (first.ec != std::errc() || first.ptr == end) return 0;
    std::from_chars(first.ptr + 1, end, minor_number, 16);
    return core::device_number(major_number, minor_number);
}

core::MappingListing::Entry listed(procfs::Mapping &&mapping) {
    core::MappingListing::Entry entry;
    entry.range = {mapping.start,
                   mapping.end,
                   core::mapping_flags(mapping.perms),
                   std::move(mapping.name),
                   mapping.offset,
                   mapping.inode,
                   0};
    entry.range.device = device_of(mapping.device);
    entry.rss = mapping.fields.rss;
    if (mapping.has_flag("ht")) {
        entry.range.flags |= core::MappingHugetlb;
        if (entry.rss)
            entry.rss =
                procfs::or_zero(mapping.fields.private_hugetlb) + procfs::or_zero(mapping.fields.shared_hugetlb);
    }
    return entry;
}

core::Result<std::vector<procfs::Mapping>> read_mappings(const procfs::Process &process, bool walk) {
    const auto text = walk ? process.smaps_text() : process.read_of_memory_task("maps");
    if (!text) return text.error();
    return walk ? procfs::parse_smaps(text->bytes) : procfs::parse_maps(text->bytes);
}

void take_counted(const procfs::Process &process, core::RawReading &out) {
    const Counted counted = read_counted(process);
    out.readers = counted.readers;
    out.uid = counted.uid;
    out.hugetlb = counted.hugetlb;
}

/// Removes a walk whose residual could not be examined.
void forget_walk(core::RawReading &out) {
    out.bracket.walk_state = core::WalkState::Skipped;
    out.bracket.walk.reset();
    out.evidence = {};
}

/// Why the iterator found no task with memory in a process that existed a moment ago.
Error without_memory(const procfs::Process &process) {
    return why_unreadable(process).value_or(Error{
        Kind::Unsupported, fmt::format("this kernel's task iterator does not show process {}", process.pid()), 0, ""});
}

}  // namespace

core::Result<core::Scheme> running_scheme() {
    const auto traits = probe::running_kernel_traits();
    if (!traits) return traits.error();
    if (const auto *scheme = std::get_if<core::Scheme>(&traits->scheme)) return *scheme;
    return Error{Kind::Unsupported, std::get<probe::UnknownLayout>(traits->scheme).found, 0, ""};
}

struct Snapshotter::State {
    Host host;
    probe::SnapshotProbe probe;
    core::Calibration calibration;
    core::IdKey id_key;  ///< of the ids that stand for kernel addresses
    bool command_lines = false;

    std::uint64_t begin_ns = 0;  ///< of the last counter reading
    std::uint64_t end_ns = 0;
    std::unique_ptr<Walker> walker;

    template <class Job>
    auto locked(const procfs::Process &process, Job job) const {
        return system::locked(walker.get(), process, std::move(job));
    }

    core::Result<core::CounterReading> read(pid_t pid);
    std::optional<Error> bracket(const procfs::Process &process, bool walk, core::RawReading &out);
    std::optional<Error> look_again(const procfs::Process &process, core::RawReading &out);
    std::optional<Error> fill_in(const procfs::Process &process, const procfs::Stat &stat, core::RawReading &out) const;
};

Snapshotter::Snapshotter(std::unique_ptr<State> state) : state_(std::move(state)) {}
Snapshotter::~Snapshotter() = default;
Snapshotter::Snapshotter(Snapshotter &&) noexcept = default;
Snapshotter &Snapshotter::operator=(Snapshotter &&) noexcept = default;

core::Result<Snapshotter> Snapshotter::open(const SnapshotterOptions &options) {
    const auto traits =
        options.traits != nullptr ? core::Result<probe::KernelTraits>(*options.traits) : probe::running_kernel_traits();
    if (!traits) return traits.error();
    Host host = this_host();
    if (const auto *scheme = std::get_if<core::Scheme>(&traits->scheme)) host.machine.scheme = *scheme;
    auto probe = probe::SnapshotProbe::open(*traits, host.machine, options.totals);
    if (!probe) return probe.error();
    if (const core::Status there = procfs::own_proc(); !there) return there.error();
    const auto calibration = options.calibrated ? calibrate(*probe, host.machine.scheme) : core::Calibration();
    if (!calibration) return calibration.error();
    // Each pass creates an iterator, which needs BPF and PERFMON. SYS_PTRACE is for other users' smaps, DAC_READ_SEARCH
    // for their pagemap and task/TID/syscall, which only their owner may read. Frame numbers, which are needed only if
    // memory has failed, require SYS_ADMIN.
    std::vector<cap_value_t> keep{CAP_BPF, CAP_PERFMON};
    if (options.walks) keep.insert(keep.end(), {CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH});
    if (machine_has_poisoned_pages()) keep.insert(keep.end(), {CAP_SYS_ADMIN, CAP_DAC_READ_SEARCH});
    keep.insert(keep.end(), options.capabilities.begin(), options.capabilities.end());
    if (const core::Status dropped = options.dropped ? core::success() : keep_only(keep); !dropped)
        return dropped.error();
    auto walker = options.stop_waiting ? std::make_unique<Walker>(options.stop_waiting) : nullptr;
    auto state = std::make_unique<State>(
        State{std::move(host), std::move(*probe), *calibration, {}, options.command_lines, 0, 0, std::move(walker)});
    if (getrandom(&state->id_key, sizeof(state->id_key), 0) != sizeof(state->id_key)) {
        return Error{Kind::Internal, "cannot get a random number from the kernel", 0, ""};
    }
    return Snapshotter(std::move(state));
}

std::string Snapshotter::mm_id(std::uint64_t mm) const {
    return core::mm_id(state_->id_key, mm);
}

core::IdKey Snapshotter::id_key() const {
    return state_->id_key;
}

core::Result<core::CounterReading> Snapshotter::State::read(pid_t pid) {
    begin_ns = monotonic_ns();
    auto reading = probe.read(pid);
    end_ns = monotonic_ns();
    return reading;
}

std::optional<Error> Snapshotter::State::bracket(const procfs::Process &process, bool walk, core::RawReading &out) {
    core::Bracket &bracket = out.bracket;
    auto before = read(process.pid());
    if (!before) return before.error();
    bracket.readings.push_back(std::move(*before));
    take_counted(process, out);
    if (walk) {
        auto walked = locked(process, [named = command_lines](const procfs::Process &of) {
            return std::pair(walk_any(of), named ? procfs::command_line(of) : std::string());
        });
        bracket.walk_state = walked ? walked->first.state : core::WalkState::Skipped;
        bracket.walk = walked ? walked->first.walk : std::nullopt;
        if (walked) out.command_line = std::move(walked->second);
    }
    auto after = read(process.pid());
    if (!after) return after.error();
    bracket.readings.push_back(std::move(*after));
    return std::nullopt;
}

/// Fills in all but counters, readers and walk.
std::optional<Error> Snapshotter::State::fill_in(const procfs::Process &process, const procfs::Stat &stat,
                                                 core::RawReading &out) const {
    const auto end = process.leader_stat();  // by descriptor: fails if the process has ended, even if its PID is reused
    if (!end) return end.error();
    out.pid = process.pid();
    out.start_ticks = stat.start_ticks;
    out.started_ns = out.counters().started_ns;
    out.comm = stat.comm;
    out.ppid = stat.ppid;
    out.threads_count = end->num_threads;
    out.leader_gone = end->zombie();
    out.cpus_online = cpus_online();
    out.begin_ns = begin_ns;
    out.end_ns = end_ns;
    return std::nullopt;
}

/// If a process that did not seem to move has an unexplained residual, walks the full smaps (up to 6.2 smaps_rollup may
/// skip a mapping under contention) and gathers evidence. Tries several times, as updates in flight complete meanwhile.
std::optional<Error> Snapshotter::State::look_again(const procfs::Process &process, core::RawReading &out) {
    constexpr int kTries = 4;
    const core::PageSize page_size = host.machine.page_size;
    for (int i = 0; i < kTries; ++i) {
        if (core::reconcile(out.bracket, page_size, out.evidence).verdict != core::Verdict::Unexplained) break;
        // A task preempted between mapping a page and counting it completes the update only once it runs again.
        if (i > 0) std::this_thread::sleep_for(milliseconds(1 << (2 * (i - 1))));
        const auto looked = locked(process, [page_size, reading = out.bracket.readings.back()](const auto &of) {
            const Walked walked = walk_smaps(of);
            return std::pair(walked.walk, gather_evidence(of, reading, walked.mappings, page_size));
        });
        if (!looked) return forget_walk(out), std::nullopt;
        const auto &[walk, evidence] = *looked;
        auto after = read(process.pid());
        if (!after) return after.error();
        out.bracket.readings.push_back(std::move(*after));
        if (walk) out.bracket.walk = walk;
        out.evidence = walk ? evidence : core::Evidence{};
    }
    return std::nullopt;
}

core::Result<core::ProcessReading> Snapshotter::take(const procfs::Process &process, bool walk) {
    const auto raw = take_raw(process, walk);
    if (!raw) return raw.error();
    return core::process_reading_of(*raw, state_->host.machine, state_->id_key);
}

core::Result<core::TimedCounters> Snapshotter::read_counters(pid_t pid) {
    auto reading = state_->read(pid);
    if (!reading) return reading.error();
    return core::TimedCounters{std::move(*reading), state_->begin_ns, state_->end_ns};
}

core::Result<core::RawReading> Snapshotter::take_raw(const procfs::Process &process, bool walk) {
    core::RawReading out;
    out.bracket_ns = monotonic_ns();
    const auto stat = process.leader_stat();
    if (!stat) return stat.error();
    if (stat->kernel_thread()) return without_memory(process);
    if (const auto error = state_->bracket(process, walk, out)) {
        return error->kind == Kind::Gone ? without_memory(process) : *error;
    }
    if (const auto error = state_->look_again(process, out)) {
        return error->kind == Kind::Gone ? gone(process.pid()) : *error;
    }
    if (const auto error = state_->fill_in(process, *stat, out)) return *error;
    return out;
}

core::Result<core::MappingListing> Snapshotter::list_mappings(const procfs::Process &process, bool walk) const {
    core::MappingListing listing;
    listing.t_ns = monotonic_ns();
    listing.pid = process.pid();
    auto mappings = state_->locked(process, [walk](const procfs::Process &of) { return read_mappings(of, walk); });
    if (!mappings) return Error{Kind::Gone, "the listing took too long", 0, ""};
    if (!*mappings) return mappings->error();
    for (procfs::Mapping &mapping : **mappings)
        if (procfs::in_mm(mapping)) listing.entries.push_back(listed(std::move(mapping)));
    listing.stacks = procfs::sleeping_stacks(process);
    return listing;
}

core::Result<std::vector<std::uint64_t>> Snapshotter::absent_pages(const procfs::Process &process,
                                                                   std::vector<std::uint64_t> addresses) const {
    const core::PageSize page_size = state_->host.machine.page_size;
    auto absent = state_->locked(process, [addresses = std::move(addresses), page_size](const procfs::Process &of) {
        return procfs::absent_pages(of, page_size, addresses);
    });
    if (!absent) return Error{Kind::Gone, "looking up pages took too long", 0, ""};
    return std::move(*absent);
}

core::Result<std::vector<core::ProcessTotal>> Snapshotter::read_all() {
    return state_->probe.read_all();
}

core::Result<core::ProcessReading> Snapshotter::take_around(const procfs::Process &process,
                                                            const procfs::WalkHere &walk) {
    const auto stat = process.leader_stat();
    if (!stat) return stat.error();
    if (stat->kernel_thread()) return without_memory(process);
    core::RawReading out;
    const auto failed = [&](const Error &error) { return error.kind == Kind::Gone ? without_memory(process) : error; };
    auto before = state_->read(process.pid());
    if (!before) return failed(before.error());
    take_counted(process, out);
    const auto walked = walk();
    if (!walked) return walked.error();
    auto after = state_->read(process.pid());
    if (!after) return failed(after.error());
    out.bracket = {{std::move(*before), std::move(*after)}, core::WalkState::Done, walked->walk};
    const core::PageSize &page_size = state_->host.machine.page_size;
    if (core::reconcile(out.bracket, page_size).verdict == core::Verdict::Unexplained) {
        out.evidence = gather_evidence(process, out.bracket.readings.back(), walked->mappings, page_size);
    }
    if (const auto error = state_->fill_in(process, *stat, out)) return *error;
    return core::process_reading_of(out, state_->host.machine, state_->id_key);
}

core::SnapshotDocument Snapshotter::document() const {
    core::SnapshotDocument document;
    document.time = std::chrono::system_clock::now();
    document.kernel = state_->host.kernel;
    document.arch = state_->host.arch;
    document.machine = state_->host.machine;
    document.calibration = state_->calibration;
    return document;
}

}  // namespace rsslag::system
