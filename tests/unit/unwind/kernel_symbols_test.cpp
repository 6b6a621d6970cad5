// SPDX-License-Identifier: BSD-2-Clause
#include "unwind/kernel_symbols.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rsslag::unwind {
namespace {

core::Fd file_of(std::string_view text) {
    core::Fd file(memfd_create("kallsyms", MFD_CLOEXEC));
    EXPECT_EQ(write(file.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
    EXPECT_EQ(lseek(file.get(), 0, SEEK_SET), 0);
    return file;
}

constexpr std::string_view kText = R"(ffffffff81000000 T _stext
ffffffff81000000 T _text
ffffffff81001000 t unmap_page_range
ffffffff81002000 t do_madvise
ffffffff81002800 d not_code
ffffffff81003000 T bpf_trace_run3
ffffffffc0000000 t xfs_filemap_fault	[xfs]
ffffffffc0001000 t bpf_prog_0123456789abcdef_rss_stat	[bpf]
)";

std::vector<std::string> functions_of(std::string_view text, const std::vector<std::uint64_t> &addresses) {
    std::vector<std::string> functions;
    KernelSymbols symbols(file_of(text));
    EXPECT_TRUE(symbols.frames_of({}).empty());
    for (const core::StackFrame &frame : symbols.frames_of(addresses))
        functions.push_back(frame.function + frame.file);
    return functions;
}

using Names = std::vector<std::string>;

TEST(KernelSymbols, OfReturnAddresses) {
    EXPECT_EQ(functions_of(
                  kText, {0xffff'ffff'8100'1004, 0xffff'ffff'8100'2000, 0xffff'ffff'8100'2900, 0xffff'ffff'c000'0008}),
              (Names{"unmap_page_range[kernel]", "unmap_page_range[kernel]", "do_madvise[kernel]",
                     "xfs_filemap_fault[xfs]"}));
}

TEST(KernelSymbols, LeavesTheFramesOfTracingOut) {
    EXPECT_EQ(functions_of(
                  kText, {0xffff'ffff'c000'1100, 0xffff'ffff'8100'3020, 0xffff'ffff'8100'1004, 0xffff'ffff'8100'2004}),
              (Names{"unmap_page_range[kernel]", "do_madvise[kernel]"}));
}

TEST(KernelSymbols, HaveNoNameOutsideOfCode) {
    EXPECT_EQ(functions_of(kText, {0xffff'ffff'8000'0000, 0xffff'ffff'9000'0000, 0}),
              (Names{"[kernel]", "[kernel]", "[kernel]"}));
}

/// The kernel hides all addresses, or the file is not what it should be.
TEST(KernelSymbols, OfAFileWithoutAddresses) {
    for (const std::string_view text :
         {"", "0000000000000000 T _stext\n", "zz\n\n \nffffffff81000000\nffffffff81000000 T", "\0\xff\n"})
        EXPECT_EQ(functions_of(text, {0xffff'ffff'8100'1004}), Names{"[kernel]"}) << text;
    EXPECT_EQ(KernelSymbols(core::Fd()).frames_of(std::vector<std::uint64_t>{1}).size(), 1U);
}

}  // namespace
}  // namespace rsslag::unwind
