// SPDX-License-Identifier: BSD-2-Clause
#include "exporters/growth.h"

#include <algorithm>
#include <utility>

#include "exporters/growth_rules.h"

namespace rsslag::exporters {
namespace {

using core::Pages;

std::optional<core::Kilobytes> kilobytes(const std::optional<std::int64_t> &number) {
    return number ? std::optional(core::Kilobytes{*number}) : std::nullopt;
}

/// Those that came to as much, by what they hold.
void largest_first(std::vector<ImageGrowth::Mapping> &rows) {
    const auto held = [](const ImageGrowth::Mapping &row) { return row.held_end.value_or(core::Kilobytes{}); };
    std::stable_sort(rows.begin(), rows.end(), [&held](const auto &a, const auto &b) {
        return a.came != b.came ? a.came > b.came : held(a) > held(b);
    });
}

void largest_first(std::vector<ImageGrowth::Thread> &rows) {
    std::stable_sort(rows.begin(), rows.end(), [](const auto &a, const auto &b) { return a.came > b.came; });
}

}  // namespace

GrowthByName::Space &GrowthByName::space_of(const Stamp &at) {
    if (last_.second == nullptr || last_.first != at.mm) {
        const auto [found, is_new] = spaces_.try_emplace(at.mm);
        if (is_new) {
            found->second.lost_before = lost_;
            if (const auto taken = taken_.find(at.mm); taken != taken_.end()) {
                found->second.continued = true;
                found->second.at_start = found->second.last = taken->second.last;
                found->second.approximate = taken->second.approximate;
            }
        }
        last_ = {at.mm, &found->second};
    }
    if (last_.second->pid == 0) last_.second->pid = at.pid;
    return *last_.second;
}

GrowthByName::Amount &GrowthByName::amount_of(Space &space, std::string_view mapping) {
    if (space.found.second != nullptr && space.found.first == mapping.data()) return *space.found.second;
    auto found = space.mappings.find(mapping);
    if (found == space.mappings.end()) found = space.mappings.emplace(mapping, Amount()).first;
    space.found = {mapping.data(), &found->second};
    return found->second;
}

/// The receiver for exporters::attribute().
struct GrowthByName::Into {
    using Mapping = Amount *;
    Space &space;

    Amount *mapping(std::string_view name) const { return &amount_of(space, name); }
    Amount **last_fault(int tid) const {
        const auto last = space.faulted.find(tid);
        return last == space.faulted.end() ? nullptr : &last->second;
    }
    void faulted(int tid, Amount *mapping) const { space.faulted[tid] = mapping; }
    void by_fault(Amount *amount, int tid, Pages pages) const {
        amount->pages += pages;
        amount->updates++;
        space.threads[tid] += pages;
    }
    void by_none(NoFault why, Pages pages) const { space.no_fault[static_cast<std::size_t>(why)] += pages; }
};

void GrowthByName::note(const UpdateRow &row) {
    if (is_growth(row)) attribute(row, Into{space_of(row.at)});
}

void GrowthByName::note(const FaultRow &row) {
    if (row.at.mm != 0) attribute(row, Into{space_of(row.at)});
}

/// Earlier growth is part of the memory at the start of the program.
void GrowthByName::restart(Space &space) {
    for (auto &[mapping, amount] : space.mappings)
        amount = {};
    space.threads.clear();
    space.no_fault = {};
}

void GrowthByName::note(const TaskRow &row) {
    using Type = TaskRow::Type;
    if (row.at.tid > 0) comms_[row.at.tid] = std::string(row.at.comm);
    if (row.at.mm == 0) return;
    if (row.type != Type::Exec && (row.type != Type::Fork || row.shares_mm)) return;
    Space &space = space_of(row.at);
    restart(space);
    space.continued = false;
    space.pid = row.at.pid;
    space.from_exec = row.type == Type::Exec;
}

/// One name may belong to several files: a file may be replaced, or be in another mount namespace.
void GrowthByName::note_build_id(const MappingRow &row) {
    const auto [known, is_new] = build_ids_.try_emplace(std::string(row.mapping), row.build_id);
    if (known->second != row.build_id) known->second.reset();
}

void GrowthByName::note(const MappingRow &row) {
    any_names_ = true;
    if (row.build_id.known()) note_build_id(row);
    if (row.type != MappingRow::Type::Listed || row.at.mm == 0 || !row.held) return;
    Space &space = space_of(row.at);
    if (!space.first_listing) space.first_listing = row.at.t_ns;
    if (space.last_listing != row.at.t_ns) {
        for (auto &[mapping, amount] : space.mappings)
            amount.held_end.reset();
    }
    space.last_listing = row.at.t_ns;
    Amount &amount = amount_of(space, row.mapping);
    amount.held_end = amount.held_end.value_or(0) + row.held->n;
    if (!space.from_exec && space.first_listing == row.at.t_ns) amount.held_start = amount.held_end;
}

void GrowthByName::note(const LossRow &row) {
    if (row.cause == kMappingsLost) lost_ += row.records.value_or(1);
}

void GrowthByName::note(const TickRow &row) {
    if (row.at.mm == 0) return;
    Space &space = space_of(row.at);
    if (space.pid != row.at.pid) return;
    space.comm = row.at.comm;
    if (!space.continued) space.at_start = row.at_start.rss();
    space.last = row.last.rss();
    space.approximate = row.start_approximate || row.needs_resync;
    space.parts_approximate = space.approximate || row.extremes.lossy;
    if (row.ledger == nullptr) return;
    for (const core::TaskNet &task : row.ledger->tasks)
        comms_[task.tid] = task.comm;
}

/// The mm may have ended with its process: of such mms only the last ones are kept.
void GrowthByName::remember(std::uint64_t mm, const Space &space) {
    constexpr std::size_t kMost = 4096;
    if (taken_.insert_or_assign(mm, Taken{space.last, space.approximate}).second) taken_order_.push_back(mm);
    if (taken_order_.size() <= kMost) return;
    taken_.erase(taken_order_.front());
    taken_order_.pop_front();
}

std::optional<ImageGrowth> GrowthByName::take(int pid, std::uint64_t mm) {
    const auto found = spaces_.find(mm);
    if (found == spaces_.end() || found->second.pid != pid) return std::nullopt;
    Space &space = found->second;
    ImageGrowth growth{mm, space.comm, space.at_start, space.last, {}, {}, space.no_fault, lost_ - space.lost_before};
    growth.approximate = space.approximate;
    growth.parts_approximate = space.parts_approximate;
    Pages attributed;
    for (const Pages &pages : space.no_fault)
        attributed += pages;
    // A mapping that is absent from a listing held nothing at that time.
    const bool began = space.from_exec || space.first_listing.has_value();
    const bool listed_again = space.from_exec || space.first_listing != space.last_listing;
    const auto comm_of = [this](int tid) {
        const auto comm = comms_.find(tid);
        return comm == comms_.end() ? std::optional<std::string>() : comm->second;
    };
    const auto build_id_of = [this](const std::string &mapping) {
        const auto id = build_ids_.find(mapping);
        return id == build_ids_.end() ? core::BuildId() : id->second.value_or(core::BuildId());
    };
    for (auto &[mapping, amount] : space.mappings) {
        attributed += amount.pages;
        if (began && !amount.held_start) amount.held_start = 0;
        if (space.last_listing && !amount.held_end) amount.held_end = 0;
        if (!listed_again) amount.held_end.reset();
        const bool nothing =
            amount.updates == 0 && amount.held_start.value_or(0) == 0 && amount.held_end.value_or(0) == 0;
        if (!nothing)
            growth.mappings.push_back({core::with_comm(mapping, comm_of), amount.pages, amount.updates,
                                       kilobytes(amount.held_start), kilobytes(amount.held_end), build_id_of(mapping)});
    }
    growth.no_fault[static_cast<std::size_t>(NoFault::NotRecorded)] += growth.grew() - attributed;
    for (const auto &[tid, came] : space.threads) {
        const auto comm = comms_.find(tid);
        growth.threads.push_back({tid, comm != comms_.end() ? comm->second : std::string(), came});
    }
    largest_first(growth.mappings);
    largest_first(growth.threads);
    remember(mm, space);
    spaces_.erase(found);
    last_ = {0, nullptr};
    return growth;
}

}  // namespace rsslag::exporters
