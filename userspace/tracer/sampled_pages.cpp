// SPDX-License-Identifier: BSD-2-Clause
#include "sampled_pages.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace rsslag::tracer {

void SampledPages::note(const core::Sample &sample, std::uint64_t number) {
    if (overflowed_ || !core::owns_page(sample)) return;
    const auto [found, is_new] = spaces_.try_emplace(sample.mm);
    if (is_new) found->second.from = number;
    if (sample.pid != 0) mm_of_[sample.pid] = sample.mm;
    if (!found->second.pages.insert_or_assign(core::owned_page(sample), sample.t_ns).second || ++size_ <= most_) return;
    overflowed_ = true;
    spaces_.clear();
    mm_of_.clear();
}

void SampledPages::change(const core::MappingChange &change) {
    const auto mm = mm_of_.find(change.pid);
    const auto found = mm == mm_of_.end() ? spaces_.end() : spaces_.find(mm->second);
    const bool moves = change.kind == core::MappingChange::Kind::Moved && change.old_end > change.old_start;
    if (!moves || found == spaces_.end()) return;
    auto &pages = found->second.pages;
    const std::uint64_t length =
        std::min(change.old_end - change.old_start, change.range.end - std::min(change.range.start, change.range.end));
    std::vector<std::pair<std::uint64_t, std::uint64_t>> moved;
    for (auto page = pages.lower_bound(change.old_start);
         page != pages.end() && page->first - change.old_start < length;) {
        const bool before = page->second < change.t_ns;
        if (before) moved.emplace_back(page->first - change.old_start + change.range.start, page->second);
        page = before ? pages.erase(page) : std::next(page);
    }
    size_ -= moved.size();
    for (const auto &[page, t_ns] : moved) {
        const auto [at, is_new] = pages.try_emplace(page, t_ns);
        at->second = std::max(at->second, t_ns);
        size_ += is_new ? 1 : 0;
    }
}

const SampledPages::Space *SampledPages::of(std::uint64_t mm) const {
    const auto found = spaces_.find(mm);
    return found == spaces_.end() ? nullptr : &found->second;
}

void SampledPages::forget(std::uint64_t mm, std::span<const std::uint64_t> pages) {
    const auto found = spaces_.find(mm);
    if (found == spaces_.end()) return;
    for (const std::uint64_t page : pages)
        size_ -= found->second.pages.erase(page);
}

void SampledPages::keep(const std::set<std::uint64_t> &mms) {
    for (auto each = spaces_.begin(); each != spaces_.end();) {
        const bool kept = std::exchange(each->second.fresh, false) || mms.contains(each->first);
        if (!kept) size_ -= each->second.pages.size();
        each = kept ? std::next(each) : spaces_.erase(each);
    }
    std::erase_if(mm_of_, [this](const auto &each) { return !spaces_.contains(each.second); });
}

}  // namespace rsslag::tracer
