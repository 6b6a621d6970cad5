// SPDX-License-Identifier: BSD-2-Clause
// From registers and the top of a stack to the frames of its calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "core/samples.h"
#include "frame_rules.h"
#include "registers.h"

namespace rsslag::unwind {

/// One mapped file of code, as the unwinder sees it.
struct Code {
    FrameTable *rules = nullptr;  ///< null: the file cannot be read, or has no .eh_frame
    std::uint64_t bias = 0;       ///< an address in memory minus that in the file
    bool of_trampoline = false;   ///< by which CPython calls a function under -X perf; then there are no rules
};
/// The code that is mapped at an address; nullopt: none, or code without a file, such as that of a JIT.
using CodeAt = std::function<std::optional<Code>(std::uint64_t address)>;

using core::kMostFrames;
using core::StackEnd;

struct Frame {
    std::uint64_t pc = 0;           ///< of a caller: its return address
    bool interrupted = false;       ///< pc is the next instruction, not a return address
    bool by_frame_pointer = false;  ///< found by a frame pointer, which may skip a caller
    /// An address within the instruction that was executed.
    std::uint64_t instruction() const { return interrupted ? pc : pc - 1; }
};

struct Stack {
    std::vector<Frame> frames;  ///< the innermost first
    StackEnd end = StackEnd::NoRules;
};

Stack unwind(Registers registers, const StackCopy &copy, const CodeAt &code_at,
             core::UnwindBy by = core::UnwindBy::Auto);

}  // namespace rsslag::unwind
