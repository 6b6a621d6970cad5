// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "workload/workload.h"

namespace rsslag::workload {

using Facts = std::vector<Fact>;

Fact number(std::string_view key, std::int64_t value);

/// Bytes of `kb`, rounded up to whole pages.
std::size_t bytes_of(std::int64_t kb);
std::int64_t kb_of(std::size_t bytes);

/// The user's options, completed by the workload's defaults.
struct Sizes {
    int threads = 1;
    std::int64_t kb = 0;
    std::chrono::milliseconds over{};

    std::size_t bytes() const { return bytes_of(kb); }
    std::int64_t total_kb() const { return kb_of(bytes()) * threads; }
};

/// Combines both. Kind::BadInput for an option that `defaults` does not have, since the workload does not support it,
/// or for a value out of range. Kind::Unsupported for more memory than MemAvailable, to avoid an OOM kill.
core::Result<Sizes> sizes(const Options &given, const Options &defaults);

}  // namespace rsslag::workload
