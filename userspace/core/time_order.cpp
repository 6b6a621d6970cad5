// SPDX-License-Identifier: BSD-2-Clause
#include "rsslag/core/time_order.h"

namespace rsslag::core {

void TimeOrder::add(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        std::size_t cpu = 0;
        bool sent = false;
        const std::size_t size = wire::visit_first(bytes, [&](const auto &record) {
            cpu = record.cpu;
            sent = wire::is_sent(record);
        });
        if (size == 0) {
            ++malformed_;
            return;
        }
        if (queues_.size() <= cpu) queues_.resize(cpu + 1);
        Queue &queue = queues_[cpu];
        const bool was_empty = queue.at == queue.bytes.size();
        queue.bytes.insert(queue.bytes.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
        if (was_empty) look(queue);
        records_ += sent ? 1 : 0;
        bytes = bytes.subspan(size);
    }
}

void TimeOrder::look(Queue &queue) {
    if (queue.at < queue.bytes.size()) {
        std::memcpy(&queue.head, queue.bytes.data() + queue.at + wire::kTimeOffset, sizeof(queue.head));
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
