// SPDX-License-Identifier: BSD-2-Clause
// Records of the stream as what they are, instead of bytes: lossless, nothing is judged.
#pragma once

#include <cstddef>
#include <cstring>
#include <optional>
#include <span>
#include <type_traits>
#include <variant>

#include "rsslag/abi.h"

namespace rsslag::wire {

using Record = std::variant<rsslag_update, rsslag_fault, rsslag_task, rsslag_sum>;

/// Of all of them.
inline constexpr std::size_t kTimeOffset = offsetof(rsslag_update, t_ns);
static_assert(offsetof(rsslag_fault, t_ns) == kTimeOffset && offsetof(rsslag_task, t_ns) == kTimeOffset &&
              offsetof(rsslag_sum, t_ns) == kTimeOffset);

/// Calls `use` with the std::type_identity of the struct that records of this kind are and hands its answer on; an
/// empty one where there is no such kind.
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

/// How long a record of this kind is; 0: there is no such kind.
constexpr std::size_t record_bytes(rsslag_u16 kind) {
    return with_type(kind, []<class Struct>(std::type_identity<Struct>) { return sizeof(Struct); });
}

/// Hands the record at the begin of `bytes` to `use`, which takes each of the structs. How many bytes it is long; 0:
/// there is no whole record.
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

/// The same as a value; nullopt: there is no whole record.
inline std::optional<Record> unpack_first(std::span<const std::byte> bytes) {
    std::optional<Record> first;
    visit_first(bytes, [&first](const auto &record) { first = record; });
    return first;
}

/// Whether a program has sent it: a sum that goes on was read by userspace and is told again.
template <class Struct>
constexpr bool is_sent(const Struct &record) {
    if constexpr (std::is_same_v<Struct, rsslag_sum>) {
        return (record.flags & RSSLAG_PARTIAL) == 0;
    } else {
        return true;
    }
}

}  // namespace rsslag::wire
