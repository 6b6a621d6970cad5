// SPDX-License-Identifier: BSD-2-Clause
// Live screens of made-up traces, and keys that are pressed on them.
#pragma once

#include <string>

#include "documents.h"
#include "expected.h"
#include "golden.h"
#include "screen/screen.h"
#include "ticks.h"

namespace rsslag::screen::test {

using documents::test::ascii_style;
using documents::test::contains;
using documents::test::cpu_document;
using documents::test::cpu_tick;
using documents::test::ended_tick;
using documents::test::is_golden;
using documents::test::keys;
using documents::test::members;
using documents::test::thread_document;
using documents::test::thread_tick;

/// Linux 6.1, the classic: 101 threads grow for 20 s, then rest for 12 s.
LiveScreen classic_screen(const TextStyle &style);

/// Linux 6.12 with the fix: 32 CPUs, two threads, one tick in the middle of its work.
LiveScreen busy_screen(const TextStyle &style);

/// The classic's tick after `second` seconds with this many threads.
Tick classic_tick(int second, int threads = 101);

/// Types each character; '\n' is Enter, '\x1b' Esc, '\x01' Down, '\x02' Up.
std::optional<Intent> press(LiveScreen &screen, std::string_view keys);

/// 32 processes, of which every third lags.
TopTable top_table(int processes = 32);

}  // namespace rsslag::screen::test
