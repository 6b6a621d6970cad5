// SPDX-License-Identifier: BSD-2-Clause
#include "shares.h"

#include <algorithm>
#include <cstdlib>
#include <tuple>

namespace rsslag::report {
namespace {

using core::Pages;

/// Ended threads of an mm that are listed singly.
constexpr std::size_t kMostEnded = 1000;

bool weighs_more(const ReportThread &a, const ReportThread &b) {
    const auto weight = [](const ReportThread &thread) {
        return std::tuple(thread.peak_cached.value_or(Pages{}).n, std::abs(thread.net.rss().n), thread.updates);
    };
    return weight(a) > weight(b);
}

ReportThread thread_of(const core::TaskNet &task, std::uint64_t mm) {
    ReportThread thread;
    thread.tid = task.tid;
    thread.tgid = task.tgid;
    thread.host_tid = task.host_tid;
    thread.mm = mm;
    thread.comm = task.comm;
    thread.net = task.net;
    thread.uncertain = task.uncertain;
    thread.updates = task.updates;
    thread.faults = task.faults;
    thread.flushes = task.flushes;
    return thread;
}

/// A record changes a counter by core::kMostPages at most, the pages of one page table.
void widen(Pages &uncertain, std::uint64_t records) {
    constexpr std::int64_t kMost = std::int64_t{1} << 50;  // documents have no larger numbers
    const auto pages = static_cast<std::int64_t>(std::min<std::uint64_t>(records, kMost / core::kMostPages));
    uncertain.n = std::min(uncertain.n, kMost) + pages * core::kMostPages;
}

}  // namespace

void sort_by_weight(std::vector<ReportThread> &threads) {
    std::stable_sort(threads.begin(), threads.end(), weighs_more);
}

void MmShares::keep(std::vector<ReportThread> &all, ReportThread thread) const {
    all.push_back(std::move(thread));
    if (all.size() < 2 * kMostEnded) return;
    std::nth_element(all.begin(), all.begin() + kMostEnded, all.end(), weighs_more);
    all.resize(kMostEnded);
}

void MmShares::note_living(const core::TaskNet &task, const exporters::TickRow &row) {
    ReportThread thread = thread_of(task, row.at.mm);
    if (task.cached) {
        auto &[pages, t_ns] = peak_cached_[task.host_tid];
        if (!pages || task.cached->rss() > *pages) {
            pages = task.cached->rss();
            t_ns = row.at.t_ns;
        }
        thread.peak_cached = pages;
        thread.peak_cached_t_ns = t_ns;
    }
    living_.push_back(std::move(thread));
}

void MmShares::note_ended(const core::EndedTask &ended, const exporters::TickRow &row) {
    ReportThread thread = thread_of(ended.task, row.at.mm);
    thread.ended = true;
    thread.other = !ended.own;
    if (const auto peak = peak_cached_.find(thread.host_tid); ended.own && peak != peak_cached_.end()) {
        std::tie(thread.peak_cached, thread.peak_cached_t_ns) = peak->second;
        peak_cached_.erase(peak);
    }
    if (!row.read) return fresh_.push_back({std::move(thread), row.seq});
    keep(ended.own ? ended_ : ended_others_, std::move(thread));
}

void MmShares::note(const exporters::TickRow &row) {
    if (row.read) certify(row.seq);
    sums_.mm = row.at.mm;
    sums_.baseline = row.baseline;
    sums_.final = row.exact;
    sums_.updates = row.updates;
    sums_.updates_by_others = row.updates_by_others;
    sums_.resyncs = row.resyncs;
    sums_.needs_resync = row.needs_resync;
    sums_open_ = !row.read;
    sums_seq_ = row.seq;
    others_more_ = {};
    if (row.ledger == nullptr) return;
    const core::MmView &ledger = *row.ledger;
    sums_.exited = ledger.exited;
    sums_.exited.net = ledger.exited.net - ledger.ended_others.net;
    sums_.ended_others = ledger.ended_others;
    sums_.teardown = ledger.teardown;
    sums_.teardown_uncertain = ledger.teardown_uncertain;
    sums_.teardown_updates = ledger.teardown_updates;
    sums_.teardown_flushes = ledger.teardown_flushes;
    sums_.remainder = ledger.remainder;
    for (const core::EndedTask &ended : ledger.ended)
        note_ended(ended, row);
    living_.clear();
    for (const core::TaskNet &task : ledger.tasks)
        note_living(task, row);
    others_.clear();
    for (const core::TaskNet &task : ledger.others) {
        others_.push_back(thread_of(task, row.at.mm));
        others_.back().other = true;
    }
}

void MmShares::lost(std::uint64_t records) {
    for (Ended &each : fresh_)
        widen(each.thread.uncertain, records);
    if (!sums_open_) return;
    widen(sums_.exited.uncertain, records);
    widen(sums_.ended_others.uncertain, records);
    widen(sums_.teardown_uncertain, records);
    widen(others_more_, records);
}

void MmShares::certify(std::uint64_t seq) {
    for (Ended &each : fresh_)
        if (each.seq <= seq) keep(each.thread.other ? ended_others_ : ended_, std::move(each.thread));
    std::erase_if(fresh_, [seq](const Ended &each) { return each.seq <= seq; });
    if (sums_seq_ <= seq) sums_open_ = false;
}

MmReport MmShares::take_into(ReportProcess &process) const {
    MmReport report = sums_;
    MmShares all = *this;
    all.certify(UINT64_MAX);
    for (ReportThread &each : all.living_) {
        if (others_more_.n > 0) each.uncertain += others_more_;
        process.threads.push_back(std::move(each));
    }
    // The sums keep the tasks without a row of their own.
    const auto listed = [](core::ExitedNet &sum, const ReportThread &thread) {
        sum.net = sum.net - thread.net;
        sum.threads -= std::min<std::uint64_t>(sum.threads, 1);
        sum.updates -= std::min(sum.updates, thread.updates);
        sum.faults -= std::min(sum.faults, thread.faults);
        sum.flushes -= std::min(sum.flushes, thread.flushes);
    };
    report.ended = report.exited.threads;
    for (ReportThread &each : all.ended_) {
        listed(report.exited, each);
        process.threads.push_back(std::move(each));
    }
    report.others = report.ended_others.net;
    for (ReportThread &each : all.ended_others_) {
        listed(report.ended_others, each);
        process.other_tasks.push_back(std::move(each));
    }
    for (ReportThread &each : all.others_) {
        each.uncertain += others_more_;
        report.others += each.net;
        process.other_tasks.push_back(std::move(each));
    }
    return report;
}

}  // namespace rsslag::report
