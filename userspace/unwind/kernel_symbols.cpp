// SPDX-License-Identifier: BSD-2-Clause
#include "kernel_symbols.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <string_view>

namespace rsslag::unwind {
namespace {

/// Between a traced function and the BPF program: the program itself, and kernel/trace/bpf_trace.c.
bool is_of_tracing(std::string_view function) {
    constexpr std::string_view kTracing[] = {"bpf_prog_", "bpf_trampoline_", "bpf_trace_run", "__bpf_trace_",
                                             "__traceiter_"};
    return std::any_of(std::begin(kTracing), std::end(kTracing),
                       [function](std::string_view prefix) { return function.starts_with(prefix); });
}

}  // namespace

std::vector<core::StackFrame> KernelSymbols::frames_of(std::span<const std::uint64_t> addresses) {
    if (kallsyms_.open() && !addresses.empty()) {
        read();
        kallsyms_.reset();
    }
    std::vector<core::StackFrame> frames;
    for (const std::uint64_t address : addresses) {
        frames.push_back(frame_at(address - 1));  // within the call
        if (is_of_tracing(frames.back().function)) frames.clear();
    }
    return frames;
}

core::StackFrame KernelSymbols::frame_at(std::uint64_t address) const {
    constexpr std::uint64_t kLargest = std::uint64_t{1} << 18;  // function; beyond: a gap between symbols
    core::StackFrame frame{{}, "[kernel]", {}, address};
    const auto after = std::ranges::upper_bound(symbols_, address, {}, &Symbol::address);
    if (after == symbols_.begin() || address - std::prev(after)->address > kLargest) return frame;
    const Symbol &symbol = *std::prev(after);
    frame.function = names_.substr(symbol.name, symbol.name_size);
    if (symbol.module_size > 0) frame.file = names_.substr(symbol.module, symbol.module_size);
    return frame;
}

void KernelSymbols::read() {
    std::string rest;
    std::vector<char> bytes(std::size_t{1} << 16);
    for (;;) {
        const ssize_t got = core::uninterrupted([&] { return ::read(kallsyms_.get(), bytes.data(), bytes.size()); });
        if (got <= 0) break;
        rest.append(bytes.data(), static_cast<std::size_t>(got));
        std::size_t begin = 0;
        for (std::size_t end; (end = rest.find('\n', begin)) != std::string::npos; begin = end + 1)
            add(std::string_view(rest).substr(begin, end - begin));
        rest.erase(0, begin);
    }
    std::ranges::stable_sort(symbols_, {}, &Symbol::address);
    const auto same = [](const Symbol &one, const Symbol &other) { return one.address == other.address; };
    symbols_.erase(std::unique(symbols_.begin(), symbols_.end(), same), symbols_.end());
}

/// "ffffffff81000000 T _stext", and for a module "\t[xfs]" after it. All addresses are 0 if the kernel hides them.
void KernelSymbols::add(std::string_view line) {
    std::uint64_t address = 0;
    const auto parsed = std::from_chars(line.data(), line.data() + line.size(), address, 16);
    line.remove_prefix(static_cast<std::size_t>(parsed.ptr - line.data()));
    if (parsed.ec != std::errc() || address == 0 || line.size() < 4) return;
    if (std::string_view("tTwW").find(line[1]) == std::string_view::npos) return;
    line.remove_prefix(3);
    const std::size_t tab = line.find('\t');
    const std::string_view module = tab == std::string_view::npos ? std::string_view() : line.substr(tab + 1);
    const std::size_t at = names_.size();
    names_ += line.substr(0, tab);
    names_ += module;
    symbols_.push_back({address, at, names_.size() - at - module.size(), names_.size() - module.size(), module.size()});
}

}  // namespace rsslag::unwind
