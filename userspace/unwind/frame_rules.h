// SPDX-License-Identifier: BSD-2-Clause
// The call frame information of one ELF file: how to get from the registers of a frame to those of its caller.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/fd.h"
#include "core/result.h"
#include "expression.h"
#include "registers.h"

namespace rsslag::unwind {

/// How the caller's value of one register is found.
struct Restored {
    enum class How : std::uint8_t {
        Same,        ///< unchanged
        Unknown,     ///< the callee did not keep it
        AtCfa,       ///< in memory at CFA + offset
        Cfa,         ///< CFA + offset
        InRegister,  ///< in the register `offset`
        AtExpression,
        Expression,
    };
    How how = How::Same;
    std::int64_t offset = 0;
    std::shared_ptr<const std::vector<Operation>> expression;
};

/// The rules of a range of addresses.
struct FrameRules {
    std::uint64_t begin = 0, end = 0;
    bool of_signal = false;  ///< the caller was interrupted, so its pc is no return address
    bool outermost = false;  ///< it has no caller
    /// CFA: the value of a register + offset, or an expression.
    std::size_t cfa_register = kStackPointer;
    std::int64_t cfa_offset = 0;
    std::shared_ptr<const std::vector<Operation>> cfa_expression;
    std::array<Restored, kRegisters> registers;
};

/// Rules of an ELF file, read from its .eh_frame by libdw and kept by address. For one thread.
class FrameTable {
  public:
    /// Keeps the file open. Kind::Unsupported if it is no ELF file of x86-64 with .eh_frame.
    static core::Result<FrameTable> open(core::Fd file);
    FrameTable(FrameTable &&other) noexcept;
    FrameTable &operator=(FrameTable &&) = delete;
    ~FrameTable();

    /// The rules at an address in the file, without the load bias; nullptr: there are none. Valid as long as the table.
    const FrameRules *at(std::uint64_t address);

    /// Whether this address, which has no rules, is in the first 64 bytes from the entry point of the file.
    bool is_entry(std::uint64_t address) const;

  private:
    struct State;
    explicit FrameTable(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace rsslag::unwind
