// SPDX-License-Identifier: BSD-2-Clause
#include "run.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cinttypes>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>
#include <sstream>
#include <utility>

#include "workload/workload.h"

namespace rsslag::live {

Expected expected;

namespace {

/// rsslag's exit status if something is not permitted or not available.
constexpr int kRefused = 3;
/// The exit status of shells for a missing command.
constexpr int kMissing = 127;

struct Child {
    pid_t pid = 0;
    int out = -1;
    int err = -1;  ///< -1: stderr of the test
};

enum class Errors { Kept, OfTheTest };

/// If it cannot be started, the pid is not positive, and the test has failed.
Child start(const std::vector<std::string> &words, const std::function<void()> &in_child,
            Errors errors = Errors::Kept) {
    int out[2] = {-1, -1};
    int err[2] = {-1, -1};
    if (pipe2(out, O_CLOEXEC) != 0 || (errors == Errors::Kept && pipe2(err, O_CLOEXEC) != 0)) {
        ADD_FAILURE() << "no pipe: " << std::strerror(errno);
        return {};
    }
    std::vector<char *> argv;
    for (const std::string &word : words)
        argv.push_back(const_cast<char *>(word.c_str()));
    argv.push_back(nullptr);
    const pid_t parent = getpid();
    const pid_t pid = fork();
    if (pid == 0) {
        dup2(out[1], STDOUT_FILENO);
        if (errors == Errors::Kept) dup2(err[1], STDERR_FILENO);
        if (in_child) in_child();
        // After a change of the user, which clears the signal (commit_creds()).
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) _exit(kMissing);
        execvp(argv[0], argv.data());
        _exit(kMissing);
    }
    EXPECT_GT(pid, 0) << "no process: " << std::strerror(errno);
    close(out[1]);
    if (errors == Errors::Kept) close(err[1]);
    return {pid, out[0], err[0]};
}

/// Reads one chunk of the available text; false at the end.
bool take(int fd, std::string &text) {
    std::array<char, 65536> buffer{};
    const ssize_t got = read(fd, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) return true;
    if (got <= 0) return false;
    text.append(buffer.data(), static_cast<std::size_t>(got));
    return true;
}

/// Waits until one of them is readable. A program that hangs is killed, and the test fails.
bool await(std::span<pollfd> fds, pid_t pid, const std::string &name) {
    const auto ms = static_cast<int>(std::chrono::milliseconds(patience()).count());
    int ready = 0;
    do {
        ready = poll(fds.data(), fds.size(), ms);
    } while (ready < 0 && errno == EINTR);
    if (ready > 0) return true;
    ADD_FAILURE() << name << " has printed nothing for " << patience().count() << " s";
    if (pid > 0) kill(pid, SIGKILL);
    return false;
}

bool await(int fd, pid_t pid, const std::string &name) {
    std::array<pollfd, 1> one{{{fd, POLLIN, 0}}};
    return await(one, pid, name);
}

int status_of(pid_t pid) {
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

std::string joined(const std::vector<std::string> &words) {
    std::string text;
    for (const std::string &word : words)
        text += (text.empty() ? "" : " ") + word;
    return text;
}

nlohmann::json document_of(const std::string &line) {
    nlohmann::json document = nlohmann::json::parse(line, nullptr, false);
    EXPECT_FALSE(document.is_discarded()) << line;
    return document;
}

/// Keeps the file pages that a process maps in the page cache until the test ends. A fault also maps neighbouring pages
/// if they are in the page cache. Unmapped pages may be evicted at any time (DAMON, reclaim), and the number of a
/// thread's faults would depend on this.
void keep_in_page_cache(pid_t pid) {
    std::ifstream maps("/proc/" + std::to_string(pid) + "/maps");
    for (std::string line; std::getline(maps, line);) {
        std::uint64_t from = 0, to = 0, offset = 0;
        const std::size_t name = line.find('/');
        const int fields = std::sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64, &from, &to, &offset);
        if (fields != 3 || name == std::string::npos) continue;
        const int fd = open(line.c_str() + name, O_RDONLY | O_CLOEXEC);
        if (fd < 0) continue;
        void *const at = mmap(nullptr, to - from, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, static_cast<off_t>(offset));
        // If mlock() is refused, the pages have at least been read.
        if (at != MAP_FAILED) mlock(at, to - from);
        close(fd);
    }
}

}  // namespace

bool emulated() {
    std::ifstream cmdline("/proc/cmdline");
    std::string text;
    std::getline(cmdline, text);
    return text.find("rsslag.slow") != std::string::npos;
}

std::chrono::seconds patience() {
    return std::chrono::minutes(emulated() ? 20 : 5);
}

Outcome run(const std::vector<std::string> &words, const std::function<void()> &in_child) {
    const Child child = start(words, in_child);
    Outcome outcome;
    if (child.pid <= 0) return outcome;
    std::array<pollfd, 2> fds{{{child.out, POLLIN, 0}, {child.err, POLLIN, 0}}};
    for (int open = 2; open > 0 && await(fds, child.pid, joined(words));) {
        for (pollfd &fd : fds) {
            if (fd.revents == 0) continue;
            if (take(fd.fd, fd.fd == child.out ? outcome.out : outcome.err)) continue;
            fd.fd = -1;
            --open;
        }
    }
    close(child.out);
    close(child.err);
    outcome.status = status_of(child.pid);
    return outcome;
}

std::vector<nlohmann::json> run_json(const std::vector<std::string> &words) {
    std::vector<std::string> all{expected.rsslag};
    all.insert(all.end(), words.begin(), words.end());
    const Outcome outcome = run(all);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    std::vector<nlohmann::json> documents;
    std::istringstream lines(outcome.out);
    for (std::string line; std::getline(lines, line);)
        documents.push_back(document_of(line));
    return documents;
}

nlohmann::json snapshot(pid_t pid) {
    const auto documents = run_json({"snapshot", "--json", std::to_string(pid)});
    if (documents.size() != 1 || documents[0]["processes"].size() != 1) return nlohmann::json::object();
    nlohmann::json process = documents[0]["processes"][0];
    process["document"] = documents[0];
    process["document"].erase("processes");
    return process;
}

nlohmann::json snapshot_at_rest(pid_t pid) {
    constexpr int kTries = 3;
    nlohmann::json process = snapshot(pid);
    for (int tries = 1; tries < kTries && process.value("verdict", "") == "moving"; ++tries)
        process = snapshot(pid);
    return process;
}

Running::Running(const std::vector<std::string> &words) {
    const Child child = start(words, {}, Errors::OfTheTest);
    pid_ = child.pid;
    out_ = child.out;
}

Running::~Running() {
    close(out_);
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    status_of(pid_);
}

nlohmann::json Running::next() {
    for (;;) {
        const std::size_t end = text_.find('\n');
        if (end != std::string::npos) {
            const std::string line = text_.substr(0, end);
            text_.erase(0, end + 1);
            return document_of(line);
        }
        if (pid_ <= 0 || !await(out_, pid_, "what runs beside the test") || !take(out_, text_)) return nullptr;
    }
}

void Running::stop() const {
    if (pid_ <= 0) return;
    kill(pid_, SIGSTOP);
    // The kernel reports the stop after the last thread has stopped (do_signal_stop()).
    int status = 0;
    while (waitpid(pid_, &status, WUNTRACED) < 0 && errno == EINTR) {
    }
    EXPECT_TRUE(WIFSTOPPED(status)) << "the process has ended";
}

void Running::go_on() const {
    if (pid_ > 0) kill(pid_, SIGCONT);
}

std::vector<nlohmann::json> Running::finish(int signal) {
    std::vector<nlohmann::json> rest;
    if (pid_ <= 0) return rest;
    kill(pid_, signal);
    for (nlohmann::json document = next(); !document.is_null(); document = next())
        rest.push_back(std::move(document));
    EXPECT_EQ(status_of(std::exchange(pid_, 0)), 0);
    return rest;
}

HeldProcess HeldProcess::workload(const std::vector<std::string> &words) {
    const auto hold = [](const std::vector<std::string> &name_and_options) {
        std::vector<std::string> all{expected.rsslag, "demo"};
        if (workload::find(name_and_options[0]) == nullptr)
            all = {std::filesystem::path(expected.rsslag).replace_filename("tests/workload/workload")};
        all.insert(all.end(), name_and_options.begin(), name_and_options.end());
        all.insert(all.end(), {"--hold", "--parent", std::to_string(getpid())});
        return program(all);
    };
    [[maybe_unused]] static const bool kept = [&hold] {
        keep_in_page_cache(hold({"single"}).pid());
        keep_in_page_cache(hold({"memfd"}).pid());  // of the test program
        return true;
    }();
    HeldProcess held = hold(words);
    if (held.ready_ && held.facts_.count("ready") == 0) {
        held.ready_ = false;
        held.why_ = "no line 'ready PID'";
    }
    if (held.ready_) {
        const core::Status rest = workload::await_rest(held.pid_);
        EXPECT_TRUE(rest) << rest.error().what;
    }
    return held;
}

HeldProcess HeldProcess::program(const std::vector<std::string> &words) {
    // khugepaged must not run on it while it is read: a collapse adds pages to an idle process.
    const Child child = start(words, [] { prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0); });
    HeldProcess held;
    held.pid_ = child.pid;
    if (child.pid <= 0) return held;
    std::string text;
    while (text.find('\n') == std::string::npos && await(child.out, child.pid, joined(words)) &&
           take(child.out, text)) {
    }
    held.ready_ = text.find('\n') != std::string::npos;
    if (!held.ready_) {
        while (take(child.err, held.why_)) {
        }
        held.status_ = status_of(std::exchange(held.pid_, 0));
        close(child.out);
        close(child.err);
    }
    // Otherwise the descriptors stay open: the program may write more.
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        const std::size_t space = line.find(' ');
        held.facts_.emplace(line.substr(0, space), space == std::string::npos ? "" : line.substr(space + 1));
    }
    return held;
}

HeldProcess::HeldProcess(HeldProcess &&other) noexcept
    : pid_(std::exchange(other.pid_, 0)),
      ready_(other.ready_),
      status_(other.status_),
      why_(std::move(other.why_)),
      facts_(std::move(other.facts_)) {}

HeldProcess::~HeldProcess() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    status_of(pid_);
}

bool HeldProcess::refused() const {
    return !ready_ && status_ == kRefused;
}

bool HeldProcess::missing() const {
    return !ready_ && status_ == kMissing;
}

std::string HeldProcess::fact(const std::string &key) const {
    const auto found = facts_.find(key);
    return found == facts_.end() ? "" : found->second;
}

std::vector<pid_t> HeldProcess::pids() const {
    std::vector<pid_t> pids{pid_};
    const auto [begin, end] = facts_.equal_range("child");
    for (auto it = begin; it != end; ++it)
        pids.push_back(std::stoi(it->second));
    return pids;
}

}  // namespace rsslag::live
