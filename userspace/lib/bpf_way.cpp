// SPDX-License-Identifier: BSD-2-Clause
#include "bpf_way.h"

#include <algorithm>
#include <mutex>
#include <utility>
#include <variant>

#include "probe/denial.h"
#include "probe/libbpf_log.h"
#include "probe/snapshot.h"
#include "probe/traits.h"

namespace rsslag::lib {
namespace {

using core::Error;
using core::Kind;

/// The calling program may be any, e.g. a Python interpreter: file capabilities must not be recommended for it.
Error bpf_refused(Error error) {
    if (error.kind == Kind::Denied && !probe::own_privileges().may_bpf())
        error.remedy = "run the program as root or with CAP_BPF and CAP_PERFMON";
    return error;
}

Reading reading_of(pid_t pid, const core::CounterReading &counters) {
    Reading reading;
    reading.pid = pid;
    reading.way = Way::Bpf;
    reading.comm = counters.comm;
    reading.threads = counters.threads;
    reading.tasks = static_cast<std::int64_t>(counters.tasks.size());
    reading.moved = counters.first != counters.last;
    fill_in_counters(reading, counters.flushed(), counters.cached());
    return reading;
}

Reading reading_of(const core::ProcessTotal &total) {
    Reading reading;
    reading.pid = total.tgid;
    reading.comm = total.comm;
    reading.way = Way::Bpf;
    reading.threads = total.threads;
    reading.tasks = total.tasks;
    reading.moved = total.moved;
    fill_in_counters(reading, total.flushed, total.cached);
    return reading;
}

class Bpf final : public BpfWay {
  public:
    explicit Bpf(probe::SnapshotProbe &&probe) : probe_(std::move(probe)) {}

    core::Result<Reading> read(pid_t pid) override {
        constexpr int kTries = 3;
        const std::scoped_lock lock(mutex_);
        for (int i = 1;; ++i) {
            const auto counters = probe_.read(pid);
            if (!counters) return bpf_refused(counters.error());
            Reading reading = reading_of(pid, *counters);
            if (!reading.moved || i == kTries) return reading;
        }
    }

    core::Result<Readings> read_all() override {
        const std::scoped_lock lock(mutex_);
        const auto totals = probe_.read_all();
        if (!totals) return bpf_refused(totals.error());
        Readings all;
        for (const core::ProcessTotal &total : *totals)
            if (total.tgid != 0) all.readings.push_back(reading_of(total));
        return all;
    }

  private:
    std::mutex mutex_;
    probe::SnapshotProbe probe_;
};

}  // namespace

Opened open_bpf(core::Machine machine, bool allowed) {
    probe::silence_libbpf();
    const auto traits = probe::running_kernel_traits();
    if (!traits) return {std::nullopt, traits.error()};
    const auto *const scheme = std::get_if<core::Scheme>(&traits->scheme);
    if (scheme == nullptr) return {std::nullopt, probe::unsupported(std::get<probe::UnknownLayout>(traits->scheme))};
    if (!allowed) return {*scheme, not_allowed(Way::Bpf)};
    machine.scheme = *scheme;
    auto probe = probe::SnapshotProbe::open(*traits, machine, true);
    if (!probe) return {*scheme, bpf_refused(probe.error())};
    return {*scheme, std::unique_ptr<BpfWay>(std::make_unique<Bpf>(std::move(*probe)))};
}

}  // namespace rsslag::lib
