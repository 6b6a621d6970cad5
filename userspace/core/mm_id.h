// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <string>

namespace rsslag::core {

/// The random key of mm_id().
struct IdKey {
    std::uint64_t first = 0, second = 0;
    friend bool operator==(const IdKey &, const IdKey &) = default;
};

/// SipHash-2-4 of two words, each as 8 bytes with the lowest first.
std::uint64_t sip_hash(const IdKey &key, std::uint64_t one, std::uint64_t other);

/// An opaque id, equal for processes that share an mm. Without the key, users learn nothing about the kernel address
/// from any number of ids. `generation` distinguishes mms that had the same address. Pure.
std::string mm_id(const IdKey &key, std::uint64_t mm, std::uint64_t generation = 0);

}  // namespace rsslag::core
