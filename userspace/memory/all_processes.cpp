// SPDX-License-Identifier: BSD-2-Clause
#include "memory/all_processes.h"

#include <fmt/format.h>
#include <linux/kcmp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "procfs/process.h"
#include "procfs/program.h"
#include "procfs/system.h"

namespace rsslag::memory {
namespace {

using core::Error;
using core::Kind;

/// Sums of smaps_rollup that depend on the mm alone: Pss, Locked, Shared_* and Private_* change when another process
/// maps or unmaps one of its pages, Referenced when reclaim scans them (fs/proc/task_mmu.c smaps_account()).
struct OwnSums {
    std::optional<core::Kilobytes> rss, anonymous, swap;

    friend bool operator==(const OwnSums &, const OwnSums &) = default;
};

/// One process. Only those with the same `range` can share an mm.
struct Read {
    procfs::User user;
    pid_t tid = 0;      ///< of a task that has the mm
    std::string range;  ///< first and last address of its mappings
    OwnSums own_sums;
    std::vector<procfs::Mapping> mappings;  ///< only if requested
};

OwnSums own_sums_of(const procfs::SmapsFields &sums) {
    return {sums.rss, sums.anonymous, sums.swap};
}

/// kcmp(2) of two mms: 0 if they are the same, 1 or 2 for their order in the kernel. Any other result: no answer, or a
/// task has exited.
long compare_memory(pid_t a, pid_t b) {
    return syscall(SYS_kcmp, a, b, KCMP_VM, 0, 0);
}

/// The earlier process with which a process shares its mm, as far as the kernel shows this. A process is represented by
/// a thread that has the mm: leaders that have exited have none, so kcmp would report them all as sharing it.
struct Sharing {
    std::optional<pid_t> with;      ///< TID of the first process with the same mm
    std::optional<pid_t> may_with;  ///< TID of one with equal sums, if kcmp fails
    int err = 0;                    ///< errno of kcmp
};

/// The first process of each mm among those with the same address range, in the order of kcmp as long as kcmp returns
/// an order.
class SameRange {
  public:
    /// Adds `tid` as the first one of an mm unless it certainly shares an mm with an earlier one.
    Sharing find_or_add(pid_t tid, const OwnSums &sums) {
        auto at = std::partition_point(firsts_.begin(), firsts_.end(), [&](const First &first) {
            const long order = compare_memory(first.tid, tid);
            ordered_ = ordered_ && order >= 0 && order <= 2;
            return order == 1;
        });
        const auto is_same = [&](const First &first) { return compare_memory(first.tid, tid) == 0; };
        if (!ordered_) at = std::find_if(firsts_.begin(), firsts_.end(), is_same);
        if (at != firsts_.end() && is_same(*at)) return {at->tid, std::nullopt, 0};
        Sharing sharing;
        if (!ordered_) look_alike(tid, sums, sharing);
        firsts_.insert(at, {tid, sums});
        return sharing;
    }

  private:
    struct First {
        pid_t tid = 0;
        OwnSums sums;
    };

    /// For a kernel that refuses kcmp or does not have it (CONFIG_KCMP).
    void look_alike(pid_t tid, const OwnSums &sums, Sharing &sharing) const {
        for (const First &first : firsts_) {
            if (first.sums != sums || compare_memory(first.tid, tid) >= 0 || errno == ESRCH) continue;
            sharing.may_with = first.tid;
            sharing.err = errno;
            return;
        }
    }

    std::vector<First> firsts_;
    bool ordered_ = true;
};

/// Whether a process maps memory of drivers, which only smaps shows. Reading maps is cheap, as it walks no page table.
bool may_map_drivers(const procfs::Process &process) {
    const auto text = process.read_of_memory_task("maps");
    const auto mappings = text ? procfs::parse_maps(text->bytes) : text.error();
    return mappings && std::ranges::any_of(*mappings, procfs::may_be_of_driver);
}

core::Result<Read> read_sums(const procfs::Process &process, bool mappings_too) {
    Read read;
    auto text = process.smaps_rollup_text();
    if (!text) return text.error();
    const auto rollup = procfs::parse_smaps_rollup(text->bytes);
    if (!rollup) return rollup.error();
    read.user.use = procfs::use_of(rollup->sums);
    read.user.parts = procfs::parts_of(rollup->sums);
    read.range = text->bytes.substr(0, text->bytes.find(' '));
    read.own_sums = own_sums_of(rollup->sums);
    if (!mappings_too && !may_map_drivers(process)) return read;
    // Only smaps_rollup has Pss by member. The other sums are those of the mappings, as the rows must add up to them.
    const auto smaps = process.smaps_text();
    if (!smaps) return smaps.error();
    auto mappings = procfs::parse_smaps(smaps->bytes);
    if (!mappings) return mappings.error();
    procfs::separate_drivers(read.user.parts, *mappings);
    if (!mappings_too) return read;
    read.user.use = {};
    for (const procfs::Mapping &mapping : *mappings)
        read.user.use += procfs::use_of(mapping.fields);
    read.mappings = *std::move(mappings);
    return read;
}

/// nullopt: a kernel thread or a zombie, which has no memory.
core::Result<std::optional<Read>> read_process(pid_t pid, std::optional<uid_t> only, bool mappings_too) {
    using Maybe = std::optional<Read>;
    // The UID of a process that has exited meanwhile is not known: with `only`, it is skipped.
    const auto unread = [&](const Error &error) -> core::Result<Maybe> {
        if (only && error.kind == Kind::Gone) return Maybe{};
        return error;
    };
    const auto process = procfs::Process::open(pid);
    if (!process) return unread(process.error());
    const auto stat = process->stat();
    if (!stat) return unread(stat.error());
    if (!procfs::has_memory(*process, *stat)) return Maybe{};
    const auto task = process->memory_task();
    if (!task) return unread(task.error());
    if (only && task->status.real_uid != *only) return Maybe{};
    auto read = read_sums(*process, mappings_too);
    if (!read) return read.error();
    procfs::User &user = read->user;
    read->tid = task->tid;
    user.pids = {pid};
    user.comm = stat->comm;
    user.uid = task->status.real_uid;
    const auto program = procfs::program_path(*process);
    user.program = program && !program->empty() ? *program : stat->comm;
    if (const auto cgroup = process->read_of_memory_task("cgroup"))
        user.cgroup = procfs::parse_cgroup(cgroup->bytes).value_or("");
    return std::optional(*std::move(read));
}

/// The status of a process whose mappings may not be read: any user may read it.
std::optional<procfs::StatusFile> status_of(pid_t pid, const Error &error, std::optional<uid_t> only) {
    if (error.kind != Kind::Denied) return std::nullopt;
    const auto process = procfs::Process::open(pid);
    if (!process) return std::nullopt;
    auto task = process->memory_task();
    if (!task || (only && task->status.real_uid != *only)) return std::nullopt;
    return std::move(task->status);
}

}  // namespace

AllProcesses read_all(const std::vector<pid_t> &pids, std::optional<uid_t> only, bool by_file) {
    AllProcesses all;
    std::map<std::string, SameRange> by_range;
    std::map<pid_t, std::size_t> user_of;
    for (const pid_t pid : pids) {
        auto read = read_process(pid, only, by_file);
        if (!read) {
            const core::Error &why = read.error();
            all.failed.push_back({pid, why.kind, why.what, status_of(pid, why, only), why.remedy});
            continue;
        }
        if (!*read) continue;
        Read &one = **read;
        const Sharing sharing = by_range[one.range].find_or_add(one.tid, one.own_sums);
        if (sharing.with) {
            all.users[user_of.at(*sharing.with)].pids.push_back(pid);
            continue;
        }
        if (sharing.may_with && one.user.use.pss.n != 0) {
            all.undecided.push_back({pid, all.users[user_of.at(*sharing.may_with)].pids.front(), one.user.use.pss});
            all.why_undecided = fmt::format("kcmp: {}", std::strerror(sharing.err));
        }
        user_of.emplace(one.tid, all.users.size());
        if (by_file) procfs::add(all.files, pid, one.mappings);
        all.users.push_back(std::move(one.user));
    }
    return all;
}

}  // namespace rsslag::memory
