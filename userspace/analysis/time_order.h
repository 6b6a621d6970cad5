// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "core/wire.h"
#include "started.h"

namespace rsslag::analysis {

/// Merges the records of several rings by time. The records of each CPU must be in order already.
class TimeOrder {
  public:
    /// Adds the records in `bytes`, the contents of a ring. Records after one of an unknown kind or a truncated one are
    /// dropped, since the start of the next record is unknown.
    void add(std::span<const std::byte> bytes);

    /// Passes all records before `t_ns` to `use`, in order: rsslag_update, rsslag_fault, rsslag_sum or rsslag_task.
    template <class Use>
    void until(std::uint64_t t_ns, Use &&use) {
        while (!turns_.empty() && turns_.front().t_ns < t_ns) {
            std::pop_heap(turns_.begin(), turns_.end(), std::greater<>());
            const std::size_t cpu = turns_.back().cpu;
            turns_.pop_back();
            // The time of the first record of any other CPU.
            const std::uint64_t then = turns_.empty() ? t_ns : std::min(t_ns, turns_.front().t_ns);
            Queue &first = queues_[cpu];
            do {
                hand_on(first, use);
            } while (first.at < first.bytes.size() && first.head < then);
            if (first.at == first.bytes.size()) {
                trim(first);
            } else {
                take_turn(cpu);
            }
        }
        for (const Turn &turn : turns_)
            trim(queues_[turn.cpu]);
    }

    /// Calls `use` with a CPU and its waiting records, for each CPU that has any.
    template <class Use>
    void waiting(Use &&use) const {
        for (std::size_t cpu = 0; cpu < queues_.size(); ++cpu) {
            const Queue &queue = queues_[cpu];
            if (queue.at < queue.bytes.size()) use(cpu, std::span<const std::byte>(queue.bytes).subspan(queue.at));
        }
    }

    /// Bytes of waiting records.
    std::size_t waiting_bytes() const { return waiting_bytes_; }
    /// The number of records that BPF programs have sent. Partial sums do not count, since userspace reads them.
    std::uint64_t records() const { return records_; }
    /// Processes whose trace starts with a record added since the last call.
    std::vector<Started> take_started() { return std::exchange(started_, {}); }
    /// The number of malformed records or spans; each is a loss of at least one record.
    std::uint64_t malformed() const { return malformed_; }

  private:
    struct Queue {
        std::vector<std::byte> bytes;
        std::size_t at = 0;
        std::uint64_t head = 0;  ///< time of the record at `at`
    };

    template <class Use>
    void hand_on(Queue &queue, Use &&use) {
        const std::size_t size = wire::visit_first(std::span<const std::byte>(queue.bytes).subspan(queue.at), use);
        queue.at += size;
        waiting_bytes_ -= size;
        look(queue);
    }

    /// The time of a CPU's first waiting record.
    struct Turn {
        std::uint64_t t_ns = 0;
        std::size_t cpu = 0;
        friend auto operator<=>(const Turn &, const Turn &) = default;
    };

    static void look(Queue &queue);
    static void trim(Queue &queue);
    void take_turn(std::size_t cpu);

    std::vector<Queue> queues_;  ///< by CPU
    std::vector<Turn> turns_;    ///< a heap of the CPUs with waiting records
    std::size_t waiting_bytes_ = 0;
    std::uint64_t records_ = 0;
    std::uint64_t malformed_ = 0;
    std::vector<Started> started_;
};

}  // namespace rsslag::analysis
