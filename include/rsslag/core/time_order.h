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

#include "rsslag/core/wire.h"

namespace rsslag::core {

/// Puts the records of several rings into the order of their time. Each CPU's own are in order already.
class TimeOrder {
  public:
    /// Whole records as a ring gave them. What is no record (a kind that is not known, a short one) ends the span: the
    /// next one cannot be found.
    void add(std::span<const std::byte> bytes);

    /// Hands on all records before `t_ns`, in order: `use` takes a rsslag_update, rsslag_fault,
    /// rsslag_sum or rsslag_task.
    template <class Use>
    void until(std::uint64_t t_ns, Use &&use) {
        while (!turns_.empty() && turns_.front().t_ns < t_ns) {
            std::pop_heap(turns_.begin(), turns_.end(), std::greater<>());
            const std::size_t cpu = turns_.back().cpu;
            turns_.pop_back();
            // When another CPU's turn comes.
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

    /// What has not been handed on yet: `use` takes a CPU and its records.
    template <class Use>
    void waiting(Use &&use) const {
        for (std::size_t cpu = 0; cpu < queues_.size(); ++cpu) {
            const Queue &queue = queues_[cpu];
            if (queue.at < queue.bytes.size()) use(cpu, std::span<const std::byte>(queue.bytes).subspan(queue.at));
        }
    }

    /// Of what waits.
    std::size_t waiting_bytes() const { return waiting_bytes_; }
    /// That a program has sent: without sums that go on.
    std::uint64_t records() const { return records_; }
    /// Processes that begin to be traced among what was added since the last call, in rsslag's PID namespace.
    std::vector<int> take_begun() { return std::exchange(begun_, {}); }
    /// Spans that ended early: a loss of at least one record each.
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

    /// When the first record of a CPU that waits is to be handed on.
    struct Turn {
        std::uint64_t t_ns = 0;
        std::size_t cpu = 0;
        friend auto operator<=>(const Turn &, const Turn &) = default;
    };

    static void look(Queue &queue);
    static void trim(Queue &queue);
    void take_turn(std::size_t cpu);

    std::vector<Queue> queues_;  ///< by CPU
    std::vector<Turn> turns_;    ///< a heap, of those with records that wait
    std::size_t waiting_bytes_ = 0;
    std::uint64_t records_ = 0;
    std::uint64_t malformed_ = 0;
    std::vector<int> begun_;
};

}  // namespace rsslag::core
