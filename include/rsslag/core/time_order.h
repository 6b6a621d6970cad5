// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
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
        for (;;) {
            Queue *first = nullptr;
            std::uint64_t then = t_ns;  // when another CPU's turn comes
            for (Queue &queue : queues_) {
                if (queue.at == queue.bytes.size()) continue;
                if (first == nullptr || queue.head < first->head) {
                    if (first != nullptr && first->head < then) then = first->head;
                    first = &queue;
                } else if (queue.head < then) {
                    then = queue.head;
                }
            }
            if (first == nullptr || first->head >= t_ns) break;
            do {
                hand_on(*first, use);
            } while (first->at < first->bytes.size() && first->head < then);
        }
        trim();
    }

    /// What has not been handed on yet: `use` takes a CPU and its records.
    template <class Use>
    void waiting(Use &&use) const {
        for (std::size_t cpu = 0; cpu < queues_.size(); ++cpu) {
            const Queue &queue = queues_[cpu];
            if (queue.at < queue.bytes.size()) use(cpu, std::span<const std::byte>(queue.bytes).subspan(queue.at));
        }
    }

    /// That a program has sent: without sums that go on.
    std::uint64_t records() const { return records_; }
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
        queue.at += wire::visit_first(std::span<const std::byte>(queue.bytes).subspan(queue.at), use);
        look(queue);
    }

    static void look(Queue &queue);
    void trim();

    std::vector<Queue> queues_;  ///< by CPU
    std::uint64_t records_ = 0;
    std::uint64_t malformed_ = 0;
};

}  // namespace rsslag::core
