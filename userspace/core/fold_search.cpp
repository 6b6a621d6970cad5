// SPDX-License-Identifier: BSD-2-Clause
#include "fold_search.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

namespace rsslag::core {
namespace {

/// No single update changes a counter by more: zap and fork go by page table, the largest folio is a PMD.
constexpr std::int64_t kMostPages = 512;

struct Range {
    std::int64_t least, most;
    int unusual;
};

// A fault maps one page, a huge one, or those around it; it takes away but the one page that it replaces.
constexpr std::array kAnonFault{Range{1, 1, 0}, Range{kMostPages, kMostPages, 1}, Range{2, kMostPages - 1, 2}};
constexpr std::array kPageFault{Range{-1, 16, 0}, Range{17, kMostPages, 2}};
constexpr std::array kTeardown{Range{-kMostPages, -1, 0}};
constexpr std::array kCopy{Range{1, kMostPages, 0}};
// Without a fault pages go by the table and come one by one, or huge.
constexpr std::array kOther{Range{-kMostPages, 1, 0}, Range{kMostPages, kMostPages, 1}, Range{2, kMostPages - 1, 2}};

std::span<const Range> ranges_of(FoldCause cause) {
    switch (cause) {
        case FoldCause::AnonFault: return kAnonFault;
        case FoldCause::PageFault: return kPageFault;
        case FoldCause::Teardown: return kTeardown;
        case FoldCause::Copy: return kCopy;
        case FoldCause::Other: break;
    }
    return kOther;
}

}  // namespace

FoldAmount limits_of(FoldCause cause) {
    FoldAmount limits{kMostPages, -kMostPages};
    for (const Range &range : ranges_of(cause)) {
        limits.least = std::min(limits.least, range.least);
        limits.most = std::max(limits.most, range.most);
    }
    return limits;
}

std::int64_t presumed_of(FoldCause cause, std::int64_t before, std::int64_t batch) {
    return cause == FoldCause::AnonFault && (before == batch - 1 || before == -1) ? 1 : 0;
}

bool narrow(std::vector<FoldAmount> &amounts, std::int64_t sum) {
    std::int64_t least = 0;
    std::int64_t most = 0;
    for (const FoldAmount &amount : amounts) {
        least += amount.least;
        most += amount.most;
    }
    if (sum < least || sum > most) return false;
    for (FoldAmount &amount : amounts) {
        const std::int64_t lower = std::max(amount.least, sum - (most - amount.most));
        const std::int64_t upper = std::min(amount.most, sum - (least - amount.least));
        amount.pages = lower;
        amount.uncertain = upper - lower;
    }
    return true;
}

FoldSearch::FoldSearch(std::vector<One> folds, std::int64_t batch) : folds_(std::move(folds)), batch_(batch) {
    for (const One &fold : folds_)
        options_.push_back(options_of(fold));
}

/// It folded at a batch at least, up or down, or cancelled what the CPU had.
std::vector<FoldSearch::Option> FoldSearch::options_of(const One &fold) const {
    std::vector<Option> options;
    for (const Range &range : ranges_of(fold.cause)) {
        const std::int64_t least = fold.before + range.least;
        const std::int64_t most = fold.before + range.most;
        if (least <= -batch_) options.push_back({least, std::min(most, -batch_), range.unusual});
        if (least <= 0 && most >= 0) options.push_back({0, 0, range.unusual});
        if (most >= batch_) options.push_back({std::max(least, batch_), most, range.unusual});
    }
    return options;
}

std::vector<FoldAmount> FoldSearch::amounts() {
    choose(0, 0);
    return std::move(found_);
}

void FoldSearch::choose(std::size_t index, int unusual) {
    if (best_ && unusual > *best_) return;
    if (index == folds_.size()) return take();
    for (const Option &option : options_[index]) {
        const bool cancelled = option.least == 0 && option.most == 0;  // nothing of it to be seen anywhere
        for (std::size_t seen = cancelled ? index : folds_[index].from; seen <= index; ++seen) {
            chosen_.push_back({option, seen});
            choose(index + 1, unusual + option.unusual);
            chosen_.pop_back();
        }
    }
}

/// Whether the choice explains all counts; if so, what it leaves for each is added to what was found.
void FoldSearch::take() {
    std::vector<FoldAmount> amounts(folds_.size());
    int unusual = 0;
    for (std::size_t seen = 0; seen < folds_.size(); ++seen) {
        std::vector<FoldAmount> here;
        for (const Choice &choice : chosen_) {
            if (choice.seen == seen) here.push_back({choice.option.least, choice.option.most});
        }
        if (!narrow(here, folds_[seen].moved)) return;
        auto next = here.begin();
        for (std::size_t i = 0; i < chosen_.size(); ++i) {
            if (chosen_[i].seen != seen) continue;
            const std::int64_t least = next->pages - folds_[i].before;
            amounts[i] = {least, least + next->uncertain};
            unusual += chosen_[i].option.unusual;
            ++next;
        }
    }
    if (!best_ || unusual < *best_) found_.clear();
    best_ = unusual;
    if (found_.empty()) {
        found_ = std::move(amounts);
        return;
    }
    for (std::size_t i = 0; i < amounts.size(); ++i) {
        found_[i].least = std::min(found_[i].least, amounts[i].least);
        found_[i].most = std::max(found_[i].most, amounts[i].most);
    }
}

}  // namespace rsslag::core
