// SPDX-License-Identifier: BSD-2-Clause
#include "procfs/process.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "io.h"
#include "process_errors.h"

namespace rsslag::procfs {

namespace {

/// Reads a small file and parses it. The PID is put before the parser's error.
template <class T>
core::Result<T> read_and_parse(const Process &process, const char *name, core::Result<T> (*parse)(std::string_view)) {
    auto text = process.read(name);
    if (!text) return std::move(text).error();
    auto parsed = parse(text->bytes);
    if (parsed) return parsed;
    core::Error error = std::move(parsed).error();
    error.what = fmt::format("process {}: {}", process.pid(), error.what);
    return error;
}

core::Error cannot_list(const std::string &root, int err) {
    return {err == EACCES || err == EPERM ? core::Kind::Denied : core::Kind::Io,
            fmt::format("cannot list {}: {}", root, std::strerror(err)),
            err,
            {}};
}

}  // namespace

core::Result<Process> Process::open(pid_t pid, const std::string &root) {
    auto opened = open_at(AT_FDCWD, fmt::format("{}/{}", root, pid).c_str(), O_PATH | O_DIRECTORY);
    if (auto *dir = std::get_if<Fd>(&opened)) return Process(pid, std::move(*dir));
    int err = std::get<Errno>(opened).value;
    if (err == ENOENT || err == ESRCH || err == ENOTDIR) {
        if (auto nowhere = no_procfs(root)) return *std::move(nowhere);
        // With hidepid=4 the directories of other users' processes do not exist.
        if (root == kProc && (kill(pid, 0) == 0 || errno == EPERM)) return hidden(pid);
        return core::Error{core::Kind::Gone, fmt::format("no process {}", pid), err, {}};
    }
    return failure(pid, "", err);
}

core::Result<Process> Process::duplicate() const {
    Fd dir(fcntl(dir_.get(), F_DUPFD_CLOEXEC, 0));
    if (!dir.open()) return failure(pid_, "", errno);
    return Process(pid_, std::move(dir));
}

core::Result<Stat> Process::stat() const {
    return read_and_parse(*this, "stat", parse_stat);
}
core::Result<Stat> Process::leader_stat() const {
    auto stat = read_and_parse(*this, fmt::format("task/{}/stat", pid_).c_str(), parse_stat);
    // task/PID may be missing for a moment, while another thread takes over the leader's PID in exec.
    return stat ? stat : this->stat();
}
core::Result<Statm> Process::statm() const {
    return read_and_parse(*this, "statm", parse_statm);
}
core::Result<StatusFile> Process::status() const {
    return read_and_parse(*this, "status", parse_status);
}

core::Result<Text> Process::read(const char *name) const {
    auto begin = std::chrono::steady_clock::now();
    auto opened = open_at(dir_.get(), name, O_RDONLY);
    if (const auto *error = std::get_if<Errno>(&opened)) return failure_below(*this, name, error->value);
    auto bytes = read_to_end(std::get<Fd>(opened).get());
    if (const auto *error = std::get_if<Errno>(&bytes)) return failure_below(*this, name, error->value);
    return Text{std::move(std::get<std::string>(bytes)), std::chrono::steady_clock::now() - begin};
}

core::Result<std::string> Process::exe() const {
    auto target = link_target(dir_.get(), "exe");
    if (auto *path = std::get_if<std::string>(&target)) return std::move(*path);
    int err = std::get<Errno>(target).value;
    if (err != ENOENT || !still_there(*this)) return failure_below(*this, "exe", err);
    // A leader that has exited before its threads has no exe; they have it. Kernel threads and zombies have none.
    auto tids = threads();
    if (!tids) return std::move(tids).error();
    for (pid_t tid : *tids) {
        target = link_target(dir_.get(), fmt::format("task/{}/exe", tid).c_str());
        if (auto *path = std::get_if<std::string>(&target)) return std::move(*path);
    }
    return std::string();
}

core::Result<std::vector<pid_t>> Process::threads() const {
    auto listed = numbers_in(dir_.get(), "task");
    if (const auto *error = std::get_if<Errno>(&listed)) return failure_below(*this, "task", error->value);
    auto tids = std::move(std::get<std::vector<pid_t>>(listed));
    // A directory that was opened before the process exited is empty afterwards, without an error.
    if (tids.empty()) return failure_below(*this, "task", ESRCH);
    return tids;
}

core::Result<std::vector<pid_t>> list_processes(const std::string &root) {
    if (auto nowhere = no_procfs(root)) return *std::move(nowhere);
    auto listed = numbers_in(AT_FDCWD, root.c_str());
    if (const auto *error = std::get_if<Errno>(&listed)) return cannot_list(root, error->value);
    return std::move(std::get<std::vector<pid_t>>(listed));
}

core::Result<pid_t> thread_group_of(pid_t tid, const std::string &root) {
    auto gone = [tid] { return core::Error{core::Kind::Gone, fmt::format("no process or thread {}", tid), ESRCH, {}}; };
    auto thread = Process::open(tid, root);
    if (!thread) return thread.error().kind == core::Kind::Gone ? gone() : std::move(thread).error();
    auto status = thread->status();
    if (!status) return status.error().kind == core::Kind::Gone ? gone() : std::move(status).error();
    // A task that is being released has no thread group any more.
    if (status->tgid == 0) return gone();
    return status->tgid;
}

/// In the /proc of another PID namespace, another process may have rsslag's number. "self" is rsslag's number there;
/// without one, it cannot be read (fs/proc/self.c).
core::Status own_proc() {
    const auto self = Process::open(getpid());
    if (!self && self.error().kind != core::Kind::Gone) return self.error();
    const auto number = link_target(AT_FDCWD, "/proc/self");
    const auto *const own = std::get_if<std::string>(&number);
    return self && own != nullptr && *own == std::to_string(getpid()) ? core::success() : core::Status(foreign_proc());
}

}  // namespace rsslag::procfs
