// SPDX-License-Identifier: BSD-2-Clause
#include "update_limits.h"

#include <algorithm>

#include "core/units.h"

namespace rsslag::core {
namespace {

/// Entries of a page table, and pages of a folio that one entry of the level above maps, with 4 KiB pages.
constexpr std::int64_t kTablePages = 512;
constexpr int kOrders = 10;

bool has(const rsslag_update &update, unsigned flags) {
    return (update.flags & flags) != 0;
}

bool of(const rsslag_update &update, Member member) {
    return update.member == static_cast<std::uint8_t>(member);
}

}  // namespace

PageSet pages_of(const rsslag_update &update, FolioOrders orders) {
    if (has(update, RSSLAG_NEWBORN)) return {{1, kTablePages}};
    // A system call makes other updates, too, in addition to its faults.
    const bool fault = has(update, RSSLAG_OF_USER_FAULT);
    PageSet pages;
    if (!fault || of(update, Member::Swap)) {
        pages.add({-kTablePages, -1});
    } else if (!of(update, Member::Anon)) {
        pages.add({-1, -1});
    }
    if (of(update, Member::File) || of(update, Member::Shmem)) {
        pages.add({1, kTablePages});
        return pages;
    }
    for (int order = 0; order < kOrders; ++order)
        if (order == 0 || (orders >> order & 1U) != 0) pages.add({1LL << order, 1LL << order});
    return pages;
}

std::optional<std::int64_t> usual_pages_of(const rsslag_update &update) {
    if (has(update, RSSLAG_TEARDOWN) || !has(update, RSSLAG_OF_USER_FAULT | RSSLAG_OF_KERNEL_FAULT))
        return std::nullopt;
    return of(update, Member::Swap) ? -1 : 1;
}

PageSet moved_by_fold(const PageSet &pages, std::int64_t before, std::int64_t batch) {
    PageSet moved;
    if (before == 0) moved.add({0, 0});
    for (const PageRange &range : pages.ranges()) {
        const std::int64_t least = before + range.least;
        const std::int64_t most = before + range.most;
        moved.add({least, std::min(most, -batch)});
        if (least <= 0 && most >= 0) moved.add({0, 0});
        moved.add({std::max(least, batch), most});
    }
    return moved;
}

bool maybe_flush(const rsslag_update &update) {
    return has(update, RSSLAG_OWN) && update.cached != 0;
}

bool surely_flush(const rsslag_update &update) {
    return maybe_flush(update) && has(update, RSSLAG_THRESHOLD | RSSLAG_EXITING);
}

}  // namespace rsslag::core
