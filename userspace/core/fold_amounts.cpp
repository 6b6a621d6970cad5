// SPDX-License-Identifier: BSD-2-Clause
#include "rsslag/core/fold_amounts.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include "fold_cause.h"
#include "fold_solver.h"

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
void give_up(const Mm &mm, std::vector<FoldAmounts::Settled> &out) {
    for (const Counter &counter : mm.counters) {
        for (const Counter::Ticket &ticket : counter.tickets)
            out.push_back({ticket.number, std::nullopt, FlushReason::Fold});
    }
}

}  // namespace

struct FoldAmounts::State {
    int cpus;
    std::int64_t batch;
    std::unordered_map<std::uint64_t, Mm> mms;
    std::uint64_t tickets = 0;
    std::size_t open = 0;
    std::vector<std::uint64_t> waiting;  ///< mms with open tickets, and some that had some
    Solved solved;

    Mm &of(std::uint64_t number) {
        Mm &mm = mms[number];
        for (std::size_t m = mm.counters.size(); m < kMembers; ++m)
            mm.counters.emplace_back(cpus, batch);
        return mm;
    }

    void tell(Mm &mm, Counter &counter, std::vector<Settled> &out) {
        for (const FoldSolver::Solved &each : solved) {
            const auto ticket = std::find_if(counter.tickets.begin(), counter.tickets.end(), [&](const auto &one) {
                return one.t_ns == each.t_ns && one.cpu == each.cpu;
            });
            if (ticket == counter.tickets.end()) continue;
            const auto pages = each.uncertain == 0 ? std::optional(Pages{each.pages}) : std::nullopt;
            out.push_back({ticket->number, pages, each.folded ? std::optional(FlushReason::Fold) : std::nullopt});
            counter.tickets.erase(ticket);
            --mm.open;
            --open;
        }
        solved.clear();
    }

    /// To other folds a record says that its CPU has none on its way.
    void other(Mm &mm, int cpu, std::uint64_t t_ns, const Counter *but, std::vector<Settled> &out) {
        for (Counter &counter : mm.counters) {
            if (&counter == but || !counter.solver.open()) continue;
            counter.solver.other(cpu, t_ns, solved);
            tell(mm, counter, out);
        }
    }
};

FoldAmounts::FoldAmounts(int cpus, std::int64_t batch) : state_(std::make_unique<State>()) {
    state_->cpus = cpus;
    state_->batch = batch;
}
FoldAmounts::~FoldAmounts() = default;

void FoldAmounts::born(std::uint64_t mm) {
    for (Counter &counter : state_->of(mm).counters) {
        counter.solver.reset(0);
        counter.counted = true;
        for (Counter::Local &local : counter.locals)
            local.cached = 0;
    }
}

void FoldAmounts::read(std::uint64_t mm, const CounterReading &reading, std::uint64_t begin_ns) {
    Mm &known = state_->of(mm);
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
    State &state = *state_;
    Mm &known = state.of(mm);
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
        ticket = ++state.tickets;
        counter.tickets.push_back({*ticket, update.t_ns, update.cpu});
        ++state.open;
        ++known.open;
        if (!std::exchange(known.waits, true)) state.waiting.push_back(mm);
        counter.solver.fold({update.t_ns, update.cpu, update.tid, *before, update.count, cause_of(update)},
                            state.solved);
        state.tell(known, counter, out);
    }
    state.other(known, update.cpu, update.t_ns, fold ? &counter : nullptr, out);
    return ticket;
}

void FoldAmounts::apply(std::uint64_t mm, const rsslag_sum &sum, std::vector<Settled> &out) {
    Mm &known = state_->of(mm);
    for (std::size_t m = 0; m < kMembers; ++m) {
        Counter &counter = known.counters[m];
        if ((sum.members >> m & 1U) == 0 || sum.of >= counter.locals.size()) continue;
        counter.locals[sum.of] = {sum.cached[m], sum.t_ns};
    }
    state_->other(known, sum.cpu, sum.t_ns, nullptr, out);
}

void FoldAmounts::advance(std::uint64_t t_ns, std::vector<Settled> &out) {
    State &state = *state_;
    std::erase_if(state.waiting, [&](std::uint64_t number) {
        const auto found = state.mms.find(number);
        if (found == state.mms.end()) return true;
        for (Counter &counter : found->second.counters) {
            if (!counter.solver.open()) continue;
            counter.solver.advance(t_ns, state.solved);
            state.tell(found->second, counter, out);
        }
        found->second.waits = found->second.open != 0;
        return !found->second.waits;
    });
}

void FoldAmounts::drop(std::uint64_t mm, std::vector<Settled> &out) {
    const auto found = state_->mms.find(mm);
    if (found == state_->mms.end()) return;
    give_up(found->second, out);
    state_->open -= found->second.open;
    state_->mms.erase(found);
}

void FoldAmounts::forget(std::vector<Settled> &out) {
    for (const auto &[number, mm] : state_->mms)
        give_up(mm, out);
    state_->mms.clear();
    state_->waiting.clear();
    state_->open = 0;
}

bool FoldAmounts::open() const {
    return state_->open != 0;
}

}  // namespace rsslag::core
