// SPDX-License-Identifier: BSD-2-Clause
#include "live_source.h"

#include <malloc.h>
#include <sys/resource.h>

#include <cerrno>
#include <map>
#include <thread>
#include <utility>

#include "drain.h"
#include "rsslag/host/machine.h"
#include "rsslag/host/own_cost.h"
#include "rsslag/host/snapshotter.h"
#include "rsslag/probe/traits.h"
#include "rsslag/procfs/process.h"

namespace rsslag::host {
namespace {

/// Readings of 10,000 threads come and go with each tick: what is freed goes back to the kernel at once, as glibc would
/// keep more and more of it.
void give_memory_back() {
    constexpr int kBytes = 128 * 1024;
    mallopt(M_MMAP_THRESHOLD, kBytes);
    mallopt(M_TRIM_THRESHOLD, kBytes);
    mallopt(M_ARENA_MAX, 1);
}

class LiveSource final : public Source {
  public:
    LiveSource(std::unique_ptr<probe::StreamProbe> stream, Snapshotter snapshotter)
        : facts_(snapshotter.document()),
          snapshotter_(std::move(snapshotter)),
          stream_(std::move(stream)),
          drain_(*stream_) {}

    const core::SnapshotDocument &facts() const override { return facts_; }
    const std::vector<std::string> &missing() const override { return stream_->missing(); }
    std::uint64_t id_key() const override { return snapshotter_.id_key(); }

    std::uint64_t now_ns() override { return monotonic_ns(); }
    void wait_until(std::uint64_t t_ns) override {
        for (std::uint64_t now = monotonic_ns(); now < t_ns; now = monotonic_ns())
            std::this_thread::sleep_for(std::chrono::nanoseconds(t_ns - now));
    }
    std::chrono::system_clock::time_point time() override { return std::chrono::system_clock::now(); }

    core::Status trace(int host_tgid, std::uint64_t mm) override { return stream_->trace(host_tgid, mm); }
    core::Status trace_matching(const probe::Pattern &pattern) override { return stream_->trace_matching(pattern); }
    void detach() override { stream_->detach(); }

    void collect(const Records &use) override { drain_.collect(use); }
    core::Losses losses() override { return stream_->losses(); }
    std::uint64_t folded_cpus() override { return stream_->folded_cpus(); }
    std::vector<core::FaultCounts> faults(std::span<const int> host_tids) override {
        std::vector<core::FaultCounts> counts;
        counts.reserve(host_tids.size());
        for (const int tid : host_tids)
            counts.push_back(stream_->faults(tid));
        return counts;
    }

    core::Result<core::TimedCounters> read_counters(pid_t pid) override { return snapshotter_.read_counters(pid); }
    core::Result<core::RawReading> read(int host_tgid, pid_t pid, bool walk) override {
        auto found = processes_.find(host_tgid);
        if (found == processes_.end()) {
            auto process = procfs::Process::open(pid);
            if (!process) return process.error();
            found = processes_.emplace(host_tgid, std::move(*process)).first;
        }
        return snapshotter_.take_raw(found->second, walk);
    }
    void forget(int host_tgid) override { processes_.erase(host_tgid); }

    core::OwnCost cost(std::uint64_t sent) override { return meter_.since_last(stream_->cost().run_ns, sent); }
    core::OwnCost whole_cost(std::uint64_t sent) override { return whole_.since_last(stream_->cost().run_ns, sent); }

  private:
    core::SnapshotDocument facts_;
    Snapshotter snapshotter_;
    std::unique_ptr<probe::StreamProbe> stream_;
    Drain drain_;  // after the stream, which its thread uses
    std::map<int, procfs::Process> processes_;
    OwnCostMeter meter_, whole_;
};

}  // namespace

core::Result<std::unique_ptr<Source>> open_live_source(const LiveOptions &options) {
    give_memory_back();
    const auto traits = probe::running_kernel_traits();
    if (!traits) return traits.error();
    const Host host = this_host();
    auto stream = probe::StreamProbe::open(*traits, {.cpus_possible = host.machine.cpus_possible,
                                                     .ring_bytes = options.ring_bytes,
                                                     .follow = options.follow,
                                                     .counting = options.counting});
    if (!stream) return stream.error();
    // Records are lost when the thread that copies them out has to wait for a CPU. It inherits this; who may not, may
    // not.
    constexpr int kNice = -10;
    errno = 0;
    const int before = getpriority(PRIO_PROCESS, 0);
    const bool sooner = errno == 0 && before > kNice && setpriority(PRIO_PROCESS, 0, kNice) == 0;
    auto snapshotter = Snapshotter::open(
        {.capabilities = {}, .dropped = options.dropped});  // drops all capabilities but what readings need
    if (!snapshotter) return snapshotter.error();
    std::unique_ptr<Source> source =
        std::make_unique<LiveSource>(std::make_unique<probe::StreamProbe>(std::move(*stream)), std::move(*snapshotter));
    if (sooner) setpriority(PRIO_PROCESS, 0, before);
    return source;
}

}  // namespace rsslag::host
