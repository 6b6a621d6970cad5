// SPDX-License-Identifier: BSD-2-Clause
#include "fold_solver.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>

namespace rsslag::core {
namespace {

/// Where nothing explains a record, or it comes too late: it may be this far off.
constexpr std::int64_t kAnything = 512;

/// Gives out `sum` within the limits, in equal parts where they allow it.
void share_out(std::vector<FoldAmount> &amounts, std::int64_t sum) {
    std::int64_t left = sum;
    for (const FoldAmount &amount : amounts)
        left -= amount.pages;
    std::size_t takers = amounts.size();
    std::vector<FoldAmount *> by_room;
    by_room.reserve(amounts.size());
    for (FoldAmount &amount : amounts)
        by_room.push_back(&amount);
    std::sort(by_room.begin(), by_room.end(),
              [](const FoldAmount *a, const FoldAmount *b) { return a->uncertain < b->uncertain; });
    for (FoldAmount *amount : by_room) {
        const std::int64_t room = amount->uncertain;
        const std::int64_t more = std::min(room, left / static_cast<std::int64_t>(takers--));
        amount->pages += more;
        amount->uncertain = std::max(more, room - more);
        left -= more;
    }
    // What integer division left over goes to whoever has room.
    for (FoldAmount *amount : by_room) {
        if (left == 0) return;
        amount->pages += left;
        amount->uncertain += std::abs(left);
        left = 0;
    }
}

}  // namespace

void FoldSolver::reset(std::int64_t count) {
    first_ += open_.size();
    open_.clear();
    settled_ = count;
    settled_ns_ = 0;
    std::fill(confirmed_.begin(), confirmed_.end(), first_);
}

/// Number of the first fold whose count may have been read after that time.
std::uint64_t FoldSolver::read_before(std::uint64_t t_ns) const {
    std::size_t size = open_.size();
    while (size > 0 && open_[size - 1].t_ns + kReadNs >= t_ns)
        --size;
    return first_ + size;
}

void FoldSolver::confirm(int cpu, std::uint64_t t_ns, std::vector<Solved> &out) {
    confirmed_[static_cast<std::size_t>(cpu)] = read_before(t_ns);
    settle(t_ns, out);
}

/// Which of the open folds may have read a count that holds this one already.
std::uint64_t FoldSolver::may_be_held_from(const Fold &fold) const {
    const std::uint64_t end = first_ + open_.size();
    std::uint64_t from = std::max(confirmed_[static_cast<std::size_t>(fold.cpu)], first_);
    for (std::uint64_t i = end; i > from; --i) {
        const Open &earlier = open_[static_cast<std::size_t>(i - 1 - first_)];
        // A task's own fold was read before it did anything else.
        const bool same_task = earlier.tid == fold.tid && fold.tid != kEndedTid;
        if (same_task || earlier.t_ns + kOverlapNs < fold.t_ns) from = i;
    }
    while (from < end && open_[static_cast<std::size_t>(from - first_)].cpu == fold.cpu)
        ++from;
    return from;
}

void FoldSolver::fold(const Fold &fold, std::vector<Solved> &out) {
    settle(fold.t_ns, out);  // what is late enough needs no other CPU's word
    Open open;
    static_cast<Fold &>(open) = fold;
    open.late = fold.t_ns < (open_.empty() ? settled_ns_ : open_.back().t_ns);
    open.from = open.late ? first_ : may_be_held_from(fold);
    if (open.late) open.count = count_before(open_.size());  // its own is of the past
    for (std::uint64_t i = open.from; i < first_ + open_.size(); ++i)
        open_[static_cast<std::size_t>(i - first_)].joined = true;
    open_.push_back(open);
    if (!open.late) confirmed_[static_cast<std::size_t>(fold.cpu)] = read_before(fold.t_ns);
    settle(fold.t_ns, out);
}

void FoldSolver::advance(std::uint64_t t_ns, std::vector<Solved> &out) {
    if (!open_.empty()) settle(t_ns, out);
}

bool FoldSolver::clean(std::size_t index, std::uint64_t now) {
    const Open &fold = open_[index];
    if (now > fold.t_ns + kLateNs) return true;
    const std::uint64_t number = first_ + index;
    const auto missing = [&](std::size_t cpu) {
        return static_cast<int>(cpu) != fold.cpu && confirmed_[cpu] <= number;
    };
    if (missing(awaited_)) return false;
    for (std::size_t cpu = 0; cpu < confirmed_.size(); ++cpu) {
        if (!missing(cpu)) continue;
        awaited_ = cpu;
        return false;
    }
    return true;
}

void FoldSolver::settle(std::uint64_t now, std::vector<Solved> &out) {
    std::size_t index = 0;
    while (index < open_.size()) {
        if (open_[index].joined) {
            ++index;
            continue;
        }
        if (!clean(index, now)) return;
        solve(index, out);
        index = 0;
    }
}

/// Whether an earlier count may hold this fold, nothing later being held by any.
///
/// Then it is in every count from there to its own. So the counts before it and at it are equal; where they differ, no
/// earlier one holds it.
bool FoldSolver::open_together(std::size_t index) const {
    const Open &fold = open_[index];
    return fold.late || (fold.from < first_ + index && fold.count == count_before(index));
}

/// Folds up to `last` have moved the count from what was settled to what was read at the last one. From there
/// backwards: a fold that no earlier count holds is told by its own count and the one before, exactly.
void FoldSolver::solve(std::size_t last, std::vector<Solved> &out) {
    std::size_t end = last + 1;
    while (end > 0) {
        std::size_t begin = end - 1;
        if (!open_together(begin)) {
            const Open &fold = open_[begin];
            tell(fold, fold.count - count_before(begin) - fold.before, 0, out);
        } else {
            for (std::size_t i = end; i > begin; --i)
                begin = std::min(begin, static_cast<std::size_t>(std::max(open_[i - 1].from, first_) - first_));
            solve_together(begin, end - 1, out);
        }
        end = begin;
    }
    settled_ = open_[last].count;
    settled_ns_ = std::max(settled_ns_, open_[last].t_ns);
    open_.erase(open_.begin(), open_.begin() + static_cast<std::ptrdiff_t>(last) + 1);
    first_ += last + 1;
}

void FoldSolver::tell(const Fold &fold, std::int64_t pages, std::int64_t uncertain, std::vector<Solved> &out) {
    out.push_back({fold.t_ns, fold.cpu, fold.tid, pages, uncertain, fold.before + pages != 0});
}

/// Those from `first` to `last` may be in one another's counts.
void FoldSolver::solve_together(std::size_t first, std::size_t last, std::vector<Solved> &out) const {
    std::int64_t sum = open_[last].count - count_before(first);
    for (std::size_t i = first; i <= last; ++i)
        sum -= open_[i].before;
    const std::vector<FoldAmount> amounts = amounts_of(first, last, sum);
    const bool one_task = last > first && in_doubt_of_one_task(first, amounts);
    for (std::size_t i = first; i <= last; ++i)
        tell(open_[i], amounts[i - first].pages, one_task ? 0 : amounts[i - first].uncertain, out);
}

std::vector<FoldAmount> FoldSolver::amounts_of(std::size_t first, std::size_t last, std::int64_t sum) const {
    // The counts that hold a late one are settled: some of it was given to others.
    if (first == last) return {{sum, sum, sum, open_[first].late ? kAnything : 0}};
    std::vector<FoldAmount> amounts;
    std::vector<FoldAmount> presumed;
    for (std::size_t i = first; i <= last; ++i) {
        const std::int64_t pages = presumed_of(open_[i].cause, open_[i].before, batch_);
        amounts.push_back(limits_of(open_[i].cause));
        presumed.push_back(pages != 0 ? FoldAmount{pages, pages} : amounts.back());
    }
    const bool all =
        std::all_of(presumed.begin(), presumed.end(), [](const auto &one) { return one.least == one.most; });
    if (all && narrow(presumed, sum)) return presumed;
    if (last - first < FoldSearch::kMost) {
        if (std::vector<FoldAmount> found = search(first, last); !found.empty()) amounts = presumed = std::move(found);
    }
    for (auto *fits : {&presumed, &amounts}) {
        if (!narrow(*fits, sum)) continue;
        share_out(*fits, sum);
        return *fits;
    }
    // Nothing that an update may do explains it: a record is missing. All of it is in doubt.
    amounts.assign(last - first + 1, {0, 0, 0, std::abs(sum) + kAnything});
    amounts.back().pages = sum;
    return amounts;
}

std::vector<FoldAmount> FoldSolver::search(std::size_t first, std::size_t last) const {
    std::vector<FoldSearch::One> folds;
    for (std::size_t i = first; i <= last; ++i) {
        const Open &fold = open_[i];
        const std::uint64_t from = std::clamp(fold.from, first_ + first, first_ + i);
        folds.push_back(
            {fold.cause, fold.before, fold.count - count_before(i), static_cast<std::size_t>(from - first_ - first)});
    }
    return FoldSearch(std::move(folds), batch_).amounts();
}

/// Which of its own updates brought how much does not matter to a task.
bool FoldSolver::in_doubt_of_one_task(std::size_t first, const std::vector<FoldAmount> &amounts) const {
    std::optional<int> tid;
    for (std::size_t i = 0; i < amounts.size(); ++i) {
        if (amounts[i].uncertain == 0) continue;
        if (tid && *tid != open_[first + i].tid) return false;
        tid = open_[first + i].tid;
    }
    return true;
}

void FoldSolver::retag(int from, int to) {
    for (Open &fold : open_) {
        if (fold.tid == from) fold.tid = to;
    }
}

}  // namespace rsslag::core
