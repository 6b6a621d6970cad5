// SPDX-License-Identifier: BSD-2-Clause
#include "run.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <fstream>
#include <sstream>
#include <utility>

#include "rsslag/workload/workload.h"

namespace rsslag::live {

Expected expected;

namespace {

struct Child {
    pid_t pid = 0;
    int out = -1;
    int err = -1;
};

Child start(const std::vector<std::string> &words, const std::function<void()> &in_child) {
    int out[2];
    int err[2];
    if (pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0) return {};
    const pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(out[1], STDOUT_FILENO);
        dup2(err[1], STDERR_FILENO);
        if (in_child) in_child();
        std::vector<char *> argv;
        for (const std::string &word : words)
            argv.push_back(const_cast<char *>(word.c_str()));
        argv.push_back(nullptr);
        execvp(argv[0], argv.data());
        _exit(127);
    }
    close(out[1]);
    close(err[1]);
    return {pid, out[0], err[0]};
}

/// One chunk of what is there; false at the end.
bool take(int fd, std::string &text) {
    std::array<char, 65536> buffer{};
    const ssize_t got = read(fd, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) return true;
    if (got <= 0) return false;
    text.append(buffer.data(), static_cast<std::size_t>(got));
    return true;
}

int status_of(pid_t pid) {
    int status = 0;
    waitpid(pid, &status, 0);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

bool emulated() {
    std::ifstream cmdline("/proc/cmdline");
    std::string text;
    std::getline(cmdline, text);
    return text.find("rsslag.slow") != std::string::npos;
}

Outcome run(const std::vector<std::string> &words, const std::function<void()> &in_child) {
    const Child child = start(words, in_child);
    Outcome outcome;
    std::array<pollfd, 2> fds{{{child.out, POLLIN, 0}, {child.err, POLLIN, 0}}};
    int open = 2;
    while (open > 0 && poll(fds.data(), fds.size(), -1) > 0) {
        for (pollfd &fd : fds) {
            if (fd.revents == 0) continue;
            if (take(fd.fd, fd.fd == child.out ? outcome.out : outcome.err)) continue;
            close(fd.fd);
            fd.fd = -1;
            --open;
        }
    }
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
    for (std::string line; std::getline(lines, line);) {
        nlohmann::json document = nlohmann::json::parse(line, nullptr, false);
        EXPECT_FALSE(document.is_discarded()) << line;
        documents.push_back(std::move(document));
    }
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

HeldProcess HeldProcess::demo(const std::vector<std::string> &words) {
    std::vector<std::string> all{expected.rsslag, "demo"};
    all.insert(all.end(), words.begin(), words.end());
    all.emplace_back("--hold");
    HeldProcess held = program(all);
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
    // khugepaged may not touch it while it is read: a collapse adds pages to a process that does nothing.
    const Child child = start(words, [] { prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0); });
    HeldProcess held;
    held.pid_ = child.pid;
    std::string text;
    while (text.find('\n') == std::string::npos && take(child.out, text)) {
    }
    held.ready_ = text.find('\n') != std::string::npos;
    if (!held.ready_) {
        while (take(child.err, held.why_)) {
        }
    }
    // The descriptors stay open: the program may write more.
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
      why_(std::move(other.why_)),
      facts_(std::move(other.facts_)) {}

HeldProcess::~HeldProcess() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
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
