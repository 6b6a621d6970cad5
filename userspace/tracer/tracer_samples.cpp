// SPDX-License-Identifier: BSD-2-Clause
// Samples of updates and their stacks.
#include <algorithm>
#include <cstring>
#include <utility>

#include "tracer_state.h"

namespace rsslag::tracer {
namespace {

constexpr std::size_t kOrigAx = 15;  ///< in rsslag_sample.registers

rsslag_sample head_of(const RawSample &bytes) {
    rsslag_sample sample{};
    std::memcpy(&sample, bytes.data(), std::min(bytes.size(), sizeof(sample)));
    return sample;
}

core::Sample sample_of(const rsslag_sample &raw) {
    core::Sample sample;
    sample.t_ns = raw.t_ns;
    sample.mm = raw.mm;
    sample.address = raw.address;
    sample.host_tid = raw.tid;
    sample.pid = raw.ns_tgid;
    sample.cpu = raw.cpu;
    sample.member = raw.member;
    sample.believed = raw.believed;
    sample.syscall = static_cast<std::int32_t>(raw.registers[kOrigAx]);
    return sample;
}

}  // namespace

/// Takes the samples that were sent. Those of updates whose records have been taken are among them.
void Tracer::State::take_samples() {
    if (!unwinding) return;
    batch.samples = source->samples();
    std::stable_sort(batch.samples.begin(), batch.samples.end(),
                     [](const RawSample &a, const RawSample &b) { return head_of(a).t_ns < head_of(b).t_ns; });
    batch.first = samples;
    batch.lost = source->lost_samples();
    samples += batch.samples.size();
    event::Samples event{batch.first, {}};
    for (const RawSample &bytes : batch.samples) {
        const rsslag_sample raw = head_of(bytes);
        event.samples.push_back(sample_of(raw));
        if (raw.ns_tgid == 0 || with_code.contains(raw.ns_tgid)) continue;
        // A fork without an exec, or a process whose changes came too early.
        if (const auto listing = source->list_mappings(raw.tgid, raw.ns_tgid, false)) know_code(*listing);
    }
    if (!event.samples.empty()) feed(std::move(event));
}

void Tracer::State::know_code(const core::MappingListing &listing) {
    with_code.insert(listing.pid);
    batch.listings.push_back(listing);
}

/// Passes the batch on, with all changes until now. A listing that was read after an exec does not describe samples
/// from before that. The changes describe the new program completely.
void Tracer::State::unwind(std::span<const core::MappingChange> changes) {
    if (!unwinding) return;
    for (const core::MappingChange &change : changes) {
        if (change.kind == core::MappingChange::Kind::Exec) {
            with_code.insert(change.pid);
            std::erase_if(batch.listings, [&](const auto &listing) { return listing.pid == change.pid; });
        }
        if ((change.range.flags & core::MappingExecute) != 0 || change.kind != core::MappingChange::Kind::Mapped)
            batch.changes.push_back(change);
    }
    unwinding->put(std::exchange(batch, {}));
    feed_stacks(unwinding->take());
}

void Tracer::State::feed_stacks(std::vector<event::Stacks> stacks) {
    for (event::Stacks &each : stacks)
        feed(std::move(each));
}

}  // namespace rsslag::tracer
