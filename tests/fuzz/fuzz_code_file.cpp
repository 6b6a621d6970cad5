// SPDX-License-Identifier: BSD-2-Clause
// The code files of traced processes: ELF segments, symbols, build id, debug information, call frame information, and
// an unwinding through the latter, with the input itself as stack.
#include <sys/mman.h>

#include <algorithm>
#include <span>

#include "core/fd.h"
#include "fuzz.h"
#include "unwind/code_file.h"
#include "unwind/unwinder.h"

using rsslag::fuzz::require;
namespace core = rsslag::core;
namespace unwind = rsslag::unwind;

namespace {

constexpr std::uint64_t kBias = 0x7f0000000000, kStack = 0x7ffc00000000, kFar = 1U << 16U;

core::Fd file_of(std::string_view bytes) {
    core::Fd file(memfd_create("fuzz_code_file", MFD_CLOEXEC));
    require(file.open() && core::write_all(file.get(), bytes) == 0);
    return file;
}

void check_unwinding(unwind::CodeFile &file, std::string_view input, std::uint64_t pc) {
    const unwind::StackCopy stack{kStack, std::as_bytes(std::span(input.data(), input.size()))};
    unwind::Registers registers;
    for (std::size_t number = 0; number < unwind::kRegisters; ++number)
        registers.set(number, kStack + 8 * number);
    registers.set(unwind::kReturnAddress, kBias + pc);
    const auto found = unwind::unwind(registers, stack, [&](std::uint64_t address) -> std::optional<unwind::Code> {
        if (address < kBias || address >= kBias + kFar) return std::nullopt;
        return unwind::Code{file.rules(), kBias};
    });
    require(!found.frames.empty() && found.frames.size() <= unwind::kMostFrames);
    require(found.frames.front().pc == kBias + pc);
}

}  // namespace

// elfutils 0.188 loses some bytes of some broken files.
// NOLINTNEXTLINE(readability-identifier-naming,bugprone-reserved-identifier): the name that LeakSanitizer calls
extern "C" const char *__lsan_default_suppressions() {
    return "leak:libelf.so\nleak:libdw.so\n";
}

// NOLINTNEXTLINE(readability-identifier-naming): the name that libFuzzer calls
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    const std::string_view input = rsslag::fuzz::as_text(data, size);
    unwind::CodeFile file(file_of(input), {"/nowhere"}, 0);
    require(file.build_id().size <= core::BuildId::kMost);
    constexpr std::uint64_t kStep = 24;
    for (std::uint64_t address = 0; address < kFar; address += kStep) {
        require(!file.functions_at(address).empty());
        static_cast<void>(file.bias(kBias, address));
        if (file.rules() == nullptr) continue;
        const unwind::FrameRules *const rules = file.rules()->at(address);
        if (rules == nullptr) continue;
        require(rules->begin <= address && address < rules->end);
        check_unwinding(file, input, address);
    }
    return 0;
}
