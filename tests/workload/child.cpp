// SPDX-License-Identifier: BSD-2-Clause
#include "child.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <string_view>

#include "workload/die.h"
#include "workload/failure.h"

namespace rsslag::workload {
namespace {

/// The report of a child: one write of at most PIPE_BUF bytes, so it is never partial.
struct Report {
    bool ok = false;
    core::Kind kind = core::Kind::Internal;
    int err = 0;
    std::array<char, 200> what{}, remedy{};
};
static_assert(sizeof(Report) <= PIPE_BUF);

void put(std::array<char, 200> &to, std::string_view text) {
    text.copy(to.data(), to.size() - 1);
}

Report report_of(const core::Status &status) {
    Report report;
    report.ok = status.ok();
    if (status.ok()) return report;
    report.kind = status.error().kind;
    report.err = status.error().err;
    put(report.what, status.error().what);
    put(report.remedy, status.error().remedy);
    return report;
}

[[noreturn]] void live_as_child(pid_t parent, const Fd &out, const std::function<core::Status()> &work,
                                void (*rest)()) {
    core::Status status = die_with(parent);
    if (status) status = work();
    const Report report = report_of(status);
    if (write(out.get(), &report, sizeof report) != sizeof report || !status) _exit(1);
    rest();
    _exit(0);
}

}  // namespace

core::Result<Child> fork_child(const std::function<core::Status()> &work, void (*rest)()) {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) return failed("pipe2", errno);
    Fd in(ends[0]);
    const Fd out(ends[1]);
    const pid_t parent = getpid();
    const pid_t pid = fork();
    if (pid < 0) return failed("fork", errno, "raise ulimit -u or the cgroup's pids.max");
    if (pid == 0) {
        in.reset();
        live_as_child(parent, out, work, rest);
    }
    return Child{pid, std::move(in)};
}

core::Result<Outcome> await_report(Child &child) {
    Report report;
    for (;;) {
        const ssize_t got = read(child.report.get(), &report, sizeof report);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return failed("cannot read from a child", errno);
        if (got == 0) return Outcome::Ended;
        break;
    }
    if (report.ok) return Outcome::Done;
    waitpid(child.pid, nullptr, 0);
    return core::Error{report.kind, report.what.data(), report.err, report.remedy.data()};
}

core::Result<pid_t> fork_sleeper(const std::function<core::Status()> &work) {
    auto child = fork_child(work);
    if (!child) return child.error();
    auto outcome = await_report(*child);
    if (!outcome) return outcome.error();
    if (*outcome == Outcome::Ended) return core::Error{core::Kind::Internal, "the workload's child died", 0, ""};
    if (auto ok = await_sleep(child->pid); !ok) return ok.error();
    return child->pid;
}

}  // namespace rsslag::workload
