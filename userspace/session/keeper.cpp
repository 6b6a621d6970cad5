// SPDX-License-Identifier: BSD-2-Clause
#include "session/keeper.h"

namespace rsslag::session {

bool Keeper::long_enough(const Kept &kept, Clock::time_point now) const {
    return now - kept.since >= span_ || hooks_.bytes(*kept.writer) >= most_bytes_ / 2;
}

void Keeper::look(Clock::time_point now) {
    if (kept_.size() == 2 && long_enough(kept_.back(), now)) {
        hooks_.drop(*kept_.front().writer);
        kept_.pop_front();
        dropped_ = now - kept_.front().since < span_;
    }
    if (kept_.empty() || (kept_.size() == 1 && long_enough(kept_.front(), now)))
        kept_.push_back({&hooks_.begin(), now});
}

std::optional<Keeper::Taken> Keeper::take(Clock::time_point now) {
    if (kept_.empty()) return std::nullopt;
    const Kept oldest = kept_.front();
    kept_.pop_front();
    return Taken{oldest.writer, oldest.since, dropped_ && now - oldest.since < span_};
}

void Keeper::clear() {
    for (const Kept &each : kept_)
        hooks_.drop(*each.writer);
    kept_.clear();
    dropped_ = false;
}

}  // namespace rsslag::session
