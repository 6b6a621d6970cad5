// SPDX-License-Identifier: BSD-2-Clause
// One record on a line. Kernel addresses (the mm) are only identities and are never printed.
#include <fmt/format.h>

#include <array>
#include <cstring>
#include <string_view>

#include "core/member_name.h"
#include "core/reading_figures.h"
#include "core/text.h"
#include "documents/tick.h"
#include "json_parts.h"
#include "text_parts.h"

namespace rsslag::documents {
namespace {

using core::FlushReason;
using nlohmann::ordered_json;

/// "anon"; "member 5" for a counter without a name here.
std::string member_text(std::uint8_t number) {
    const auto member = core::member_of(number);
    return member ? std::string(core::name(*member)) : fmt::format("member {}", number);
}

/// The mode of the page fault that caused the update: "user" or "kernel"; empty without a fault.
std::string_view fault_mode(std::uint16_t flags) {
    if ((flags & RSSLAG_OF_USER_FAULT) != 0) return "user";
    return (flags & RSSLAG_OF_KERNEL_FAULT) != 0 ? "kernel" : "";
}

bool has(std::uint16_t flags, std::uint16_t flag) {
    return (flags & flag) != 0;
}

std::string_view type_of(const core::Applied &applied) {
    if (!applied.reason || *applied.reason == FlushReason::Direct) return "update";
    return *applied.reason == FlushReason::Fold ? "fold" : "flush";
}

/// With its unit, or in kB if it would round to 0.0 of that unit; "?" for an unknown amount.
std::string known_amount(const std::optional<std::int64_t> &pages, const EventLine &event, const TextStyle &style,
                         bool with_plus) {
    if (!pages) return "?";
    std::string text = amount({*pages}, event.page_size, style);
    if (*pages != 0 && text.find_first_of("123456789") == std::string::npos) {
        TextStyle in_kb = style;
        in_kb.pages = core::as_kb;
        text = amount({*pages}, event.page_size, in_kb);
    }
    return with_plus && *pages > 0 ? "+" + text : text;
}

std::string clock_text(std::uint64_t t_ns) {
    return fmt::format("{:>5}.{:06}", t_ns / 1'000'000'000, t_ns / 1'000 % 1'000'000);
}

std::string number_text(int id) {
    return id > 0 ? std::to_string(id) : "?";
}

/// "   12.345678  4711/4715 worker-03"
std::string who(std::uint64_t t_ns, int pid, int tid, std::string_view comm, const TextStyle &style) {
    return fmt::format("{}  {}/{} {:<15}", clock_text(t_ns), number_text(pid), number_text(tid),
                       core::printable(comm, style.utf8));
}

std::string reason_text(const core::Applied &applied) {
    if (!applied.reason) return "";
    if (*applied.reason == FlushReason::Direct || *applied.reason == FlushReason::Fold)
        return fmt::format("  {}", core::name(*applied.reason));
    return fmt::format("  flush: {}", core::name(*applied.reason));
}

std::string fault_text(const rsslag_update &update) {
    const std::string_view mode = fault_mode(update.flags);
    if (mode.empty()) return "";
    return fmt::format("  fault {:#x}{}", update.address, mode == "kernel" ? " in kernel mode" : "");
}

std::optional<std::int64_t> count_of(const std::optional<core::Pages> &pages) {
    if (!pages) return std::nullopt;
    return pages->n;
}

std::string_view comm_of(const rsslag_task &task) {
    return {task.comm, strnlen(task.comm, sizeof(task.comm))};
}

std::string_view type_of(const rsslag_task &task) {
    switch (task.kind) {
        case RSSLAG_NEWTASK: return has(task.flags, RSSLAG_SAME_GROUP) ? "thread_start" : "fork";
        case RSSLAG_SEEN: return "seen";
        case RSSLAG_RENAME: return "rename";
        case RSSLAG_EXEC: return "exec";
        case RSSLAG_EXIT: return has(task.flags, RSSLAG_GROUP_DEAD) ? "exit" : "thread_end";
        default: break;
    }
    return "unknown";
}

/// A host TID, marked as such if rsslag's PID namespace has other numbers.
std::string host_number(int tid, const rsslag_task &task) {
    return fmt::format("{}{}", task.ns_tid == task.tid ? "" : "host ", tid);
}

std::string what_happened(const rsslag_task &task) {
    const bool shares = has(task.flags, RSSLAG_SHARES_MM);
    switch (task.kind) {
        case RSSLAG_NEWTASK:
            if (has(task.flags, RSSLAG_SAME_GROUP))
                return fmt::format("thread started by {}", host_number(task.parent, task));
            return fmt::format("forked by {}{}", host_number(task.parent, task), shares ? ", shares its mm" : "");
        case RSSLAG_SEEN: return "updates an mm that is not its own";
        case RSSLAG_RENAME: return "renamed to this name";
        case RSSLAG_EXEC:
            if (task.old_tid == 0 || task.old_tid == task.tid) return "exec";
            return fmt::format("exec, was thread {}", host_number(task.old_tid, task));
        case RSSLAG_EXIT:
            return fmt::format("{} after {} faults, {} in kernel mode",
                               has(task.flags, RSSLAG_GROUP_DEAD) ? "process exits" : "thread ends",
                               core::with_thousands(static_cast<std::int64_t>(task.user_faults + task.kernel_faults)),
                               core::with_thousands(static_cast<std::int64_t>(task.kernel_faults)));
        default: break;
    }
    return fmt::format("record of kind {}", task.kind);
}

}  // namespace

std::string event_text(const EventLine &event, const TextStyle &style) {
    const rsslag_update &update = event.update;
    std::string text = who(event.t_ns, event.pid, event.tid, event.comm, style);
    text += fmt::format("  {} {}  cached {}  flushed {}", member_text(update.member),
                        known_amount(count_of(event.applied.pages), event, style, true),
                        known_amount(core::cached_after(event.update, event.applied), event, style, false),
                        known_amount(update.count, event, style, false));
    text += reason_text(event.applied) + fault_text(update);
    if (event.applied.by_other) text += "  by another process";
    if (has(update.flags, RSSLAG_NEWBORN)) text += "  mm is being created";
    if (has(update.flags, RSSLAG_TEARDOWN)) text += "  teardown";
    if (!event.applied.known) text += "  unknown mm";
    return text + "\n";
}

std::string event_json(const EventLine &event) {
    const rsslag_update &update = event.update;
    const core::Applied &applied = event.applied;
    const std::string_view mode = fault_mode(update.flags);
    ordered_json object;
    object["type"] = type_of(applied);
    object["t_ns"] = event.t_ns;
    object["pid"] = id(event.pid);
    object["tid"] = id(event.tid);
    object["cpu"] = event.cpu;
    object["comm"] = core::printable(event.comm);
    const auto member = core::member_of(update.member);
    object["member"] = member ? ordered_json(core::name(*member)) : ordered_json(nullptr);
    object["pages"] = number(applied.pages);
    object["cached"] = or_null(core::cached_after(event.update, event.applied));
    object["flushed"] = update.count;
    object["reason"] = applied.reason ? ordered_json(core::name(*applied.reason)) : ordered_json(nullptr);
    object["fault"] = mode.empty() ? ordered_json(nullptr) : ordered_json(mode);
    object["address"] = mode.empty() ? ordered_json(nullptr) : ordered_json(fmt::format("{:#x}", update.address));
    object["by_other"] = applied.by_other;
    object["newborn"] = has(update.flags, RSSLAG_NEWBORN);
    object["teardown"] = has(update.flags, RSSLAG_TEARDOWN);
    object["known"] = applied.known;
    return object.dump() + "\n";
}

std::string task_text(const TaskLine &event, const TextStyle &style) {
    const rsslag_task &task = event.task;
    return fmt::format("{}  {}\n", who(event.t_ns, task.ns_tgid, task.ns_tid, comm_of(task), style),
                       what_happened(task));
}

std::string task_json(const TaskLine &event) {
    const rsslag_task &task = event.task;
    const bool ends = task.kind == RSSLAG_EXIT;
    ordered_json object;
    object["type"] = type_of(task);
    object["t_ns"] = event.t_ns;
    object["pid"] = id(task.ns_tgid);
    object["tid"] = id(task.ns_tid);
    object["cpu"] = task.cpu;
    object["comm"] = core::printable(comm_of(task));
    object["host_pid"] = id(task.tgid);
    object["host_tid"] = id(task.tid);
    object["parent_host_tid"] = id(task.parent);
    object["old_host_tid"] = id(task.old_tid);
    object["shares_mm"] = has(task.flags, RSSLAG_SHARES_MM);
    object["user_faults"] = ends ? ordered_json(task.user_faults) : ordered_json(nullptr);
    object["kernel_faults"] = ends ? ordered_json(task.kernel_faults) : ordered_json(nullptr);
    return object.dump() + "\n";
}

}  // namespace rsslag::documents
