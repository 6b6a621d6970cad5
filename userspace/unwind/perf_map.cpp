// SPDX-License-Identifier: BSD-2-Clause
#include "perf_map.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <ctime>
#include <iterator>
#include <utility>

#include "code_file.h"
#include "procfs/process.h"

namespace rsslag::unwind {
namespace {

/// Takes a hexadecimal number and the space after it from the text; 0: there is none.
std::uint64_t take_hex(std::string_view &text) {
    if (text.starts_with("0x")) text.remove_prefix(2);
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
    if (error != std::errc() || end == text.data() + text.size() || *end != ' ') return 0;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()) + 1);
    return value;
}

constexpr std::int64_t kSecond = 1'000'000'000;

std::int64_t ns_of(const timespec &time) {
    return time.tv_sec * kSecond + time.tv_nsec;
}

/// CLOCK_REALTIME at a time of another clock.
std::int64_t real_time_at(std::int64_t t_ns, clockid_t clock) {
    timespec now{}, there{};
    clock_gettime(CLOCK_REALTIME, &now);
    clock_gettime(clock, &there);
    return ns_of(now) - ns_of(there) + t_ns;
}

/// The time of a number of clock ticks after the boot, at least a second earlier: times of files are rounded down, too.
std::int64_t time_at(std::uint64_t ticks) {
    return real_time_at((static_cast<std::int64_t>(ticks) / sysconf(_SC_CLK_TCK) - 1) * kSecond, CLOCK_BOOTTIME);
}

}  // namespace

PerfMap PerfMap::of(pid_t pid, std::uint64_t exec_ns) {
    struct stat about {};
    const std::string directory = fmt::format("/proc/{}", pid);
    const uid_t owner = stat(directory.c_str(), &about) == 0 ? about.st_uid : 0;
    int number = pid;  // that the process sees as its own
    std::int64_t started = INT64_MAX;
    if (const auto process = procfs::Process::open(pid)) {
        if (const auto status = process->status(); status && !status->ns_pids.empty()) number = status->ns_pids.back();
        if (const auto stat = process->leader_stat()) started = time_at(stat->start_ticks);
    }
    if (exec_ns != 0) started = std::max(started, real_time_at(static_cast<std::int64_t>(exec_ns), CLOCK_MONOTONIC));
    return {directory + "/root", fmt::format("/tmp/perf-{}.map", number), owner, started};
}

void PerfMap::open() {
    core::Fd file = open_in(root_, path_, O_NOFOLLOW);
    struct stat about {};
    if (!file.open() || fstat(file.get(), &about) != 0 || !S_ISREG(about.st_mode)) return;
    if (ns_of(about.st_mtim) < since_ns_) return;
    if (about.st_uid == owner_ || about.st_uid == 0 || about.st_uid == geteuid()) file_ = std::move(file);
}

/// Whether it is not the file that was read, or does not start with what was read.
bool PerfMap::is_another() const {
    struct stat about {};
    if (fstat(file_.get(), &about) != 0 || about.st_nlink == 0) return true;
    std::string now(last_.size(), '\0');
    const std::int64_t got = core::read_at(file_.get(), read_ - last_.size(), now);
    return got != static_cast<std::int64_t>(now.size()) || now != last_;
}

void PerfMap::update() {
    constexpr std::size_t kLast = 256;  // with an address or more, which differ from those of any other file
    if (file_.open() && is_another()) {
        file_ = {};
        read_ = 0;
        more_ = false;
        rest_.clear();
        last_.clear();
    }
    if (!file_.open()) open();
    if (!file_.open()) return;
    std::string bytes(std::size_t{64} << 10, '\0');
    while (const std::size_t most = std::min(kMostBytes - read_, kMostInAll - read_in_all_)) {
        const std::int64_t got = core::read_at(file_.get(), read_, {bytes.data(), std::min(bytes.size(), most)});
        if (got <= 0) return;
        const std::string_view text(bytes.data(), static_cast<std::size_t>(got));
        read_ += text.size();
        read_in_all_ += text.size();
        last_ += text;
        last_.erase(0, last_.size() - std::min(last_.size(), kLast));
        parse(text);
    }
    more_ = core::read_at(file_.get(), read_, {bytes.data(), 1}) > 0;
}

void PerfMap::parse(std::string_view text) {
    constexpr std::size_t kMostLine = kMostName + 64;
    for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
        rest_ += text.substr(0, std::min(end, kMostLine));
        parse_line(rest_);
        rest_.clear();
        text.remove_prefix(end + 1);
    }
    if (rest_.size() < kMostLine) rest_ += text.substr(0, kMostLine);
}

void PerfMap::parse_line(std::string_view line) {
    const std::uint64_t start = take_hex(line);
    const std::uint64_t size = take_hex(line);
    if (start == 0 || size == 0 || start + size < start || line.empty()) return;
    const std::uint64_t end = start + size;
    auto at = functions_.lower_bound(start);
    if (at != functions_.begin() && std::prev(at)->second.end > start) --at;
    while (at != functions_.end() && at->first < end)
        at = functions_.erase(at);
    if (functions_.size() < kMostFunctions) functions_[start] = {end, std::string(line.substr(0, kMostName))};
}

const std::string &PerfMap::function_at(std::uint64_t address) const {
    static const std::string unknown;
    if (more_) return unknown;
    auto after = functions_.upper_bound(address);
    if (after == functions_.begin()) return unknown;
    const Function &function = (--after)->second;
    return address < function.end ? function.name : unknown;
}

}  // namespace rsslag::unwind
