// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/doctor_report.h"

namespace rsslag::system {

/// Checks with the privileges of this process all that the tracer needs from this kernel.
core::DoctorReport diagnose();

/// The value of hidepid= (0, 1, 2 or 4; fs/proc/root.c) of the last mount at /proc in `mountinfo`, the text of
/// /proc/self/mountinfo; nullopt if no proc is mounted there. Pure.
std::optional<int> hidepid_of(std::string_view mountinfo);

}  // namespace rsslag::system
