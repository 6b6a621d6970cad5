// SPDX-License-Identifier: BSD-2-Clause
// rsslag doctor: what this kernel and user can do, and the remedy for each thing missing.
#include <memory>

#include "commands.h"
#include "exit_status.h"
#include "rsslag/host/diagnosis.h"
#include "rsslag/host/privileges.h"
#include "rsslag/terminal/output.h"
#include "rsslag/view/doctor.h"

namespace rsslag::cli {

Run add_doctor(CLI::App &app, const Common &common) {
    auto json = std::make_shared<bool>(false);
    CLI::App *const command =
        app.add_subcommand("doctor", "Check what this kernel and this user can do, and what is missing");
    command->add_flag("--json", *json, "Print JSON (rsslag.doctor/1)");
    return [json, &common] {
        if (!common.command.empty()) return fail({core::Kind::BadInput, "doctor takes no -- CMD", 0, ""});
        const core::DoctorReport report = host::diagnose();
        if (const core::Status dropped = host::keep_only({}); !dropped) return fail(dropped.error());
        const core::Status printed = terminal::print(*json ? view::doctor_json(report) : view::doctor_text(report));
        const int written = printed ? kDone : fail(printed.error());
        return report.tracing_works() || written != kDone ? written : kNotAllowed;
    };
}

}  // namespace rsslag::cli
