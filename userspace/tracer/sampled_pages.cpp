// SPDX-License-Identifier: BSD-2-Clause
#include "sampled_pages.h"

#include <utility>

namespace rsslag::tracer {

void SampledPages::note(const core::Sample &sample, std::uint64_t number) {
    if (overflowed_ || !core::owns_page(sample)) return;
    const auto [found, is_new] = spaces_.try_emplace(sample.mm);
    if (is_new) found->second.from = number;
    if (!found->second.pages.insert(core::owned_page(sample)).second || ++size_ <= most_) return;
    overflowed_ = true;
    spaces_.clear();
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
}

}  // namespace rsslag::tracer
