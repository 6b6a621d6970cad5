// SPDX-License-Identifier: BSD-2-Clause
#include "version1.h"

#include <algorithm>
#include <utility>

#include "item_codec.h"

namespace rsslag::recording {
namespace {

/// A record was in its ring this long after its time.
constexpr std::uint64_t kLateNs = 2'000'000;
/// Answers to one call are no more, a process of 10^5 threads included, and no item becomes larger by more.
constexpr std::size_t kMostHeld = std::size_t{96} << 20, kGrowth = 12;

enum class Kind1 : std::uint8_t {
    Call = 1,
    Records = 2,
    Collected = 3,
    Now = 4,
    Time = 5,
    Losses = 6,
    Faults = 7,
    Counters = 8,
    Reading = 9,
    Traced = 10,
    Cost = 11,
    Overflow = 12,
};

event::Reading read_version1_reading(ByteReader &in, std::uint64_t base_ns) {
    const int host_tgid = in.small();
    in.small();  // its PID, which the reading has, too
    if (!in.yes()) return {host_tgid, read_error(in)};
    return {host_tgid, read_raw_reading(in, base_ns)};
}

}  // namespace

Version1::Version1(const Header &header)
    : counting_(header.counting), start_{header.start_ns, header.start_unix_ns}, now_ns_(header.start_ns) {}

std::optional<Version1::Answer> Version1::answer(std::uint64_t kind, ByteReader &in, std::uint64_t base_ns) {
    switch (static_cast<Kind1>(std::min<std::uint64_t>(kind, UINT8_MAX))) {
        case Kind1::Records: {
            auto records = read_records(in, base_ns);
            if (!records) return std::nullopt;
            return std::get<event::Records>(std::move(*records));
        }
        case Kind1::Collected: return Collected{};
        case Kind1::Now: return Now{read_time(in, base_ns)};
        case Kind1::Time: return Time{in.signed_number()};
        case Kind1::Losses: return read_losses(in);
        case Kind1::Faults: return read_faults(in);
        case Kind1::Counters: return read_counters_item(in, base_ns);
        case Kind1::Reading: return read_version1_reading(in, base_ns);
        case Kind1::Traced:
            if (!in.yes()) read_error(in);
            return Traced{};
        case Kind1::Cost: in.yes(); return read_cost(in);
        default: return std::nullopt;
    }
}

void Version1::take(std::uint64_t kind, ByteReader &in, std::uint64_t base_ns, Events &out) {
    if (kind == static_cast<std::uint64_t>(Kind1::Call)) {
        const std::uint64_t ask = in.number();
        const int pid = in.small();
        if (in.bad()) return;
        finish(out);
        if (ask >= static_cast<std::uint64_t>(Ask::Attach) && ask <= static_cast<std::uint64_t>(Ask::Summary))
            call_ = Call{static_cast<Ask>(ask), pid};
        return;
    }
    if (kind == static_cast<std::uint64_t>(Kind1::Overflow)) {
        const std::uint64_t records = in.number();
        const event::Gap gap{records, in.number()};
        if (in.bad()) return;
        break_off(out);
        out.emplace_back(gap);
        return;
    }
    const std::size_t bytes = in.left();
    auto reported = answer(kind, in, base_ns);
    if (!reported || in.bad()) return;
    const auto *const records = std::get_if<event::Records>(&*reported);
    held_ += sizeof(Answer) + (records == nullptr ? kGrowth * bytes : records->bytes.size());
    answers_.push_back(std::move(*reported));
    if (!call_) break_off(out);
    if (held_ > kMostHeld) in.fail();  // which breaks off
}

void Version1::break_off(Events &out) {
    for (Answer &each : answers_) {
        if (auto *const now = std::get_if<Now>(&each)) now_ns_ = std::max(now_ns_, now->t_ns);
        if (auto *const records = std::get_if<event::Records>(&each)) out.emplace_back(std::move(*records));
    }
    answers_.clear();
    held_ = 0;
    call_.reset();
}

void Version1::finish(Events &out) {
    if (call_) make(out);
    answers_.clear();
    held_ = 0;
    call_.reset();
}

void Version1::make(Events &out) {
    switch (call_->ask) {
        case Ask::Attach: attach(out); break;
        case Ask::AttachAtExec: attach_at_exec(out); break;
        case Ask::Collect: collect(out); break;
        case Ask::Tick: tick(out); break;
        case Ask::Stop: stop(out); break;
        case Ask::Summary: summary(out); break;
        case Ask::AttachMatching:
        case Ask::WalkNow: break;
    }
}

/// Counters, whether it was wanted, counters again; all of it again where it had another mm by then; then its faults.
void Version1::attach(Events &out) {
    event::Counters *counters = nullptr;
    for (Answer &each : answers_) {
        if (auto *const reported = std::get_if<event::Counters>(&each)) counters = reported;
        auto *const faults = std::get_if<event::Faults>(&each);
        if (faults == nullptr || counters == nullptr || !counters->reported) continue;
        event::Attach attach{0, std::move(*counters->reported), std::move(*faults)};
        for (const core::TaskReading &task : attach.counters.counters.tasks) {
            if (task.tgid == call_->pid) attach.host_tgid = task.host_tgid;
        }
        out.emplace_back(std::move(attach));
        return;
    }
}

void Version1::attach_at_exec(Events &out) const {
    for (const Answer &each : answers_) {
        const auto *const counters = std::get_if<event::Counters>(&each);
        if (counters == nullptr || !counters->reported) continue;
        for (const core::TaskReading &task : counters->reported->counters.tasks) {
            if (task.tgid != call_->pid) continue;
            out.emplace_back(event::ExecAwaited{task.host_tgid, task.tgid, counters->reported->counters.mm});
            return;
        }
    }
}

/// The clock; records; for each process that had ended its losses, both clocks and faults.
void Version1::take_in(std::size_t end, Events &out) {
    std::optional<std::uint64_t> asked_ns;
    std::optional<event::Moment> at;
    for (std::size_t i = 0; i < end; ++i) {
        if (const auto *const now = std::get_if<Now>(&answers_[i])) {
            now_ns_ = now->t_ns;
            if (!asked_ns) asked_ns = now_ns_;
        }
        if (!at) at = moment_at(i);
        pass_on(answers_[i], out);
    }
    if (!asked_ns) return;
    out.emplace_back(event::Watermark{*asked_ns - std::min(*asked_ns, kLateNs), at.value_or(about(*asked_ns))});
}

/// After that counters of those that are not known yet.
void Version1::collect(Events &out) {
    const auto counters = std::find_if(answers_.begin(), answers_.end(), [](const Answer &each) {
        return std::holds_alternative<event::Counters>(each);
    });
    take_in(static_cast<std::size_t>(counters - answers_.begin()), out);
    for (auto each = counters; each != answers_.end(); ++each) {
        if (auto *const reported = std::get_if<event::Counters>(&*each)) out.emplace_back(std::move(*reported));
    }
}

/// As collect; cost; for each process the clock (where walks are made) and a reading; in counts mode records and the
/// clock; records; losses; then for each reading first those that had ended, then its tick: both clocks, faults, and
/// the clock again where there is a walk.
void Version1::tick(Events &out) {
    const auto cost = std::find_if(answers_.begin(), answers_.end(),
                                   [](const Answer &each) { return std::holds_alternative<core::OwnCost>(each); });
    const auto begin = static_cast<std::size_t>(cost - answers_.begin());
    take_in(begin, out);
    if (cost == answers_.end()) return;
    own_ = std::get<core::OwnCost>(*cost);
    event::TickEnd tick_end;
    tick_end.own = own_;
    std::optional<event::Moment> at;
    bool read = false;
    std::optional<std::size_t> losses;  // of all; later ones are for the last tick of a process
    for (std::size_t i = begin + 1; i < answers_.size(); ++i) {
        Answer &each = answers_[i];
        if (const auto *const now = std::get_if<Now>(&each)) {
            now_ns_ = now->t_ns;
            const bool after_records = std::holds_alternative<Collected>(answers_[i - 1]);
            if (counting_ && read && after_records && !tick_end.until_ns) tick_end.until_ns = now_ns_;
        }
        read = read || std::holds_alternative<event::Reading>(each);
        const bool counted = std::holds_alternative<core::Losses>(answers_[i - 1]);
        if (counted && !losses) losses = i - 1;
        if (!at && (!counted || losses == i - 1)) at = moment_at(i);
        pass_on(each, out);
    }
    tick_end.at = at.value_or(about(now_ns_));
    out.emplace_back(tick_end);
}

/// The clock; then records, losses and the clock until nothing is missing; the clock; those that had ended.
void Version1::stop(Events &out) {
    std::optional<event::Moment> at;
    for (std::size_t i = 0; i < answers_.size(); ++i) {
        if (const auto *const now = std::get_if<Now>(&answers_[i])) now_ns_ = now->t_ns;
        if (!at) at = moment_at(i);
        pass_on(answers_[i], out);
    }
    out.emplace_back(event::Stop{at.value_or(about(now_ns_))});
}

/// For each process that lives on both clocks and faults; both clocks; cost.
void Version1::summary(Events &out) {
    event::Moment at = about(now_ns_);
    for (std::size_t i = 0; i < answers_.size(); ++i) {
        if (const auto reported = moment_at(i)) at = *reported;
        if (const auto *const own = std::get_if<core::OwnCost>(&answers_[i])) own_ = *own;
        pass_on(answers_[i], out);
    }
    now_ns_ = at.t_ns;
    out.emplace_back(event::End{at, own_});
}

void Version1::pass_on(Answer &answer, Events &out) const {
    if (auto *const records = std::get_if<event::Records>(&answer)) out.emplace_back(std::move(*records));
    if (auto *const losses = std::get_if<core::Losses>(&answer))
        out.emplace_back(event::Losses{now_ns_, std::move(*losses)});
    if (auto *const faults = std::get_if<event::Faults>(&answer)) out.emplace_back(std::move(*faults));
    if (auto *const reading = std::get_if<event::Reading>(&answer)) out.emplace_back(std::move(*reading));
}

/// The other clock was always asked first.
std::optional<event::Moment> Version1::moment_at(std::size_t i) const {
    const auto *const time = std::get_if<Time>(&answers_[i]);
    const auto *const now = time != nullptr && i + 1 < answers_.size() ? std::get_if<Now>(&answers_[i + 1]) : nullptr;
    if (now == nullptr) return std::nullopt;
    return event::Moment{now->t_ns, time->unix_ns};
}

event::Moment Version1::about(std::uint64_t t_ns) const {
    return {t_ns, static_cast<std::int64_t>(static_cast<std::uint64_t>(start_.unix_ns) + t_ns - start_.t_ns)};
}

}  // namespace rsslag::recording
