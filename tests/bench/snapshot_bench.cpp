// SPDX-License-Identifier: BSD-2-Clause
// The cost of an exact reading, by the number of threads and compared with a walk of the page tables of 4 GiB. Rounds
// are interleaved. Prints their medians and checks each limit. Needs root, and 9 GiB of memory for the large processes.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "probe/snapshot.h"
#include "probe/traits.h"
#include "procfs/process.h"
#include "run.h"
#include "system/machine.h"

namespace {

using namespace rsslag;
using Microseconds = double;

constexpr int kRounds = 9;

Microseconds time_of(const std::function<void()> &action) {
    const auto begin = std::chrono::steady_clock::now();
    action();
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
}

struct Row {
    std::string name;
    std::function<void()> action;
    std::vector<Microseconds> rounds;

    Microseconds median() {
        std::sort(rounds.begin(), rounds.end());
        return rounds[rounds.size() / 2];
    }
};

void measure(std::vector<Row> &rows) {
    for (Row &row : rows)
        row.action();  // warm up
    for (int round = 0; round < kRounds; ++round) {
        for (Row &row : rows)
            row.rounds.push_back(time_of(row.action));
    }
    for (Row &row : rows) {
        const Microseconds median = row.median();
        fmt::print("{:<46} {:>12.1f} us  ({:.1f} to {:.1f})\n", row.name, median, row.rounds.front(),
                   row.rounds.back());
    }
}

bool holds(const std::string &promise, double value, double limit, bool at_most) {
    const bool good = at_most ? value <= limit : value >= limit;
    fmt::print("{:<46} {:>12.1f}     {} {} {}\n", promise, value, at_most ? "<=" : ">=", limit,
               good ? "holds" : "DOES NOT HOLD");
    return good;
}

std::int64_t available_kb() {
    std::ifstream meminfo("/proc/meminfo");
    std::string key;
    std::string rest;
    std::int64_t kb = 0;
    while (meminfo >> key >> kb && std::getline(meminfo, rest)) {
        if (key == "MemAvailable:") return kb;
    }
    return 0;
}

std::optional<probe::SnapshotProbe> open_probe() {
    auto traits = probe::running_kernel_traits();
    if (!traits || !std::holds_alternative<core::Scheme>(traits->scheme)) return std::nullopt;
    core::Machine machine = system::this_host().machine;
    machine.scheme = std::get<core::Scheme>(traits->scheme);
    auto probe = probe::SnapshotProbe::open(*traits, machine);
    if (!probe) {
        fmt::print("{}\n", probe.error().what);
        return std::nullopt;
    }
    return std::move(*probe);
}

std::function<void()> walk(pid_t pid) {
    return [pid] {
        const auto process = procfs::Process::open(pid);
        if (!process || !process->smaps_rollup_text()) fmt::print("smaps_rollup of {} cannot be read\n", pid);
    };
}

int threads(probe::SnapshotProbe &probe) {
    const live::HeldProcess hundred = live::HeldProcess::workload({"classic"});
    const live::HeldProcess many = live::HeldProcess::workload({"many-threads"});
    const auto counters = [&probe](pid_t pid) { return [&probe, pid] { (void)probe.read(pid); }; };
    std::vector<Row> rows{{"counters of 101 threads", counters(hundred.pid()), {}}};
    if (many.ready())
        rows.push_back({"counters of 10,001 threads", counters(many.pid()), {}});
    else
        fmt::print("skipped: 10,000 threads: {}", many.why());
    rows.push_back({"rsslag snapshot of the classic, whole program",
                    [&hundred] {
                        (void)live::run({live::expected.rsslag, "snapshot", std::to_string(hundred.pid())});
                    },
                    {}});
    measure(rows);
    int broken = 0;
    broken += holds("101 threads, us", rows.front().median(), 1000, true) ? 0 : 1;
    if (many.ready()) broken += holds("10,001 threads, us", rows[1].median(), 30000, true) ? 0 : 1;
    broken += holds("whole program, ms", rows.back().median() / 1000, 500, true) ? 0 : 1;
    return broken;
}

int large(probe::SnapshotProbe &probe) {
    constexpr std::int64_t kNeededKb = 9 * 1024 * 1024;
    if (available_kb() < kNeededKb) {
        fmt::print("skipped: 4 GiB of small and of huge pages: {} kB of memory are available, {} kB needed\n",
                   available_kb(), kNeededKb);
        return 0;
    }
    const live::HeldProcess small = live::HeldProcess::workload({"single", "--kb", "4194304"});
    const live::HeldProcess huge = live::HeldProcess::workload({"thp", "--kb", "4194304"});
    std::vector<Row> rows{{"counters, 4 GiB of 4 KiB pages", [&] { (void)probe.read(small.pid()); }, {}},
                          {"smaps_rollup, 4 GiB of 4 KiB pages", walk(small.pid()), {}}};
    if (huge.ready()) {
        rows.push_back({"counters, 4 GiB of huge pages", [&] { (void)probe.read(huge.pid()); }, {}});
        rows.push_back({"smaps_rollup, 4 GiB of huge pages", walk(huge.pid()), {}});
    }
    measure(rows);
    const bool good = holds("4 KiB pages: walk / counters", rows[1].median() / rows[0].median(), 100, false);
    if (huge.ready())
        fmt::print("{:<46} {:>12.1f}\n", "huge pages: walk / counters", rows[3].median() / rows[2].median());
    return good ? 0 : 1;
}

}  // namespace

int main(int argc, char **argv) {
    if (argc != 3) {
        fmt::print(stderr, "usage: snapshot_bench --rsslag PATH\n");
        return 2;
    }
    live::expected.rsslag = argv[2];
    auto probe = open_probe();
    if (!probe) {
        fmt::print("skipped: tracing does not work here\n");
        return 77;
    }
    fmt::print("{} rounds, interleaved; medians, with least and most\n", kRounds);
    return threads(*probe) + large(*probe) == 0 ? 0 : 1;
}
