// SPDX-License-Identifier: BSD-2-Clause
// What stands in for the tracer in a build without it.
#include "tracer.h"

namespace rsslag::cli {

struct Tracer::State {};

namespace {

core::Error no_tracer() {
    return {core::Kind::Unsupported, "this rsslag was built without the tracer", 0, "build it with -DRSSLAG_PROBE=ON"};
}

}  // namespace

Tracer::Tracer(std::unique_ptr<State> state) : state_(std::move(state)) {}
Tracer::~Tracer() = default;
Tracer::Tracer(Tracer &&) noexcept = default;

// NOLINTNEXTLINE(performance-unnecessary-value-param): the tracer that this stands in for keeps them
core::Result<Tracer> Tracer::open(Options /*options*/) {
    return no_tracer();
}

core::Status Tracer::attach(pid_t /*pid*/) {
    return no_tracer();
}

core::Status Tracer::attach_at_exec(pid_t /*pid*/) {
    return no_tracer();
}

core::Status Tracer::attach_matching(const probe::Pattern & /*pattern*/) {
    return no_tracer();
}

std::vector<view::Tick> Tracer::collect() {
    return {};
}

std::vector<view::Tick> Tracer::tick() {
    return {};
}

void Tracer::walk_now(pid_t /*pid*/) {}

const view::SnapshotDocument &Tracer::facts() const {
    static const view::SnapshotDocument none;
    return none;
}

bool Tracer::any() const {
    return false;
}

bool Tracer::traces(pid_t /*pid*/) const {
    return false;
}

const std::vector<std::string> &Tracer::missing() const {
    static const std::vector<std::string> none;
    return none;
}

std::vector<view::Tick> Tracer::stop() {
    return {};
}

view::Summary Tracer::summary() {
    return {};
}

}  // namespace rsslag::cli
