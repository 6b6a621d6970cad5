// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rsslag/workload/workload.h"

namespace rsslag::workload {

using Facts = std::vector<Fact>;

Fact number(std::string_view key, std::int64_t value);

/// Rounded up to whole pages: half a page cannot be resident.
std::size_t bytes_of(std::int64_t kb);
std::int64_t kb_of(std::size_t bytes);

/// What the user asked for and the workload's defaults made one.
struct Sizes {
    int threads = 1;
    std::int64_t kb = 0;
    std::chrono::milliseconds over{};

    std::size_t bytes() const { return bytes_of(kb); }
    std::int64_t total_kb() const { return kb_of(bytes()) * threads; }
};

/// An option that has no default is one that the workload does not take: giving it is Kind::BadInput, as is a value
/// out of range. More memory than the machine has left is Kind::Unsupported: better refused than OOM-killed.
core::Result<Sizes> sizes(const Options &given, const Options &defaults);

}  // namespace rsslag::workload
