// SPDX-License-Identifier: BSD-2-Clause
// DWARF expressions, as far as call frame information uses them: for entries of a PLT, signal frames and the vdso.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "registers.h"

namespace rsslag::unwind {

/// One operation (DWARF 5, 2.5). The operands are those of Dwarf_Op of libdw.
struct Operation {
    std::uint8_t code = 0;
    std::uint64_t first = 0, second = 0;
};

/// The value on top of the stack after all operations, at most 1,000 of them. DW_OP_call_frame_cfa pushes `cfa`.
/// nullopt: an unsupported operation, an unknown register, memory outside of the copy, a division by 0, or too few
/// values.
std::optional<std::uint64_t> evaluate(const std::vector<Operation> &expression, const Registers &registers,
                                      const StackCopy &stack, std::optional<std::uint64_t> cfa);

}  // namespace rsslag::unwind
