// SPDX-License-Identifier: BSD-2-Clause
// rsslag doctor: what this kernel and user can do, and the remedy for each thing missing.
#include <memory>

#include "commands.h"
#include "documents/doctor.h"
#include "exit_status.h"
#include "system/diagnosis.h"
#include "system/privileges.h"

namespace rsslag::cli {

Run add_doctor(CLI::App &app, const Common &common) {
    auto json = std::make_shared<bool>(false);
    CLI::App *const command =
        app.add_subcommand("doctor", "Check what this kernel and this user can do, and what is missing");
    command->add_flag("--json", *json, "Print JSON (rsslag.doctor/1)");
    return [json, &common] {
        if (!common.command.empty()) return fail({core::Kind::BadInput, "doctor takes no -- CMD", 0, "remove -- CMD"});
        const core::DoctorReport report = system::diagnose();
        if (const core::Status dropped = system::keep_only({}); !dropped) return fail(dropped.error());
        const int written = print(*json ? documents::doctor_json(report) : documents::doctor_text(report));
        return report.tracing_works() || written != kDone ? written : kNotAllowed;
    };
}

}  // namespace rsslag::cli
