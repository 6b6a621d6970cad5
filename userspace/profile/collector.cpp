// SPDX-License-Identifier: BSD-2-Clause
#include "collector.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace rsslag::profile {
namespace {

/// What samples explain of the exact number. Chance may explain the difference: then the samples stand for all of it.
/// If there are fewer samples than chance allows, the others were lost.
std::int64_t explained(std::int64_t exact, const std::vector<double> &estimates, double variance) {
    constexpr double kDeviations = 4;
    const double sum = std::accumulate(estimates.begin(), estimates.end(), 0.0);
    if (static_cast<double>(exact) <= sum + kDeviations * std::sqrt(variance) + 0.5) return exact;
    return static_cast<std::int64_t>(sum);
}

std::int64_t part_of(std::int64_t pages, double share) {
    if (pages == 0) return 0;
    return std::clamp(static_cast<std::int64_t>(std::llround(static_cast<double>(pages) * share)), std::int64_t{0},
                      pages);
}

}  // namespace

void Collector::samples(const core::event::Samples &samples) {
    std::uint64_t number = samples.first;
    for (const core::Sample &sample : samples.samples) {
        waiting_[number].sample = sample;
        arrivals_.note(sample, number++);
    }
    profile_.samples += samples.samples.size();
}

bool Collector::note(const exporters::Row &row) {
    const auto *const update = std::get_if<exporters::UpdateRow>(&row);
    const auto *const fault = std::get_if<exporters::FaultRow>(&row);
    if (const auto *const mapping = std::get_if<exporters::MappingRow>(&row)) note(*mapping);
    if (update != nullptr) note(*update);
    if (fault != nullptr) note(*fault);
    return update != nullptr || fault != nullptr;
}

/// Of a flush, what fault records have reported already does not count again.
void Collector::note(const exporters::UpdateRow &row) {
    if (profile_.period == 0) return;
    if (!row.known || (row.member && !core::in_rss(*row.member))) return drop(row.sample);
    if (!row.pages) return;
    const core::Pages change = *row.pages - row.from_faults;
    if (change.n == 0 && row.from_faults.n != 0) return drop(row.sample);
    note_pages(row.at, change, row.sample, row.fault ? &row.mapping : nullptr);
}

void Collector::note(const exporters::FaultRow &row) {
    if (profile_.period == 0) return;
    for (const core::Member member : core::kAllMembers) {
        const std::int64_t sample = row.samples[static_cast<std::size_t>(member)];
        const core::Pages came = row.came[member];
        if (!core::in_rss(member) || came.n == 0)
            drop(sample);
        else
            note_pages(row.at, came, sample, &row.mapping);
    }
}

/// A page that mremap moves is still that of the sample by which it came.
void Collector::note(const exporters::MappingRow &row) {
    const bool moves = row.type == exporters::MappingRow::Type::Moved && row.old_to > row.old_from && row.to > row.from;
    const auto mm = mm_of_.find(row.at.pid);
    if (profile_.period == 0 || !moves || mm == mm_of_.end()) return;
    const std::uint64_t length = std::min(row.old_to - row.old_from, row.to - row.from);
    const Arrivals::Move move{mm->second, row.old_from, row.old_from + length, row.from, row.moved_ns};
    arrivals_.move(move, [this](std::uint64_t number) {
        const auto waiting = waiting_.find(number);
        return waiting == waiting_.end() || waiting->second.pages;  // its row has come
    });
}

/// Its row shows that it does not stand for pages.
void Collector::drop(std::int64_t sample) {
    if (sample >= 0) profile_.samples -= waiting_.erase(static_cast<std::uint64_t>(sample));
}

void Collector::note_pages(const exporters::Stamp &at, core::Pages pages, std::int64_t sample,
                           const std::string_view *mapping) {
    ThreadFlow &thread = threads_[{at.pid, at.tid}];
    thread.pid = at.pid;
    thread.tid = at.tid;
    thread.comm = at.comm;
    thread.exact.add(pages);
    if (sample < 0) return;
    const auto found = waiting_.find(static_cast<std::uint64_t>(sample));
    if (found == waiting_.end() || found->second.sample.estimated == 0) return;
    Waiting &waiting = found->second;
    waiting.pages = pages;
    waiting.pid = at.pid;
    waiting.tid = at.tid;
    mm_of_[at.pid] = waiting.sample.mm;
    if (mapping != nullptr && pages.n > 0) waiting.mapping = mapping_number(at, *mapping);
    complete(found);
}

void Collector::complete(std::unordered_map<std::uint64_t, Waiting>::iterator at) {
    const Waiting &waiting = at->second;
    if (!waiting.pages || !waiting.stack) return;
    const bool is_loss = waiting.pages->n < 0;
    const double probability = core::inclusion(waiting.sample.estimated, profile_.period);
    const Arrivals::Origin origin{{waiting.pid, waiting.tid},
                                  *waiting.stack,
                                  reason_of(waiting.sample, waiting.pid, is_loss),
                                  std::abs(static_cast<double>(waiting.pages->n)) / probability,
                                  waiting.mapping};
    Estimates &estimates = estimates_[origin.task];
    const auto [row, is_new] = estimates.by_stack.try_emplace({origin.stack, origin.reason});
    Estimate &estimate = row->second;
    if (is_new) ++rows_;
    (is_loss ? estimate.went : estimate.came) += origin.pages;
    (is_loss ? estimates.went_variance : estimates.came_variance) += origin.pages * origin.pages * (1 - probability);
    estimate.samples++;
    if (waiting.mapping) by_mapping_[{*waiting.mapping, origin.stack}] += origin.pages;
    if (!is_loss && core::owns_page(waiting.sample)) arrivals_.explain(at->first, origin);
    if (!is_loss && !core::owns_page(waiting.sample)) estimate.unknown += origin.pages;
    waiting_.erase(at);
}

/// nullopt: the names of mappings have reached their limit.
std::optional<std::uint32_t> Collector::mapping_number(const exporters::Stamp &at, std::string_view name) {
    constexpr std::size_t kMostBytes = std::size_t{16} << 20;
    std::pair<std::uint64_t, std::string> key{at.mm, name};
    const auto found = mappings_.find(key);
    if (found != mappings_.end()) return found->second.number;
    if (mapping_bytes_ + name.size() > kMostBytes) return std::nullopt;
    mapping_bytes_ += name.size();
    const auto next = static_cast<std::uint32_t>(mappings_.size());
    mappings_.emplace(std::move(key), Mapping{next, at.pid});
    return next;
}

std::uint32_t Collector::frame_number(const core::StackFrame &frame) {
    const auto [found, is_new] = frames_.try_emplace(frame, static_cast<std::uint32_t>(profile_.frames.size()));
    if (is_new) profile_.frames.push_back(frame);
    return found->second;
}

std::size_t Collector::stack_number(const core::CallStack &stack, const std::vector<core::StackFrame> &frames) {
    core::CallStack own{{}, stack.end};
    for (const std::uint32_t frame : stack.frames)
        own.frames.push_back(frame_number(frames[frame]));
    for (const std::uint32_t frame : stack.kernel)
        own.kernel.push_back(frame_number(frames[frame]));
    const auto [found, is_new] = stacks_.try_emplace(own, profile_.stacks.size());
    if (is_new) profile_.stacks.push_back(std::move(own));
    return found->second;
}

void Collector::stacks(const core::event::Stacks &stacks) {
    profile_.lost = stacks.lost;
    std::vector<std::optional<std::size_t>> numbers(stacks.stacks.size());
    for (std::size_t i = 0; i < stacks.of.size(); ++i) {
        const auto found = waiting_.find(stacks.first + i);
        if (found == waiting_.end()) continue;
        const std::uint32_t stack = stacks.of[i];
        if (!numbers[stack]) numbers[stack] = stack_number(stacks.stacks[stack], stacks.frames);
        found->second.stack = numbers[stack];
        complete(found);
    }
}

void Collector::put_thread(Profile &profile, ThreadFlow &thread, const Estimates &estimates) {
    std::vector<double> came, went;
    for (const auto &[by, estimate] : estimates.by_stack) {
        came.push_back(estimate.came);
        went.push_back(estimate.went);
    }
    const auto pages_came = apportion(explained(thread.exact.came, came, estimates.came_variance), came);
    const auto pages_went = apportion(explained(thread.exact.went, went, estimates.went_variance), went);
    thread.unexplained = thread.exact;
    std::size_t i = 0;
    for (const auto &[by, estimate] : estimates.by_stack) {
        Flow flow{pages_came[i], pages_went[i], 0, 0, estimate.samples};
        flow.unknown = part_of(flow.came, estimate.unknown / estimate.came);
        flow.resident = std::min(flow.came - flow.unknown, part_of(flow.came, estimate.resident / estimate.came));
        profile.flows.push_back({by.first, by.second, thread.pid, thread.tid, flow});
        thread.unexplained.came -= pages_came[i];
        thread.unexplained.went -= pages_went[i];
        ++i;
    }
    thread.unexplained.unknown = thread.unexplained.came;
}

std::vector<MappingStack> Collector::mapping_stacks() const {
    struct Sum {
        double all = 0, most = 0;
        std::size_t stack = 0;
    };
    std::vector<Sum> sums(mappings_.size());
    for (const auto &[key, pages] : by_mapping_) {
        Sum &sum = sums[key.first];
        sum.all += pages;
        if (pages > sum.most) sum.most = pages, sum.stack = key.second;
    }
    std::vector<MappingStack> stacks;
    for (const auto &[key, mapping] : mappings_)
        if (const Sum &sum = sums[mapping.number]; sum.all > 0)
            stacks.push_back({key.first, mapping.pid, key.second, sum.stack, sum.most / sum.all});
    return stacks;
}

Profile Collector::profile_of(Profile profile, std::map<Task, Estimates> estimates,
                              std::map<Task, ThreadFlow> threads) const {
    profile.unmatched = waiting_.size();
    profile.walked = arrivals_.known();
    profile.mappings = mapping_stacks();
    arrivals_.each([&estimates](const Arrivals::Origin &origin, Arrivals::Residence residence) {
        Estimate &estimate = estimates[origin.task].by_stack[{origin.stack, origin.reason}];
        if (residence == Arrivals::Residence::Resident) estimate.resident += origin.pages;
        if (residence == Arrivals::Residence::Unknown) estimate.unknown += origin.pages;
    });
    if (!arrivals_.known()) {
        for (auto &[task, each] : estimates)
            for (auto &[by, estimate] : each.by_stack)
                estimate.unknown = estimate.came;
    }
    for (auto &[task, thread] : threads) {
        put_thread(profile, thread, estimates[task]);
        profile.threads.push_back(std::move(thread));
    }
    std::stable_sort(profile.flows.begin(), profile.flows.end(),
                     [](const StackFlow &a, const StackFlow &b) { return a.flow.size() > b.flow.size(); });
    return profile;
}

std::vector<core::SampledPage> Collector::sampled_pages(int pid) const {
    std::vector<std::string> names(mappings_.size());
    for (const auto &[key, mapping] : mappings_)
        names[mapping.number] = key.second;
    std::vector<core::SampledPage> pages;
    for (const auto &[address, origin] : arrivals_.pages(pid))
        pages.push_back({address, origin.pages, origin.stack, origin.mapping ? names[*origin.mapping] : ""});
    return pages;
}

Profile Collector::now() const {
    return profile_of(profile_, estimates_, threads_);
}

Profile Collector::take() {
    Profile profile = profile_of(std::move(profile_), std::move(estimates_), std::move(threads_));
    *this = Collector();
    return profile;
}

}  // namespace rsslag::profile
