// SPDX-License-Identifier: BSD-2-Clause
// Applies records to the ledger one by one and passes them to the observer.
#include <utility>
#include <vector>

#include "analyzer_state.h"

namespace rsslag::analysis {

void Analyzer::State::log_flush(const rsslag_update &update, const core::Applied &applied) {
    if (!options.for_screen || !applied.known || !applied.reason || *applied.reason == core::FlushReason::Direct)
        return;
    constexpr std::size_t kMost = 512;
    if (flush_log.size() >= kMost) flush_log.pop_front();
    flush_log.emplace_back(update, applied);
}

/// Passes amounts that are settled now to the flush log, the recent growth, the lines and the observer.
void Analyzer::State::take_settled() {
    if (!ledger.any_settled()) return;
    const std::vector<core::SettledUpdate> amounts = ledger.take_settled();
    for (const core::SettledUpdate &amount : amounts) {
        if (const auto update = open.find(amount.ticket); update != open.end()) {
            core::Applied applied{true, amount.pages, amount.reason};
            applied.folded = amount.folded;
            log_flush(update->second, applied);
            open.erase(update);
        }
        if (recent) recent->note(amount);
        lines.settle(amount, [&amount](auto &line) {
            core::Applied &applied = std::get<core::EventLine>(line).applied;
            applied.pages = amount.pages;
            applied.reason = amount.reason;
        });
    }
    if (records != nullptr) records->on_settled(amounts);
}

void Analyzer::State::emit_update(const rsslag_update &update, const core::Applied &applied) {
    core::EventLine line;
    line.t_ns = since_start(update.t_ns);
    line.pid = ledger.tgid_of(update.mm);
    line.tid = update.tid;
    line.comm = ledger.comm_of(update.tid);
    line.cpu = update.cpu;
    line.update = update;
    line.applied = applied;
    line.page_size = facts.machine.page_size;
    lines.add(std::move(line), applied.ticket);
}

void Analyzer::State::take_renumbered() {
    if (!ledger.any_renumbered()) return;
    for (const core::Renumbered &thread : ledger.take_renumbered())
        if (records != nullptr) records->on_renumbered(thread);
}

void Analyzer::State::apply(const rsslag_update &update) {
    catch_up_mappings(update.t_ns);
    core::Applied applied = ledger.apply(update);
    take_renumbered();
    log_flush(update, applied);
    if (recent) recent->note(update, applied, ledger);
    if (options.for_screen && applied.ticket != 0) open.emplace(applied.ticket, update);
    if (records != nullptr) {
        applied.held = ledger.held(update.mm);
        records->on_applied(update, applied);
    }
    if (records != nullptr && applied.known && records->needs_updates()) emit_update(update, applied);
    take_settled();
}

void Analyzer::State::apply(const rsslag_fault &fault) {
    catch_up_mappings(fault.t_ns);
    const core::Members came = ledger.apply(fault);
    if (recent) recent->note(fault, came, ledger);
    if (records != nullptr) records->on_fault(fault, came, ledger.held(fault.mm));
}

void Analyzer::State::apply(const rsslag_sum &sum) {
    ledger.apply(sum);
    take_renumbered();
    if (records != nullptr) records->on_sum(sum, ledger.held(sum.mm));
}

void Analyzer::State::apply(const rsslag_task &task) {
    catch_up_mappings(task.t_ns);
    const bool dead = task.kind == RSSLAG_EXIT && (task.flags & RSSLAG_GROUP_DEAD) != 0;
    if (task.kind == RSSLAG_EXEC || dead) stop_awaiting(task.tgid);
    if (task.kind == RSSLAG_EXIT) faults.erase(task.tid);
    const auto parent = recent ? ledger.task(task.parent) : std::nullopt;
    if (task.kind == RSSLAG_EXEC) start_at_exec(task);
    ledger.apply(task);
    if (recent) recent->note(task, parent ? parent->tgid : 0);
    if (parent && task.kind == RSSLAG_NEWTASK && task.tid == task.tgid && ledger.group(task.tgid))
        forked_by[task.tgid] = parent->tgid;
    if (records != nullptr) lines.add(core::TaskLine{since_start(task.t_ns), task}, 0);
    take_settled();
}

void Analyzer::State::emit_mappings(std::uint64_t until_ns) {
    while (!mappings.empty() && mappings.begin()->first <= until_ns) {
        const auto next = mappings.extract(mappings.begin());
        std::visit([this](const auto &each) { mapping_bytes -= bytes_of(each); }, next.mapped());
        if (stopped()) continue;
        if (recent) std::visit([this](const auto &each) { recent->note(each); }, next.mapped());
        if (records == nullptr) continue;
        if (const auto *const change = std::get_if<core::MappingChange>(&next.mapped())) {
            records->on_mapping(*change);
        } else {
            records->on_listing(std::get<core::MappingListing>(next.mapped()));
        }
    }
}

/// Applies all records from before that time to the ledger. A busy tracer takes in the records of many seconds at once:
/// meanwhile amounts are settled at times, as all later records and rows wait for them.
void Analyzer::State::apply_until(std::uint64_t t_ns) {
    constexpr std::size_t kMostUnsettled = 4096;
    std::size_t count = 0;
    order.until(t_ns, [&](const auto &record) {
        if (++count % kMostUnsettled == 0) {
            ledger.advance(record.t_ns - std::min<std::uint64_t>(record.t_ns, core::kReadingMarginNs));
            take_settled();
        }
        apply_next(record);
    });
    if (t_ns > 0) catch_up_mappings(t_ns - 1);
    ledger.advance(t_ns);
    take_ended_tasks();
    finish_all(false);
    take_settled();
}

}  // namespace rsslag::analysis
