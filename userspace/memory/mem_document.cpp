// SPDX-License-Identifier: BSD-2-Clause
#include "memory/mem_document.h"

#include <algorithm>
#include <utility>

#include "memory/used_reader.h"
#include "procfs/process.h"
#include "procfs/user_names.h"

namespace rsslag::memory {
namespace {

using core::Error;
using core::Kind;

std::string user_name(const procfs::User &user) {
    return procfs::UserNames().of(user.uid);
}

std::vector<MemRow> rows_of_files(std::map<std::string, procfs::FileUse> files) {
    std::vector<MemRow> rows;
    for (procfs::FileUse &file : procfs::sorted(std::move(files))) {
        MemRow row;
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

/// `info`: null if the rows are not programs.
std::vector<MemRow> rows_of_users(const std::vector<procfs::User> &users, std::string (*name_of)(const procfs::User &),
                                  const procfs::MemInfo *info) {
    std::vector<MemRow> rows;
    for (procfs::UseGroup &group : procfs::grouped(users, name_of)) {
        MemRow row;
        if (info != nullptr) {
            std::vector<const procfs::User *> members;
            for (const procfs::User &user : users) {
                if (name_of(user) == group.name) members.push_back(&user);
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

}  // namespace

std::string_view name(MemBy by) {
    switch (by) {
        case MemBy::Program: return "program";
        case MemBy::User: return "user";
        case MemBy::Cgroup: return "cgroup";
        case MemBy::File: return "file";
    }
    return "";
}

bool MemDocument::has_status() const {
    return std::ranges::any_of(failed, [](const UnreadProcess &each) { return each.status.has_value(); });
}

std::vector<MemRow> mem_rows(MemBy by, AllProcesses &all, const procfs::MemInfo &info) {
    switch (by) {
        case MemBy::Program:
            return rows_of_users(
                all.users, [](const procfs::User &user) { return user.program; }, &info);
        case MemBy::User: return rows_of_users(all.users, user_name, nullptr);
        case MemBy::Cgroup:
            return rows_of_users(
                all.users, [](const procfs::User &user) { return user.cgroup; }, nullptr);
        case MemBy::File: break;
    }
    return rows_of_files(std::move(all.files));
}

core::Result<MemDocument> read_mem(MemBy by, std::optional<uid_t> only) {
    MemDocument document;
    document.by = by;
    document.of_one_user = only.has_value();
    document.time = std::chrono::system_clock::now();
    const auto before = procfs::read_meminfo();
    if (!before) return before.error();
    document.before = *before;
    const auto begin = std::chrono::steady_clock::now();
    const auto pids = procfs::list_processes();
    if (!pids) return pids.error();
    AllProcesses all = read_all(*pids, only, by == MemBy::File);
    document.read_us =
        std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - begin).count();
    document.machine = read_machine();
    const auto after = procfs::read_meminfo();
    if (!after) return after.error();
    document.after = *after;
    document.rows = mem_rows(by, all, document.after);
    document.users = std::move(all.users);
    document.failed = std::move(all.failed);
    document.undecided = std::move(all.undecided);
    document.why_undecided = std::move(all.why_undecided);
    if (document.users.empty() && !document.has_status()) {
        const bool denied = std::ranges::any_of(document.failed, [](const auto &f) { return f.kind == Kind::Denied; });
        return Error{denied ? Kind::Denied : Kind::Gone, "cannot read any process", 0,
                     denied ? procfs::denied_remedy(procfs::may_ptrace()) : ""};
    }
    return document;
}

}  // namespace rsslag::memory
