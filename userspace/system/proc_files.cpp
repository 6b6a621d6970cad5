// SPDX-License-Identifier: BSD-2-Clause
#include "proc_files.h"

#include "procfs/own_walk.h"

namespace rsslag::system {
namespace {

using core::Error;
using core::Kind;

core::WalkState state_of(const Error &error) {
    switch (error.kind) {
        case Kind::Denied: return core::WalkState::Denied;
        case Kind::Gone: return core::WalkState::Gone;
        default: return core::WalkState::Unsupported;
    }
}

Walked walk_rollup(const procfs::Process &process) {
    const auto text = process.smaps_rollup_text();
    if (!text) return {state_of(text.error()), std::nullopt, {}};
    const auto rollup = procfs::parse_smaps_rollup(text->bytes);
    if (!rollup || !rollup->sums.rss) return {core::WalkState::Unsupported, std::nullopt, {}};
    return {core::WalkState::Done, procfs::walk_of(core::WalkFile::SmapsRollup, rollup->sums, text->took), {}};
}

void take_status(core::ReaderValues &readers, const procfs::StatusFile &status) {
    readers.status_rss = status.vm_rss;
    readers.status_members = status.members;
    readers.status_hwm = status.vm_hwm;
}

}  // namespace

Walked walk_smaps(const procfs::Process &process) {
    const auto text = process.smaps_text();
    if (!text) return {state_of(text.error()), std::nullopt, {}};
    auto mappings = procfs::parse_smaps(text->bytes);
    if (!mappings) return {core::WalkState::Unsupported, std::nullopt, {}};
    const core::Walk walk = procfs::walk_of(core::WalkFile::Smaps, procfs::sum(*mappings), text->took);
    return {core::WalkState::Done, walk, std::move(*mappings)};
}

Walked walk_any(const procfs::Process &process) {
    Walked walked = walk_rollup(process);
    return walked.state == core::WalkState::Unsupported ? walk_smaps(process) : walked;
}

Counted read_counted(const procfs::Process &process) {
    Counted counted;
    if (const auto stat = process.stat()) counted.readers.stat = stat->rss;
    if (const auto statm = process.statm()) counted.readers.statm = statm->resident;
    const auto status = process.status();
    if (!status) return counted;
    take_status(counted.readers, *status);
    counted.uid = status->real_uid;
    counted.hugetlb = status->hugetlb;
    if (status->vm_rss) return counted;
    const auto task = process.memory_task();
    if (!task || task->tid == process.pid()) return counted;
    core::ReaderValues &living = counted.living.emplace();
    if (const auto stat = procfs::stat_of(process, *task)) living.stat = stat->rss;
    if (const auto statm = procfs::statm_of(process, *task)) living.statm = statm->resident;
    take_status(living, task->status);
    counted.uid = task->status.real_uid;
    counted.hugetlb = task->status.hugetlb;
    return counted;
}

}  // namespace rsslag::system
