// SPDX-License-Identifier: BSD-2-Clause
// A process that is blocked in the middle of execve. The kernel copies the arguments into the new mm's stack. It
// charges these pages to the old mm as anonymous pages (fs/exec.c, acct_arg_size), although no page table of the old mm
// maps them. It copies from the last argument to the first. The first one here lies in memory whose faults wait for a
// userfaultfd that is never served.
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "child.h"
#include "test_starts.h"
#include "workload/failure.h"
#include "workload/memory.h"

#ifndef USERFAULTFD_IOC_NEW
#define USERFAULTFD_IOC_NEW _IO(0xAA, 0x00)
#endif

namespace rsslag::workload {
namespace {

constexpr std::int64_t kStringKb = 100;  // execve takes strings of up to 128 kB

/// A userfaultfd that also handles faults in kernel mode, as the copy of arguments causes them.
core::Result<Fd> new_userfaultfd() {
    constexpr int kFlags = O_CLOEXEC | O_NONBLOCK;
    Fd fd(static_cast<int>(syscall(SYS_userfaultfd, kFlags)));
    if (fd.open()) return fd;
    const int err = errno;
    const Fd device(open("/dev/userfaultfd", O_RDWR | O_CLOEXEC));
    if (device.open()) fd = Fd(ioctl(device.get(), USERFAULTFD_IOC_NEW, kFlags));
    if (fd.open()) return fd;
    core::Error error = failed("userfaultfd", err, "run rsslag as root, or run sysctl vm.unprivileged_userfaultfd=1");
    if (err == ENOSYS) error.remedy = "boot a kernel built with CONFIG_USERFAULTFD=y";
    error.kind = core::Kind::Unsupported;
    return error;
}

core::Status keep_waiting(const Fd &faults, Memory memory) {
    uffdio_api api{.api = UFFD_API, .features = 0, .ioctls = 0};
    if (ioctl(faults.get(), UFFDIO_API, &api) != 0) return failed("ioctl(UFFDIO_API)", errno);
    uffdio_register watch{};
    watch.range = {reinterpret_cast<std::uintptr_t>(memory.data()), memory.size()};
    watch.mode = UFFDIO_REGISTER_MODE_MISSING;
    if (ioctl(faults.get(), UFFDIO_REGISTER, &watch) != 0) return failed("ioctl(UFFDIO_REGISTER)", errno);
    return core::success();
}

/// Space for one descriptor in a message's ancillary data.
union DescriptorSpace {
    cmsghdr header;
    std::array<char, CMSG_SPACE(sizeof(int))> bytes;
};

core::Status send_descriptor(const Fd &socket, const Fd &sent) {
    char byte = 0;
    iovec data{&byte, 1};
    DescriptorSpace space{};
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = &space;
    message.msg_controllen = sizeof space;
    cmsghdr *const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    const int fd = sent.get();
    std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
    if (sendmsg(socket.get(), &message, 0) != 1) return failed("sendmsg", errno);
    return core::success();
}

/// Receives a descriptor. The result is not open if the other end was closed first.
core::Result<Fd> receive_descriptor(const Fd &socket) {
    char byte = 0;
    iovec data{&byte, 1};
    DescriptorSpace space{};
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = &space;
    message.msg_controllen = sizeof space;
    ssize_t got = 0;
    do {
        got = recvmsg(socket.get(), &message, MSG_CMSG_CLOEXEC);
    } while (got < 0 && errno == EINTR);
    if (got < 0) return failed("recvmsg", errno);
    const cmsghdr *const header = CMSG_FIRSTHDR(&message);
    if (got == 0 || header == nullptr || header->cmsg_type != SCM_RIGHTS) return Fd();
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(header), sizeof fd);
    return Fd(fd);
}

/// Runs in the child. Returns only on failure.
core::Status exec_for_ever(std::int64_t kb, const Fd &socket) {
    auto first = map_private(page_size());
    if (!first) return first.error();
    auto faults = new_userfaultfd();
    if (!faults) return faults.error();
    if (auto ok = keep_waiting(*faults, *first); !ok) return ok.error();
    std::vector<std::string> strings;
    for (std::int64_t left = kb; left > 0; left -= kStringKb) {
        // Including its terminator, each string is a whole number of kB.
        strings.emplace_back(static_cast<std::size_t>(std::min(left, kStringKb)) * 1024 - 1, 'x');
    }
    std::vector<char *> arguments{reinterpret_cast<char *>(first->data())};
    for (std::string &string : strings)
        arguments.push_back(string.data());
    arguments.push_back(nullptr);
    char *const no_environment = nullptr;
    if (auto ok = send_descriptor(socket, *faults); !ok) return ok.error();
    execve("/proc/self/exe", arguments.data(), &no_environment);
    return failed("execve", errno, errno == E2BIG ? "use a smaller --kb, or raise ulimit -s" : "");
}

/// Waits for the fault, or for the child's report of a failure.
core::Status await_fault(Child &child, const Fd &faults) {
    std::array<pollfd, 2> awaited{{{faults.get(), POLLIN, 0}, {child.report.get(), POLLIN, 0}}};
    while (poll(awaited.data(), awaited.size(), -1) < 0) {
        if (errno != EINTR) return failed("poll", errno);
    }
    uffd_msg message{};
    if (read(faults.get(), &message, sizeof message) == sizeof message && message.event == UFFD_EVENT_PAGEFAULT) {
        return core::success();
    }
    auto outcome = await_report(child);
    if (!outcome) return outcome.error();
    return core::Error{core::Kind::Internal, "the workload's child was not blocked in execve", 0, ""};
}

}  // namespace

Started start_exec_args(const Options &given) {
    auto size = sizes(given, {.kb = 4 * kStringKb});
    if (!size) return size.error();
    std::array<int, 2> ends{};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) return failed("socketpair", errno);
    const Fd here(ends[0]);
    Fd there(ends[1]);
    auto child = fork_child([&] { return exec_for_ever(size->kb, there); });
    if (!child) return child.error();
    there.reset();  // so that the child's end closes the connection
    auto faults = receive_descriptor(here);
    if (!faults) return faults.error();
    if (!faults->open()) {
        auto outcome = await_report(*child);
        if (!outcome) return outcome.error();
        return core::Error{core::Kind::Internal, "the workload's child died", 0, ""};
    }
    if (auto ok = await_fault(*child, *faults); !ok) return ok.error();
    if (auto ok = await_sleep(child->pid); !ok) return ok.error();
    // The fault waits as long as the child has its own descriptor open.
    return Facts{number("child", child->pid), number("argument_kb", size->kb)};
}

}  // namespace rsslag::workload
