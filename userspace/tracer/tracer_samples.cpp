// SPDX-License-Identifier: BSD-2-Clause
// Samples of updates and their stacks.
#include <spdlog/spdlog.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tracer_state.h"

namespace rsslag::tracer {
namespace {

constexpr std::size_t kOrigAx = 15, kCs = 17;  ///< in rsslag_sample.registers
constexpr std::uint64_t kCompatCode = 0x23;    ///< __USER32_CS; system calls have other numbers there

rsslag_sample head_of(const RawSample &bytes) {
    rsslag_sample sample{};
    std::memcpy(&sample, bytes.data(), std::min(bytes.size(), sizeof(sample)));
    return sample;
}

/// The kernel sets orig_ax to -1 on entries that are no system calls (arch/x86/entry/entry_64.S).
std::int32_t syscall_of(const rsslag_sample &raw) {
    const bool reclaims = (raw.flags & RSSLAG_RECLAIMS) != 0;
    if (raw.registers[kCs] == 0) return reclaims ? core::kReclaim : core::kKernelThread;  // it has no user registers
    if ((raw.flags & RSSLAG_EXITING) != 0) return core::kExiting;
    auto number = static_cast<std::int32_t>(raw.registers[kOrigAx]);
    if (raw.registers[kCs] == kCompatCode || number < 0) number = core::kNoSyscall;
    const bool asks = number == SYS_madvise || number == SYS_process_madvise;  // MADV_PAGEOUT
    return reclaims && !asks ? core::kReclaim : number;
}

core::Sample sample_of(const rsslag_sample &raw) {
    core::Sample sample;
    sample.t_ns = raw.t_ns;
    sample.mm = raw.mm;
    sample.address = raw.address;
    sample.host_tid = raw.tid;
    sample.pid = raw.ns_tgid;
    sample.cpu = raw.cpu;
    sample.member = raw.member;
    sample.estimated = raw.estimated;
    sample.syscall = syscall_of(raw);
    return sample;
}

}  // namespace

/// Takes the samples that were sent. Those of updates whose records have been taken are among them.
void Tracer::State::take_samples() {
    if (!unwinding) return;
    batch.samples = source->samples();
    std::stable_sort(batch.samples.begin(), batch.samples.end(),
                     [](const RawSample &a, const RawSample &b) { return head_of(a).t_ns < head_of(b).t_ns; });
    batch.first = samples;
    batch.lost = source->lost_samples();
    if (batch.lost > std::exchange(samples_lost, batch.lost)) source->copy_less();
    samples += batch.samples.size();
    event::Samples event{batch.first, {}};
    for (const RawSample &bytes : batch.samples) {
        const rsslag_sample raw = head_of(bytes);
        event.samples.push_back(sample_of(raw));
        const bool overflowed = sampled_pages.overflowed();
        sampled_pages.note(event.samples.back(), batch.first + event.samples.size() - 1);
        if (!overflowed && sampled_pages.overflowed())
            spdlog::warn("more than {} sampled pages are resident: the recording does not contain which of them stay",
                         SampledPages::kMost);
    }
    if (!event.samples.empty()) feed(std::move(event));
}

/// Notes the forks among processes that have started. The analyzer forgets their parents when these end.
void Tracer::State::note_forks(std::span<const analysis::Started> processes) {
    std::vector<int> parents;
    for (const analysis::Started &each : processes)
        if (each.parent_host_tid != 0) parents.push_back(each.parent_host_tid);
    if (!unwinding || parents.empty()) return;
    const std::unordered_map<int, int> pids = analyzer.pids_of(parents);
    for (const analysis::Started &each : processes)
        if (const auto parent = pids.find(each.parent_host_tid); parent != pids.end())
            batch.forks.push_back({each.t_ns, parent->second, each.pid});
}

/// A fork has the code of its parent, until it changes it.
void Tracer::State::know_code_of_forks() {
    std::stable_sort(batch.forks.begin(), batch.forks.end(),
                     [](const auto &a, const auto &b) { return a.t_ns < b.t_ns; });
    std::erase_if(batch.forks, [this](const Unwinder::Fork &fork) {
        if (!with_code.contains(fork.parent)) return true;
        with_code.insert(fork.child);
        return false;
    });
}

/// Of processes whose changes came too early, or which were forked by one of them.
void Tracer::State::list_unknown_code() {
    for (const RawSample &bytes : batch.samples) {
        const rsslag_sample raw = head_of(bytes);
        if (raw.ns_tgid == 0 || with_code.contains(raw.ns_tgid)) continue;
        if (const auto listing = source->list_mappings(raw.tgid, raw.ns_tgid, false)) know_code(*listing);
    }
}

void Tracer::State::know_code(const core::MappingListing &listing) {
    with_code.insert(listing.pid);
    batch.listings.push_back(listing);
}

/// `unwinding` gets the changes of all processes: their records may come after their samples. `changes`: the next ones.
void Tracer::State::forget_code_of_untraced(std::span<const core::MappingChange> changes) {
    std::set<int> ended = std::exchange(untraced, {});
    for (const core::MappingChange &change : changes)
        ended.erase(change.pid);
    for (const int pid : ended) {
        if (named.contains(pid)) continue;
        with_code.erase(pid);
        batch.ended.push_back(pid);
    }
}

/// The changes from an exec on describe the new program completely. A listing that was read after it does not describe
/// samples from before.
void Tracer::State::know_code_of_execs(std::span<const core::MappingChange> changes) {
    for (const core::MappingChange &change : changes) {
        if (change.kind != core::MappingChange::Kind::Exec) continue;
        with_code.insert(change.pid);
        std::erase_if(batch.listings, [&](const auto &listing) { return listing.pid == change.pid; });
    }
}

/// Passes the batch on, with all changes until now.
void Tracer::State::unwind(std::span<const core::MappingChange> changes) {
    if (!unwinding) return;
    know_code_of_execs(changes);
    know_code_of_forks();
    list_unknown_code();
    for (const core::MappingChange &change : changes) {
        if ((change.range.flags & core::MappingExecute) != 0 || change.kind != core::MappingChange::Kind::Mapped)
            batch.changes.push_back(change);
    }
    unwinding->put(std::exchange(batch, {}));
    feed_stacks(unwinding->take());
}

void Tracer::State::feed_stacks(Unwinding::Result ready) {
    for (event::Stacks &each : ready.stacks)
        feed(std::move(each));
    for (const auto &[tid, copied] : ready.cut)
        source->copy_more(tid, copied);
}

/// Looks up which of the sampled pages of the group's mm are resident. Returns how long that took, in ns.
std::uint64_t Tracer::State::look_up_pages(const core::GroupView &group, std::uint64_t mm) {
    if (!unwinding || sampled_pages.overflowed()) return 0;
    const std::uint64_t begin = source->now_ns();
    event::AbsentPages event{begin, group.tgid, mm, samples, samples, {}};
    if (const SampledPages::Space *const space = sampled_pages.of(mm)) {
        std::vector<std::uint64_t> pages;
        pages.reserve(space->pages.size());
        for (const auto &[page, t_ns] : space->pages)
            pages.push_back(page);
        auto absent = source->absent_pages(group.host_tgid, group.tgid, pages);
        if (!absent) return 0;
        event.t_ns = source->now_ns();
        event.from = space->from;
        event.pages = std::move(*absent);
        sampled_pages.forget(mm, event.pages);
    }
    const std::uint64_t took_ns = event.t_ns - begin;
    feed(std::move(event));
    return took_ns;
}

/// Forgets the sampled pages of address spaces that have ended.
void Tracer::State::forget_pages() {
    if (!unwinding) return;
    std::set<std::uint64_t> mms;
    for (const core::GroupView &group : analyzer.groups())
        mms.insert(group.mm);
    sampled_pages.keep(mms);
}

/// At the end of the trace.
void Tracer::State::look_up_all_pages() {
    if (!unwinding || !options.walk) return;
    take_mappings();
    for (const core::GroupView &group : analyzer.groups())
        if (group.tgid != 0) look_up_pages(group, group.mm);
}

}  // namespace rsslag::tracer
