// SPDX-License-Identifier: BSD-2-Clause
#include "mem_used.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "core/text.h"
#include "json_parts.h"
#include "text_parts.h"

namespace rsslag::documents {
namespace {

using core::Kilobytes;
using memory::UsedBy;
using nlohmann::ordered_json;
using Out = std::back_insert_iterator<std::string>;

constexpr std::size_t kMostNamed = 5;

memory::Used used_of(const MemDocument &document) {
    return memory::account(document.before, document.after, procfs::total_parts(document.users), document.machine,
                           document.page_size);
}

/// Processes that ended during the reading do not count, because they hold no memory any more.
std::size_t unread_processes(const MemDocument &document) {
    return static_cast<std::size_t>(
        std::ranges::count_if(document.failed, [](const auto &failed) { return failed.kind != core::Kind::Gone; }));
}

bool others_exist(const MemDocument &document) {
    return document.of_one_user || !document.machine.sees_all_processes || unread_processes(document) != 0;
}

std::string other_anon(const MemDocument &document) {
    if (document.of_one_user) return "anonymous memory of all other processes";
    if (!document.machine.sees_all_processes) return "anonymous memory of processes not readable or not shown here";
    const std::size_t unread = unread_processes(document);
    if (unread == 0) return "anonymous memory seen in no process: changed meanwhile, or counted late";
    return fmt::format("anonymous memory of {} process{} not readable, or changed meanwhile", unread,
                       unread == 1 ? "" : "es");
}

std::string partly_mapped(const MemDocument &document) {
    const std::string parts = "unmapped parts of huge pages that are mapped in part";
    return document.machine.partly_mapped ? parts : parts + ", or other unmapped pages";
}

std::string vmalloc(const MemDocument &document) {
    const bool stacks = document.machine.stacks_in_vmalloc != false;
    const bool bpf_maps = procfs::total_parts(document.users).bpf_maps.n != 0;
    return fmt::format("vmalloc{}{}{}{}", stacks || bpf_maps ? " except " : "", stacks ? "kernel stacks" : "",
                       stacks && bpf_maps ? " and " : "", bpf_maps ? "BPF arrays that processes map" : "");
}

std::string label(UsedBy by, const MemDocument &document) {
    const bool others = others_exist(document);
    switch (by) {
        case UsedBy::ProcessAnon: return "processes: anonymous memory";
        case UsedBy::ProcessFile: return "processes: files that they map";
        case UsedBy::ProcessShmem: return "processes: shmem and tmpfs that they map";
        case UsedBy::ProcessDrivers: return "processes: memory of drivers that they map; vmalloc may count it, too";
        case UsedBy::OtherAnon: return other_anon(document);
        case UsedBy::PartlyMapped: return partly_mapped(document);
        case UsedBy::PageCache:
            return others ? "page cache that none of these maps" : "page cache that no process maps";
        case UsedBy::Shmem:
            return others ? "shmem and tmpfs that none of these maps" : "shmem and tmpfs that no process maps";
        case UsedBy::SwapCache: return "swap cache; its mapped pages also count as anonymous memory";
        case UsedBy::SlabReclaimable: return "slab, reclaimable";
        case UsedBy::SlabUnreclaimable: return "slab, not reclaimable";
        case UsedBy::OtherReclaimable: return "other reclaimable memory of the kernel";
        case UsedBy::PageTables: return "page tables";
        case UsedBy::KernelStacks: return "kernel stacks";
        case UsedBy::PerCpu: return "per-CPU data";
        case UsedBy::Vmalloc: return vmalloc(document);
        case UsedBy::Hugetlb: return "hugetlb";
        case UsedBy::Compressed: return "zram and zswap";
        case UsedBy::Gpu: return "GPU buffers and pools";
        case UsedBy::WriteCopies: return "bounce buffers and FUSE's copies";
        case UsedBy::Balloon: return "balloon of the hypervisor";
        case UsedBy::Poisoned: return "poisoned pages";
        case UsedBy::CpuLists: return "free pages in lists of CPUs, which MemFree does not count";
        case UsedBy::Unaccounted: return "unaccounted";
    }
    return "";
}

/// "11 server 4,096, 12 client 2,048 ...".
template <class Item, class Format>
std::string some_of(const std::vector<Item> &items, Format format) {
    std::string text;
    for (std::size_t i = 0; i < std::min(items.size(), kMostNamed); ++i)
        text += (i == 0 ? "" : ", ") + format(items[i]);
    return items.size() > kMostNamed ? text + fmt::format(" and {} more", items.size() - kMostNamed) : text;
}

std::vector<const procfs::User *> hugetlb_users(const MemDocument &document) {
    const auto held = [](const procfs::User *user) { return user->parts.private_hugetlb + user->parts.shared_hugetlb; };
    std::vector<const procfs::User *> users;
    for (const procfs::User &user : document.users) {
        if (held(&user).n != 0) users.push_back(&user);
    }
    std::ranges::sort(users, [&](const auto *a, const auto *b) { return held(a) > held(b); });
    return users;
}

/// The processes whose smaps was denied. HugetlbPages of status contains private and shared pages.
std::vector<const memory::UnreadProcess *> hugetlb_by_status(const MemDocument &document) {
    std::vector<const memory::UnreadProcess *> processes;
    for (const memory::UnreadProcess &failed : document.failed) {
        if (failed.status && procfs::or_zero(failed.status->hugetlb).n != 0) processes.push_back(&failed);
    }
    std::ranges::sort(processes, [](const auto *a, const auto *b) { return a->status->hugetlb > b->status->hugetlb; });
    return processes;
}

/// The least that no listed process maps: a shared page counts in each process.
Kilobytes unlisted_hugetlb(const MemDocument &document) {
    Kilobytes left;
    for (const memory::HugePool &pool : document.machine.pools)
        left += Kilobytes{pool.page.n * (pool.total - pool.free)};
    const procfs::Parts listed = procfs::total_parts(document.users);
    left = left - listed.private_hugetlb - listed.shared_hugetlb;
    for (const memory::UnreadProcess *const process : hugetlb_by_status(document))
        left = left - *process->status->hugetlb;
    return std::max(left, Kilobytes{});
}

/// The least that is in no listed tmpfs: their sizes include what is mapped or swapped out. nullopt: not known.
std::optional<Kilobytes> unlisted_shmem(const memory::Used &used, const MemDocument &document) {
    const auto row = std::ranges::find(used.rows, UsedBy::Shmem, &memory::UsedRow::by);
    if (row == used.rows.end() || !row->kb) return std::nullopt;
    Kilobytes left = *row->kb;
    for (const memory::TmpfsUse &use : document.machine.tmpfs)
        left = left - use.used;
    return std::max(left, Kilobytes{});
}

std::string_view or_not_read(const MemDocument &document) {
    return others_exist(document) ? ", or processes that were not read" : "";
}

void append_pools(Out out, const MemDocument &document, const TextStyle &style) {
    const auto cell = [&](Kilobytes kb) { return mem_cell(kb, document.page_size, style); };
    for (const memory::HugePool &pool : document.machine.pools) {
        if (pool.total == 0) continue;
        const auto size = [&](std::int64_t pages) { return cell({pool.page.n * pages}); };
        fmt::format_to(out, "{:17}{} in pages of {}: {} used, {} free", "", size(pool.total), cell(pool.page),
                       size(pool.total - pool.free), size(pool.free));
        if (pool.reserved != 0) fmt::format_to(out, " ({} of it reserved for mappings)", size(pool.reserved));
        fmt::format_to(out, "\n");
    }
    if (const auto users = hugetlb_users(document); !users.empty()) {
        fmt::format_to(
            out, "{:17}private + shared, which counts in each: {}\n", "", some_of(users, [&](const procfs::User *user) {
                return fmt::format("{} {} {} + {}", user->pids.front(), core::printable(user->comm, style.utf8),
                                   cell(user->parts.private_hugetlb), cell(user->parts.shared_hugetlb));
            }));
    }
    if (const auto processes = hugetlb_by_status(document); !processes.empty()) {
        fmt::format_to(out, "{:17}by status, as smaps could not be read: {}\n", "",
                       some_of(processes, [&](const memory::UnreadProcess *process) {
                           return fmt::format("{} {} {}", process->pid,
                                              core::printable(process->status->name, style.utf8),
                                              cell(*process->status->hugetlb));
                       }));
    }
    if (const Kilobytes left = unlisted_hugetlb(document); left.n != 0) {
        fmt::format_to(out, "{:17}at least {} mapped by no process listed: memfd, hugetlbfs, System V{}\n", "",
                       cell(left), or_not_read(document));
    }
}

void append_tmpfs(Out out, const memory::Used &used, const MemDocument &document, const TextStyle &style) {
    if (!document.machine.tmpfs.empty()) {
        fmt::format_to(out, "{:17}mounted, with what is swapped out or mapped: {}\n", "",
                       some_of(document.machine.tmpfs, [&](const memory::TmpfsUse &use) {
                           return fmt::format("{} {}", core::printable(use.where, style.utf8),
                                              mem_cell(use.used, document.page_size, style));
                       }));
    }
    const auto left = unlisted_shmem(used, document);
    if (!left || left->n == 0) return;
    fmt::format_to(out,
                   "{:17}at least {} in no tmpfs listed: memfd, System V, GPU buffers, tmpfs that has no size limit or "
                   "is mounted in another namespace{}\n",
                   "", mem_cell(*left, document.page_size, style), or_not_read(document));
}

/// Notes on the accuracy of the rows above.
void append_uncertain(Out out, const memory::Used &used, const MemDocument &document, const TextStyle &style) {
    const auto cell = [&](const std::optional<Kilobytes> &kb) {
        return kb ? mem_cell(*kb, document.page_size, style) : std::string("unknown");
    };
    const auto negative = [](const memory::UsedRow &row) { return row.kb && row.kb->n < 0; };
    if (others_exist(document) && used.mapped_by_others)
        fmt::format_to(out, "~ {} {} of page cache, shmem and tmpfs are mapped by processes that were not read\n",
                       cell(used.mapped_by_others), style.unit);
    const bool mapped_below_0 = others_exist(document) && procfs::or_zero(used.mapped_by_others).n < 0;
    if (mapped_below_0 || std::ranges::any_of(used.rows, negative))
        fmt::format_to(
            out,
            "a value is below 0: the kernel's counters lag behind each other or count a page twice, or a process freed "
            "memory or ended after it was read\n");
    if (used.drift.large)
        fmt::format_to(out,
                       "memory in use changed by {} {} during this reading (anonymous {}, page cache {}, shmem of it "
                       "{}): rows with ~ may be wrong by this amount\n",
                       cell(used.drift.in_use), style.unit, cell(used.drift.anon), cell(used.drift.cached),
                       cell(used.drift.shmem));
    if (!used.balloon || used.balloon->n == 0 || document.machine.balloon_in_total == true) return;
    fmt::format_to(out, "a balloon holds {} {}: {}\n", cell(used.balloon), style.unit,
                   document.machine.balloon_in_total ? "MemTotal no longer includes it"
                                                     : "it is not known whether MemTotal still includes it");
}

ordered_json hugetlb_json(const MemDocument &document) {
    ordered_json pools = ordered_json::array();
    for (const memory::HugePool &pool : document.machine.pools) {
        pools.push_back({{"page_kb", pool.page.n},
                         {"pages", pool.total},
                         {"free", pool.free},
                         {"reserved", pool.reserved},
                         {"surplus", pool.surplus}});
    }
    ordered_json processes = ordered_json::array();
    for (const procfs::User *user : hugetlb_users(document)) {
        processes.push_back({{"pids", user->pids},
                             {"comm", core::printable(user->comm)},
                             {"private_kb", user->parts.private_hugetlb.n},
                             {"shared_kb", user->parts.shared_hugetlb.n}});
    }
    ordered_json by_status = ordered_json::array();
    for (const memory::UnreadProcess *const process : hugetlb_by_status(document)) {
        by_status.push_back({{"pid", process->pid},
                             {"comm", core::printable(process->status->name)},
                             {"total_kb", process->status->hugetlb->n}});
    }
    return {{"pools", std::move(pools)},
            {"processes", std::move(processes)},
            {"by_status", std::move(by_status)},
            {"unlisted_kb", unlisted_hugetlb(document).n}};
}

}  // namespace

std::string mem_cell(Kilobytes kb, const core::PageSize &page_size, const TextStyle &style) {
    if (style.unit == "pages") return column(page_size.pages(kb), page_size, style);
    return column(core::Pages{kb.n}, core::PageSize{1024}, style);
}

std::string sharing_text(const MemDocument &document, const TextStyle &style) {
    std::string text;
    const Out out = std::back_inserter(text);
    const auto cell = [&](Kilobytes kb) { return mem_cell(kb, document.page_size, style); };
    std::vector<const procfs::User *> sharing;
    for (const procfs::User &user : document.users) {
        if (user.pids.size() > 1) sharing.push_back(&user);
    }
    if (!sharing.empty()) {
        fmt::format_to(out, "shared address spaces, each counted once: {}\n",
                       some_of(sharing, [&](const procfs::User *user) {
                           std::string pids = fmt::format("{}", fmt::join(user->pids, "+"));
                           return pids + " " + core::printable(user->comm, style.utf8) + " " + cell(user->use.pss);
                       }));
    }
    if (document.undecided.empty()) return text;
    Kilobytes twice;
    for (const memory::Undecided &one : document.undecided)
        twice += one.pss;
    const std::size_t count = document.undecided.size();
    fmt::format_to(out, "~ each is counted, but may share an mm with another one ({}): {} process{}, {} {}: {}\n",
                   document.why_undecided, count, count == 1 ? "" : "es", cell(twice), style.unit,
                   some_of(document.undecided,
                           [](const memory::Undecided &one) { return fmt::format("{} like {}", one.pid, one.like); }));
    return text;
}

void put_sharing(ordered_json &object, const MemDocument &document) {
    object["shared_mm"] = ordered_json::array();
    for (const procfs::User &user : document.users) {
        if (user.pids.size() < 2) continue;
        object["shared_mm"].push_back(
            {{"pids", user.pids}, {"comm", core::printable(user.comm)}, {"total_kb", user.use.pss.n}});
    }
    object["maybe_shared_mm"] = ordered_json::array();
    for (const memory::Undecided &one : document.undecided)
        object["maybe_shared_mm"].push_back({{"pid", one.pid}, {"like", one.like}, {"total_kb", one.pss.n}});
}

std::string used_text(const MemDocument &document, const TextStyle &style) {
    const memory::Used used = used_of(document);
    std::string text;
    if (!used.in_use) return text;
    const Out out = std::back_inserter(text);
    const auto cell = [&](Kilobytes kb) { return mem_cell(kb, document.page_size, style); };
    fmt::format_to(out, "\nin use on this machine (MemTotal - MemFree): {} {}, available: {}\n", cell(*used.in_use),
                   style.unit, document.after.available ? cell(*document.after.available) : "unknown");
    for (const memory::UsedRow &row : used.rows) {
        if (!row.kb || (row.kb->n == 0 && row.by != UsedBy::Unaccounted)) continue;
        fmt::format_to(out, "{}  {}\n", right((row.difference ? "~ " : "") + cell(*row.kb), 14),
                       label(row.by, document));
        if (row.by == UsedBy::Shmem) append_tmpfs(out, used, document, style);
        if (row.by == UsedBy::Hugetlb) append_pools(out, document, style);
    }
    append_uncertain(out, used, document, style);
    return text;
}

ordered_json used_json(const MemDocument &document) {
    const memory::Used used = used_of(document);
    ordered_json object = {{"in_use_kb", number(used.in_use)}, {"rows", ordered_json::array()}};
    for (const memory::UsedRow &row : used.rows) {
        object["rows"].push_back(
            {{"name", memory::name(row.by)}, {"in_use_kb", number(row.kb)}, {"difference", row.difference}});
    }
    object["drift"] = {{"in_use_kb", number(used.drift.in_use)},
                       {"anon_kb", number(used.drift.anon)},
                       {"cached_kb", number(used.drift.cached)},
                       {"shmem_kb", number(used.drift.shmem)},
                       {"large", used.drift.large}};
    object["not_readable"] = unread_processes(document);
    object["sees_all_processes"] = document.machine.sees_all_processes;
    object["mapped_by_others_kb"] = number(used.mapped_by_others);
    object["stacks_in_vmalloc"] = or_null(document.machine.stacks_in_vmalloc);
    object["balloon"] = {{"held_kb", number(used.balloon)},
                         {"in_memtotal", or_null(document.machine.balloon_in_total)}};
    object["hugetlb"] = hugetlb_json(document);
    object["tmpfs"] = ordered_json::array();
    for (const memory::TmpfsUse &use : document.machine.tmpfs) {
        object["tmpfs"].push_back(
            {{"where", core::printable(use.where)}, {"used_kb", use.used.n}, {"size_kb", number(use.size)}});
    }
    object["tmpfs_unlisted_kb"] = number(unlisted_shmem(used, document));
    return object;
}

}  // namespace rsslag::documents
