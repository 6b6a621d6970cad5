// SPDX-License-Identifier: BSD-2-Clause
// Writes a recording as a database: prepared inserts in one transaction, then the indexes.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include <utility>

#include "entity_ids.h"
#include "row_fields.h"
#include "rsslag/core/member_name.h"
#include "rsslag/core/text.h"
#include "rsslag/sinks/facts_json.h"
#include "rsslag/sinks/sink.h"
#include "sqlite_schema.h"
#include "sqlite_statement.h"

namespace rsslag::sinks {
namespace {

/// nullopt: an unknown PID or TID.
std::optional<int> positive(int number) {
    return number > 0 ? std::optional(number) : std::nullopt;
}

/// NULL if empty. The text must live until the statement has run.
void add_text(Statement &statement, std::string_view name) {
    if (name.empty()) {
        statement.add(std::optional<std::int64_t>());
    } else {
        statement.add(name);
    }
}

using core::Status;

class Sqlite : public Sink {
  public:
    explicit Sqlite(std::string path) : path_(std::move(path)) {}

    Status begin(const Facts &facts) override;
    Status row(const Row &row) override {
        return std::visit([this](const auto &each) { return put(each); }, row);
    }
    Status end(const Ending &ending) override;

  private:
    /// In the order of the tables in the schema.
    struct Inserts {
        Statement facts, trace, processes, threads, mms, events, caches, lives, flushes, ticks, holders, readings,
            walks, mappings, losses;
    };

    Status execute(const char *sql) {
        if (sqlite3_exec(database_.get(), sql, nullptr, nullptr, nullptr) == SQLITE_OK) return core::success();
        return sqlite_error(database_.get());
    }
    Status prepare();
    Status put(const UpdateRow &row);
    Status put(const FaultRow &row);
    Status put(const SumRow &row);
    Status put(const TaskRow &row);
    Status put(const ReadingRow &row);
    Status put(const WalkRow &row);
    Status put(const MappingRow &row);
    Status put(const LossRow &row);
    Status put(const TickRow &row);
    Status put_holders(const TickRow &row, std::optional<std::int64_t> process);
    Status put_fact(const std::string &key, const nlohmann::ordered_json &value);
    Status put_trace(const nlohmann::ordered_json &facts);
    Status put_ending(const Ending &ending);
    Status put_entities();

    /// Adds type, t_ns, process, thread, cpu and mm of an event; returns its number.
    std::int64_t begin_event(std::string_view type, const Stamp &at, const EntityIds::Ids &ids) {
        in_.events.add(++events_).add(type).add(at.t_ns).add(ids.process).add(ids.thread).add(at.cpu).add(ids.mm);
        return events_;
    }
    /// Completes and inserts an event with no further values except its fault and mapping.
    Status end_plain_event(const std::optional<FaultCause> &fault, std::string_view mapping = {}) {
        const std::optional<std::int64_t> none;
        for (int column = 0; column < 5; ++column)  // member to reason
            in_.events.add(none);
        put_cause(fault);
        for (int column = 0; column < 4; ++column)
            in_.events.add(none);
        const std::string name = core::printable(mapping);
        add_text(in_.events, name);
        return in_.events.run();
    }
    void put_cause(const std::optional<FaultCause> &fault) {
        using Text = std::optional<std::string_view>;
        in_.events.add(fault && fault->kernel ? Text(*fault->kernel ? "kernel" : "user") : Text())
            .add(fault ? std::optional(fault->address) : std::nullopt);
    }

    std::string path_;
    Database database_;
    Inserts in_;
    EntityIds ids_;
    core::PageSize page_size_;
    std::int64_t events_ = 0, ticks_ = 0, readings_ = 0, walks_ = 0, mappings_ = 0, losses_ = 0;
};

Status Sqlite::begin(const Facts &facts) {
    sqlite3 *database = nullptr;
    const int opened = sqlite3_open_v2(path_.c_str(), &database,
                                       SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_EXRESCODE, nullptr);
    database_.reset(database);
    if (opened != SQLITE_OK) return sqlite_error(database);
    page_size_ = facts.machine.page_size;
    // No other process uses the file while it is written, and an unfinished file is deleted.
    if (Status set = execute("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE;"
                             "PRAGMA application_id = 0x7273736c; PRAGMA user_version = 1; BEGIN");
        !set)
        return set;
    if (Status made = execute(sqlite_tables()); !made) return made;
    if (Status prepared = prepare(); !prepared) return prepared;
    nlohmann::ordered_json object = nlohmann::ordered_json::object();
    put_facts(object, facts);
    for (const auto &item : object.items())
        if (Status put = put_fact(item.key(), item.value()); !put) return put;
    return put_trace(object);
}

/// `facts`: the object filled by put_facts().
Status Sqlite::put_trace(const nlohmann::ordered_json &facts) {
    for (const char *const key :
         {"trace_id", "segment", "host", "boot_id", "kernel", "scheme", "cpus_online", "page_size", "time"}) {
        const nlohmann::ordered_json &value = facts.at(key);
        if (value.is_number_integer()) {
            in_.trace.add(value.get<std::int64_t>());
        } else {
            add_text(in_.trace, value.is_null() ? std::string_view() : value.get_ref<const std::string &>());
        }
    }
    return in_.trace.run();
}

Status Sqlite::prepare() {
    constexpr int kMembers = 5;
    for (const auto &[statement, table, columns] : {std::tuple{&in_.facts, "facts", 2},
                                                    {&in_.trace, "trace", 9},
                                                    {&in_.processes, "processes", 6},
                                                    {&in_.threads, "threads", 6},
                                                    {&in_.mms, "mms", 4},
                                                    {&in_.events, "events", 19},
                                                    {&in_.caches, "caches", 8},
                                                    {&in_.lives, "lives", 9},
                                                    {&in_.flushes, "flushes", 8},
                                                    {&in_.ticks, "ticks", 27 + 3 * kMembers},
                                                    {&in_.holders, "holders", 3 + kMembers},
                                                    {&in_.readings, "readings", 14 + 2 * kMembers},
                                                    {&in_.walks, "walks", 9},
                                                    {&in_.mappings, "mappings", 12},
                                                    {&in_.losses, "losses", 4}}) {
        auto prepared = Statement::insert(database_.get(), table, columns);
        if (!prepared) return prepared.error();
        *statement = *std::move(prepared);
    }
    return core::success();
}

Status Sqlite::put_fact(const std::string &key, const nlohmann::ordered_json &value) {
    if (value.is_number_integer()) return in_.facts.add(key).add(value.get<std::int64_t>()).run();
    const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
    const bool known = !value.is_null();
    return in_.facts.add(key).add(known ? std::optional<std::string_view>(text) : std::nullopt).run();
}

Status Sqlite::put(const UpdateRow &row) {
    const EntityIds::Ids ids = ids_.of(row.at);
    const std::string_view reason = row.reason ? core::name(*row.reason) : std::string_view();
    const std::int64_t event = begin_event(type_name(row), row.at, ids);
    const std::string_view member = row.member ? core::name(*row.member) : std::string_view();
    add_text(in_.events, member);
    in_.events.add(row.pages).add(row.cached).add(row.flushed);
    add_text(in_.events, reason);
    put_cause(row.fault);
    const std::string mapping = core::printable(row.mapping);
    in_.events.add(row.by_other).add(row.newborn).add(row.teardown).add(row.known);
    add_text(in_.events, mapping);
    if (Status put = in_.events.run(); !put || row.type == UpdateRow::Type::Update) return put;
    return in_.flushes.add(event)
        .add(row.at.t_ns)
        .add(ids.process)
        .add(ids.thread)
        .add(row.at.cpu)
        .add(ids.mm)
        .add(member.empty() ? std::string_view("unknown") : member)
        .add(reason.empty() ? std::string_view("fold") : reason)
        .run();
}

Status Sqlite::put(const FaultRow &row) {
    const std::int64_t event = begin_event("fault", row.at, ids_.of(row.at));
    if (Status put = end_plain_event(row.fault, row.mapping); !put) return put;
    const std::optional<std::int64_t> none;
    in_.caches.add(event).add_members(row.cached, false).add(row.faults_since_flush).add(none).add(none);
    return in_.caches.run();
}

Status Sqlite::put(const SumRow &row) {
    const std::int64_t event = begin_event("sum", row.at, ids_.of(row.at));
    if (Status put = end_plain_event(std::nullopt); !put) return put;
    in_.caches.add(event);
    for (const core::Member member : core::kMembersInOrder)
        in_.caches.add(row.cached[static_cast<std::size_t>(member)]);
    return in_.caches.add(std::optional<std::int64_t>()).add(row.updates).add(row.of_cpu).run();
}

Status Sqlite::put(const TaskRow &row) {
    const bool ends = row.type == TaskRow::Type::Exit || row.type == TaskRow::Type::ThreadEnd;
    const std::string comm = core::printable(row.at.comm);
    const std::int64_t event = begin_event(type_name(row), row.at, ids_.of_task(row));
    if (Status put = end_plain_event(std::nullopt); !put) return put;
    return in_.lives.add(event)
        .add(std::string_view(comm))
        .add(positive(row.host_pid))
        .add(positive(row.host_tid))
        .add(positive(row.parent_host_tid))
        .add(positive(row.old_host_tid))
        .add(row.shares_mm)
        .add(ends ? std::optional(row.user_faults) : std::nullopt)
        .add(ends ? std::optional(row.kernel_faults) : std::nullopt)
        .run();
}

Status Sqlite::put(const ReadingRow &row) {
    const EntityIds::Ids ids = ids_.of(row.at);
    const core::ReaderValues &readers = row.readers;
    in_.readings.add(++readings_).add(row.at.t_ns).add(ids.process).add(ids.mm).add(row.tasks).add(row.took_us);
    in_.readings.add(readers.stat).add(readers.statm).add(readers.status_rss).add(readers.status_anon);
    in_.readings.add(readers.status_file).add(readers.status_shmem).add(readers.status_swap).add(readers.status_hwm);
    return in_.readings.add_members(row.flushed).add_members(row.cached).run();
}

Status Sqlite::put(const WalkRow &row) {
    const EntityIds::Ids ids = ids_.of(row.at);
    in_.walks.add(++walks_).add(row.at.t_ns).add(ids.process).add(ids.mm).add(core::name(row.walk.file));
    return in_.walks.add(row.walk.rss).add(row.walk.pss).add(row.walk.swap).add(row.walk.took_us).run();
}

Status Sqlite::put(const MappingRow &row) {
    const EntityIds::Ids ids = ids_.of(row.at);
    const std::string mapping = core::printable(row.mapping);
    const std::string perms = core::permissions(row.flags);
    const bool moved = row.type == MappingRow::Type::Moved;
    in_.mappings.add(++mappings_).add(type_name(row)).add(row.at.t_ns).add(ids.process).add(ids.mm);
    in_.mappings.add(std::string_view(mapping)).add(row.from).add(row.to).add(std::string_view(perms));
    in_.mappings.add(moved ? std::optional(row.old_from) : std::nullopt).add(row.held);
    const std::string build_id = core::hex(row.build_id);
    return in_.mappings.add(row.build_id.known() ? std::optional(std::string_view(build_id)) : std::nullopt).run();
}

Status Sqlite::put(const LossRow &row) {
    const std::string cause = core::printable(row.cause);
    return in_.losses.add(++losses_).add(row.at.t_ns).add(std::string_view(cause)).add(row.records).run();
}

Status Sqlite::put(const TickRow &row) {
    const EntityIds::Ids ids = ids_.of_tick(row);
    const std::string time = core::utc_time(row.time);
    in_.ticks.add(++ticks_).add(row.seq).add(row.at.t_ns).add(std::string_view(time)).add(ids.process).add(ids.mm);
    in_.ticks.add(core::name(row.state)).add(row.readers.stat);
    row.walk ? in_.ticks.add(page_size_.pages(row.walk->rss)) : in_.ticks.add(std::optional<std::int64_t>());
    in_.ticks.add_members(row.flushed).add_members(row.cached).add_members(row.exact);
    in_.ticks.add(row.lag)
        .add(row.behind)
        .add(row.residual)
        .add(core::name(row.verdict))
        .add(row.updates)
        .add(row.updates_by_others);
    in_.ticks.add(row.faults).add(row.flushes).add(row.lost).add(row.disagreements).add(row.resyncs);
    const core::Extremes &extremes = row.extremes;
    in_.ticks.add(extremes.image).add(extremes.most.from).add(extremes.most.to).add(extremes.most.t_ns);
    in_.ticks.add(positive(extremes.most.tid)).add(extremes.lag).add(extremes.lag_t_ns);
    if (Status put = in_.ticks.run(); !put) return put;
    return row.ledger != nullptr ? put_holders(row, ids.process) : core::success();
}

/// Skips threads and CPUs that cache nothing, which would be most of the file.
Status Sqlite::put_holders(const TickRow &row, std::optional<std::int64_t> process) {
    const std::optional<std::int64_t> none;
    for (const core::TaskNet &task : row.ledger->tasks) {
        const std::int64_t thread = ids_.thread_of(process, task, row.at.t_ns);
        if (!task.cached || *task.cached == core::Members()) continue;
        in_.holders.add(ticks_).add(thread).add(none).add_members(*task.cached);
        if (Status put = in_.holders.run(); !put) return put;
    }
    for (const core::CpuNet &cpu : row.ledger->cpus) {
        if (cpu.cached == core::Members()) continue;
        in_.holders.add(ticks_).add(none).add(cpu.cpu).add_members(cpu.cached);
        if (Status put = in_.holders.run(); !put) return put;
    }
    return core::success();
}

Status Sqlite::put_ending(const Ending &ending) {
    nlohmann::ordered_json missing = nlohmann::ordered_json::array();
    for (const MissingPart &each : ending.missing)
        missing.push_back({{"reason", core::printable(each.reason)}, {"from_ns", each.from_ns}, {"to_ns", each.to_ns}});
    for (const auto &[key, value] :
         {std::pair<const char *, nlohmann::ordered_json>{"complete", ending.complete ? 1 : 0},
          {"missing", missing},
          {"duration_ns", ending.duration_ns},
          {"emitted", ending.emitted},
          {"lost", ending.lost}})
        if (Status put = put_fact(key, value); !put) return put;
    return core::success();
}

Status Sqlite::put_entities() {
    std::int64_t number = 0;
    for (const EntityIds::Process &process : ids_.processes()) {
        using Text = std::optional<std::string_view>;
        const std::string comm = core::printable(process.comm);
        in_.processes.add(++number).add(process.pid).add(comm.empty() ? Text() : Text(comm));
        in_.processes.add(process.first_t_ns).add(process.last_t_ns);
        in_.processes.add(process.state ? Text(core::name(*process.state)) : Text());
        if (Status put = in_.processes.run(); !put) return put;
    }
    number = 0;
    for (const EntityIds::Thread &thread : ids_.threads()) {
        const std::string comm = core::printable(thread.comm);
        in_.threads.add(++number).add(thread.process).add(thread.tid).add(std::string_view(comm));
        if (Status put = in_.threads.add(thread.first_t_ns).add(thread.last_t_ns).run(); !put) return put;
    }
    for (const auto &[id, mm] : ids_.mms())
        if (Status put = in_.mms.add(id).add(mm.process).add(mm.first_t_ns).add(mm.last_t_ns).run(); !put) return put;
    return core::success();
}

Status Sqlite::end(const Ending &ending) {
    if (Status put = put_ending(ending); !put) return put;
    if (Status put = put_entities(); !put) return put;
    if (Status made = execute(sqlite_indexes()); !made) return made;
    if (Status done = execute("COMMIT"); !done) return done;
    in_ = {};
    if (sqlite3_close(database_.get()) != SQLITE_OK) return sqlite_error(database_.get());
    static_cast<void>(database_.release());  // closed
    return core::success();
}

}  // namespace

std::unique_ptr<Sink> sqlite_sink(std::string path) {
    return std::make_unique<Sqlite>(std::move(path));
}

}  // namespace rsslag::sinks
