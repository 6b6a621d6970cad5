// SPDX-License-Identifier: BSD-2-Clause
#include "core/mm_id.h"

#include <fmt/format.h>

#include <bit>

namespace rsslag::core {
namespace {

/// The state of SipHash, and its round: J.-P. Aumasson, D. J. Bernstein, "SipHash: a fast short-input PRF", 2012.
struct Sip {
    std::uint64_t a, b, c, d;

    void round() {
        a += b;
        b = std::rotl(b, 13) ^ a;
        a = std::rotl(a, 32);
        c += d;
        d = std::rotl(d, 16) ^ c;
        a += d;
        d = std::rotl(d, 21) ^ a;
        c += b;
        b = std::rotl(b, 17) ^ c;
        c = std::rotl(c, 32);
    }
    void take(std::uint64_t word) {
        d ^= word;
        round();
        round();
        a ^= word;
    }
};

}  // namespace

std::uint64_t sip_hash(const IdKey &key, std::uint64_t one, std::uint64_t other) {
    Sip sip{key.first ^ 0x736f6d6570736575, key.second ^ 0x646f72616e646f6d, key.first ^ 0x6c7967656e657261,
            key.second ^ 0x7465646279746573};
    constexpr std::uint64_t kLength = 16, kLengthAt = 56;
    sip.take(one);
    sip.take(other);
    sip.take(kLength << kLengthAt);
    sip.c ^= 0xff;
    for (int i = 0; i < 4; ++i)
        sip.round();
    return sip.a ^ sip.b ^ sip.c ^ sip.d;
}

std::string mm_id(const IdKey &key, std::uint64_t mm, std::uint64_t generation) {
    return fmt::format("{:016x}", sip_hash(key, mm, generation));
}

}  // namespace rsslag::core
