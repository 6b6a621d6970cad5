// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "rsslag/core/doctor_report.h"

namespace rsslag::host {

/// Asks this kernel, as this user, all that the tracer will need.
core::DoctorReport diagnose();

/// The hidepid= of the /proc in a /proc/self/mountinfo; nullopt where no /proc is mounted. Pure.
std::optional<int> hidepid_of(std::string_view mountinfo);

}  // namespace rsslag::host
