// SPDX-License-Identifier: BSD-2-Clause
// rsslag mem: the memory of all processes by program, user, cgroup or file, nothing counted twice.
#include <fmt/format.h>
#include <linux/kcmp.h>
#include <pwd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "commands.h"
#include "exit_status.h"
#include "rsslag/host/experiment.h"
#include "rsslag/host/machine.h"
#include "rsslag/host/privileges.h"
#include "rsslag/host/targets.h"
#include "rsslag/procfs/process.h"
#include "rsslag/procfs/program.h"
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

/// One process, read; `range` is where its mappings begin and end, equal for those that may share an mm.
struct Read {
    procfs::User user;
    std::string range;
    std::vector<procfs::Mapping> mappings;  ///< by file only
};

/// kcmp(2), of two address spaces: 0 the same, 1 and 2 in the kernel's order of them; else it does not know, or not any
/// more.
long compare_memory(pid_t a, pid_t b) {
    return syscall(SYS_kcmp, a, b, KCMP_VM, 0, 0);
}

/// The first processes of address spaces that look the same, in the kernel's order of them as long as it tells that.
class Alike {
  public:
    /// The one whose address space `pid` shares; else it is a first one itself from now on.
    std::optional<pid_t> same_or_add(pid_t pid) {
        auto at = std::partition_point(firsts_.begin(), firsts_.end(), [&](pid_t first) {
            const long order = compare_memory(first, pid);
            ordered_ = ordered_ && order >= 0 && order <= 2;
            return order == 1;
        });
        const auto is_same = [&](pid_t first) { return compare_memory(first, pid) == 0; };
        if (!ordered_) at = std::find_if(firsts_.begin(), firsts_.end(), is_same);
        if (at != firsts_.end() && is_same(*at)) return *at;
        firsts_.insert(at, pid);
        return std::nullopt;
    }

  private:
    std::vector<pid_t> firsts_;
    bool ordered_ = true;
};

core::Result<Read> read_sums(const procfs::Process &process, bool mappings_too) {
    Read read;
    const auto text = mappings_too ? process.smaps_text() : process.smaps_rollup_text();
    if (!text) return text.error();
    if (!mappings_too) {
        const auto rollup = procfs::parse_smaps_rollup(text->bytes);
        if (!rollup) return rollup.error();
        read.user.use = procfs::use_of(rollup->sums);
        read.range = text->bytes.substr(0, text->bytes.find(' '));
        return read;
    }
    auto mappings = procfs::parse_smaps(text->bytes);
    if (!mappings) return mappings.error();
    for (const procfs::Mapping &mapping : *mappings)
        read.user.use += procfs::use_of(mapping.fields);
    if (!mappings->empty()) read.range = fmt::format("{:x}-{:x}", mappings->front().start, mappings->size());
    read.mappings = *std::move(mappings);
    return read;
}

/// nullopt: a kernel thread or a zombie, which has no memory.
core::Result<std::optional<Read>> read_process(pid_t pid, std::optional<uid_t> only, bool mappings_too) {
    using Nobody = std::optional<Read>;
    // Which user a process was of that has ended meanwhile, nobody can tell any more.
    const auto unread = [&](const Error &error) -> core::Result<Nobody> {
        if (only && error.kind == Kind::Gone) return Nobody{};
        return error;
    };
    const auto process = procfs::Process::open(pid);
    if (!process) return unread(process.error());
    const auto stat = process->stat();
    if (!stat) return unread(stat.error());
    if (stat->kernel_thread() || (stat->zombie() && stat->num_threads <= 1)) return Nobody{};
    const auto status = process->status();
    if (!status) return unread(status.error());
    if (only && status->real_uid != *only) return Nobody{};
    auto read = read_sums(*process, mappings_too);
    if (!read) return read.error();
    procfs::User &user = read->user;
    user.pids = {pid};
    user.comm = stat->comm;
    user.uid = status->real_uid;
    const auto program = procfs::program_path(*process);
    user.program = program && !program->empty() ? *program : stat->comm;
    if (const auto cgroup = process->read("cgroup")) user.cgroup = procfs::parse_cgroup(cgroup->bytes).value_or("");
    return std::optional(*std::move(read));
}

struct Everybody {
    std::vector<procfs::User> users;
    std::map<std::string, procfs::FileUse> files;
    std::vector<view::UnreadProcess> failed;
};

/// Anyone may read it, unlike what maps a process has.
std::optional<procfs::StatusFile> status_of(pid_t pid, const Error &error, std::optional<uid_t> only) {
    if (error.kind != Kind::Denied) return std::nullopt;
    const auto process = procfs::Process::open(pid);
    if (!process) return std::nullopt;
    auto status = process->status();
    if (!status || !status->vm_rss || (only && status->real_uid != *only)) return std::nullopt;
    return *std::move(status);
}

Everybody read_all(const std::vector<pid_t> &pids, std::optional<uid_t> only, bool by_file) {
    Everybody all;
    std::map<std::string, Alike> by_range;
    std::map<pid_t, std::size_t> user_of;
    for (const pid_t pid : pids) {
        auto read = read_process(pid, only, by_file);
        if (!read) {
            all.failed.push_back({pid, read.error().kind, read.error().what, status_of(pid, read.error(), only)});
            continue;
        }
        if (!*read) continue;
        if (const auto same = by_range[(*read)->range].same_or_add(pid)) {
            all.users[user_of.at(*same)].pids.push_back(pid);
            continue;
        }
        user_of.emplace(pid, all.users.size());
        if (by_file) procfs::add(all.files, pid, (*read)->mappings);
        all.users.push_back(std::move((*read)->user));
    }
    return all;
}

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
                                        std::string (*name)(const procfs::User &), const procfs::MemInfo *room) {
    std::vector<view::MemRow> rows;
    for (procfs::UseGroup &group : procfs::grouped(users, name)) {
        view::MemRow row;
        if (room != nullptr) {
            std::vector<const procfs::User *> members;
            for (const procfs::User &user : users) {
                if (name(user) == group.name) members.push_back(&user);
            }
            row.room = procfs::room_for(members, *room);
        }
        row.name = std::move(group.name);
        row.processes = group.processes;
        row.pids = std::move(group.pids);
        row.use = group.use;
        rows.push_back(std::move(row));
    }
    return rows;
}

core::Result<view::MemBy> by_named(const std::string &word) {
    for (const view::MemBy by : {view::MemBy::Program, view::MemBy::User, view::MemBy::Cgroup, view::MemBy::File}) {
        if (view::name(by) == word) return by;
    }
    return Error{Kind::BadInput, "--by is one of program, user, cgroup, file", 0, ""};
}

std::vector<view::MemRow> rows(view::MemBy by, Everybody &all, const procfs::MemInfo &info) {
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
    Everybody all = read_all(*pids, only, by == view::MemBy::File);
    document.read_us =
        std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - begin).count();
    const auto after = procfs::read_meminfo();
    if (!after) return after.error();
    document.after = *after;
    document.rows = rows(by, all, document.after);
    document.users = std::move(all.users);
    document.failed = std::move(all.failed);
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
        return fail({denied ? Kind::Denied : Kind::Gone, "no process could be read", 0,
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
    CLI::App *const command = app.add_subcommand(
        "mem", "The memory of all processes by program, user, cgroup or file, nothing counted twice");
    command->add_option("--by", options->by, "program, user, cgroup or file")->capture_default_str();
    command->add_option("-u,--user", options->user, "Only processes of a user (name or number, the real uid)");
    command->add_flag("--each", options->each, "List who it is, too");
    command->add_flag("--all", options->all, "List every row");
    command->add_flag("--json", options->json, "rsslag.mem/1, one document");
    return [options, &common] {
        if (!common.command.empty()) {
            return fail({Kind::BadInput, "mem takes no -- CMD", 0, "it reads all processes that run"});
        }
        const auto style = terminal::text_style(common.unit, common.color);
        if (!style) return fail(style.error());
        return mem(*options, *style);
    };
}

}  // namespace rsslag::cli
