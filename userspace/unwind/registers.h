// SPDX-License-Identifier: BSD-2-Clause
// What the unwinder starts from: the registers of a thread in user mode and a copy of the top of its stack. x86-64.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

namespace rsslag::unwind {

/// DWARF's numbers of the registers of x86-64 (System V ABI, AMD64 supplement, figure 3.36).
inline constexpr std::size_t kRbx = 3, kFramePointer = 6, kStackPointer = 7, kReturnAddress = 16, kRegisters = 17;

/// The registers of one frame. kReturnAddress is the program counter.
class Registers {
  public:
    std::optional<std::uint64_t> operator[](std::size_t number) const {
        return number < kRegisters && (known_ >> number & 1U) != 0 ? std::optional(values_[number]) : std::nullopt;
    }
    void set(std::size_t number, std::optional<std::uint64_t> value) {
        if (number >= kRegisters) return;
        known_ = value ? known_ | 1U << number : known_ & ~(1U << number);
        values_[number] = value.value_or(0);
    }
    std::uint64_t pc() const { return values_[kReturnAddress]; }

  private:
    std::array<std::uint64_t, kRegisters> values_{};
    std::uint32_t known_ = 0;  ///< a bit for each register
};

/// The bytes of memory from an address on. The caller keeps the bytes.
struct StackCopy {
    std::uint64_t address = 0;
    std::span<const std::byte> bytes;

    /// The 8 bytes at an address; nullopt: outside of the copy.
    std::optional<std::uint64_t> read(std::uint64_t at) const {
        constexpr std::size_t kWord = sizeof(std::uint64_t);
        const std::uint64_t offset = at - address;
        if (offset > bytes.size() || bytes.size() - offset < kWord) return std::nullopt;
        std::uint64_t value = 0;
        std::memcpy(&value, bytes.data() + offset, kWord);
        return value;
    }
    /// Whether an address is above the copy, where the thread's stack goes on.
    bool is_above(std::uint64_t at) const { return at >= address + bytes.size(); }
};

}  // namespace rsslag::unwind
