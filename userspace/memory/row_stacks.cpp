// SPDX-License-Identifier: BSD-2-Clause
#include "memory/row_stacks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "core/mapping.h"
#include "core/text.h"
#include "memory/mapped_process.h"
#include "procfs/pagemap.h"

namespace rsslag::memory {
namespace {

using core::Error;
using core::Kind;
using procfs::Mapping;

/// Whether the name is inferred from the shape of anonymous memory, or was given to it later.
bool is_guess(std::string_view name) {
    return name.empty() || name == core::kAnonymousMapping || name.starts_with("stack of thread ") ||
           name.starts_with("[anon:") || name.ends_with(" ~");
}

std::string_view without_deleted(std::string_view name) {
    constexpr std::string_view kDeleted = " (deleted)";
    if (name.ends_with(kDeleted)) name.remove_suffix(kDeleted.size());
    return name;
}

std::string name_of(const Mapping &mapping) {
    if (!mapping.recognised.empty()) return mapping.recognised;
    return core::mapping_name({mapping.start, mapping.end, core::mapping_flags(mapping.perms), mapping.name}, {});
}

/// The mapping at this address, of mappings in ascending order; nullptr: none.
const Mapping *mapping_at(const std::vector<const Mapping *> &ascending, std::uint64_t address) {
    const auto above = std::upper_bound(ascending.begin(), ascending.end(), address,
                                        [](std::uint64_t at, const Mapping *mapping) { return at < mapping->start; });
    if (above == ascending.begin()) return nullptr;
    const Mapping *const mapping = *std::prev(above);
    return address < mapping->end ? mapping : nullptr;
}

std::vector<const Mapping *> ascending(const std::vector<Mapping> &mappings) {
    std::vector<const Mapping *> all;
    all.reserve(mappings.size());
    for (const Mapping &mapping : mappings)
        all.push_back(&mapping);
    std::sort(all.begin(), all.end(), [](const Mapping *a, const Mapping *b) { return a->start < b->start; });
    return all;
}

/// Sums of the pages of one row.
class RowSums {
  public:
    void add(const SampledPage &page) { by_stack_[page.stack] += page.pages; }
    std::optional<TopStack> top() const {
        double all = 0;
        auto most = by_stack_.begin();
        for (auto each = by_stack_.begin(); each != by_stack_.end(); ++each) {
            all += each->second;
            if (each->second > most->second) most = each;
        }
        if (all <= 0) return std::nullopt;
        return TopStack{most->first, most->second / all};
    }

  private:
    std::map<std::size_t, double> by_stack_;
};

std::vector<std::optional<TopStack>> tops(const std::vector<RowSums> &sums) {
    std::vector<std::optional<TopStack>> all;
    all.reserve(sums.size());
    for (const RowSums &each : sums)
        all.push_back(each.top());
    return all;
}

}  // namespace

bool may_be(const Mapping &mapping, const std::string &name_at_fault) {
    if (name_at_fault.empty() || name_at_fault == core::kUnknownMapping) return true;
    const std::string now = name_of(mapping);
    if (is_guess(name_at_fault)) return is_guess(now);
    return without_deleted(now) == without_deleted(name_at_fault);
}

core::Result<RowStacks> resident_samples(const procfs::Process &process, const MappedProcess &mapped,
                                         std::shared_ptr<const SampledRecording> recording) {
    const auto found = recording->processes.find(mapped.pid);
    const auto none = [&](std::string_view why) {
        return Error{Kind::Unsupported, fmt::format("{} {}", core::printable(recording->file), why), 0, ""};
    };
    if (found == recording->processes.end()) return none("does not contain this process");
    if (found->second.start_ticks != mapped.start_ticks) return none("contains another process that had this PID");
    std::vector<std::uint64_t> addresses;
    for (const SampledPage &page : found->second.pages)
        addresses.push_back(page.address);
    const auto absent = procfs::absent_pages(process, core::PageSize{sysconf(_SC_PAGESIZE)}, addresses);
    if (!absent) return absent.error();
    RowStacks stacks{std::move(recording), {}, {}, {}};
    const std::vector<const Mapping *> mappings = ascending(mapped.mappings);
    for (const SampledPage &page : found->second.pages) {
        const Mapping *const mapping = mapping_at(mappings, page.address);
        if (mapping == nullptr || std::binary_search(absent->begin(), absent->end(), page.address)) continue;
        if (may_be(*mapping, page.mapping)) stacks.resident.push_back(page);
    }
    return stacks;
}

void find_top_stacks(RowStacks &stacks, const std::vector<procfs::MapGroup> &groups,
                     const std::vector<Mapping> &mappings) {
    std::map<procfs::GroupKey, std::size_t> numbers;
    for (std::size_t i = 0; i < groups.size(); ++i)
        numbers.emplace(procfs::key_of(groups[i]), i);
    std::vector<RowSums> of_groups(groups.size()), of_mappings(mappings.size());
    const std::vector<const Mapping *> by_address = ascending(mappings);
    for (const SampledPage &page : stacks.resident) {
        const Mapping *const mapping = mapping_at(by_address, page.address);
        if (mapping == nullptr) continue;
        of_mappings[static_cast<std::size_t>(mapping - mappings.data())].add(page);
        const auto group = numbers.find(procfs::key_of(*mapping));
        if (group != numbers.end()) of_groups[group->second].add(page);
    }
    stacks.groups = tops(of_groups);
    stacks.mappings = tops(of_mappings);
}

std::string most_by(const RowStacks &stacks, const TopStack &top) {
    constexpr std::size_t kFunctions = 4;
    const std::vector<std::string> &all = stacks.recording->stacks[top.stack];
    if (all.empty()) return fmt::format("{:.0f} % by (no stack)", 100 * top.share);
    const auto end = all.begin() + static_cast<std::ptrdiff_t>(std::min(all.size(), kFunctions));
    return fmt::format("{:.0f} % by {}", 100 * top.share, fmt::join(all.begin(), end, " < "));
}

}  // namespace rsslag::memory
