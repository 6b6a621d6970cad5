// SPDX-License-Identifier: BSD-2-Clause
#include "system/slowness.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <iterator>
#include <string>

namespace rsslag::system {
namespace {

double thread_seconds() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

}  // namespace

/// An emulated machine takes 14 times as long for these lines, and 16 times as long to read a recording. It may count
/// time in which its host does something else as CPU time.
double slowness() {
    constexpr double kUsual = 0.4e-3, kSlow = 4, kMore = 3;
    double least = HUGE_VAL;
    std::string line;
    for (int time = 0; time < 5; ++time) {
        const double begin = thread_seconds();
        for (int i = 0; i < 1500; ++i) {
            line.clear();
            fmt::format_to(std::back_inserter(line), "{:.3f} {} {:>12}", i * 1.37, i, "line");
        }
        least = std::min(least, thread_seconds() - begin);
    }
    return least / kUsual > kSlow ? kMore * least / kUsual : 1;
}

}  // namespace rsslag::system
