// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/time_order.h"

#include "core/scheme.h"
#include "core/units.h"

namespace rsslag::analysis {
namespace {

/// An update of a counter that this version does not know is a loss: the ledger has no place for it.
bool is_possible(const rsslag_update &update) {
    return update.count > -core::kMostPagesOfMm && update.count < core::kMostPagesOfMm &&
           core::member_of(update.member);
}
bool is_possible(const rsslag_sum &sum) {
    return sum.members >> core::kMembers == 0;
}
template <class Other>
bool is_possible(const Other & /*with neither a number that is added up nor one of a counter*/) {
    return true;
}
void note_started(const rsslag_task &task, std::vector<Started> &started) {
    if ((task.flags & RSSLAG_TRACED) == 0 || task.ns_tgid == 0) return;
    const bool forked = task.kind == RSSLAG_NEWTASK && (task.flags & RSSLAG_SAME_GROUP) == 0;
    started.push_back({task.ns_tgid, task.t_ns, forked ? task.parent : 0});
}
template <class Other>
void note_started(const Other & /*record*/, std::vector<Started> & /*started*/) {}

}  // namespace

void TimeOrder::add(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        std::size_t cpu = 0;
        bool sent = false;
        bool possible = true;
        const std::size_t size = wire::visit_first(bytes, [&](const auto &record) {
            cpu = record.cpu;
            sent = wire::is_sent(record);
            possible = is_possible(record);
            note_started(record, started_);
        });
        if (size == 0 || cpu >= core::kMostCpus) {
            ++malformed_;
            return;
        }
        if (!possible) {  // its length is right, so the next record is found
            ++malformed_;
            bytes = bytes.subspan(size);
            continue;
        }
        if (queues_.size() <= cpu) queues_.resize(cpu + 1);
        Queue &queue = queues_[cpu];
        const bool was_empty = queue.at == queue.bytes.size();
        queue.bytes.insert(queue.bytes.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
        waiting_bytes_ += size;
        if (was_empty) {
            look(queue);
            take_turn(cpu);
        }
        records_ += sent ? 1 : 0;
        bytes = bytes.subspan(size);
    }
}

void TimeOrder::look(Queue &queue) {
    if (queue.at < queue.bytes.size()) {
        std::memcpy(&queue.head, queue.bytes.data() + queue.at + wire::kTimeOffset, sizeof(queue.head));
    }
}

void TimeOrder::take_turn(std::size_t cpu) {
    turns_.push_back({queues_[cpu].head, cpu});
    std::push_heap(turns_.begin(), turns_.end(), std::greater<>());
}

void TimeOrder::trim(Queue &queue) {
    constexpr std::size_t kWorthKeeping = std::size_t{256} * 1024;
    if (queue.at < queue.bytes.size() / 2) return;  // else a long queue is moved again and again
    queue.bytes.erase(queue.bytes.begin(), queue.bytes.begin() + static_cast<std::ptrdiff_t>(queue.at));
    queue.at = 0;
    if (queue.bytes.empty() && queue.bytes.capacity() > kWorthKeeping) queue.bytes.shrink_to_fit();
}

}  // namespace rsslag::analysis
