// SPDX-License-Identifier: BSD-2-Clause
// rsslag mem: memory of all processes by program, user, cgroup or file, without double counting.
#include <fmt/format.h>

#include <memory>
#include <optional>

#include "commands.h"
#include "core/text.h"
#include "documents/mem.h"
#include "exit_status.h"
#include "memory/mem_document.h"
#include "system/experiment.h"
#include "system/machine.h"
#include "system/privileges.h"
#include "system/targets.h"
#include "terminal/style.h"

namespace rsslag::cli {
namespace {

using core::Error;
using core::Kind;
using memory::MemBy;

struct MemOptions {
    std::string by = "program";
    std::optional<std::string> user;
    bool each = false;
    bool all = false;
    bool json = false;
};

core::Result<MemBy> by_named(const std::string &argument) {
    for (const MemBy by : {MemBy::Program, MemBy::User, MemBy::Cgroup, MemBy::File}) {
        if (memory::name(by) == argument) return by;
    }
    return Error{Kind::BadInput, fmt::format("--by {} is not valid", core::printable(argument)), 0,
                 "use program, user, cgroup or file"};
}

int mem(const MemOptions &options, const documents::TextStyle &style) {
    const auto by = by_named(options.by);
    if (!by) return fail(by.error());
    std::optional<uid_t> only;
    if (options.user) {
        const auto uid = system::parse_user(*options.user);
        if (!uid) return fail(uid.error());
        only = *uid;
    }
    if (const core::Status dropped = system::keep_only(std::vector<cap_value_t>{CAP_SYS_PTRACE}); !dropped)
        return fail(dropped.error());
    auto document = memory::read_mem(*by, only);
    if (!document) return fail(document.error());
    const system::Host host = system::this_host();
    document->kernel = host.kernel;
    document->arch = host.arch;
    document->page_size = host.machine.page_size;
    if (document->has_status()) document->status_shows = system::experiment().status;
    const std::size_t most = options.all ? static_cast<std::size_t>(-1) : 40;
    return print(options.json ? documents::mem_json(*document, options.each)
                              : documents::mem_text(*document, options.each, most, style));
}

}  // namespace

Run add_mem(CLI::App &app, const Common &common) {
    auto options = std::make_shared<MemOptions>();
    CLI::App *const command =
        app.add_subcommand("mem", "Sum the memory of all processes by program, user, cgroup or file");
    command->add_option("--by", options->by, "Group by program, user, cgroup or file")->capture_default_str();
    command->add_option("-u,--user", options->user, "Only processes of a user (name or number; the real UID)");
    command->add_flag("--each", options->each, "Also list the processes of each row");
    command->add_flag("--all", options->all, "List every row");
    command->add_flag("--json", options->json, "Print one JSON document (rsslag.mem/1)");
    return [options, &common] {
        if (!common.command.empty())
            return fail({Kind::BadInput, "mem takes no -- CMD", 0, "omit it: mem reads all processes"});
        const auto style = terminal::text_style(common.unit, common.color);
        if (!style) return fail(style.error());
        return mem(*options, *style);
    };
}

}  // namespace rsslag::cli
