// SPDX-License-Identifier: BSD-2-Clause
#include "rsslag/core/time_order.h"

namespace rsslag::core {
namespace {

constexpr std::size_t kTimeOffset = offsetof(rsslag_update, t_ns);
static_assert(offsetof(rsslag_fault, t_ns) == kTimeOffset && offsetof(rsslag_task, t_ns) == kTimeOffset &&
              offsetof(rsslag_sum, t_ns) == kTimeOffset);

struct Shape {
    std::size_t size = 0;  ///< 0: no such kind
    std::size_t cpu = 0;   ///< where its CPU is
};

Shape shape_of(rsslag_u16 kind) {
    switch (kind) {
        case RSSLAG_UPDATE: return {sizeof(rsslag_update), offsetof(rsslag_update, cpu)};
        case RSSLAG_FAULT: return {sizeof(rsslag_fault), offsetof(rsslag_fault, cpu)};
        case RSSLAG_SUM: return {sizeof(rsslag_sum), offsetof(rsslag_sum, cpu)};
        case RSSLAG_NEWTASK:
        case RSSLAG_SEEN:
        case RSSLAG_RENAME:
        case RSSLAG_EXEC:
        case RSSLAG_EXIT: return {sizeof(rsslag_task), offsetof(rsslag_task, cpu)};
        default: return {};
    }
}

}  // namespace

void TimeOrder::add(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        rsslag_u16 kind = 0;
        if (bytes.size() >= sizeof(kind)) std::memcpy(&kind, bytes.data(), sizeof(kind));
        const Shape shape = shape_of(kind);
        if (shape.size == 0 || bytes.size() < shape.size) {
            ++garbled_;
            return;
        }
        rsslag_u16 cpu = 0;
        std::memcpy(&cpu, bytes.data() + shape.cpu, sizeof(cpu));
        if (queues_.size() <= cpu) queues_.resize(static_cast<std::size_t>(cpu) + 1);
        Queue &queue = queues_[cpu];
        const bool was_empty = queue.at == queue.bytes.size();
        queue.bytes.insert(queue.bytes.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(shape.size));
        if (was_empty) look(queue);
        rsslag_u16 flags = 0;
        std::memcpy(&flags, bytes.data() + offsetof(rsslag_sum, flags), sizeof(flags));
        const bool sent = kind != RSSLAG_SUM || (flags & RSSLAG_GOES_ON) == 0;
        records_ += sent ? 1 : 0;
        bytes = bytes.subspan(shape.size);
    }
}

void TimeOrder::look(Queue &queue) {
    if (queue.at < queue.bytes.size()) {
        std::memcpy(&queue.head, queue.bytes.data() + queue.at + kTimeOffset, sizeof(queue.head));
    }
}

void TimeOrder::trim() {
    constexpr std::size_t kWorthKeeping = std::size_t{256} * 1024;
    for (Queue &queue : queues_) {
        queue.bytes.erase(queue.bytes.begin(), queue.bytes.begin() + static_cast<std::ptrdiff_t>(queue.at));
        queue.at = 0;
        if (queue.bytes.empty() && queue.bytes.capacity() > kWorthKeeping) queue.bytes.shrink_to_fit();
    }
}

}  // namespace rsslag::core
