// SPDX-License-Identifier: BSD-2-Clause
#include "rows.h"

namespace rsslag::exporters::test {

using core::Members;
using core::Pages;

const std::string kHostile = "a,\"b\"<&\x1b[31m\xe2\x80\xae\n\\";

Facts facts(core::Scheme scheme) {
    Facts facts;
    facts.kernel = "6.1.0-rsslag";
    facts.arch = "x86_64";
    facts.command_line = "rsslag record -o x -p 10";
    facts.mode = "events";
    facts.machine = {scheme, {4096}, 4, 4};
    facts.calibration = {core::Truth::Flushed, core::Truth::Flushed, core::Truth::Flushed};
    facts.time = std::chrono::system_clock::time_point(std::chrono::seconds(1'700'000'000));
    return facts;
}

Members members(std::int64_t file, std::int64_t anon, std::int64_t shmem, std::int64_t swap) {
    return {.file = {file}, .anon = {anon}, .swap = {swap}, .shmem = {shmem}};
}

UpdateRow update(std::uint64_t t_ns, int pid, int tid, core::Member member, std::int64_t pages) {
    UpdateRow row;
    row.at = {t_ns, pid, tid, 1, "worker", 1};
    row.member = member;
    row.pages = Pages{pages};
    row.cached = Pages{pages};
    row.flushed = Pages{100};
    return row;
}

TickRow tick(std::uint64_t t_ns, int pid, std::int64_t exact, std::int64_t reported) {
    TickRow row;
    row.at = {t_ns, pid, 0, std::nullopt, "hundred", static_cast<std::uint64_t>(pid)};
    row.time = facts().time + std::chrono::nanoseconds(t_ns);
    row.readers.stat = Pages{reported};
    row.flushed = members(0, reported);
    row.cached = members(0, exact - reported);
    row.exact = row.last = members(0, exact);
    row.lag = Pages{exact - reported};
    row.extremes.most = row.extremes.least = {{exact}, {exact}, row.exact, t_ns, pid, 1};
    row.extremes.lag = *row.lag;
    row.extremes.lag_t_ns = t_ns;
    row.extremes.lag_rss = {exact};
    row.extremes.grown = row.last;
    row.extremes.grown_rss = row.last.rss();
    return row;
}

namespace {

core::TaskNet task(int tid, std::string comm, std::int64_t cached, std::int64_t net) {
    core::TaskNet task;
    task.tid = task.host_tid = tid;
    task.tgid = 10;
    task.comm = std::move(comm);
    task.cached = members(0, cached);
    task.net = members(0, net);
    task.updates = 7;
    return task;
}

/// The first thread caches most at the second tick.
const core::MmView &ledger(core::Scheme scheme, int at) {
    static std::vector<core::MmView> kept(6);
    core::MmView &mm = kept[static_cast<std::size_t>(at + (scheme == core::Scheme::Thread ? 0 : 3))];
    if (scheme == core::Scheme::Thread) {
        mm.tasks = {task(10, "hundred", 1, 40), task(11, kHostile, at == 1 ? 50 : 2, 60)};
    } else {
        mm.cpus = {{0, members(0, 3), 2}, {3, members(0, at == 1 ? 31 : 1), 5}};
    }
    mm.exited = {2, members(0, 9), 4, 5, 6, {}};
    return mm;
}

std::vector<Row> lifecycle() {
    std::vector<Row> rows;
    using Type = TaskRow::Type;
    for (const Type type : {Type::ThreadStart, Type::Rename, Type::Exec, Type::Fork, Type::Seen, Type::ThreadEnd}) {
        TaskRow row;
        row.at = {2 * kSecond + rows.size(), 10, 11, 0, kHostile, 1};
        row.type = type;
        row.host_pid = 110;
        row.host_tid = 111;
        row.parent_host_tid = type == Type::ThreadStart ? 110 : 0;
        row.user_faults = 5;
        row.kernel_faults = 1;
        rows.emplace_back(row);
    }
    return rows;
}

std::vector<Row> updates() {
    UpdateRow faulted = update(1, 10, 11, core::Member::Anon, 1);
    faulted.fault = FaultCause{false, 0x7f0000001234};
    UpdateRow flush = update(2, 10, 11, core::Member::Anon, 1);
    flush.type = UpdateRow::Type::Flush;
    flush.reason = core::FlushReason::Threshold;
    UpdateRow fold = update(3, 10, 11, core::Member::File, 0);
    fold.type = UpdateRow::Type::Fold;
    fold.pages.reset();
    fold.reason = core::FlushReason::Fold;
    FaultRow fault;
    fault.at = {4, 10, 11, 2, "worker", 1};
    fault.fault = {true, 0x1000};
    fault.cached = members(1, -2, 3, 4);
    SumRow sum;
    sum.at = {5, 10, 11, 2, "worker", 1};
    sum.updates = 12;
    sum.cached[static_cast<int>(core::Member::Anon)] = Pages{-3};
    return {faulted, flush, fold, fault, sum};
}

std::vector<Row> readings() {
    ReadingRow reading;
    reading.at = {kSecond, 10, 0, std::nullopt, "hundred", 1};
    reading.flushed = members(1, 2, 3, 4);
    reading.cached = members(10, 20, 30, 40);
    reading.readers.stat = Pages{6};
    reading.tasks = 2;
    WalkRow walk;
    walk.at = reading.at;
    walk.walk.rss = {264};
    LossRow loss;
    loss.at.t_ns = kSecond;
    loss.cause = "ring_full";
    loss.records = 3;
    return {reading, walk, loss};
}

std::vector<Row> mappings() {
    MappingRow mapping;
    mapping.at = {7 * kSecond, 20, 0, std::nullopt, {}, 1};
    mapping.mapping = "stack of thread 12";
    mapping.from = 0x7f0000000000;
    mapping.to = 0x7f0000800000;
    mapping.flags = core::MappingRead | core::MappingWrite;
    std::vector<Row> rows;
    for (const MappingRow::Type type : {MappingRow::Type::Mapped, MappingRow::Type::Moved, MappingRow::Type::Named}) {
        mapping.type = type;
        rows.emplace_back(mapping);
    }
    mapping.type = MappingRow::Type::Listed;
    mapping.held = core::Kilobytes{264};
    rows.emplace_back(mapping);
    return rows;
}

std::vector<Row> ticks(core::Scheme scheme) {
    std::vector<Row> rows;
    const std::int64_t exact[] = {100, 160, 0};
    core::Extremes extremes;
    for (int i = 0; i < 3; ++i) {
        TickRow row = tick((3 + static_cast<std::uint64_t>(i)) * kSecond, 10, exact[i], 100);
        row.seq = static_cast<std::uint64_t>(i);
        row.ledger = &ledger(scheme, i);
        if (i == 1) {
            row.walk.emplace().rss = {4 * 158};
            row.residual = Pages{-2};
            row.verdict = core::Verdict::Explained;
        }
        if (i == 2) {
            row.state = core::State::Exited;
            row.read = false;
            row.lag.reset();
            row.readers = {};
            row.extremes.lag = {};
        }
        if (i > 0) row.extremes = core::highest(extremes, row.extremes);
        row.extremes.grown = row.last;  // it has run one program
        row.extremes.grown_rss = row.last.rss();
        extremes = row.extremes;
        rows.emplace_back(row);
    }
    TickRow other = tick(6 * kSecond, 20, 30, 30);
    other.at.comm = kHostile;
    rows.emplace_back(other);
    return rows;
}

}  // namespace

core::Status Recorded::into(Sink &sink) const {
    if (core::Status begun = sink.begin(head); !begun) return begun;
    for (const Row &row : rows)
        if (core::Status reported = sink.row(row); !reported) return reported;
    return sink.end(ending);
}

Recorded recorded(core::Scheme scheme) {
    Recorded all;
    all.head = facts(scheme);
    for (const auto &part : {updates(), readings(), lifecycle()})
        all.rows.insert(all.rows.end(), part.begin(), part.end());
    TaskRow exit;
    exit.at = {3 * kSecond, 10, 10, 0, "hundred", 1};
    exit.type = TaskRow::Type::Exit;
    all.rows.emplace_back(exit);
    for (const Row &row : ticks(scheme))
        all.rows.push_back(row);
    for (const Row &row : mappings())
        all.rows.push_back(row);
    all.ending.duration_ns = 7 * kSecond;
    all.ending.records = 12;
    all.ending.emitted = 15;
    all.ending.lost = 3;
    all.ending.lost_by = {{"filter_full", 0}, {"ring_full", 3}};
    all.ending.updates = 3;
    all.ending.flushes = 1;
    all.ending.flush_reasons = {{"threshold", 1}, {"zap", 0}};
    return all;
}

}  // namespace rsslag::exporters::test
