// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>

#include "core/member_name.h"
#include "core/text.h"
#include "documents/maps.h"
#include "json_parts.h"
#include "pages_text.h"
#include "unread.h"

namespace rsslag::documents {
namespace {

using core::Kilobytes;
using nlohmann::ordered_json;

std::string hex(std::uint64_t address) {
    return fmt::format("{:x}", address);
}

std::string_view backing_name(procfs::Backing backing) {
    switch (backing) {
        case procfs::Backing::Anonymous: return "anonymous";
        case procfs::Backing::File: return "file";
        case procfs::Backing::Shmem: return "shmem";
        case procfs::Backing::Hugetlb: return "hugetlb";
        case procfs::Backing::Kernel: return "kernel";
        case procfs::Backing::Unknown: break;
    }
    return "unknown";
}

ordered_json top(const MappedProcess &process, const core::PageSize &page_size) {
    ordered_json array = ordered_json::array();
    const auto number = [](const std::optional<double> &value, bool percent) {
        if (!value) return ordered_json(nullptr);
        return percent ? ordered_json(*value) : ordered_json(static_cast<std::int64_t>(*value));
    };
    for (const TopRow &row : top_rows(process, page_size)) {
        ordered_json object = {{"column", row.column}, {"file", row.file}, {"field", row.field}};
        object["says_kb"] = row.percent ? ordered_json(nullptr) : number(row.shown, false);
        object["exact_kb"] = row.percent ? ordered_json(nullptr) : number(row.exact, false);
        object["says_percent"] = row.percent ? number(row.shown, true) : ordered_json(nullptr);
        object["exact_percent"] = row.percent ? number(row.exact, true) : ordered_json(nullptr);
        object["note"] = row.note;
        array.push_back(std::move(object));
    }
    return array;
}

ordered_json quadrant(std::string_view name, const procfs::QuadrantSum &sum) {
    return {{"quadrant", name},         {"mappings", sum.mappings},
            {"virtual_kb", sum.size.n}, {"resident_kb", sum.resident.n},
            {"anon_kb", sum.anon.n},    {"file_kb", sum.file.n},
            {"shmem_kb", sum.shmem.n},  {"unplaced_kb", sum.unplaced.n},
            {"swap_kb", sum.swap.n},    {"hugetlb_kb", sum.hugetlb.n}};
}

ordered_json quadrants(const procfs::Quadrants &quadrants) {
    ordered_json array = ordered_json::array();
    for (const procfs::Quadrant each : procfs::kQuadrants)
        array.push_back(quadrant(procfs::name(each), quadrants[each]));
    array.push_back(quadrant("sum", quadrants.total()));
    return array;
}

ordered_json unplaced(const procfs::Quadrants &quadrants) {
    ordered_json array = ordered_json::array();
    for (const procfs::Unplaced &each : quadrants.unplaced) {
        array.push_back({{"name", core::harmless(each.name)},
                         {"start", hex(each.start)},
                         {"resident_kb", each.resident.n},
                         {"reason", "no mount of its file system is visible here: file or shmem"}});
    }
    return array;
}

ordered_json members_check(const MappedProcess &process, const core::PageSize &page_size) {
    if (!process.reading) return nullptr;
    ordered_json array = ordered_json::array();
    for (const MemberCheck &check : member_checks(process, page_size)) {
        array.push_back({{"member", core::name(check.member)},
                         {"walked", page_size.pages(check.walked).n},
                         {"exact", check.exact.n},
                         {"difference", check.difference.n}});
    }
    return array;
}

ordered_json sums(const procfs::MapSums &sums) {
    return {{"mappings", sums.mappings},
            {"size_kb", sums.size.n},
            {"rss_kb", sums.rss.n},
            {"shared_kb", sums.shared_total().n},
            {"shared_clean_kb", sums.shared_clean.n},
            {"shared_dirty_kb", sums.shared_dirty.n},
            {"private_clean_kb", sums.private_clean.n},
            {"private_dirty_kb", sums.private_dirty.n},
            {"pss_kb", sums.pss.n},
            {"swap_kb", sums.swap.n},
            {"swap_pss_kb", sums.swap_pss.n},
            {"lazy_free_kb", sums.lazy_free.n},
            {"droppable_kb", sums.droppable.n},
            {"droppable_file_kb", sums.droppable_file.n},
            {"droppable_anon_kb", sums.droppable_anon.n},
            {"droppable_each_once", sums.droppable_each_once},
            {"droppable_surely_once_kb", sums.droppable_surely_once.n},
            {"hugetlb_kb", sums.hugetlb.n},
            {"private_hugetlb_kb", sums.private_hugetlb.n},
            {"shared_hugetlb_kb", sums.shared_hugetlb.n},
            {"data_rss_kb", sums.data_rss.n}};
}

/// The top stack of a row; `tops` of the groups or the mappings.
ordered_json stack(const MappedProcess &process, std::vector<std::optional<memory::TopStack>> memory::RowStacks::*tops,
                   std::size_t row) {
    if (!process.stacks) return nullptr;
    const std::vector<std::optional<memory::TopStack>> &rows = (*process.stacks).*tops;
    if (row >= rows.size() || !rows[row]) return nullptr;
    ordered_json functions = ordered_json::array();
    for (const std::string &function : process.stacks->recording->stacks[rows[row]->stack])
        functions.push_back(core::printable(function));
    return {{"functions", std::move(functions)}, {"share", rows[row]->share}};
}

ordered_json stacks(const MappedProcess &process) {
    if (!process.stacks) return nullptr;
    const memory::SampledRecording &recording = *process.stacks->recording;
    return {{"file", core::printable(recording.file)},
            {"period", recording.period},
            {"end", core::utc_time(recording.end)},
            {"resident", process.stacks->resident.size()},
            {"lost", recording.lost},
            {"complete", recording.complete}};
}

ordered_json group(const procfs::MapGroup &group) {
    return {{"name", core::harmless(group.name)},
            {"kind", group.shared ? "shared" : "private"},
            {"writable_file", group.written_file},
            {"backing", backing_name(group.backing)},
            {"perms", group.perms},
            {"mappings", group.mappings},
            {"size_kb", group.size.n},
            {"rss_kb", group.rss.n},
            {"pss_kb", group.pss.n},
            {"clean_kb", group.clean.n},
            {"dirty_kb", group.dirty.n},
            {"swap_kb", group.swap.n}};
}

ordered_json groups(const MappedProcess &process) {
    ordered_json array = ordered_json::array();
    for (const procfs::MapGroup &each : process.groups) {
        array.push_back(group(each));
        array.back()["stack"] = stack(process, &memory::RowStacks::groups, array.size() - 1);
    }
    return array;
}

/// "Pss_Dirty" → "pss_dirty_kb", "KernelPageSize" → "kernel_page_size_kb", "THPeligible" → "thp_eligible".
std::string key_of(const procfs::SmapsLine &line) {
    if (line.slot == procfs::Slot::ThpEligible) return "thp_eligible";
    if (line.slot == procfs::Slot::MmuPageSize) return "mmu_page_size_kb";
    std::string key;
    for (std::size_t i = 0; i < line.key.size(); ++i) {
        const char c = line.key[i];
        const bool upper = c >= 'A' && c <= 'Z';
        const bool after_lower = i > 0 && line.key[i - 1] >= 'a' && line.key[i - 1] <= 'z';
        if (upper && after_lower) key += '_';
        key += upper ? static_cast<char>(c - 'A' + 'a') : c;
    }
    const bool bare = line.slot == procfs::Slot::ProtectionKey || line.slot == procfs::Slot::VmFlags;
    return bare ? key : key + "_kb";
}

ordered_json mapping(const procfs::Mapping &mapping) {
    ordered_json object = {
        {"start", hex(mapping.start)},         {"end", hex(mapping.end)},  {"perms", mapping.perms},
        {"offset", hex(mapping.offset)},       {"device", mapping.device}, {"inode", std::to_string(mapping.inode)},
        {"name", core::harmless(mapping.name)}};
    for (const procfs::SmapsLine &line : procfs::kSmapsLines) {
        if (line.slot == procfs::Slot::VmFlags) {
            object[key_of(line)] = core::harmless(mapping.vm_flags);
        } else {
            object[key_of(line)] = or_null(procfs::number(mapping, line));
        }
    }
    return object;
}

ordered_json mappings(const MappedProcess &process, const MapsChoices &choices) {
    if (!choices.each) return nullptr;
    ordered_json array = ordered_json::array();
    for (const procfs::Mapping &each : process.mappings) {
        array.push_back(mapping(each));
        array.back()["stack"] = stack(process, &memory::RowStacks::mappings, array.size() - 1);
    }
    return array;
}

ordered_json changes(const std::optional<std::vector<procfs::MapChange>> &since) {
    if (!since) return nullptr;
    ordered_json array = ordered_json::array();
    for (const procfs::MapChange &change : *since) {
        const procfs::MapGroup &either = change.either();
        array.push_back({{"name", core::harmless(either.name)},
                         {"kind", either.shared ? "shared" : "private"},
                         {"writable_file", either.written_file},
                         {"state", !change.before  ? "new"
                                   : !change.after ? "gone"
                                                   : "changed"},
                         {"size_grown_kb", change.grown(&procfs::MapGroup::size).n},
                         {"rss_grown_kb", change.grown(&procfs::MapGroup::rss).n},
                         {"pss_grown_kb", change.grown(&procfs::MapGroup::pss).n},
                         {"clean_grown_kb", change.grown(&procfs::MapGroup::clean).n},
                         {"dirty_grown_kb", change.grown(&procfs::MapGroup::dirty).n},
                         {"swap_grown_kb", change.grown(&procfs::MapGroup::swap).n}});
    }
    return array;
}

ordered_json assertions(const std::vector<Asserted> &all) {
    ordered_json array = ordered_json::array();
    for (const Asserted &asserted : all) {
        ordered_json &one = array.emplace_back();
        one = {{"text", core::harmless(asserted.assertion.text)},
               {"holds", or_null(asserted.holds)},
               {"value_kb", core::json::number(asserted.value)}};
        core::json::put_comparison(one, asserted.assertion, asserted.compared);
    }
    return array;
}

ordered_json process_json(const MappedProcess &process, const MapsChoices &choices, const core::PageSize &page_size) {
    ordered_json object = {
        {"pid", process.pid},
        {"start_ticks", process.start_ticks},
        {"uid", process.uid},
        {"comm", core::printable(process.comm)},
        {"exe", process.exe.empty() ? ordered_json(nullptr) : ordered_json(core::harmless(process.exe))},
        {"program", process.program.empty() ? ordered_json(nullptr) : ordered_json(core::harmless(process.program))},
        {"walk_us", process.walk_us}};
    object["why_not_exact"] =
        process.why_not_exact ? ordered_json(core::harmless(*process.why_not_exact)) : ordered_json(nullptr);
    const auto of_counters = [&](core::Members core::Reconciliation::*which) -> ordered_json {
        return process.reading ? members(process.reading->verdict.*which) : ordered_json(nullptr);
    };
    object["flushed"] = of_counters(&core::Reconciliation::flushed);
    object["cached"] = of_counters(&core::Reconciliation::cached);
    object["exact"] = of_counters(&core::Reconciliation::exact);
    object["verdict"] =
        process.reading ? ordered_json(core::name(process.reading->verdict.verdict)) : ordered_json(nullptr);
    object["residual"] = process.reading ? number(process.reading->verdict.residual) : ordered_json(nullptr);
    object["top"] = top(process, page_size);
    object["quadrants"] = quadrants(process.quadrants);
    object["members"] = members_check(process, page_size);
    object["unplaced"] = unplaced(process.quadrants);
    object["sums"] = sums(process.sums);
    object["groups"] = groups(process);
    object["mappings"] = mappings(process, choices);
    object["pages"] = process.pages ? pages_json(*process.pages) : ordered_json(nullptr);
    object["elf"] = process.elf ? elf_json(*process.elf) : ordered_json(nullptr);
    object["changes"] = changes(process.since);
    object["assertions"] = assertions(process.asserted);
    object["stacks"] = stacks(process);
    object["why_no_stacks"] =
        process.why_no_stacks ? ordered_json(core::harmless(*process.why_no_stacks)) : ordered_json(nullptr);
    return object;
}

}  // namespace

std::string maps_json(const MapsDocument &document, const MapsChoices &choices) {
    const core::PageSize &page_size = document.machine.page_size;
    ordered_json object;
    object["schema"] = "rsslag.maps/1";
    object["time"] = utc_time(document.time);
    object["kernel"] = document.kernel;
    object["arch"] = document.arch;
    object["scheme"] = document.counted ? ordered_json(core::name(document.machine.scheme)) : ordered_json(nullptr);
    object["page_size"] = page_size.bytes;
    object["processes"] = ordered_json::array();
    for (const MappedProcess &process : document.processes)
        object["processes"].push_back(process_json(process, choices, page_size));
    object["failed"] = ordered_json::array();
    for (const memory::UnmappedProcess &failed : document.failed)
        object["failed"].push_back(
            {{"pid", failed.pid}, {"reason", failed.reason}, {"status", status_json(failed.status)}});
    object["status_shows"] = status_shows_json(document.status_shows);
    return object.dump() + "\n";
}

}  // namespace rsslag::documents
