// SPDX-License-Identifier: BSD-2-Clause
// rsslag mem: memory of all processes by program, user, cgroup or file, without double counting.
#include <fmt/format.h>
#include <pwd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "commands.h"
#include "exit_status.h"
#include "rsslag/core/text.h"
#include "rsslag/host/experiment.h"
#include "rsslag/host/machine.h"
#include "rsslag/host/privileges.h"
#include "rsslag/host/targets.h"
#include "rsslag/memory/all_processes.h"
#include "rsslag/memory/used_reader.h"
#include "rsslag/procfs/process.h"
#include "rsslag/terminal/output.h"
#include "rsslag/terminal/style.h"
#include "rsslag/view/mem.h"

namespace rsslag::cli {
namespace {

using core::Error;
using core::Kind;

struct MemOptions {
    std::string by = "program";
    std::optional<std::string> user;
    bool each = false;
    bool all = false;
    bool json = false;
};

std::string user_name(const procfs::User &user) {
    const passwd *const entry = getpwuid(user.uid);
    return entry != nullptr ? std::string(entry->pw_name) : fmt::format("{}", user.uid);
}

std::vector<view::MemRow> rows_of_files(std::map<std::string, procfs::FileUse> files) {
    std::vector<view::MemRow> rows;
    for (procfs::FileUse &file : procfs::sorted(std::move(files))) {
        view::MemRow row;
        row.name = std::move(file.name);
        row.processes = file.by_pid.size();
        for (const auto &[pid, use] : file.by_pid)
            row.pids.push_back(pid);
        row.use = file.use;
        row.mappings = file.mappings;
        row.use_by_pid = std::move(file.by_pid);
        rows.push_back(std::move(row));
    }
    return rows;
}

std::vector<view::MemRow> rows_of_users(const std::vector<procfs::User> &users,
                                        std::string (*name)(const procfs::User &), const procfs::MemInfo *info) {
    std::vector<view::MemRow> rows;
    for (procfs::UseGroup &group : procfs::grouped(users, name)) {
        view::MemRow row;
        if (info != nullptr) {
            std::vector<const procfs::User *> members;
            for (const procfs::User &user : users) {
                if (name(user) == group.name) members.push_back(&user);
            }
            row.room = procfs::headroom_for(members, *info);
        }
        row.name = std::move(group.name);
        row.processes = group.processes;
        row.pids = std::move(group.pids);
        row.use = group.use;
        rows.push_back(std::move(row));
    }
    return rows;
}

core::Result<view::MemBy> by_named(const std::string &argument) {
    for (const view::MemBy by : {view::MemBy::Program, view::MemBy::User, view::MemBy::Cgroup, view::MemBy::File}) {
        if (view::name(by) == argument) return by;
    }
    return Error{Kind::BadInput, fmt::format("--by {} is not valid", core::printable(argument)), 0,
                 "use program, user, cgroup or file"};
}

std::vector<view::MemRow> rows(view::MemBy by, memory::AllProcesses &all, const procfs::MemInfo &info) {
    switch (by) {
        case view::MemBy::Program:
            return rows_of_users(
                all.users, [](const procfs::User &user) { return user.program; }, &info);
        case view::MemBy::User: return rows_of_users(all.users, user_name, nullptr);
        case view::MemBy::Cgroup:
            return rows_of_users(
                all.users, [](const procfs::User &user) { return user.cgroup; }, nullptr);
        case view::MemBy::File: break;
    }
    return rows_of_files(std::move(all.files));
}

bool has_status(const view::MemDocument &document) {
    return std::ranges::any_of(document.failed, [](const auto &failed) { return failed.status.has_value(); });
}

core::Result<view::MemDocument> take(view::MemBy by, std::optional<uid_t> only) {
    const host::Host host = host::this_host();
    view::MemDocument document;
    document.kernel = host.kernel;
    document.arch = host.arch;
    document.page_size = host.machine.page_size;
    document.by = by;
    document.time = std::chrono::system_clock::now();
    const auto before = procfs::read_meminfo();
    if (!before) return before.error();
    document.before = *before;
    const auto begin = std::chrono::steady_clock::now();
    const auto pids = procfs::list_processes();
    if (!pids) return pids.error();
    memory::AllProcesses all = memory::read_all(*pids, only, by == view::MemBy::File);
    document.read_us =
        std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - begin).count();
    document.machine = memory::read_machine();
    const auto after = procfs::read_meminfo();
    if (!after) return after.error();
    document.after = *after;
    document.rows = rows(by, all, document.after);
    document.users = std::move(all.users);
    document.failed = std::move(all.failed);
    document.undecided = std::move(all.undecided);
    document.why_undecided = std::move(all.why_undecided);
    document.of_one_user = only.has_value();
    if (has_status(document)) document.status_shows = host::experiment().status;
    return document;
}

int mem(const MemOptions &options, const view::TextStyle &style) {
    const auto by = by_named(options.by);
    if (!by) return fail(by.error());
    std::optional<uid_t> only;
    if (options.user) {
        const auto uid = host::parse_user(*options.user);
        if (!uid) return fail(uid.error());
        only = *uid;
    }
    if (const core::Status dropped = host::keep_only(std::vector<cap_value_t>{CAP_SYS_PTRACE}); !dropped) {
        return fail(dropped.error());
    }
    const auto document = take(*by, only);
    if (!document) return fail(document.error());
    if (document->users.empty() && !has_status(*document)) {
        const bool denied = std::ranges::any_of(document->failed, [](const auto &f) { return f.kind == Kind::Denied; });
        return fail({denied ? Kind::Denied : Kind::Gone, "cannot read any process", 0,
                     denied ? procfs::denied_remedy(procfs::may_ptrace()) : ""});
    }
    const std::size_t most = options.all ? static_cast<std::size_t>(-1) : 40;
    const core::Status printed = terminal::print(options.json ? view::mem_json(*document, options.each)
                                                              : view::mem_text(*document, options.each, most, style));
    return printed ? kDone : fail(printed.error());
}

}  // namespace

Run add_mem(CLI::App &app, const Common &common) {
    auto options = std::make_shared<MemOptions>();
    CLI::App *const command =
        app.add_subcommand("mem", "Memory of all processes by program, user, cgroup or file, without double counting");
    command->add_option("--by", options->by, "Group by program, user, cgroup or file")->capture_default_str();
    command->add_option("-u,--user", options->user, "Only processes of a user (name or number; the real UID)");
    command->add_flag("--each", options->each, "Also list the processes of each row");
    command->add_flag("--all", options->all, "List every row");
    command->add_flag("--json", options->json, "Print one JSON document (rsslag.mem/1)");
    return [options, &common] {
        if (!common.command.empty()) {
            return fail({Kind::BadInput, "mem takes no -- CMD", 0, "omit it: mem reads all processes"});
        }
        const auto style = terminal::text_style(common.unit, common.color);
        if (!style) return fail(style.error());
        return mem(*options, *style);
    };
}

}  // namespace rsslag::cli
