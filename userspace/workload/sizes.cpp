// SPDX-License-Identifier: BSD-2-Clause
#include "sizes.h"

#include <fmt/format.h>

#include <optional>

#include "failure.h"
#include "memory.h"
#include "proc_text.h"

namespace rsslag::workload {
namespace {

constexpr std::int64_t kMostThreads = 100'000;
constexpr std::int64_t kLeastKb = 4;
constexpr std::int64_t kMostMs = 3'600'000;
constexpr std::int64_t kMostKb = std::int64_t{64} * 1024 * 1024;

core::Error bad(std::string what, std::string remedy) {
    return {core::Kind::BadInput, std::move(what), 0, std::move(remedy)};
}

template <class T>
core::Status check(const char *option, const std::optional<T> &given, bool taken, std::int64_t least,
                   std::int64_t most) {
    if (!given) return core::success();
    if (!taken) return bad(fmt::format("this workload takes no {}", option), fmt::format("remove {}", option));
    if (*given < least || *given > most) {
        return bad(std::string(option) + " " + std::to_string(*given) + " is out of range",
                   "use " + std::to_string(least) + " to " + std::to_string(most));
    }
    return core::success();
}

core::Status check_available(std::int64_t total_kb) {
    const auto meminfo = read_text("/proc/meminfo");
    if (!meminfo) return core::success();  // unknown: a failing mmap will report it
    const std::optional<std::int64_t> available = labelled_kb(*meminfo, "MemAvailable:");
    if (!available || total_kb <= *available) return core::success();
    return unsupported("the workload needs " + std::to_string(total_kb) + " kB and MemAvailable is " +
                           std::to_string(*available) + " kB",
                       "use a smaller --kb or --threads");
}

}  // namespace

Fact number(std::string_view key, std::int64_t value) {
    return {std::string(key), std::to_string(value)};
}

std::size_t bytes_of(std::int64_t kb) {
    const std::size_t page = page_size();
    return (static_cast<std::size_t>(kb) * 1024 + page - 1) / page * page;
}

std::int64_t kb_of(std::size_t bytes) {
    return static_cast<std::int64_t>(bytes / 1024);
}

core::Result<Sizes> sizes(const Options &given, const Options &defaults) {
    if (auto ok = check("--threads", given.threads, defaults.threads.has_value(), 1, kMostThreads); !ok) {
        return ok.error();
    }
    if (auto ok = check("--kb", given.kb, defaults.kb.has_value(), kLeastKb, kMostKb); !ok) return ok.error();
    const auto over_ms = given.over ? std::optional(given.over->count()) : std::nullopt;
    if (auto ok = check("--over", over_ms, defaults.over.has_value(), 0, kMostMs); !ok) return ok.error();
    const Sizes size{.threads = given.threads.value_or(defaults.threads.value_or(1)),
                     .kb = given.kb.value_or(defaults.kb.value_or(0)),
                     .over = given.over.value_or(std::chrono::milliseconds{})};
    if (auto ok = check_available(size.total_kb()); !ok) return ok.error();
    return size;
}

}  // namespace rsslag::workload
