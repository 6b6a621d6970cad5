// SPDX-License-Identifier: BSD-2-Clause
#include "screens.h"

#include <fmt/format.h>
#include <stdlib.h>
#include <time.h>

#include <algorithm>
#include <clocale>

namespace rsslag::screen::test {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr int kGrows = 20;

ScreenFacts facts_of(const documents::SnapshotDocument &document) {
    ScreenFacts facts;
    facts.kernel = document.kernel;
    facts.machine = document.machine;
    facts.boot = document.time - std::chrono::seconds(2000);
    return facts;
}

}  // namespace

void ScreenTest::SetUpTestSuite() {
    setenv("TZ", "RSSLAG-2", 1);
    tzset();
}

void ScreenTest::SetUp() {
    if (std::setlocale(LC_CTYPE, "C.UTF-8") == nullptr) GTEST_SKIP() << "the locale C.UTF-8 is not installed";
}

Tick classic_tick(int second, int threads) {
    const documents::SnapshotDocument document = thread_document();
    Tick tick = thread_tick();
    tick.seq = static_cast<std::uint64_t>(second);
    tick.time = document.time + std::chrono::seconds(second);
    tick.t_ns = static_cast<std::uint64_t>(second) * kSecond;
    tick.process.comm = "threads-memory";
    tick.process.threads_count = threads;
    tick.process.tasks.clear();
    tick.ledger.tasks.clear();
    tick.ledger.cached = {};
    tick.ledger.flushed = members(256, 0);
    tick.emitted = 0;
    const int grown = std::min(second, kGrows);
    for (int i = 0; i < threads; ++i) {
        const int touched = std::clamp(grown * 256 / kGrows - i % 7, 0, 256);
        core::TaskNet task;
        task.tid = 4711 + i;
        task.tgid = 4711;
        task.host_tid = 104'711 + i;
        task.comm = i == 0 ? "main" : fmt::format("worker-{:02}", i - 1);
        task.net = members(0, touched);
        task.cached = members(0, touched % 66);
        task.faults = task.updates = static_cast<std::uint64_t>(touched);
        task.flushes = static_cast<std::uint64_t>(touched / 66);
        task.last_flush_ns = task.flushes == 0 ? 0 : tick.t_ns / 2 + static_cast<std::uint64_t>(i) * 1'000'000;
        core::TaskReading reading;
        reading.tid = task.tid;
        reading.host_tid = task.host_tid;
        reading.faults_since_flush = touched % 66;
        tick.process.tasks.push_back(reading);
        tick.ledger.cached += *task.cached;
        tick.ledger.flushed.anon += task.net.anon - task.cached->anon;
        tick.emitted += task.updates;
        tick.ledger.tasks.push_back(std::move(task));
    }
    tick.faults = tick.emitted;
    tick.ledger.updates = tick.emitted;
    core::Reconciliation &verdict = tick.process.verdict;
    verdict.flushed = tick.ledger.flushed;
    verdict.cached = tick.ledger.cached;
    verdict.exact = tick.ledger.exact();
    verdict.window = {verdict.exact.rss(), verdict.exact.rss()};
    tick.process.readers.stat = tick.process.readers.statm = tick.ledger.flushed.rss();
    tick.process.readers.status_rss = tick.page_size.kb(tick.ledger.flushed.rss());
    tick.process.readers.status_hwm = tick.process.readers.status_rss;
    if (tick.process.walk) tick.process.walk->rss = tick.page_size.kb(verdict.exact.rss());
    tick.stale_walk = false;
    tick.process.bound.rss = {64 * threads};
    if (grown == second && second > 0) {
        for (int i = 0; i < 3; ++i) {
            tick.last_flushes.push_back({tick.t_ns - static_cast<std::uint64_t>(300 - i) * 1'000'000, 4712 + i, 0,
                                         fmt::format("worker-{:02}", i), core::Member::Anon, core::Pages{66},
                                         core::FlushReason::Threshold});
        }
    }
    return tick;
}

LiveScreen classic_screen(const TextStyle &style) {
    LiveScreen screen(facts_of(thread_document()), style);
    for (int second = 0; second <= 32; ++second)
        screen.take(classic_tick(second));
    return screen;
}

LiveScreen keeping_screen(std::chrono::milliseconds kept) {
    ScreenFacts facts = facts_of(thread_document());
    facts.kept = kept;
    LiveScreen screen(std::move(facts), {});
    screen.take(classic_tick(1));
    return screen;
}

LiveScreen busy_screen(const TextStyle &style) {
    documents::SnapshotDocument document = cpu_document();
    document.machine.cpus_online = 32;
    document.machine.cpus_possible = 32;
    LiveScreen screen(facts_of(document), style);
    for (int second = 1; second <= 60; ++second) {
        Tick tick = cpu_tick();
        tick.t_ns = static_cast<std::uint64_t>(second) * kSecond;
        tick.time = document.time + std::chrono::seconds(second);
        tick.emitted = static_cast<std::uint64_t>(second) * 18'412;
        tick.ledger.updates += tick.emitted;
        tick.ledger.cpus.clear();
        tick.ledger.cached = {};
        for (int cpu = 0; cpu < 32; ++cpu) {
            const int anon = (cpu * 37 + second * 11) % 127 - 63;
            tick.ledger.cpus.push_back({cpu, members(cpu % 5, anon), static_cast<std::uint64_t>(cpu * 100 + second)});
            tick.ledger.cached += tick.ledger.cpus.back().cached;
        }
        tick.window_updates = 9;
        screen.take(std::move(tick));
    }
    return screen;
}

std::vector<Relative> family() {
    return {{4711, 1, "redis-server", "redis-server *:6379", "redis", 180'000, 401, 11},
            {4712, 4711, "redis-server", "redis-server *:6380", "redis", 52'752, 0, 12},
            {4713, 1, "bash", "bash deploy.sh", "root", 4'555, 1, 13},
            {4720, 4713, "make", "make -j2", "root", 1'045, 0, 14},
            {4721, 4720, "cc1", "/usr/lib/cc1 -O2 a.c", "root", 6'511, 0, 15, 31},
            {4722, 4713, "bash", "bash deploy.sh", "root", 4'555, 1, 13},
            {4730, 4720, "sh", "sh -c true", "root", 840, 0, 16, 12}};
}

Tick relative_tick(const Relative &who, int second) {
    Tick tick = cpu_tick();
    tick.seq = static_cast<std::uint64_t>(second);
    tick.time = cpu_document().time + std::chrono::seconds(second);
    tick.t_ns = static_cast<std::uint64_t>(second) * kSecond;
    tick.emitted = static_cast<std::uint64_t>(second) * 1'000;
    tick.process.pid = who.pid;
    tick.process.ppid = who.ppid;
    tick.process.comm = who.comm;
    tick.process.command_line = who.command_line;
    tick.process.threads_count = 1 + who.pid % 10;
    tick.process.mm_pids = {who.pid};
    core::MmView &mm = tick.ledger;
    mm.generation = who.mm;
    mm.baseline = members(0, static_cast<int>(who.pages));
    const std::int64_t exact = who.pages + who.pages_per_s * second;
    mm.cpus = {{0, members(0, 31), 12}};
    mm.cached = members(0, 31);
    mm.flushed = members(0, static_cast<int>(exact) - 31);
    mm.updates = static_cast<std::uint64_t>(who.pages_per_s * second);
    tick.extremes.most = {{exact}, {exact}, members(0, static_cast<int>(exact)), tick.t_ns, who.pid, 1};
    tick.all_processes = 5;
    tick.all = tick.extremes;
    tick.all->most.from = tick.all->most.to = core::Pages{260'000};
    core::Reconciliation &verdict = tick.process.verdict;
    verdict.verdict = core::Verdict::Agrees;
    verdict.causes.clear();
    verdict.residual = core::Pages{};
    verdict.flushed = mm.flushed;
    verdict.cached = mm.cached;
    verdict.exact = mm.exact();
    verdict.window = {verdict.exact.rss(), verdict.exact.rss()};
    tick.process.readers.stat = mm.flushed.rss();
    tick.stale_walk = false;
    if (second >= who.ends) {
        tick.state = core::State::Exited;
        tick.read = false;
        tick.all.reset();
    }
    return tick;
}

LiveScreen family_screen(const TextStyle &style, int seconds) {
    LiveScreen screen(facts_of(cpu_document()), style);
    for (int second = 1; second <= seconds; ++second)
        for (const Relative &who : family())
            if (second <= who.ends) screen.take(relative_tick(who, second), who.user);
    return screen;
}

std::optional<Intent> press(LiveScreen &screen, std::string_view keys) {
    std::optional<Intent> last;
    for (const char key : keys) {
        Key pressed{Key::Name::Character, static_cast<char32_t>(key)};
        if (key == '\n') pressed = {Key::Name::Enter};
        if (key == '\x1b') pressed = {Key::Name::Escape};
        if (key == '\x01') pressed = {Key::Name::Down};
        if (key == '\x02') pressed = {Key::Name::Up};
        last = screen.key(pressed);
    }
    return last;
}

TopTable top_table(int processes) {
    const documents::SnapshotDocument document = thread_document();
    TopTable table;
    table.time = document.time;
    table.kernel = document.kernel;
    table.arch = document.arch;
    table.machine = document.machine;
    table.calibration = document.calibration;
    table.pass_us = 1'234;
    table.own = {0.9, std::nullopt, {14'336}};
    for (int i = 0; i < processes; ++i) {
        core::ProcessTotal total;
        total.tgid = 100 + i;
        total.host_tgid = 10'100 + i;
        total.comm = fmt::format("daemon-{:02}", i);
        total.mm = static_cast<std::uint64_t>(i) + 1;
        total.tasks = 1 + i % 4;
        total.flushed = members(100 + i, 1000 * (i % 5));
        if (i % 3 == 0) total.cached = members(i, 60);
        total.cachers = i % 3 == 0 ? 1 : 0;
        total.moved = i == 30;
        if (i == 3) {  // a counter below 0: lag is not cached
            total.flushed = members(-2, 3000);
            total.cached = members(5, 60);
        }
        const std::string path = "/usr/sbin/" + total.comm;
        table.processes.push_back({total,
                                   fmt::format("{:016x}", i + 1),
                                   {i % 2 == 0 ? "root" : "daemon", fmt::format("/system.slice/{}.service", total.comm),
                                    fmt::format("{} --verbose --port={}", path, 8000 + i)}});
    }
    return table;
}

}  // namespace rsslag::screen::test
