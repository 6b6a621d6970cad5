// SPDX-License-Identifier: BSD-2-Clause
#include "held.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cinttypes>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>

namespace rsslag::workload::test {
namespace {

/// Allocated and touched before the workload starts: the report must not change the workload's memory.
std::array<char, 8192> report;

void append(std::size_t &used, std::string_view text) {
    used += text.copy(report.data() + used, report.size() - used);
}

/// Writes the facts to `report`. Returns its used length.
std::size_t lay_out(const std::vector<Fact> &facts) {
    std::size_t used = 0;
    append(used, "ready\n");
    for (const Fact &fact : facts) {
        append(used, fact.key);
        append(used, " ");
        append(used, fact.value);
        append(used, "\n");
    }
    return used;
}

[[noreturn]] void hold(std::string_view name, const Options &options, int out) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);  // khugepaged would change its counters
    report.fill(' ');
    const Workload *workload = find(name);
    if (workload == nullptr) _exit(2);
    // The code that runs after the workload runs once before it, so that it is mapped.
    lay_out({{"not", "yet"}});
    if (write(out, report.data(), 0) < 0) _exit(3);
    const auto facts = workload->start(options);
    std::size_t used = 0;
    if (facts) {
        used = lay_out(*facts);
    } else {
        append(used, "error\n");
        append(used, std::to_string(static_cast<int>(facts.error().kind)));
        append(used, "\n" + facts.error().what + "\n" + facts.error().remedy + "\n");
    }
    if (write(out, report.data(), used) < 0) _exit(3);
    for (;;)
        pause();
}

/// Keeps the program's code in the page cache. A fault also maps neighbouring pages if they are in the page cache.
/// Unmapped pages may be evicted at any time, and the number of a thread's faults would depend on this.
void keep_program_in_page_cache() {
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
        std::uintptr_t from = 0, to = 0;
        std::array<char, 5> may{};
        const int fields = std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR " %4s", &from, &to, may.data());
        if (fields != 3 || may[0] != 'r' || may[1] == 'w' || line.find('/') == std::string::npos) continue;
        void *const begin = reinterpret_cast<void *>(from);  // NOLINT(performance-no-int-to-ptr)
        if (mlock(begin, to - from) == 0) continue;
        // If mlock() is refused, the code is at least read.
        const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
        for (std::uintptr_t at = from; at < to; at += page)
            (void)*reinterpret_cast<const volatile char *>(at);  // NOLINT(performance-no-int-to-ptr)
    }
}

std::string read_report(int in) {
    std::array<char, 8192> text{};
    const ssize_t got = read(in, text.data(), text.size());
    return {text.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0))};
}

}  // namespace

HeldWorkload::HeldWorkload(std::string_view name, Options options) {
    [[maybe_unused]] static const bool kept = (keep_program_in_page_cache(), true);
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("pipe2");
    pid_ = fork();
    if (pid_ == 0) {
        close(ends[0]);
        hold(name, options, ends[1]);
    }
    close(ends[1]);
    std::istringstream lines(read_report(ends[0]));
    close(ends[0]);
    std::string line;
    std::getline(lines, line);
    if (line == "ready") {
        while (std::getline(lines, line))
            facts_[line.substr(0, line.find(' '))] = line.substr(line.find(' ') + 1);
        return;
    }
    core::Error error{core::Kind::Internal, "the workload's process died", 0, ""};
    if (line == "error" && std::getline(lines, line)) {
        error.kind = static_cast<core::Kind>(std::stoi(line));
        std::getline(lines, error.what);
        std::getline(lines, error.remedy);
    }
    error_ = error;
}

HeldWorkload::~HeldWorkload() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
}

bool HeldWorkload::refused() const {
    return error_ && (error_->kind == core::Kind::Unsupported || error_->kind == core::Kind::Denied);
}

std::int64_t HeldWorkload::mapping_kb(std::string_view label, std::optional<pid_t> pid) const {
    std::uint64_t from = 0, to = 0;
    std::sscanf(text("mapping").c_str(), "%" SCNx64 "-%" SCNx64, &from, &to);
    std::istringstream smaps(proc(pid.value_or(pid_), "smaps"));
    std::int64_t sum = 0;
    bool inside = false;
    for (std::string line; std::getline(smaps, line);) {
        std::uint64_t start = 0, end = 0;
        if (std::sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " ", &start, &end) == 2) {
            inside = start < to && end > from;
        } else if (inside && line.starts_with(label)) {
            sum += std::stoll(line.substr(label.size()));
        }
    }
    return sum;
}

std::string slurp(const std::string &path) {
    // Not an ifstream: it throws if read() fails, as for a zombie's smaps.
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    std::string text;
    std::array<char, 4096> buffer;
    for (ssize_t got = 0; fd >= 0 && (got = read(fd, buffer.data(), buffer.size())) > 0;) {
        text.append(buffer.data(), static_cast<std::size_t>(got));
    }
    if (fd >= 0) close(fd);
    return text;
}

std::string proc(pid_t pid, std::string_view file) {
    return slurp("/proc/" + std::to_string(pid) + "/" + std::string(file));
}

std::int64_t labelled(const std::string &text, std::string_view label) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with(label)) return std::stoll(line.substr(label.size()));
    }
    return 0;
}

std::string stat_field(const std::string &stat, int number) {
    const std::size_t comm_end = stat.rfind(')');
    if (comm_end == std::string::npos) return "";
    std::istringstream fields(stat.substr(comm_end + 1));
    std::string field;
    for (int i = 3; i <= number; ++i)
        fields >> field;
    return field;
}

std::vector<pid_t> tasks_of(pid_t pid) {
    const std::unique_ptr<DIR, int (*)(DIR *)> directory(opendir(("/proc/" + std::to_string(pid) + "/task").c_str()),
                                                         closedir);
    std::vector<pid_t> tasks;
    if (!directory) return tasks;
    while (const dirent *entry = readdir(directory.get())) {
        if (entry->d_name[0] != '.') tasks.push_back(std::stoi(entry->d_name));
    }
    return tasks;
}

std::string states_of(pid_t pid) {
    std::string states;
    for (const pid_t task : tasks_of(pid)) {
        states += stat_field(proc(pid, "task/" + std::to_string(task) + "/stat"), 3);
    }
    std::ranges::sort(states);
    return states;
}

Reading reading_of(pid_t pid) {
    // /proc/TID exists for each thread. If the leader has ended, another thread's files show the memory.
    pid_t living = pid;
    if (stat_field(proc(pid, "stat"), 3) == "Z") {
        for (const pid_t task : tasks_of(pid)) {
            if (stat_field(proc(living, "task/" + std::to_string(living) + "/stat"), 3) == "Z") living = task;
        }
    }
    const std::string stat = proc(living, "stat"), rollup = proc(living, "smaps_rollup");
    return {stat_field(stat, 10) + "+" + stat_field(stat, 12), stat_field(stat, 24), labelled(rollup, "Rss:"),
            labelled(rollup, "Anonymous:"), labelled(rollup, "Swap:")};
}

}  // namespace rsslag::workload::test
