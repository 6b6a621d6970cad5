// SPDX-License-Identifier: BSD-2-Clause
#include "handle.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <utility>
#include <vector>

#include "procfs/process.h"
#include "system/experiment.h"
#include "system/machine.h"

namespace rsslag::lib {
namespace {

using core::Error;
using core::Kind;

/// Why `pid` is Gone: no such process, a thread's TID, or a process without an mm. nullopt: it has memory.
std::optional<Failure> why_gone(pid_t pid) {
    const auto process = procfs::Process::open(pid);
    if (!process) return Failure{process.error()};
    const auto group = procfs::thread_group_of(pid);
    if (!group) return Failure{group.error()};
    if (*group != pid)
        return Failure{{Kind::BadInput, fmt::format("{} is a thread of {}", pid, *group), EINVAL,
                        fmt::format("use PID {}", *group)}};
    const auto stat = process->leader_stat();
    if (!stat) return Failure{stat.error()};
    if (!procfs::has_memory(*process, *stat))
        return Failure{{Kind::Gone,
                        fmt::format("process {} has no memory: it {}", pid,
                                    stat->kernel_thread() ? "is a kernel thread"
                                    : stat->zombie()      ? "is a zombie"
                                                          : "has exited"),
                        0, ""},
                       true};
    return std::nullopt;
}

/// Some kernels do not show their first process to BPF. It is not Gone, so the next way is tried.
core::Result<Reading> or_hidden(pid_t pid, core::Result<Reading> reading) {
    if (reading || reading.error().kind != Kind::Gone || why_gone(pid)) return reading;
    return Error{Kind::Unsupported, fmt::format("this kernel does not show process {} to BPF", pid), 0, ""};
}

struct Tried {
    Way way;
    Error error;
};

/// The errors of all ways that were tried, in one line. Kind, errno and remedy are those of the most helpful kind.
Error together(const std::string &what, const std::vector<Tried> &tried) {
    Error all{Kind::Io, what, 0, ""};
    const Tried *best = nullptr;
    for (const Kind kind : {Kind::Denied, Kind::Unsupported, Kind::Io, Kind::Corrupt, Kind::Internal, Kind::BadInput})
        for (const Tried &each : tried)
            if (best == nullptr && each.error.kind == kind) best = &each;
    if (best != nullptr) {
        all.kind = best->error.kind;
        all.err = best->error.err;
        all.remedy = best->error.remedy;
    }
    const char *separator = ": ";
    for (const Tried &each : tried) {
        all.what += fmt::format("{}{}: {}", std::exchange(separator, "; "), name(each.way), each.error.what);
        if (all.remedy.empty()) all.remedy = each.error.remedy;
    }
    return all;
}

Failure other_process() {
    return {
        {Kind::BadInput, "the handle was opened before fork(), by the parent", 0, "open another handle in the child"}};
}

std::int64_t since(std::chrono::steady_clock::time_point begin) {
    return std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin).count();
}

void note_cost(Reading &reading, std::int64_t took_ns) {
    reading.took_ns = took_ns;
}
void note_cost(Readings &all, std::int64_t took_ns) {
    for (Reading &reading : all.readings)
        reading.took_ns = took_ns;
}

}  // namespace

const char *name(Way way) {
    switch (way) {
        case Way::Bpf: return "BPF";
        case Way::File: return "file";
        case Way::Status: return "status";
        case Way::Rollup: break;
    }
    return "smaps_rollup";
}

core::Error not_allowed(Way way) {
    return {Kind::Unsupported, fmt::format("the options exclude {}", name(way)), 0, ""};
}

Handle::Handle(std::uint32_t ways, std::string directory)
    : ways_(ways),
      owner_(getpid()),
      machine_(system::this_host().machine),
      bpf_(not_allowed(Way::Bpf)),
      file_(std::move(directory), machine_.page_size) {
    Opened opened = open_bpf(machine_, allowed(Way::Bpf));
    scheme_ = opened.scheme;
    bpf_ = std::move(opened.way);
    if (scheme_) machine_.scheme = *scheme_;
}

std::optional<core::Bound> Handle::bound(const Reading &reading) const {
    if (!scheme_ || !reading.threads || reading.foreign) return std::nullopt;
    return core::bound(machine_, reading.tasks.value_or(*reading.threads));
}

/// Other threads of the caller may disturb the experiment: it is repeated, once a second at most, until it succeeds.
ProcWay Handle::proc() {
    constexpr std::chrono::seconds kAgain{1};
    const std::scoped_lock lock(proc_mutex_);
    const auto now = std::chrono::steady_clock::now();
    if (!proc_ || (!proc_->certain() && now - proc_at_ >= kAgain)) {
        proc_.emplace(machine_.page_size, system::experiment());
        proc_at_ = now;
    }
    return *proc_;
}

core::Result<Reading> Handle::read(pid_t pid, Way way) {
    switch (way) {
        case Way::Bpf: return bpf_ ? or_hidden(pid, (*bpf_)->read(pid)) : core::Result<Reading>(bpf_.error());
        case Way::File: return or_hidden(pid, file_.read(pid));
        case Way::Status:
        case Way::Rollup: break;
    }
    return proc().read(pid, way);
}

core::Result<Reading> Handle::read_self(Way way) {
    return way == Way::File ? file_.read_self() : read(getpid(), way);
}

core::Result<Readings> Handle::read_all(Way way) {
    switch (way) {
        case Way::Bpf: return bpf_ ? (*bpf_)->read_all() : core::Result<Readings>(bpf_.error());
        case Way::File: return file_.read_all();
        case Way::Status:
        case Way::Rollup: break;
    }
    return proc().read_all(way);
}

core::Status Handle::why_not(Way way) {
    if (getpid() != owner_) return other_process().error;
    if (!allowed(way)) return not_allowed(way);
    switch (way) {
        case Way::Bpf: return bpf_ ? core::success() : core::Status(with_mount(bpf_.error()));
        case Way::File: return file_.usable();
        case Way::Status:
        case Way::Rollup: break;
    }
    return proc().usable(way);
}

/// Where privileges are missing, the files of `rsslag mount` need none, if this handle may read them.
Error Handle::with_mount(Error error) const {
    if (error.kind != Kind::Denied || !allowed(Way::File)) return error;
    const core::Status mounted = file_.usable();
    if (mounted || mounted.error().kind != Kind::Unsupported) return error;
    error.remedy += fmt::format("{}run rsslag mount once as root", error.remedy.empty() ? "" : "; or ");
    return error;
}

/// The result of the first way that succeeds, or that reports the process as Gone.
template <class T, class Read>
Outcome<T> Handle::first_of(const Order &order, const std::string &what, const Read &read) {
    if (getpid() != owner_) return other_process();
    std::vector<Tried> tried;
    for (const Way way : order) {
        if (!allowed(way)) continue;
        const auto begin = std::chrono::steady_clock::now();
        core::Result<T> result = read(way);
        if (result) {
            note_cost(*result, since(begin));
            return std::move(*result);
        }
        if (result.error().kind == Kind::Gone) return Failure{result.error()};
        tried.push_back({way, result.error()});
    }
    return Failure{with_mount(together(what, tried))};
}

Outcome<Reading> Handle::exact(pid_t pid) {
    if (pid <= 0)
        return Failure{{Kind::BadInput, fmt::format("'{}' is not a PID", pid), EINVAL, "use a PID greater than 0"}};
    auto answer =
        first_of<Reading>({Way::Bpf, Way::File, Way::Status, Way::Rollup}, fmt::format("cannot read process {}", pid),
                          [this, pid](Way way) { return read(pid, way); });
    const auto *const failure = std::get_if<Failure>(&answer);
    if (failure == nullptr || failure->error.kind != Kind::Gone) return answer;
    if (const auto why = why_gone(pid)) return *why;
    return answer;
}

Outcome<Reading> Handle::exact_self() {
    return first_of<Reading>({Way::File, Way::Bpf, Way::Status, Way::Rollup}, "cannot read this process",
                             [this](Way way) { return read_self(way); });
}

Outcome<Readings> Handle::all() {
    return first_of<Readings>({Way::File, Way::Bpf, Way::Status, Way::Rollup}, "cannot read the processes",
                              [this](Way way) { return read_all(way); });
}

}  // namespace rsslag::lib
