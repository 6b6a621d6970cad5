// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

#include "core/doctor_report.h"

namespace rsslag::documents {

using core::DoctorReport;

/// rsslag.doctor/1 (docs/schema/doctor.schema.json): one line with a newline.
std::string doctor_json(const DoctorReport &report);
std::string doctor_text(const DoctorReport &report);

}  // namespace rsslag::documents
