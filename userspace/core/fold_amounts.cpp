// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include "fold_cause.h"
#include "fold_solver.h"
#include "rsslag/core/update_amounts.h"

namespace rsslag::core {
namespace {

using Solved = std::vector<FoldSolver::Solved>;

/// A counter of an mm.
struct Counter {
    Counter(int cpus, std::int64_t batch) : solver(cpus, batch), locals(static_cast<std::size_t>(cpus)) {}

    struct Local {
        std::optional<std::int64_t> cached;  ///< nullopt: not known
        std::uint64_t told_ns = 0;
    };
    struct Ticket {
        std::uint64_t number = 0, t_ns = 0;
        int cpu = 0;
    };

    FoldSolver solver;
    std::vector<Local> locals;
    bool counted = false;  ///< the solver knows the count to begin with
    std::uint64_t told_ns = 0;
    std::vector<Ticket> tickets;
};

struct Mm {
    std::vector<Counter> counters;  ///< by member
    std::size_t open = 0;           ///< tickets
    bool waits = false;             ///< it is among those that advance() looks at
};

/// Nothing that is open can be told.
void give_up(const Mm &mm, std::vector<UpdateAmounts::Settled> &out) {
    for (const Counter &counter : mm.counters) {
        for (const Counter::Ticket &ticket : counter.tickets)
            out.push_back({ticket.number, std::nullopt, FlushReason::Fold});
    }
}

class FoldAmounts final : public UpdateAmounts {
  public:
    FoldAmounts(int cpus, std::int64_t batch) : cpus_(cpus), batch_(batch) {}

    void born(std::uint64_t mm) override;
    void read(std::uint64_t mm, const CounterReading &reading, std::uint64_t begin_ns) override;
    std::optional<std::uint64_t> apply(std::uint64_t mm, const rsslag_update &update, const Applied &applied,
                                       std::vector<Settled> &out) override;
    void apply(std::uint64_t mm, const rsslag_sum &sum, std::vector<Settled> &out) override;
    void advance(std::uint64_t t_ns, std::vector<Settled> &out) override;
    void drop(std::uint64_t mm, std::vector<Settled> &out) override;
    void forget(std::vector<Settled> &out) override;
    bool open() const override { return open_ != 0; }

  private:
    Mm &of(std::uint64_t number);
    void tell(Mm &mm, Counter &counter, std::vector<Settled> &out);
    void other(Mm &mm, int cpu, std::uint64_t t_ns, const Counter *but, std::vector<Settled> &out);

    int cpus_;
    std::int64_t batch_;
    std::unordered_map<std::uint64_t, Mm> mms_;
    std::uint64_t tickets_ = 0;
    std::size_t open_ = 0;
    std::vector<std::uint64_t> waiting_;  ///< mms with open tickets, and some that had some
    Solved solved_;
};

Mm &FoldAmounts::of(std::uint64_t number) {
    Mm &mm = mms_[number];
    for (std::size_t m = mm.counters.size(); m < kMembers; ++m)
        mm.counters.emplace_back(cpus_, batch_);
    return mm;
}

void FoldAmounts::tell(Mm &mm, Counter &counter, std::vector<Settled> &out) {
    for (const FoldSolver::Solved &each : solved_) {
        const auto ticket = std::find_if(counter.tickets.begin(), counter.tickets.end(),
                                         [&](const auto &one) { return one.t_ns == each.t_ns && one.cpu == each.cpu; });
        if (ticket == counter.tickets.end()) continue;
        const auto pages = each.uncertain == 0 ? std::optional(Pages{each.pages}) : std::nullopt;
        out.push_back({ticket->number, pages, each.folded ? std::optional(FlushReason::Fold) : std::nullopt});
        counter.tickets.erase(ticket);
        --mm.open;
        --open_;
    }
    solved_.clear();
}

/// To other folds a record says that its CPU has none on its way.
void FoldAmounts::other(Mm &mm, int cpu, std::uint64_t t_ns, const Counter *but, std::vector<Settled> &out) {
    for (Counter &counter : mm.counters) {
        if (&counter == but || !counter.solver.open()) continue;
        counter.solver.other(cpu, t_ns, solved_);
        tell(mm, counter, out);
    }
}

void FoldAmounts::born(std::uint64_t mm) {
    for (Counter &counter : of(mm).counters) {
        counter.solver.reset(0);
        counter.counted = true;
        for (Counter::Local &local : counter.locals)
            local.cached = 0;
    }
}

void FoldAmounts::read(std::uint64_t mm, const CounterReading &reading, std::uint64_t begin_ns) {
    Mm &known = of(mm);
    for (const Member member : kAllMembers) {
        Counter &counter = known.counters[static_cast<std::size_t>(member)];
        if (!counter.counted && counter.told_ns < begin_ns) {
            counter.solver.reset(reading.last.flushed[member].n);
            counter.counted = true;
        }
        for (Counter::Local &local : counter.locals)
            if (!local.cached && local.told_ns < begin_ns) local.cached = 0;
        for (const CpuReading &cpu : reading.last.cpus) {
            if (cpu.cpu < 0 || static_cast<std::size_t>(cpu.cpu) >= counter.locals.size()) continue;
            Counter::Local &local = counter.locals[static_cast<std::size_t>(cpu.cpu)];
            if (local.told_ns == 0 && local.cached == 0) local.cached = cpu.cached[member].n;
        }
    }
}

std::optional<std::uint64_t> FoldAmounts::apply(std::uint64_t mm, const rsslag_update &update,
                                                const Applied & /*applied*/, std::vector<Settled> &out) {
    Mm &known = of(mm);
    Counter &counter = known.counters[update.member % kMembers];
    if (update.cpu >= counter.locals.size()) return std::nullopt;
    Counter::Local &local = counter.locals[update.cpu];
    const std::optional<std::int64_t> before = std::exchange(local.cached, update.cached);
    local.told_ns = counter.told_ns = update.t_ns;
    std::optional<std::uint64_t> ticket;
    const bool fold = update.cached == 0;
    if (!counter.counted) {  // the count as it is now is one to begin with
        counter.solver.reset(update.count);
        counter.counted = true;
    } else if (fold && before) {
        ticket = ++tickets_;
        counter.tickets.push_back({*ticket, update.t_ns, update.cpu});
        ++open_;
        ++known.open;
        if (!std::exchange(known.waits, true)) waiting_.push_back(mm);
        counter.solver.fold({update.t_ns, update.cpu, update.tid, *before, update.count, cause_of(update)}, solved_);
        tell(known, counter, out);
    }
    other(known, update.cpu, update.t_ns, fold ? &counter : nullptr, out);
    return ticket;
}

void FoldAmounts::apply(std::uint64_t mm, const rsslag_sum &sum, std::vector<Settled> &out) {
    Mm &known = of(mm);
    for (std::size_t m = 0; m < kMembers; ++m) {
        Counter &counter = known.counters[m];
        if ((sum.members >> m & 1U) == 0 || sum.of >= counter.locals.size()) continue;
        counter.locals[sum.of] = {sum.cached[m], sum.t_ns};
    }
    other(known, sum.cpu, sum.t_ns, nullptr, out);
}

void FoldAmounts::advance(std::uint64_t t_ns, std::vector<Settled> &out) {
    std::erase_if(waiting_, [&](std::uint64_t number) {
        const auto found = mms_.find(number);
        if (found == mms_.end()) return true;
        for (Counter &counter : found->second.counters) {
            if (!counter.solver.open()) continue;
            counter.solver.advance(t_ns, solved_);
            tell(found->second, counter, out);
        }
        found->second.waits = found->second.open != 0;
        return !found->second.waits;
    });
}

void FoldAmounts::drop(std::uint64_t mm, std::vector<Settled> &out) {
    const auto found = mms_.find(mm);
    if (found == mms_.end()) return;
    give_up(found->second, out);
    open_ -= found->second.open;
    mms_.erase(found);
}

void FoldAmounts::forget(std::vector<Settled> &out) {
    for (const auto &[number, mm] : mms_)
        give_up(mm, out);
    mms_.clear();
    waiting_.clear();
    open_ = 0;
}

}  // namespace

std::unique_ptr<UpdateAmounts> fold_amounts(int cpus, std::int64_t batch) {
    return std::make_unique<FoldAmounts>(cpus, batch);
}

}  // namespace rsslag::core
