// SPDX-License-Identifier: BSD-2-Clause
#include "fold_solver.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

namespace rsslag::core {
namespace {

using Amount = FoldSolver::Amount;

/// What all others may be together limits each: `sum` is exact. False where nothing fits.
bool narrow(std::vector<Amount> &amounts, std::int64_t sum) {
    std::int64_t least = 0;
    std::int64_t most = 0;
    for (const Amount &amount : amounts) {
        least += amount.least;
        most += amount.most;
    }
    if (sum < least || sum > most) return false;
    for (Amount &amount : amounts) {
        const std::int64_t lower = std::max(amount.least, sum - (most - amount.most));
        const std::int64_t upper = std::min(amount.most, sum - (least - amount.least));
        amount.pages = lower;  // the least for now
        amount.uncertain = upper - lower;
    }
    return true;
}

/// Gives out `sum` within the limits, in equal parts where they allow it.
void share_out(std::vector<Amount> &amounts, std::int64_t sum) {
    std::int64_t left = sum;
    for (const Amount &amount : amounts)
        left -= amount.pages;
    std::size_t takers = amounts.size();
    std::vector<Amount *> by_room;
    for (Amount &amount : amounts)
        by_room.push_back(&amount);
    std::sort(by_room.begin(), by_room.end(),
              [](const Amount *a, const Amount *b) { return a->uncertain < b->uncertain; });
    for (Amount *amount : by_room) {
        const std::int64_t room = amount->uncertain;
        const std::int64_t more = std::min(room, left / static_cast<std::int64_t>(takers--));
        amount->pages += more;
        amount->uncertain = std::max(more, room - more);
        left -= more;
    }
    // What integer division left over goes to whoever has room.
    for (Amount *amount : by_room) {
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
    std::fill(confirmed_.begin(), confirmed_.end(), first_);
}

std::vector<int> FoldSolver::open_tids() const {
    std::vector<int> tids;
    for (const Open &fold : open_)
        tids.push_back(fold.tid);
    return tids;
}

void FoldSolver::confirm(int cpu, std::uint64_t t_ns, std::vector<Solved> &out) {
    confirmed_[static_cast<std::size_t>(cpu)] = first_ + open_.size();
    settle(t_ns, out);
}

void FoldSolver::fold(const Fold &fold, std::vector<Solved> &out) {
    settle(fold.t_ns, out);  // what is late enough needs no other CPU's word
    const auto cpu = static_cast<std::size_t>(fold.cpu);
    const std::uint64_t from = std::max(confirmed_[cpu], first_);
    for (std::uint64_t i = from; i < first_ + open_.size(); ++i) {
        Open &earlier = open_[static_cast<std::size_t>(i - first_)];
        if (earlier.cpu != fold.cpu) earlier.joined = true;
    }
    Open open;
    static_cast<Fold &>(open) = fold;
    open_.push_back(open);
    confirmed_[cpu] = first_ + open_.size();
    settle(fold.t_ns, out);
}

void FoldSolver::advance(std::uint64_t t_ns, std::vector<Solved> &out) {
    if (!open_.empty()) settle(t_ns, out);
}

bool FoldSolver::clean(std::size_t index, std::uint64_t now) const {
    const Open &fold = open_[index];
    if (now > fold.t_ns + kLateNs) return true;
    const std::uint64_t number = first_ + index;
    for (std::size_t cpu = 0; cpu < confirmed_.size(); ++cpu) {
        if (static_cast<int>(cpu) != fold.cpu && confirmed_[cpu] <= number) return false;
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

/// Folds up to `last` have moved the count from what was settled to what was read at the last one.
///
/// A fold j that an earlier record's count holds already is in every count between them; with the latest such j, the
/// counts at j − 1 and j are equal. So from the last one backwards, as long as neighbours differ, each count is
/// exactly the sum so far, and each fold's amount is certain.
void FoldSolver::solve(std::size_t last, std::vector<Solved> &out) {
    std::size_t joint = last;
    while (joint > 0 && open_[joint - 1].count != open_[joint].count)
        --joint;
    solve_together(joint, out);
    for (std::size_t i = joint + 1; i <= last; ++i)
        tell(open_[i], open_[i].count - open_[i - 1].count - open_[i].before, 0, out);
    settled_ = open_[last].count;
    open_.erase(open_.begin(), open_.begin() + static_cast<std::ptrdiff_t>(last) + 1);
    first_ += last + 1;
}

void FoldSolver::tell(const Fold &fold, std::int64_t pages, std::int64_t uncertain, std::vector<Solved> &out) {
    out.push_back({fold.t_ns, fold.cpu, fold.tid, pages, uncertain, fold.before + pages != 0});
}

/// Only the sum of those up to `last` is known.
void FoldSolver::solve_together(std::size_t last, std::vector<Solved> &out) {
    std::int64_t sum = open_[last].count - settled_;
    for (std::size_t i = 0; i <= last; ++i)
        sum -= open_[i].before;
    std::vector<Amount> amounts;
    const auto fill = [&](bool presume) {
        amounts.clear();
        for (std::size_t i = 0; i <= last; ++i) {
            const Open &fold = open_[i];
            const bool known = presume && fold.presumed != 0;
            amounts.push_back({known ? fold.presumed : fold.least, known ? fold.presumed : fold.most});
        }
        return narrow(amounts, sum);
    };
    if (last == 0) {
        amounts.push_back({sum, sum, sum, 0});
    } else if (fill(true) || fill(false)) {
        share_out(amounts, sum);
    } else {
        // Nothing that an update may do explains it: a record is missing. All of it is in doubt.
        amounts.assign(last + 1, {0, 0, 0, std::abs(sum) + kMostPages});
        amounts.back().pages = sum;
    }
    const bool one_task = in_doubt_of_one_task(amounts);
    for (std::size_t i = 0; i <= last; ++i)
        tell(open_[i], amounts[i].pages, one_task ? 0 : amounts[i].uncertain, out);
}

/// Which of its own updates brought how much does not matter to a task.
bool FoldSolver::in_doubt_of_one_task(const std::vector<Amount> &amounts) const {
    std::optional<int> tid;
    for (std::size_t i = 0; i < amounts.size(); ++i) {
        if (amounts[i].uncertain == 0) continue;
        if (tid && *tid != open_[i].tid) return false;
        tid = open_[i].tid;
    }
    return true;
}

void FoldSolver::retag(int from, int to) {
    for (Open &fold : open_) {
        if (fold.tid == from) fold.tid = to;
    }
}

}  // namespace rsslag::core
