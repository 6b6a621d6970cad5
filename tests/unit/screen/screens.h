// SPDX-License-Identifier: BSD-2-Clause
// Live screens of made-up traces, and keys that are pressed on them.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "documents.h"
#include "expected.h"
#include "golden.h"
#include "screen/screen.h"
#include "ticks.h"

namespace rsslag::screen::test {

using documents::test::ascii_style;
using documents::test::contains;
using documents::test::count;
using documents::test::cpu_document;
using documents::test::cpu_tick;
using documents::test::ended_tick;
using documents::test::is_golden;
using documents::test::keys;
using documents::test::members;
using documents::test::thread_document;
using documents::test::thread_tick;

/// Widths depend on the locale; any UTF-8 locale is suitable.
class ScreenTest : public testing::Test {
  protected:
    static void SetUpTestSuite();
    void SetUp() override;
};

/// Linux 6.1, the classic: 101 threads grow for 20 s, then rest for 12 s.
LiveScreen classic_screen(const TextStyle &style);

/// One tick of it. The last part of the trace is kept, for the key r.
LiveScreen keeping_screen(std::chrono::milliseconds kept);

/// Linux 6.12 with the fix: 32 CPUs, two threads, one tick in the middle of its work.
LiveScreen busy_screen(const TextStyle &style);

/// The classic's tick after `second` seconds with this many threads.
Tick classic_tick(int second, int threads = 101);

/// A process of the family: two servers, and a shell with children, of which some end.
struct Relative {
    int pid = 0, ppid = 0;
    std::string comm, command_line, user;
    std::int64_t pages = 0;        ///< at the start
    std::int64_t pages_per_s = 0;  ///< growth
    std::uint64_t mm = 0;          ///< its generation
    int ends = 1'000;              ///< the second in which it ends
};
std::vector<Relative> family();
/// Its tick after `second` seconds. It caches 31 pages.
Tick relative_tick(const Relative &who, int second);
/// Linux 6.12: all of the family, for this many seconds.
LiveScreen family_screen(const TextStyle &style, int seconds = 40);

/// Types each character; '\n' is Enter, '\x1b' Esc, '\x01' Down, '\x02' Up.
std::optional<Intent> press(LiveScreen &screen, std::string_view keys);

/// 32 processes, of which every third lags.
TopTable top_table(int processes = 32);

}  // namespace rsslag::screen::test
