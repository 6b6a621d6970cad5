// SPDX-License-Identifier: BSD-2-Clause
// Records of the stream as structs instead of bytes. Their fields are not interpreted.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <type_traits>

#include "rsslag/abi.h"

namespace rsslag::wire {

/// The offset of t_ns, which is the same in all kinds of record.
inline constexpr std::size_t kTimeOffset = offsetof(rsslag_update, t_ns);
static_assert(offsetof(rsslag_fault, t_ns) == kTimeOffset && offsetof(rsslag_task, t_ns) == kTimeOffset &&
              offsetof(rsslag_sum, t_ns) == kTimeOffset && offsetof(rsslag_at_exec, t_ns) == kTimeOffset);

/// Calls `use` with std::type_identity of the struct for this kind of record and returns its result; a
/// default-constructed result if the kind is unknown. RSSLAG_AT_EXEC is not known here: the tracer makes an
/// event::AtExec of it.
template <class Use>
constexpr auto with_type(rsslag_u16 kind, Use &&use) {
    switch (kind) {
        case RSSLAG_UPDATE: return use(std::type_identity<rsslag_update>{});
        case RSSLAG_FAULT: return use(std::type_identity<rsslag_fault>{});
        case RSSLAG_NEWTASK:
        case RSSLAG_SEEN:
        case RSSLAG_RENAME:
        case RSSLAG_EXEC:
        case RSSLAG_EXIT: return use(std::type_identity<rsslag_task>{});
        case RSSLAG_SUM: return use(std::type_identity<rsslag_sum>{});
        default: return decltype(use(std::type_identity<rsslag_update>{})){};
    }
}

/// The size of a record of this kind in bytes; 0: unknown kind.
constexpr std::size_t record_bytes(rsslag_u16 kind) {
    if (kind == RSSLAG_AT_EXEC) return sizeof(rsslag_at_exec);
    return with_type(kind, []<class Struct>(std::type_identity<Struct>) { return sizeof(Struct); });
}

/// Passes the record at the start of `bytes` to `use`, which must accept each of the structs. Returns the record's size
/// in bytes; 0: no complete record.
template <class Use>
std::size_t visit_first(std::span<const std::byte> bytes, Use &&use) {
    rsslag_u16 kind = 0;
    if (bytes.size() < sizeof(kind)) return 0;
    std::memcpy(&kind, bytes.data(), sizeof(kind));
    return with_type(kind, [&]<class Struct>(std::type_identity<Struct>) -> std::size_t {
        Struct record;
        if (bytes.size() < sizeof(record)) return 0;
        std::memcpy(&record, bytes.data(), sizeof(record));
        use(record);
        return sizeof(record);
    });
}

/// Whether a BPF program has sent the record. A partial sum was read by userspace instead, and comes again later.
template <class Struct>
constexpr bool is_sent(const Struct &record) {
    if constexpr (std::is_same_v<Struct, rsslag_sum>) {
        return (record.flags & RSSLAG_PARTIAL) == 0;
    } else {
        return true;
    }
}

}  // namespace rsslag::wire
