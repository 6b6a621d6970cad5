// SPDX-License-Identifier: BSD-2-Clause
#include "probe/libbpf_log.h"

#include <bpf/libbpf.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <string>

namespace rsslag::probe {
namespace {

int write_log(libbpf_print_level level, const char *format, va_list args) {
    const spdlog::level::level_enum as = level == LIBBPF_DEBUG ? spdlog::level::trace : spdlog::level::debug;
    if (!spdlog::should_log(as)) return 0;
    va_list again;
    va_copy(again, args);
    // NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): va_copy has just initialised it
    std::string text(static_cast<std::size_t>(std::max(0, std::vsnprintf(nullptr, 0, format, again))), '\0');
    va_end(again);
    std::vsnprintf(text.data(), text.size() + 1, format, args);
    while (!text.empty() && text.back() == '\n')
        text.pop_back();
    spdlog::log(as, "{}", text);
    return 0;
}

}  // namespace

void log_libbpf() {
    libbpf_set_print(write_log);
}

}  // namespace rsslag::probe
