// SPDX-License-Identifier: BSD-2-Clause
#include "unwinder.h"

namespace rsslag::unwind {
namespace {

struct Step {
    std::optional<Registers> caller;
    StackEnd end = StackEnd::NoRules;  ///< if there is no caller
    bool caller_interrupted = false;
};

std::optional<std::uint64_t> value_of(const Restored &restored, std::size_t number, const Registers &registers,
                                      const StackCopy &copy, std::uint64_t cfa) {
    using How = Restored::How;
    const auto offset = static_cast<std::uint64_t>(restored.offset);
    switch (restored.how) {
        case How::Same: return registers[number];
        case How::Unknown: return std::nullopt;
        case How::AtCfa: return copy.read(cfa + offset);
        case How::Cfa: return cfa + offset;
        case How::InRegister: return registers[offset];
        case How::Expression: return evaluate(*restored.expression, registers, copy, cfa);
        case How::AtExpression: {
            const auto at = evaluate(*restored.expression, registers, copy, cfa);
            return at ? copy.read(*at) : std::nullopt;
        }
    }
    return std::nullopt;
}

/// Where a value that could not be read would have been: above the copy the stack goes on.
StackEnd why_unread(const Restored &restored, const StackCopy &copy, std::uint64_t cfa) {
    const bool above = restored.how != Restored::How::AtCfa ||
                       copy.is_above(cfa + static_cast<std::uint64_t>(restored.offset) + sizeof(std::uint64_t) - 1);
    return above ? StackEnd::Cut : StackEnd::Implausible;
}

Step by_rules(const FrameRules &rules, const Registers &registers, const StackCopy &copy) {
    if (rules.outermost) return {{}, StackEnd::Outermost};
    std::optional<std::uint64_t> cfa;
    if (rules.cfa_expression != nullptr) {
        cfa = evaluate(*rules.cfa_expression, registers, copy, {});
    } else if (const auto base = registers[rules.cfa_register]) {
        cfa = *base + static_cast<std::uint64_t>(rules.cfa_offset);
    }
    if (!cfa) return {{}, StackEnd::NoRules};
    const auto pc = value_of(rules.registers[kReturnAddress], kReturnAddress, registers, copy, *cfa);
    if (!pc) return {{}, why_unread(rules.registers[kReturnAddress], copy, *cfa)};
    Registers caller;
    for (std::size_t number = 0; number < kRegisters; ++number)
        caller.set(number, value_of(rules.registers[number], number, registers, copy, *cfa));
    // The CFA is the caller's stack pointer, unless a rule gives another (a signal frame).
    if (rules.registers[kStackPointer].how == Restored::How::Same) caller.set(kStackPointer, *cfa);
    return {caller, StackEnd::NoRules, rules.of_signal};
}

/// push %rbp; mov %rsp, %rbp: the caller's rbp is at rbp, the return address above it. `chained`: the frame was found
/// in the same way. Then a frame pointer of 0 ends the stack (System V ABI, AMD64 supplement, 3.4.1).
Step by_frame_pointer(const Registers &registers, const StackCopy &copy, bool chained) {
    const auto frame = registers[kFramePointer];
    const auto stack = registers[kStackPointer];
    constexpr std::uint64_t kWord = sizeof(std::uint64_t);
    if (chained && frame == 0U) return {{}, StackEnd::Outermost};
    if (!frame || !stack || *frame < *stack || *frame % kWord != 0) return {};
    const auto pc = copy.read(*frame + kWord);
    if (!pc) return {{}, copy.is_above(*frame + kWord) ? StackEnd::Cut : StackEnd::NoRules};
    Registers caller;
    caller.set(kReturnAddress, pc);
    caller.set(kFramePointer, copy.read(*frame));
    caller.set(kStackPointer, *frame + 2 * kWord);
    return {caller};
}

/// CPython's Python/asm_trampoline.S makes its call with one word on the stack: for the alignment or, from 3.14 on, the
/// caller's rbp.
Step by_trampoline(const Registers &registers, const StackCopy &copy) {
    constexpr std::uint64_t kWord = sizeof(std::uint64_t);
    const auto stack = registers[kStackPointer];
    if (!stack) return {};
    const auto pc = copy.read(*stack + kWord);
    if (!pc) return {{}, copy.is_above(*stack + kWord) ? StackEnd::Cut : StackEnd::NoRules};
    Registers caller = registers;
    caller.set(kReturnAddress, pc);
    if (registers[kFramePointer] == stack) caller.set(kFramePointer, copy.read(*stack));
    caller.set(kStackPointer, *stack + 2 * kWord);
    return {caller};
}

}  // namespace

Stack unwind(Registers registers, const StackCopy &copy, const CodeAt &code_at, core::UnwindBy by) {
    Stack stack;
    Frame frame{registers.pc(), true, false};
    for (;;) {
        // _start and clone() of some C libraries have no rule that ends the stack, only a return address of 0.
        if (frame.pc == 0) {
            stack.end = StackEnd::Outermost;
            return stack;
        }
        stack.frames.push_back(frame);
        if (stack.frames.size() == kMostFrames) {
            stack.end = StackEnd::TooDeep;
            return stack;
        }
        const std::optional<Code> code = code_at(frame.instruction());
        const FrameRules *const rules =
            code && code->rules != nullptr ? code->rules->at(frame.instruction() - code->bias) : nullptr;
        if (rules == nullptr && code && code->rules != nullptr &&
            code->rules->is_entry(frame.instruction() - code->bias)) {
            stack.end = StackEnd::Outermost;
            return stack;
        }
        Step step;
        const bool use_rules = rules != nullptr && (by != core::UnwindBy::FramePointers || rules->outermost);
        const bool use_trampoline = code && code->of_trampoline && !frame.interrupted;
        if (use_rules)
            step = by_rules(*rules, registers, copy);
        else if (use_trampoline && by != core::UnwindBy::FramePointers)
            step = by_trampoline(registers, copy);
        else if (by != core::UnwindBy::EhFrame)
            step = by_frame_pointer(registers, copy, frame.by_frame_pointer);
        if (!step.caller) {
            stack.end = step.end;
            return stack;
        }
        const auto before = registers[kStackPointer], after = (*step.caller)[kStackPointer];
        // A signal handler may have a stack of its own.
        if (!before || !after || (*after <= *before && !step.caller_interrupted)) {
            stack.end = StackEnd::Implausible;
            return stack;
        }
        registers = *step.caller;
        frame = {registers.pc(), step.caller_interrupted, !use_rules && !use_trampoline};
    }
}

}  // namespace rsslag::unwind
