// SPDX-License-Identifier: BSD-2-Clause
// Replaces snapshotter.cpp in a build without the tracer.
#include "system/snapshotter.h"

namespace rsslag::system {

struct Snapshotter::State {};

Snapshotter::Snapshotter(std::unique_ptr<State> state) : state_(std::move(state)) {}
Snapshotter::~Snapshotter() = default;
Snapshotter::Snapshotter(Snapshotter &&) noexcept = default;
Snapshotter &Snapshotter::operator=(Snapshotter &&) noexcept = default;

namespace {

core::Error no_tracer() {
    return {core::Kind::Unsupported, "this rsslag was built without the tracer", 0, "build it with -DRSSLAG_PROBE=ON"};
}

}  // namespace

core::Result<core::Scheme> running_scheme() {
    return no_tracer();
}

core::Result<Snapshotter> Snapshotter::open(const SnapshotterOptions & /*options*/) {
    return no_tracer();
}

core::Result<core::ProcessReading> Snapshotter::take(const procfs::Process & /*process*/, bool /*walk*/) {
    return no_tracer();
}

core::Result<core::RawReading> Snapshotter::take_raw(const procfs::Process & /*process*/, bool /*walk*/) {
    return no_tracer();
}

core::Result<core::MappingListing> Snapshotter::list_mappings(const procfs::Process & /*process*/,
                                                              bool /*walk*/) const {
    return no_tracer();
}

core::Result<core::ProcessReading> Snapshotter::take_around(const procfs::Process & /*process*/,
                                                            const procfs::WalkHere & /*walk*/) {
    return no_tracer();
}

core::Result<core::TimedCounters> Snapshotter::read_counters(pid_t /*pid*/) {
    return no_tracer();
}

std::string Snapshotter::mm_id(std::uint64_t /*mm*/) const {
    return "";
}

core::IdKey Snapshotter::id_key() const {
    return {};
}

core::Result<std::vector<core::ProcessTotal>> Snapshotter::read_all() {
    return no_tracer();
}

core::SnapshotDocument Snapshotter::document() const {
    return {};
}

}  // namespace rsslag::system
