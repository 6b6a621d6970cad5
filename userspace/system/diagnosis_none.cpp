// SPDX-License-Identifier: BSD-2-Clause
// Replaces diagnosis.cpp in a build without the tracer.
#include "system/diagnosis.h"
#include "system/machine.h"

namespace rsslag::system {

core::DoctorReport diagnose() {
    const Host host = this_host();
    core::DoctorReport report;
    report.time = std::chrono::system_clock::now();
    report.kernel = host.kernel;
    report.arch = host.arch;
    report.machine = host.machine;
    report.problems.push_back({"this rsslag was built without the tracer", "build it with -DRSSLAG_PROBE=ON", true});
    return report;
}

}  // namespace rsslag::system
