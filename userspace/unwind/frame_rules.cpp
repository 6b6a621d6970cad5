// SPDX-License-Identifier: BSD-2-Clause
#include "frame_rules.h"

#include <dwarf.h>
#include <elf.h>
#include <elfutils/libdw.h>
#include <gelf.h>

#include <cstdlib>
#include <deque>
#include <unordered_map>
#include <utility>

#include "elf_handle.h"

namespace rsslag::unwind {
namespace {

using core::Error;
using core::Kind;

struct CfiEnd {
    void operator()(Dwarf_CFI *cfi) const { dwarf_cfi_end(cfi); }
};
struct FrameEnd {
    void operator()(Dwarf_Frame *frame) const { std::free(frame); }  // NOLINT(cppcoreguidelines-no-malloc): libdw's
};

std::shared_ptr<const std::vector<Operation>> expression_of(const Dwarf_Op *operations, std::size_t count) {
    std::vector<Operation> copied;
    copied.reserve(count);
    for (std::size_t i = 0; i < count; ++i)
        copied.push_back({operations[i].atom, operations[i].number, operations[i].number2});
    return std::make_shared<const std::vector<Operation>>(std::move(copied));
}

bool set_cfa(FrameRules &rules, Dwarf_Frame *frame) {
    Dwarf_Op *operations = nullptr;
    std::size_t count = 0;
    if (dwarf_frame_cfa(frame, &operations, &count) != 0 || count == 0) return false;
    const Dwarf_Op &first = operations[0];
    if (count == 1 && first.atom == DW_OP_bregx) {
        rules.cfa_register = first.number;
        rules.cfa_offset = static_cast<std::int64_t>(first.number2);
    } else if (count == 1 && first.atom >= DW_OP_breg0 && first.atom <= DW_OP_breg31) {
        rules.cfa_register = first.atom - std::size_t{DW_OP_breg0};
        rules.cfa_offset = static_cast<std::int64_t>(first.number);
    } else {
        rules.cfa_expression = expression_of(operations, count);
    }
    return true;
}

/// dwarf_frame_register() gives a location, or a value if DW_OP_stack_value is last (libdw.h).
Restored restored(Dwarf_Frame *frame, int number) {
    using How = Restored::How;
    std::array<Dwarf_Op, 3> few{};
    Dwarf_Op *operations = nullptr;
    std::size_t count = 0;
    if (dwarf_frame_register(frame, number, few.data(), &operations, &count) != 0) return {How::Unknown, 0, nullptr};
    if (count == 0) return {operations == nullptr ? How::Same : How::Unknown, 0, nullptr};
    const bool is_value = operations[count - 1].atom == DW_OP_stack_value;
    const std::size_t length = is_value ? count - 1 : count;
    if (length == 1 && operations[0].atom == DW_OP_regx)
        return {How::InRegister, static_cast<std::int64_t>(operations[0].number), nullptr};
    if (length >= 1 && length <= 2 && operations[0].atom == DW_OP_call_frame_cfa &&
        (length == 1 || operations[1].atom == DW_OP_plus_uconst)) {
        const std::int64_t offset = length == 1 ? 0 : static_cast<std::int64_t>(operations[1].number);
        return {is_value ? How::Cfa : How::AtCfa, offset, nullptr};
    }
    return {is_value ? How::Expression : How::AtExpression, 0, expression_of(operations, length)};
}

}  // namespace

struct FrameTable::State {
    core::Fd file;
    ElfHandle elf;
    std::unique_ptr<Dwarf_CFI, CfiEnd> cfi;
    std::deque<FrameRules> rules;  ///< of the ranges that were looked up
    std::unordered_map<std::uint64_t, const FrameRules *> by_begin;
    std::unordered_map<std::uint64_t, const FrameRules *> by_address;
    std::uint64_t entry = 0;

    const FrameRules *read(std::uint64_t address);
};

FrameTable::FrameTable(std::unique_ptr<State> state) : state_(std::move(state)) {}
FrameTable::FrameTable(FrameTable &&other) noexcept = default;
FrameTable::~FrameTable() = default;

core::Result<FrameTable> FrameTable::open(core::Fd file) {
    auto state = std::make_unique<State>();
    state->file = std::move(file);
    elf_version(EV_CURRENT);
    state->elf.reset(elf_begin(state->file.get(), ELF_C_READ, nullptr));
    GElf_Ehdr header{};
    if (state->elf == nullptr || gelf_getehdr(state->elf.get(), &header) == nullptr)
        return Error{Kind::Unsupported, "this is not an ELF file", 0, ""};
    if (header.e_machine != EM_X86_64) return Error{Kind::Unsupported, "this is not an ELF file of x86-64", 0, ""};
    state->cfi.reset(dwarf_getcfi_elf(state->elf.get()));
    if (state->cfi == nullptr) return Error{Kind::Unsupported, "this file has no .eh_frame", 0, ""};
    state->entry = header.e_entry;
    return FrameTable(std::move(state));
}

/// The code at the entry of a dynamic linker has no rules: glibc's _start and _dl_start_user
/// (sysdeps/x86_64/dl-machine.h) are written in assembly and have 61 bytes.
bool FrameTable::is_entry(std::uint64_t address) const {
    constexpr std::uint64_t kBytes = 64;
    return state_->entry != 0 && address - state_->entry < kBytes;
}

const FrameRules *FrameTable::State::read(std::uint64_t address) {
    Dwarf_Frame *found = nullptr;
    if (dwarf_cfi_addrframe(cfi.get(), address, &found) != 0) return nullptr;
    const std::unique_ptr<Dwarf_Frame, FrameEnd> frame(found);
    FrameRules made;
    Dwarf_Addr begin = 0, end = 0;
    const int return_address = dwarf_frame_info(found, &begin, &end, &made.of_signal);
    if (return_address != static_cast<int>(kReturnAddress) || address < begin || address >= end) return nullptr;
    if (const auto known = by_begin.find(begin); known != by_begin.end() && known->second->end == end)
        return known->second;
    made.begin = begin;
    made.end = end;
    for (std::size_t number = 0; number < kRegisters; ++number)
        made.registers[number] = restored(found, static_cast<int>(number));
    // A function that does not mention rbx leaves it unchanged. libdw takes rax for it (backends/x86_64_cfi.c).
    if (Restored &rbx = made.registers[kRbx]; rbx.how == Restored::How::Unknown) rbx.how = Restored::How::Same;
    // glibc marks the outermost frame with an undefined return address (_start, clone).
    made.outermost = made.registers[kReturnAddress].how == Restored::How::Unknown;
    if (!made.outermost && !set_cfa(made, found)) return nullptr;
    rules.push_back(std::move(made));
    by_begin[begin] = &rules.back();
    return &rules.back();
}

const FrameRules *FrameTable::at(std::uint64_t address) {
    const auto [entry, added] = state_->by_address.try_emplace(address, nullptr);
    if (added) entry->second = state_->read(address);
    return entry->second;
}

}  // namespace rsslag::unwind
