// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "rsslag/core/doctor_report.h"

namespace rsslag::host {

/// Checks all that the tracer needs from this kernel, as this user.
core::DoctorReport diagnose();

/// The hidepid= value (0, 1, 2, 4) of /proc in the text of /proc/self/mountinfo; nullopt if no /proc is mounted. Pure.
std::optional<int> hidepid_of(std::string_view mountinfo);

}  // namespace rsslag::host
