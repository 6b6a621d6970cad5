// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "analysis/mapping_table.h"
#include "analysis/observer.h"
#include "analysis/settled_queue.h"
#include "core/ledger.h"
#include "core/losses.h"
#include "core/raw_reading.h"
#include "core/tick.h"
#include "exporters/sink.h"

namespace rsslag::analysis {

/// Turns a replayed trace into rows, in the order of time. Names of tasks and owners of mms come from task records,
/// readings and ticks.
class RowMaker : public TraceObserver {
  public:
    explicit RowMaker(exporters::Sink &sink) : sink_(sink), held_([this](Held &held) { release(held); }) {}
    RowMaker(const RowMaker &) = delete;  // held_ uses its address
    RowMaker &operator=(const RowMaker &) = delete;

    /// Call it first. `start_ns`: CLOCK_MONOTONIC at the attach.
    void begin(std::uint64_t start_ns);

    /// All records from before this time (CLOCK_MONOTONIC) have been passed.
    void reached(std::uint64_t t_ns);
    void on_applied(const rsslag_update &update, const core::Applied &applied) override;
    void on_settled(std::span<const core::SettledUpdate> amounts) override;
    void on_fault(const rsslag_fault &fault, const core::Members &came, const std::optional<core::Held> &held) override;
    /// Ignores partial sums, which come again.
    void on_sum(const rsslag_sum &sum, const std::optional<core::Held> &held) override;
    /// Stores the name of the process for records before its first reading.
    void on_adopted(const core::GroupView &group) override;
    void on_renumbered(const core::Renumbered &thread) override;
    void on_task(const core::TaskLine &line) override;
    void on_reading(const core::RawReading &reading) override;
    void on_mapping(const core::MappingChange &change) override;
    void on_listing(const core::MappingListing &listing) override;
    void on_samples(const event::Samples &samples) override;
    void on_stacks(const event::Stacks &stacks) override;
    void on_absent_pages(const event::AbsentPages &absent) override;
    void on_loss(std::uint64_t t_ns, const core::Losses &losses) override;
    void on_tick(core::Tick tick) override;

    /// To be called after the last event. Returns the first error of the sink.
    core::Status finish();
    bool failed() const { return !status_.ok(); }

    /// For a trace that may go on for days: limits each of the things that are kept to about `most`. Forgets the tasks
    /// whose last record is the oldest, and mms that have ended, and no longer waits for amounts that are open.
    void keep_at_most(std::size_t most);
    /// The number of things that are kept.
    std::size_t kept() const {
        return tasks_.size() + mms_.size() + past_.size() + mm_of_pid_.size() + later_.size() + held_.size();
    }

  private:
    struct Task {
        int tid = 0, pid = 0;
        std::string comm;
        std::uint64_t seen_ns = 0;  ///< since the start: its last record, or its last tick
    };
    struct Mm {
        std::uint64_t id = 0;
        int pid = 0;
        std::uint64_t generation = 0;  ///< the ledger's; 0: unknown
        /// Torn down. A record at this address that is not part of the teardown belongs to another mm.
        bool torn = false;
    };
    /// The data for the rows of a reading, without its tasks, which may be many.
    struct Read {
        int pid = 0;
        std::uint64_t mm = 0;  ///< address
        std::string comm;
        std::variant<exporters::ReadingRow, exporters::WalkRow> row;  ///< without its stamp
    };
    /// A row with the data that it refers to. Row itself is six times as large as most rows.
    template <class T>
    struct Kept {
        T row;
        explicit Kept(const T &from) : row(from) {}
    };
    /// The rows of a listing, which may be hundreds.
    struct KeptListing {
        struct Entry {
            std::string_view mapping;
            std::uint64_t from = 0, to = 0;
            std::uint8_t flags = 0;
            std::optional<core::Kilobytes> held;
        };
        exporters::Stamp at;
        std::vector<Entry> entries;
    };
    template <class First, class... Others>
    static std::variant<First, std::unique_ptr<KeptListing>, std::unique_ptr<Kept<Others>>...> any_kept(
        const std::variant<First, Others...> &);
    /// A row that waits until its own amount or that of an earlier row is settled. Most rows are updates.
    struct Held {
        decltype(any_kept(std::declval<exporters::Row>())) row;
        std::string comm;
    };
    struct Lost {
        std::string cause;
        std::uint64_t records = 0;
    };
    using Later = std::variant<Read, Lost, core::Tick>;

    std::uint64_t since_start(std::uint64_t t_ns) const { return t_ns > start_ns_ ? t_ns - start_ns_ : 0; }
    exporters::Stamp stamp(std::uint64_t t_ns, int host_tid, std::uint64_t mm, int cpu);
    Task &known(int host_tid);
    /// The number of the sample of this update, or of what a fault record reports of the member; -1: none.
    std::int64_t sample_of(std::uint64_t t_ns, int host_tid, int cpu, int member);
    Mm &mm_at(std::uint64_t address);
    Mm &new_mm(std::uint64_t address);
    /// The mm with the ledger's generation; its address may already belong to another mm.
    Mm &mm_of(const core::MmView &view);
    Mm &at_update(const rsslag_update &update, const std::optional<core::Held> &held);
    void learn(int host_tid, int tid, int pid, const std::string &comm);
    void note_task(const rsslag_task &task, int pid);
    /// Of a change or a listing of mappings.
    exporters::Stamp stamp_of_mapping(std::uint64_t t_ns, int pid);
    /// Queues readings, losses and ticks until their time.
    void wait(std::uint64_t t_ns, Later later);
    void catch_up(std::uint64_t t_ns) {
        now_ns_ = std::max(now_ns_, t_ns);
        if (!later_.empty() && later_.begin()->first <= t_ns) emit_until(t_ns);
    }
    void emit_until(std::uint64_t t_ns);
    void emit(std::uint64_t t_ns, const Read &read);
    void emit(std::uint64_t t_ns, const Lost &lost);
    void emit(std::uint64_t t_ns, const core::Tick &tick);
    void write(const exporters::Row &row) {
        if (status_.ok()) status_ = sink_.row(row);
    }
    void put(const exporters::Row &row) { held_.empty() ? write(row) : hold(row); }
    void hold(const exporters::Row &row);
    void write_listing(const KeptListing &listing);
    void release(Held &held);

    exporters::Sink &sink_;
    std::uint64_t start_ns_ = 0;
    std::uint64_t now_ns_ = 0;  ///< since the start: the latest record or tick
    core::Status status_ = core::success();
    std::unordered_map<int, Task> tasks_;  ///< by the kernel's TID
    std::pair<int, Task *> last_task_{0, nullptr};
    std::unordered_map<std::uint64_t, Mm> mms_;  ///< by address
    std::pair<std::uint64_t, Mm *> last_mm_{0, nullptr};
    std::uint64_t mm_ids_ = 0;
    std::map<std::uint64_t, Mm> past_;  ///< by generation: mms whose address belongs to another mm
    MappingTable table_;
    std::unordered_map<int, std::uint64_t> mm_of_pid_;  ///< addresses, by PID
    std::map<std::string, std::uint64_t> lost_;
    std::multimap<std::uint64_t, Later> later_;  ///< by time since the start
    SettledQueue<Held> held_;
    /// Samples whose updates are still to come: their numbers, by time, host TID, CPU and member.
    std::map<std::tuple<std::uint64_t, int, int, int>, std::uint64_t> sampled_;
};

template <>
struct RowMaker::Kept<exporters::TickRow> {
    exporters::TickRow row;
    core::MmView ledger;
    explicit Kept(const exporters::TickRow &from) : row(from) {
        if (from.ledger == nullptr) return;
        ledger = *from.ledger;
        row.ledger = &ledger;
    }
};

}  // namespace rsslag::analysis
