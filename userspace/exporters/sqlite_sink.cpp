// SPDX-License-Identifier: BSD-2-Clause
// Writes a recording as a database: prepared inserts in one transaction, then the indexes.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include <utility>

#include "core/member_name.h"
#include "core/text.h"
#include "entity_ids.h"
#include "exporters/facts_json.h"
#include "exporters/sink.h"
#include "sqlite_schema.h"
#include "sqlite_statement.h"

namespace rsslag::exporters {
namespace {

using core::Status;

class Sqlite : public Sink {
  public:
    Sqlite(std::string path, std::function<bool()> stop) : path_(std::move(path)), stop_(std::move(stop)) {}

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
    Status put_ending(const Ending &ending);
    Status put_entities();

    /// Sets the fields of the row, and the numbers that stand for its process, thread and mm.
    template <class Row>
    Statement &fill(Statement &insert, const Row &row, const EntityIds::Ids &ids) {
        return insert.set_fields(row, page_size_)
            .set("process_id", ids.process)
            .set("thread_id", ids.thread)
            .set("mm_id", ids.mm);
    }
    template <class Row>
    Status put_event(const Row &row, const EntityIds::Ids &ids) {
        return fill(in_.events, row, ids).set("id", ++events_).run();
    }

    std::string path_;
    std::function<bool()> stop_;
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
    constexpr int kInstructions = 100'000;  // some milliseconds
    if (stop_) {
        const auto asked = [](void *self) { return static_cast<const Sqlite *>(self)->stop_() ? 1 : 0; };
        sqlite3_progress_handler(database, kInstructions, asked, this);
    }
    page_size_ = facts.machine.page_size;
    // No other process uses the file while it is written, and an unfinished file is deleted.
    if (Status set = execute("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE;"
                             "PRAGMA application_id = 0x7273736c; PRAGMA user_version = 1; BEGIN");
        !set)
        return set;
    if (Status made = execute(sqlite_tables().c_str()); !made) return made;
    if (Status prepared = prepare(); !prepared) return prepared;
    nlohmann::ordered_json object = nlohmann::ordered_json::object();
    put_facts(object, facts);
    for (const auto &item : object.items())
        if (Status put = put_fact(item.key(), item.value()); !put) return put;
    return in_.trace.set_fields(facts, page_size_).run();
}

Status Sqlite::prepare() {
    for (const auto &[statement, table] : {std::pair{&in_.facts, "facts"},
                                           {&in_.trace, "trace"},
                                           {&in_.processes, "processes"},
                                           {&in_.threads, "threads"},
                                           {&in_.mms, "mms"},
                                           {&in_.events, "events"},
                                           {&in_.caches, "caches"},
                                           {&in_.lives, "lives"},
                                           {&in_.flushes, "flushes"},
                                           {&in_.ticks, "ticks"},
                                           {&in_.holders, "holders"},
                                           {&in_.readings, "readings"},
                                           {&in_.walks, "walks"},
                                           {&in_.mappings, "mappings"},
                                           {&in_.losses, "losses"}}) {
        auto prepared = Statement::insert(database_.get(), table);
        if (!prepared) return prepared.error();
        *statement = *std::move(prepared);
    }
    return core::success();
}

Status Sqlite::put_fact(const std::string &key, const nlohmann::ordered_json &value) {
    in_.facts.set("key", key);
    if (value.is_number_integer()) return in_.facts.set("value", value.get<std::int64_t>()).run();
    if (!value.is_null()) in_.facts.set("value", value.is_string() ? value.get<std::string>() : value.dump());
    return in_.facts.run();
}

Status Sqlite::put(const UpdateRow &row) {
    const EntityIds::Ids ids = ids_.of(row.at);
    if (Status put = put_event(row, ids); !put || row.type == UpdateRow::Type::Update) return put;
    return fill(in_.flushes, row, ids)
        .set("event_id", events_)
        .set("member", row.member ? core::name(*row.member) : "unknown")
        .set("reason", row.reason ? core::name(*row.reason) : "fold")
        .run();
}

Status Sqlite::put(const FaultRow &row) {
    const EntityIds::Ids ids = ids_.of(row.at);
    if (Status put = put_event(row, ids); !put) return put;
    return fill(in_.caches, row, ids)
        .set("event_id", events_)
        .set_members([&](core::Member member) { return row.cached[member]; })
        .run();
}

Status Sqlite::put(const SumRow &row) {
    const EntityIds::Ids ids = ids_.of(row.at);
    if (Status put = put_event(row, ids); !put) return put;
    return fill(in_.caches, row, ids)
        .set("event_id", events_)
        .set_members([&](core::Member member) { return row.cached[static_cast<std::size_t>(member)]; })
        .run();
}

Status Sqlite::put(const TaskRow &row) {
    const EntityIds::Ids ids = ids_.of_task(row);
    if (Status put = put_event(row, ids); !put) return put;
    return fill(in_.lives, row, ids).set("event_id", events_).run();
}

Status Sqlite::put(const ReadingRow &row) {
    return fill(in_.readings, row, ids_.of(row.at))
        .set("id", ++readings_)
        .set("stat", row.readers.stat)
        .set("statm", row.readers.statm)
        .run();
}

Status Sqlite::put(const WalkRow &row) {
    return fill(in_.walks, row, ids_.of(row.at))
        .set("id", ++walks_)
        .set("file", core::name(row.walk.file))
        .set("rss_kb", row.walk.rss)
        .set("pss_kb", row.walk.pss)
        .set("swap_kb", row.walk.swap)
        .set("took_us", row.walk.took_us)
        .run();
}

Status Sqlite::put(const MappingRow &row) {
    fill(in_.mappings, row, ids_.of(row.at)).set("id", ++mappings_);
    if (row.mapping.empty()) in_.mappings.set("mapping", std::string_view(""));  // not NULL
    return in_.mappings.run();
}

Status Sqlite::put(const LossRow &row) {
    return in_.losses.set_fields(row, page_size_).set("id", ++losses_).run();
}

Status Sqlite::put(const TickRow &row) {
    const EntityIds::Ids ids = ids_.of_tick(row);
    fill(in_.ticks, row, ids).set("id", ++ticks_).set("reported", row.readers.stat);
    if (row.walk) in_.ticks.set("walked", page_size_.pages(row.walk->rss));
    if (Status put = in_.ticks.run(); !put) return put;
    return row.ledger != nullptr ? put_holders(row, ids.process) : core::success();
}

/// Skips threads and CPUs that cache nothing, which would be most of the file.
Status Sqlite::put_holders(const TickRow &row, std::optional<std::int64_t> process) {
    const auto put = [&](std::string_view column, std::int64_t holder, const core::Members &cached) {
        return in_.holders.set("tick_id", ticks_)
            .set(column, holder)
            .set_members([&](core::Member member) { return cached[member]; })
            .set("rss", cached.rss())
            .run();
    };
    for (const core::TaskNet &task : row.ledger->tasks) {
        const std::int64_t thread = ids_.thread_of(process, task, row.at.t_ns);
        if (!task.cached || *task.cached == core::Members()) continue;
        if (Status done = put("thread_id", thread, *task.cached); !done) return done;
    }
    for (const core::CpuNet &cpu : row.ledger->cpus) {
        if (cpu.cached == core::Members()) continue;
        if (Status done = put("cpu", cpu.cpu, cpu.cached); !done) return done;
    }
    return core::success();
}

Status Sqlite::put_ending(const Ending &ending) {
    nlohmann::ordered_json missing = nlohmann::ordered_json::array();
    for (const MissingPart &each : ending.missing)
        missing.push_back(
            {{"reason", core::printable(each.reason)},
             {"from_ns", each.from_ns},
             {"to_ns", each.to_ns},
             {"records", each.records ? nlohmann::ordered_json(*each.records) : nlohmann::ordered_json()}});
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
    const auto seen = [](Statement &insert, const auto &entity) {
        return insert.set("first_t_ns", entity.first_t_ns).set("last_t_ns", entity.last_t_ns).run();
    };
    std::int64_t number = 0;
    for (const EntityIds::Process &process : ids_.processes()) {
        in_.processes.set("id", ++number).set("pid", process.pid);
        if (!process.comm.empty()) in_.processes.set("comm", core::printable(process.comm));
        if (process.state) in_.processes.set("state", core::name(*process.state));
        if (Status put = seen(in_.processes, process); !put) return put;
    }
    number = 0;
    for (const EntityIds::Thread &thread : ids_.threads()) {
        in_.threads.set("id", ++number).set("process_id", thread.process).set("tid", thread.tid);
        in_.threads.set("comm", core::printable(thread.comm));
        if (Status put = seen(in_.threads, thread); !put) return put;
    }
    for (const auto &[id, mm] : ids_.mms()) {
        in_.mms.set("id", id).set("process_id", mm.process);
        if (Status put = seen(in_.mms, mm); !put) return put;
    }
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

std::unique_ptr<Sink> sqlite_sink(std::string path, std::function<bool()> stop) {
    return std::make_unique<Sqlite>(std::move(path), std::move(stop));
}

}  // namespace rsslag::exporters
