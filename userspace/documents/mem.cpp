// SPDX-License-Identifier: BSD-2-Clause
#include "documents/mem.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "core/text.h"
#include "json_parts.h"
#include "mem_used.h"
#include "text_parts.h"
#include "unread.h"

namespace rsslag::documents {
namespace {

using core::Kilobytes;
using nlohmann::ordered_json;
using Out = std::back_insert_iterator<std::string>;

ordered_json or_null_kb(const std::optional<Kilobytes> &kb) {
    return kb ? ordered_json(kb->n) : ordered_json(nullptr);
}

ordered_json meminfo(const procfs::MemInfo &info) {
    return {{"total_kb", or_null_kb(info.total)},
            {"free_kb", or_null_kb(info.free)},
            {"available_kb", or_null_kb(info.available)}};
}

void put_use(ordered_json &object, const procfs::Use &use) {
    object["private_kb"] = use.private_total().n;
    object["private_dirty_kb"] = use.private_dirty.n;
    object["shared_kb"] = use.shared().n;
    object["total_kb"] = use.pss.n;
    object["swap_kb"] = use.swap.n;
    object["rss_kb"] = use.rss.n;
}

ordered_json row_json(const MemRow &row, bool each) {
    ordered_json object = {{"name", core::harmless(row.name)}, {"processes", row.processes}, {"pids", row.pids}};
    put_use(object, row.use);
    object["room"] = nullptr;
    if (row.room) {
        object["room"] = {{"each_kb", row.room->each.n}, {"largest_kb", row.room->largest.n}, {"more", row.room->more}};
    }
    object["mappings"] = or_null(row.mappings);
    object["by_pid"] = nullptr;
    if (!each || !row.mappings) return object;
    object["by_pid"] = ordered_json::array();
    for (const auto &[pid, use] : row.use_by_pid) {
        ordered_json who = {{"pid", pid}};
        put_use(who, use);
        object["by_pid"].push_back(std::move(who));
    }
    return object;
}

ordered_json users_json(const MemDocument &document, bool each) {
    if (!each) return nullptr;
    ordered_json array = ordered_json::array();
    for (const procfs::User &user : document.users) {
        ordered_json object = {{"pids", user.pids},
                               {"comm", core::printable(user.comm)},
                               {"program", core::harmless(user.program)},
                               {"uid", user.uid},
                               {"cgroup", core::harmless(user.cgroup)}};
        put_use(object, user.use);
        array.push_back(std::move(object));
    }
    return array;
}

std::string cell(Kilobytes kb, const MemDocument &document, const TextStyle &style) {
    return mem_cell(kb, document.page_size, style);
}

void append_use(Out out, const procfs::Use &use, const MemDocument &document, const TextStyle &style) {
    fmt::format_to(out, "{}{}{}{}", right(cell(use.private_total(), document, style), 14),
                   right(cell(use.shared(), document, style), 14), right(cell(use.pss, document, style), 14),
                   right(cell(use.swap, document, style), 12));
}

std::string shown(const std::string &raw, const MemDocument &document, const TextStyle &style) {
    if (!raw.empty()) return core::harmless(raw, style.utf8);
    return document.by == MemBy::File ? "(anonymous)" : "(none)";
}

void append_row(Out out, const MemRow &row, const MemDocument &document, const TextStyle &style) {
    append_use(out, row.use, document, style);
    if (document.by == MemBy::File) fmt::format_to(out, "{}", right(cell(row.use.private_dirty, document, style), 14));
    fmt::format_to(out, "{:>7}", core::with_thousands(static_cast<std::int64_t>(row.processes)));
    if (document.by == MemBy::Program) {
        const std::string more = row.room ? "~ " + core::with_thousands(row.room->more) : "-";
        const std::string price = row.room ? cell(row.room->each, document, style) : "-";
        fmt::format_to(out, "{}{}", right(price, 16), right(more, 12));
    }
    fmt::format_to(out, "  {}\n", shown(row.name, document, style));
}

void append_owner(Out out, const MemRow &row, const std::map<int, const procfs::User *> &by_pid,
                  const MemDocument &document, const TextStyle &style) {
    for (const int pid : row.pids) {
        const auto user = by_pid.find(pid);
        if (user == by_pid.end()) continue;
        const auto own = row.use_by_pid.find(pid);
        const procfs::Use &use = row.mappings ? own->second : user->second->use;
        append_use(out, use, document, style);
        if (row.mappings) fmt::format_to(out, "{}", right(cell(use.private_dirty, document, style), 14));
        fmt::format_to(out, "         {:>8} {}{}\n", pid, core::printable(user->second->comm, style.utf8),
                       user->second->pids.size() > 1 ? " (shares its memory with others)" : "");
    }
}

std::string_view describe(core::Kind kind) {
    switch (kind) {
        case core::Kind::Denied: return "not allowed";
        case core::Kind::Gone: return "ended meanwhile";
        case core::Kind::Unsupported: return "not supported";
        case core::Kind::BadInput:
        case core::Kind::Corrupt:
        case core::Kind::Io:
        case core::Kind::Internal: break;
    }
    return "failed";
}

/// One line for each reason: the number of processes, the reason, and the first PIDs. Then the remedy for the first.
void append_failed(Out out, const MemDocument &document) {
    std::map<std::string_view, std::vector<const memory::UnreadProcess *>> by_reason;
    for (const memory::UnreadProcess &failed : document.failed)
        by_reason[describe(failed.kind)].push_back(&failed);
    for (const auto &[reason, all] : by_reason) {
        fmt::format_to(out, "not read: {} process{}, {}:", all.size(), all.size() == 1 ? "" : "es", reason);
        constexpr std::size_t kMost = 20;
        for (std::size_t i = 0; i < std::min(all.size(), kMost); ++i)
            fmt::format_to(out, " {}", all[i]->pid);
        fmt::format_to(out, "{}\n", all.size() > kMost ? " ..." : "");
        if (!all.front()->remedy.empty()) fmt::format_to(out, "to read them: {}\n", all.front()->remedy);
    }
}

/// The sum over the status files of processes that were not read. Shared pages count in each.
void append_status(Out out, const MemDocument &document, const TextStyle &style) {
    Kilobytes rss, anon, swap;
    std::size_t processes = 0;
    for (const memory::UnreadProcess &failed : document.failed) {
        if (!failed.status) continue;
        ++processes;
        rss += rss_of(*failed.status);
        anon += procfs::or_zero(failed.status->of(core::Member::Anon));
        swap += procfs::or_zero(failed.status->of(core::Member::Swap));
    }
    if (processes == 0) return;
    fmt::format_to(out,
                   "status of {} of them ({}): {} {} resident, of which {} anonymous; {} in swap; shared pages are "
                   "counted in each\n",
                   processes, status_shows(document.status_shows), cell(rss, document, style), style.unit,
                   cell(anon, document, style), cell(swap, document, style));
}

void append_sum(Out out, const MemDocument &document, const TextStyle &style) {
    const procfs::Use sum = procfs::total(document.users);
    std::size_t processes = 0;
    for (const procfs::User &user : document.users)
        processes += user.pids.size();
    append_use(out, sum, document, style);
    fmt::format_to(out, "{}{:>7}{}  sum, read in {} us\n", document.by == MemBy::File ? std::string(14, ' ') : "",
                   core::with_thousands(static_cast<std::int64_t>(processes)),
                   document.by == MemBy::Program ? std::string(28, ' ') : "", document.read_us);
}

}  // namespace

std::string mem_json(const MemDocument &document, bool each) {
    ordered_json object;
    object["schema"] = "rsslag.mem/1";
    object["time"] = utc_time(document.time);
    object["kernel"] = document.kernel;
    object["arch"] = document.arch;
    object["page_size"] = document.page_size.bytes;
    object["by"] = name(document.by);
    object["meminfo"] = {{"before", meminfo(document.before)}, {"after", meminfo(document.after)}};
    object["read_us"] = document.read_us;
    object["rows"] = ordered_json::array();
    for (const MemRow &row : document.rows)
        object["rows"].push_back(row_json(row, each));
    ordered_json sum = ordered_json::object();
    put_use(sum, procfs::total(document.users));
    object["sum"] = std::move(sum);
    object["processes"] = users_json(document, each);
    object["failed"] = ordered_json::array();
    for (const memory::UnreadProcess &failed : document.failed)
        object["failed"].push_back(
            {{"pid", failed.pid}, {"reason", core::harmless(failed.reason)}, {"status", status_json(failed.status)}});
    object["status_shows"] = status_shows_json(document.status_shows);
    put_sharing(object, document);
    object["used"] = used_json(document);
    return object.dump() + "\n";
}

std::string mem_text(const MemDocument &document, bool each, std::size_t rows, const TextStyle &style) {
    std::string text;
    const Out out = std::back_inserter(text);
    fmt::format_to(out, "{:>14}{:>14}{:>14}{:>12}{}{:>7}{}  {}\n", "PRIVATE " + style.unit, "SHARED (PSS)", "TOTAL",
                   "SWAP", document.by == MemBy::File ? fmt::format("{:>14}", "PRIV. DIRTY") : "", "PROCS",
                   document.by == MemBy::Program ? fmt::format("{:>16}{:>12}", "ONE MORE COSTS", "MORE FIT") : "",
                   name(document.by));
    std::map<int, const procfs::User *> by_pid;
    for (const procfs::User &user : document.users)
        by_pid[user.pids.front()] = &user;
    procfs::Use rest;
    std::size_t shown_rows = 0;
    for (const MemRow &row : document.rows) {
        if (shown_rows++ < rows) {
            append_row(out, row, document, style);
            if (each) append_owner(out, row, by_pid, document, style);
        } else {
            rest += row.use;
        }
    }
    if (shown_rows > rows) {
        append_use(out, rest, document, style);
        fmt::format_to(out, "  {} more (--all lists them)\n", shown_rows - rows);
    }
    append_sum(out, document, style);
    append_failed(out, document);
    append_status(out, document, style);
    return text + sharing_text(document, style) + used_text(document, style);
}

}  // namespace rsslag::documents
