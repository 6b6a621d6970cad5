// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <span>
#include <string_view>

#include "workload/workload.h"

namespace rsslag::workload::test {

/// The workloads of `rsslag demo` and those that only tests use.
std::span<const Workload> all();
/// The workload with this name; nullptr if there is none.
const Workload *find(std::string_view name);

}  // namespace rsslag::workload::test
