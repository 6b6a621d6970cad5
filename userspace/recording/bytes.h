// SPDX-License-Identifier: BSD-2-Clause
// Numbers and texts as bytes: varints (7 bits a byte, the lowest first, bit 7 set if more bytes follow); signed numbers
// are zigzag, with the sign in bit 0.
#pragma once

#include <protozero/buffer_string.hpp>
#include <protozero/varint.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace rsslag::recording {

using Bytes = std::string;

inline std::string_view as_text(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}

inline void put(Bytes &out, std::uint64_t value) {
    protozero::add_varint_to_buffer(&out, value);
}

inline void put_signed(Bytes &out, std::int64_t value) {
    put(out, protozero::encode_zigzag64(value));
}

inline void put_text(Bytes &out, std::string_view text) {
    put(out, text.size());
    out += text;
}

inline void put_double(Bytes &out, double value) {
    const auto bits = std::bit_cast<std::uint64_t>(value);
    for (int i = 0; i < 64; i += 8)
        out.push_back(static_cast<char>(bits >> i));
}

/// Limit on the sum of all counts in one body, since an entry takes more bytes in memory than in the file. No known
/// machine runs a process with that many threads.
inline constexpr std::size_t kMostEntries = std::size_t{1} << 19;
/// The limit on a task's name (TASK_COMM_LEN, WQ_NAME_LEN).
inline constexpr std::size_t kMostName = 64;

/// Decodes the output of the put functions. After the first failure it stays bad(), and every further value is 0.
class ByteReader {
  public:
    explicit ByteReader(std::string_view bytes) : rest_(bytes) {}

    bool bad() const { return bad_; }
    bool at_end() const { return rest_.empty(); }
    std::size_t left() const { return rest_.size(); }
    void fail() {
        bad_ = true;
        rest_ = {};
    }

    std::uint64_t number() {
        if (bad_) return 0;
        const char *at = rest_.data();
        try {
            const std::uint64_t value = protozero::decode_varint(&at, rest_.data() + rest_.size());
            rest_.remove_prefix(static_cast<std::size_t>(at - rest_.data()));
            return value;
        } catch (const protozero::exception &) {  // cut off, or more than 64 bits
            fail();
            return 0;
        }
    }
    std::int64_t signed_number() { return protozero::decode_zigzag64(number()); }
    /// The number of entries that follow, each of at least one byte.
    std::size_t count() {
        const std::uint64_t n = number();
        if (n > rest_.size() || n > entries_left_) fail();
        if (bad_) return 0;
        entries_left_ -= static_cast<std::size_t>(n);
        return static_cast<std::size_t>(n);
    }
    int small() { return static_cast<int>(signed_number()); }
    bool yes() { return number() != 0; }
    std::string_view raw(std::size_t size) {
        if (size > rest_.size()) {
            fail();
            return {};
        }
        const std::string_view bytes = rest_.substr(0, size);
        rest_.remove_prefix(size);
        return bytes;
    }
    std::string_view text() { return raw(number()); }
    std::string_view text_up_to(std::size_t most) {
        const std::string_view bytes = text();
        if (bytes.size() <= most) return bytes;
        fail();
        return {};
    }
    std::string_view name() { return text_up_to(kMostName); }
    double real() {
        const std::string_view bytes = raw(8);
        std::uint64_t bits = 0;
        for (std::size_t i = 0; i < bytes.size(); ++i)
            bits |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
        return std::bit_cast<double>(bits);
    }

  private:
    std::string_view rest_;
    std::size_t entries_left_ = kMostEntries;
    bool bad_ = false;
};

}  // namespace rsslag::recording
