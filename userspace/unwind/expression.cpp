// SPDX-License-Identifier: BSD-2-Clause
#include "expression.h"

#include <dwarf.h>

#include <array>
#include <cstddef>

namespace rsslag::unwind {
namespace {

constexpr std::size_t kMostValues = 64;
constexpr int kMostSteps = 1000;

/// The machine of one evaluation. A failed step leaves `failed` set.
class Machine {
  public:
    Machine(const Registers &registers, const StackCopy &stack, std::optional<std::uint64_t> cfa)
        : registers_(registers), stack_(stack), cfa_(cfa) {}

    /// False: it failed.
    bool step(const Operation &operation);
    std::optional<std::uint64_t> top() const { return depth_ == 0 ? std::nullopt : std::optional(values_[depth_ - 1]); }

  private:
    bool push(std::optional<std::uint64_t> value) {
        if (!value || depth_ == kMostValues) return false;
        values_[depth_++] = *value;
        return true;
    }
    bool push_sum(std::optional<std::uint64_t> value, std::uint64_t offset) {
        return push(value ? std::optional(*value + offset) : std::nullopt);
    }
    /// Replaces the top value.
    bool change(std::optional<std::uint64_t> (*with)(const Machine &, std::uint64_t)) {
        if (depth_ == 0) return false;
        --depth_;
        return push(with(*this, values_[depth_]));
    }
    bool pick(std::uint64_t down) { return down < depth_ && push(values_[depth_ - 1 - down]); }
    bool compute(std::uint8_t code);

    const Registers &registers_;
    const StackCopy &stack_;
    std::optional<std::uint64_t> cfa_;
    std::array<std::uint64_t, kMostValues> values_{};
    std::size_t depth_ = 0;
};

std::optional<std::uint64_t> combined(std::uint8_t code, std::uint64_t a, std::uint64_t b) {
    const auto left = static_cast<std::int64_t>(a), right = static_cast<std::int64_t>(b);
    constexpr std::uint64_t kBits = 64;
    switch (code) {
        case DW_OP_plus: return a + b;
        case DW_OP_minus: return a - b;
        case DW_OP_mul: return a * b;
        case DW_OP_and: return a & b;
        case DW_OP_or: return a | b;
        case DW_OP_xor: return a ^ b;
        case DW_OP_mod: return b == 0 ? std::nullopt : std::optional(a % b);
        case DW_OP_shl: return b < kBits ? a << b : 0;
        case DW_OP_shr: return b < kBits ? a >> b : 0;
        case DW_OP_shra: return static_cast<std::uint64_t>(left >> (b < kBits ? b : kBits - 1));
        case DW_OP_eq: return static_cast<std::uint64_t>(left == right);
        case DW_OP_ne: return static_cast<std::uint64_t>(left != right);
        case DW_OP_ge: return static_cast<std::uint64_t>(left >= right);
        case DW_OP_gt: return static_cast<std::uint64_t>(left > right);
        case DW_OP_le: return static_cast<std::uint64_t>(left <= right);
        case DW_OP_lt: return static_cast<std::uint64_t>(left < right);
        default: return std::nullopt;
    }
}

/// An operation on the two top values.
bool Machine::compute(std::uint8_t code) {
    if (depth_ < 2) return false;
    depth_ -= 2;
    return push(combined(code, values_[depth_], values_[depth_ + 1]));
}

bool Machine::step(const Operation &operation) {
    const std::uint8_t code = operation.code;
    if (code >= DW_OP_breg0 && code <= DW_OP_breg31)
        return push_sum(registers_[code - std::size_t{DW_OP_breg0}], operation.first);
    if (code >= DW_OP_lit0 && code <= DW_OP_lit31) return push(code - std::uint64_t{DW_OP_lit0});
    switch (code) {
        case DW_OP_bregx: return push_sum(registers_[operation.first], operation.second);
        case DW_OP_call_frame_cfa: return push(cfa_);
        case DW_OP_const1u:
        case DW_OP_const1s:
        case DW_OP_const2u:
        case DW_OP_const2s:
        case DW_OP_const4u:
        case DW_OP_const4s:
        case DW_OP_const8u:
        case DW_OP_const8s:
        case DW_OP_constu:
        case DW_OP_consts: return push(operation.first);
        case DW_OP_dup: return pick(0);
        case DW_OP_over: return pick(1);
        case DW_OP_pick: return pick(operation.first);
        case DW_OP_drop: return depth_-- > 0;
        case DW_OP_swap:
            if (depth_ < 2) return false;
            std::swap(values_[depth_ - 1], values_[depth_ - 2]);
            return true;
        case DW_OP_plus_uconst: return depth_ > 0 && push(operation.first) && compute(DW_OP_plus);
        case DW_OP_deref: return change([](const Machine &m, std::uint64_t at) { return m.stack_.read(at); });
        case DW_OP_neg: return change([](const Machine &, std::uint64_t value) { return std::optional(0 - value); });
        case DW_OP_not: return change([](const Machine &, std::uint64_t value) { return std::optional(~value); });
        case DW_OP_nop: return true;
        default: return compute(code);
    }
}

}  // namespace

std::optional<std::uint64_t> evaluate(const std::vector<Operation> &expression, const Registers &registers,
                                      const StackCopy &stack, std::optional<std::uint64_t> cfa) {
    if (expression.size() > kMostSteps) return std::nullopt;  // there are no branches, so it ends
    Machine machine(registers, stack, cfa);
    for (const Operation &operation : expression) {
        if (!machine.step(operation)) return std::nullopt;
    }
    return machine.top();
}

}  // namespace rsslag::unwind
