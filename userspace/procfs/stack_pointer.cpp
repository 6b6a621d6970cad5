// SPDX-License-Identifier: BSD-2-Clause
#include "procfs/stack_pointer.h"

#include <fmt/format.h>

#include "text.h"

namespace rsslag::procfs {

std::optional<std::uint64_t> parse_stack_pointer(std::string_view text) {
    if (!text.ends_with('\n')) return std::nullopt;
    text.remove_suffix(1);
    const std::size_t program_counter = text.rfind(' ');
    if (program_counter == std::string_view::npos) return std::nullopt;
    text = text.substr(0, program_counter);
    text = text.substr(text.rfind(' ') + 1);
    constexpr std::string_view kHex = "0x";
    if (!text.starts_with(kHex)) return std::nullopt;
    text.remove_prefix(kHex.size());
    std::uint64_t pointer = 0;
    if (take_number(text, pointer, 16) != ParseError::None || !text.empty()) return std::nullopt;
    return pointer;
}

std::vector<core::MappingListing::Stack> sleeping_stacks(const Process &process) {
    std::vector<core::MappingListing::Stack> stacks;
    const auto threads = process.threads();
    if (!threads) return stacks;
    for (const pid_t tid : *threads) {
        if (tid == process.pid()) continue;
        const auto text = process.read(fmt::format("task/{}/syscall", tid).c_str());
        if (!text && text.error().kind != core::Kind::Gone) break;
        const auto pointer = text ? parse_stack_pointer(text->bytes) : std::nullopt;
        if (pointer) stacks.push_back({tid, *pointer});
    }
    return stacks;
}

}  // namespace rsslag::procfs
