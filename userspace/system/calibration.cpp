// SPDX-License-Identifier: BSD-2-Clause
#include "calibration.h"

#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>

#include "core/reconcile.h"
#include "procfs/process.h"

namespace rsslag::system {
namespace {

using core::Error;
using core::Kind;

constexpr int kMostPages = 64;

/// The child: for each byte received, touches that many pages and sends a byte back; sleeps in read() in between. Only
/// async-signal-safe calls, as it is a fork of a process whose libraries use locks.
[[noreturn]] void touch_on_demand(int fd) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    // A process with file capabilities is not dumpable, and its children inherit that.
    prctl(PR_SET_DUMPABLE, 1);
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    void *const memory = mmap(nullptr, kMostPages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) _exit(1);
    madvise(memory, kMostPages * page, MADV_NOHUGEPAGE);
    volatile char *const bytes = static_cast<volatile char *>(memory);
    std::size_t touched = 0;
    unsigned char count = 0;
    for (;;) {
        if (core::uninterrupted([&] { return read(fd, &count, 1); }) != 1) _exit(0);
        for (; count > 0 && touched < kMostPages; --count)
            bytes[touched++ * page] = 1;
        if (core::uninterrupted([&] { return write(fd, &count, 1); }) != 1) _exit(0);
    }
}

/// Owns the child and the socket to it.
class CalibrationChild {
  public:
    static core::Result<CalibrationChild> start() {
        int ends[2];
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return failed("socketpair");
        const pid_t pid = fork();
        if (pid < 0) return failed("fork");
        if (pid == 0) {
            close(ends[0]);  // else the child's read() would never return 0 when the parent closes its end
            touch_on_demand(ends[1]);
        }
        close(ends[1]);
        CalibrationChild child(pid, procfs::Fd(ends[0]));
        child.end_ = procfs::Fd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
        return child;
    }

    ~CalibrationChild() {
        if (pid_ <= 0) return;
        fd_ = procfs::Fd();  // ends the child, too
        const bool killed = kill(pid_, SIGKILL) == 0;
        // If kill() is refused and the child is stopped or frozen, it dies with rsslag (PDEATHSIG).
        pollfd ended{end_.get(), POLLIN, 0};
        if (end_.open() ? poll(&ended, 1, kPatience) > 0 : killed) waitpid(pid_, nullptr, 0);
    }
    CalibrationChild(CalibrationChild &&other) noexcept
        : pid_(std::exchange(other.pid_, 0)), fd_(std::move(other.fd_)), end_(std::move(other.end_)) {}
    CalibrationChild &operator=(CalibrationChild &&) = delete;

    pid_t pid() const { return pid_; }

    core::Status touch(unsigned char pages) {
        if (core::uninterrupted([&] { return send(fd_.get(), &pages, 1, MSG_NOSIGNAL); }) != 1)
            return failed("no answer from the child process");
        pollfd answer{fd_.get(), POLLIN, 0};
        const int ready = core::uninterrupted([&] { return poll(&answer, 1, kPatience); });
        if (ready == 0) errno = ETIMEDOUT;
        if (ready <= 0 || recv(fd_.get(), &pages, 1, 0) != 1) return failed("no answer from the child process");
        return core::success();
    }

  private:
    CalibrationChild(pid_t pid, procfs::Fd fd) : pid_(pid), fd_(std::move(fd)) {}

    static Error failed(const char *what) {
        return {Kind::Internal, std::string("cannot calibrate: ") + what + ": " + std::strerror(errno), errno, ""};
    }

    static constexpr int kPatience = 5000;  ///< ms; an answer takes some microseconds

    pid_t pid_;
    procfs::Fd fd_;
    procfs::Fd end_;  ///< pidfd; closed if the kernel or a seccomp filter refuses it
};

/// One comparison; nullopt if it is not conclusive: the child's counters moved, or flushed and exact RSS are equal.
core::Result<std::optional<core::Calibration>> compare(probe::SnapshotProbe &probe, const procfs::Process &child) {
    const auto before = probe.read(child.pid());
    if (!before) return before.error();
    const auto stat = child.stat();
    const auto statm = child.statm();
    const auto status = child.status();
    const auto after = probe.read(child.pid());
    if (!after) return after.error();
    if (!stat) return stat.error();
    if (!statm) return statm.error();
    if (!status) return status.error();
    if (core::moved(*before, *after)) return std::optional<core::Calibration>{};
    const core::PageSize page_size{sysconf(_SC_PAGESIZE)};
    const core::Members flushed = after->flushed();
    const core::Members exact = after->exact();
    core::Calibration result;
    result.stat = core::classify_reader(stat->rss, flushed, exact);
    result.statm = core::classify_reader(statm->resident, flushed, exact);
    if (status->vm_rss) result.status = core::classify_reader(page_size.pages(*status->vm_rss), flushed, exact);
    if (core::clamped_rss(flushed) == core::clamped_rss(exact)) return std::optional<core::Calibration>{};
    return std::optional(result);
}

}  // namespace

core::Result<core::Calibration> calibrate(probe::SnapshotProbe &probe, core::Scheme scheme) {
    if (scheme == core::Scheme::Plain) {
        return core::Calibration{core::Truth::Exact, core::Truth::Exact, core::Truth::Exact};
    }
    auto child = CalibrationChild::start();
    if (!child) return child.error();
    auto process = procfs::Process::open(child->pid());
    if (!process) return process.error();
    // Fewer pages than the smallest batch (32) and than the faults that cause a flush (66). If flushed and exact RSS
    // happen to be equal, one more page makes them differ.
    for (unsigned char pages = 20; pages > 12; --pages) {
        const core::Status touched = child->touch(pages == 20 ? pages : 1);
        if (!touched) return touched.error();
        auto calibration = compare(probe, *process);
        if (!calibration) return calibration.error();
        if (*calibration) return **calibration;
    }
    return core::Calibration{};
}

}  // namespace rsslag::system
