// SPDX-License-Identifier: BSD-2-Clause
// Samples of updates and the stacks of the threads that made them (--stacks). Pure.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "core/mapping.h"
#include "core/units.h"

namespace rsslag::core {

/// How the callers of a frame are found.
enum class UnwindBy : std::uint8_t {
    Auto,           ///< by .eh_frame, and by the frame pointer where there is none
    FramePointers,  ///< code that uses the register for something else ends or misleads the stack
    EhFrame,        ///< else the stack ends
};

/// What is sampled, and what becomes of the samples.
struct SampleOptions {
    std::uint32_t period = 0;  ///< pages to a sample, on average; 0: no samples
    /// Copied of each stack at first (stack_sizes()): a multiple of 8, or of 4096 if it is larger.
    std::uint32_t stack_bytes = 2048;
    std::uint64_t seed = 0;  ///< of the hash that chooses pages
    std::size_t ring_bytes = std::size_t{8} << 20;
    UnwindBy unwind = UnwindBy::Auto;
    bool symbols = true;  ///< look up the functions of files; else they can be found later, by build id and offset
};

/// The sizes of the copies of stacks, in ascending order. A thread whose stack is cut gets the next one.
inline std::array<std::uint32_t, 3> stack_sizes(std::uint32_t first) {
    constexpr std::uint32_t kMost = 32768;
    return {first, std::min(std::max(4 * first, 8192U) / 4096 * 4096, kMost), kMost};
}

/// The first copy of a stack contains all of it up to this many bytes; 0: only `stack_bytes` of it. At higher
/// rates the copies would cost more than the samples.
inline std::uint32_t whole_stack_bytes(std::uint32_t period) {
    constexpr std::uint32_t kDefaultPeriod = 64;
    return period >= kDefaultPeriod ? 28672 : 0;  // a copy of 32 KiB may lack its last page
}

/// Values of Sample::syscall that are not numbers of system calls.
inline constexpr std::int32_t kNoSyscall = -1;     ///< or one of a 32-bit program
inline constexpr std::int32_t kExiting = -2;       ///< the thread exits (PF_EXITING)
inline constexpr std::int32_t kKernelThread = -3;  ///< PF_KTHREAD
inline constexpr std::int32_t kReclaim = -4;       ///< the thread reclaims memory (PF_MEMALLOC), not by an madvise

/// A sampled update. (t_ns, host_tid, cpu, member) are those of the update.
struct Sample {
    std::uint64_t t_ns = 0;     ///< CLOCK_MONOTONIC
    std::uint64_t mm = 0;       ///< address of the mm_struct
    std::uint64_t address = 0;  ///< of the page fault; 0: none
    int host_tid = 0;
    int pid = 0;  ///< in rsslag's PID namespace; 0: not visible there
    std::uint16_t cpu = 0;
    std::uint8_t member = 0;     ///< the kernel's number
    std::int32_t estimated = 0;  ///< pages; an estimate by the BPF program
    std::int32_t syscall = -1;   ///< number of the system call that the thread is in, or one of the values above
    friend auto operator<=>(const Sample &, const Sample &) = default;
};

/// The address of the page that the sample owns; of a huge page, or of a larger folio of anonymous memory or shmem, its
/// start, wherever in it the fault was. Such a folio is aligned to its size.
inline std::uint64_t owned_page(const Sample &sample) {
    constexpr std::uint64_t kPage = 4096;
    const auto pages = static_cast<std::uint64_t>(std::max(sample.estimated, 1));
    const bool file = sample.member == static_cast<std::uint8_t>(Member::File);  // a fault maps up to 16 pages around
    return sample.address & ~(kPage * (!file && std::has_single_bit(pages) ? pages : 1) - 1);
}

/// Whether the sample owns its page until a later such sample of the page: a fault at a known address added the page.
inline bool owns_page(const Sample &sample) {
    return sample.address != 0 && sample.estimated > 0 && sample.member != static_cast<std::uint8_t>(Member::Swap);
}

/// A page that is owned, and what its sample stands for.
struct SampledPage {
    std::uint64_t address = 0;
    double pages = 0;
    std::size_t stack = 0;  ///< the number of its stack
    std::string mapping;    ///< the name of the mapping at the fault, raw bytes; empty: unknown
};

/// The probability with which an update of this estimated amount is sampled, if one in `period` pages is.
inline double inclusion(std::int32_t estimated, std::uint32_t period) {
    return std::min(1.0, static_cast<double>(std::abs(std::int64_t{estimated})) / period);
}

/// Why a stack has no more frames.
enum class StackEnd : std::uint8_t {
    Outermost,    ///< it is whole
    Cut,          ///< the copy of the stack ends before the stack does
    NoRules,      ///< no .eh_frame or frame pointer shows the caller
    Implausible,  ///< a frame would not be above that of its callee
    TooDeep,
    NoCopy,   ///< the registers or the stack could not be read
    Dropped,  ///< the unwinder could not keep up
};
inline constexpr std::size_t kStackEnds = 7;

/// One frame: code of a file at an address, and its function if that is known.
struct StackFrame {
    std::string function;  ///< raw bytes, demangled; empty: unknown
    std::string file;      ///< raw bytes: the path of the mapping, "[vdso]"; empty: no file
    BuildId build_id{};
    std::uint64_t address = 0;  ///< within the instruction; in the file, without the load bias, if there is a file
    std::string source{};       ///< raw bytes: the path of the source file; empty: unknown
    std::uint32_t line = 0;     ///< in the source file; 0: unknown
    bool inlined = false;       ///< into the function of the next frame
    friend auto operator<=>(const StackFrame &, const StackFrame &) = default;
};

/// The most frames of a stack; longer ones end with StackEnd::TooDeep.
inline constexpr std::size_t kMostFrames = 256;

struct CallStack {
    std::vector<std::uint32_t> frames;  ///< indices of frames, the innermost first
    StackEnd end = StackEnd::Outermost;
    std::vector<std::uint32_t> kernel{};  ///< the same, of the kernel; empty if a page fault added the pages
    friend auto operator<=>(const CallStack &, const CallStack &) = default;
};

}  // namespace rsslag::core
