// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>

#include "core/text.h"
#include "documents/maps.h"

namespace rsslag::documents {
namespace {

using core::Kilobytes;
using core::Pages;

std::optional<double> percent_of(const std::optional<double> &kb, const std::optional<Kilobytes> &total) {
    if (!kb || !total || total->n == 0) return std::nullopt;
    return 100.0 * *kb / static_cast<double>(total->n);
}

std::string kb_text(Kilobytes kb) {
    return core::with_thousands(kb.n) + " kB";
}

/// The note on DATA; it points out memory that is mostly only reserved, such as the shadow of a sanitizer.
std::string data_note(std::optional<double> data_kb, const procfs::MapSums &sums) {
    constexpr double kHuge = 1024.0 * 1024.0;
    constexpr double kManyTimes = 16;
    const std::string resident = kb_text(sums.data_rss);
    const auto touched = static_cast<double>(sums.data_rss.n);
    if (data_kb && *data_kb >= kHuge && *data_kb > kManyTimes * touched) {
        return fmt::format("reserved, hardly touched: only {} of it is resident, the rest costs no memory", resident);
    }
    return fmt::format("virtual: private writable mappings and stacks; {} of it is resident", resident);
}

constexpr std::string_view kBySmaps = "EXACT by smaps";

/// The distance of RES from the exact RSS. If the main thread has ended, by statm of a living thread, which is of the
/// same mm.
std::string res_note(const MappedProcess &process, const core::PageSize &page_size) {
    std::string note = process.top.living ? "top reads the main thread, which has ended" : "";
    const auto &statm = process.top.living ? process.top.living : process.top.statm;
    if (!process.reading) return fmt::format("{}{}{}", note, note.empty() ? "" : "; ", kBySmaps);
    if (!statm) return note;
    const Kilobytes missing = page_size.kb(process.reading->verdict.exact.rss() - statm->resident);
    if (missing.n == 0) return note;
    return fmt::format("{}{}{} {} is cached, not yet flushed", note, note.empty() ? "" : "; ",
                       kb_text({std::abs(missing.n)}), missing.n > 0 ? "too low: this part" : "too high: its removal");
}

std::string shr_note(const MappedProcess &process) {
    const procfs::QuadrantSum total = process.quadrants.total();
    const procfs::QuadrantSum &anonymous = process.quadrants[procfs::Quadrant::SharedAnonymous];
    std::string note = "file + shmem, whether shared or not";
    if (anonymous.resident.n > 0) {
        note += fmt::format("; {} of it is shared anonymous memory", kb_text(anonymous.resident));
    } else if (total.shmem.n > 0) {
        note += fmt::format("; {} of it is memory in tmpfs", kb_text(total.shmem));
    }

    return process.reading ? note : fmt::format("{}; {}", note, kBySmaps);
}

}  // namespace

std::vector<TopRow> top_rows(const MappedProcess &process, const core::PageSize &page_size) {
    const auto kb_of = [&](const std::optional<procfs::Statm> &statm,
                           Pages procfs::Statm::*field) -> std::optional<double> {
        if (!statm) return std::nullopt;
        return static_cast<double>(page_size.kb(*statm.*field).n);
    };
    const auto of_statm = [&](Pages procfs::Statm::*field) { return kb_of(process.top.statm, field); };
    // Virtual sizes are not cached: the living thread's statm is exact.
    const auto uncached = [&](Pages procfs::Statm::*field) {
        return kb_of(process.top.living ? process.top.living : process.top.statm, field);
    };
    // Without the counters it is `walked`, from smaps. The Swap there is no substitute: it includes shmem.
    const auto exact = [&](auto pages, std::optional<Kilobytes> walked) -> std::optional<double> {
        if (process.reading) walked = page_size.kb(pages(process.reading->verdict.exact));
        return walked ? std::optional(static_cast<double>(walked->n)) : std::nullopt;
    };
    const procfs::QuadrantSum total = process.quadrants.total();
    const auto virt = of_statm(&procfs::Statm::size);
    const auto res = of_statm(&procfs::Statm::resident);
    const auto shr = of_statm(&procfs::Statm::shared);
    const auto code = of_statm(&procfs::Statm::text);
    const auto data = of_statm(&procfs::Statm::data);
    const auto exact_data = uncached(&procfs::Statm::data);
    const auto swap = process.top.vm_swap ? std::optional(static_cast<double>(process.top.vm_swap->n)) : std::nullopt;
    const auto exact_res = exact([](const core::Members &m) { return m.rss(); }, total.resident);
    const auto exact_shr = exact([](const core::Members &m) { return m.file + m.shmem; }, total.resident - total.anon);
    const auto exact_swap = exact([](const core::Members &m) { return m.swap; }, std::nullopt);
    return {{"VIRT", "statm", "size", virt, uncached(&procfs::Statm::size), false, "virtual: reserved, touched or not"},
            {"RES", "statm", "resident", res, exact_res, false, res_note(process, page_size)},
            {"SHR", "statm", "shared", shr, exact_shr, false, shr_note(process)},
            {"CODE", "statm", "text", code, uncached(&procfs::Statm::text), false,
             "virtual: code of the program itself, without libraries"},
            {"DATA", "statm", "data", data, exact_data, false, data_note(exact_data, process.sums)},
            {"SWAP", "status", "VmSwap", swap, exact_swap, false, "anonymous only: shmem in swap is not in it"},
            {"%MEM", "statm", "resident", percent_of(res, process.top.mem_total),
             percent_of(exact_res, process.top.mem_total), true, "RES of MemTotal (/proc/meminfo)"}};
}

std::vector<MemberCheck> member_checks(const MappedProcess &process, const core::PageSize &page_size) {
    if (!process.reading) return {};
    const procfs::QuadrantSum total = process.quadrants.total();
    const core::Members &exact = process.reading->verdict.exact;
    const auto check = [&](core::Member member, Kilobytes walked) {
        return MemberCheck{member, walked, exact[member], page_size.pages(walked) - exact[member]};
    };
    return {check(core::Member::Anon, total.anon), check(core::Member::File, total.file),
            check(core::Member::Shmem, total.shmem)};
}

}  // namespace rsslag::documents
