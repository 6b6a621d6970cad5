// SPDX-License-Identifier: BSD-2-Clause
#include "live_source.h"

#include <malloc.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <thread>
#include <utility>

#include "drain.h"
#include "probe/mapping_hooks.h"
#include "probe/side_band.h"
#include "probe/traits.h"
#include "system/kept_processes.h"
#include "system/machine.h"
#include "system/own_cost.h"
#include "system/snapshotter.h"

namespace rsslag::tracer {
namespace {

/// Makes glibc return freed memory to the kernel immediately. Each tick allocates and frees readings of up to 10,000
/// threads, of which glibc would otherwise keep more and more.
void give_memory_back() {
    constexpr int kBytes = 128 * 1024;
    mallopt(M_MMAP_THRESHOLD, kBytes);
    mallopt(M_TRIM_THRESHOLD, kBytes);
    mallopt(M_ARENA_MAX, 1);
}

/// The probes that report changes of mappings. Null: it cannot be opened, or was not requested.
struct NameProbes {
    std::unique_ptr<probe::SideBand> side_band;
    std::unique_ptr<probe::MappingHooks> mapping_hooks;
    std::vector<std::string> missing;
};

NameProbes open_name_probes(const probe::StreamProbe &stream, const probe::KernelTraits &traits, int cpus_possible) {
    NameProbes names;
    if (auto side_band = probe::SideBand::open(cpus_possible)) {
        names.side_band = std::make_unique<probe::SideBand>(std::move(*side_band));
    } else {
        names.missing.push_back("PERF_RECORD_MMAP2: " + side_band.error().what);
    }
    if (auto hooks = probe::MappingHooks::open(stream, traits)) {
        names.mapping_hooks = std::make_unique<probe::MappingHooks>(std::move(*hooks));
    } else {
        names.missing.push_back("mremap, prctl: " + hooks.error().what);
    }
    return names;
}

/// Runs the drain thread and the first thread at niceness -10. Records are lost if the drain thread has to wait for a
/// CPU. Eventually they are also lost if the first thread, which processes them, has to wait. Next to a storm of eight
/// threads it would get a ninth of the time. The drain thread inherits the niceness. If the user has chosen a niceness,
/// the first thread returns to it. Without the right to raise the priority nothing changes.
class Niceness {
  public:
    Niceness() {
        errno = 0;
        before_ = getpriority(PRIO_PROCESS, 0);
        changed_ = errno == 0 && before_ > kNice && setpriority(PRIO_PROCESS, 0, kNice) == 0;
    }
    /// To be called once the drain thread runs.
    void drain_runs() const {
        if (changed_ && before_ != 0) setpriority(PRIO_PROCESS, 0, before_);
    }

  private:
    static constexpr int kNice = -10;
    int before_ = 0;
    bool changed_ = false;
};

class LiveSource final : public Source {
  public:
    LiveSource(std::unique_ptr<probe::StreamProbe> stream, NameProbes names, system::Snapshotter snapshotter,
               pid_t helper)
        : facts_(snapshotter.document()),
          snapshotter_(std::move(snapshotter)),
          stream_(std::move(stream)),
          side_band_(std::move(names.side_band)),
          mapping_hooks_(std::move(names.mapping_hooks)),
          missing_(stream_->missing()),
          drain_(
              stream_->rings(), [this](auto rings) { stream_->drain(rings); }, side_band_reader(side_band_.get()),
              [this](std::vector<std::byte> &out) { stream_->drain_samples(out); }),
          meter_(kSecond, helper),
          whole_(0, helper) {
        missing_.insert(missing_.end(), names.missing.begin(), names.missing.end());
    }

    const core::SnapshotDocument &facts() const override { return facts_; }
    const std::vector<std::string> &missing() const override { return missing_; }
    core::IdKey id_key() const override { return snapshotter_.id_key(); }

    std::uint64_t now_ns() override { return system::monotonic_ns(); }
    void wait_until(std::uint64_t t_ns) override {
        for (std::uint64_t now = system::monotonic_ns(); now < t_ns; now = system::monotonic_ns())
            std::this_thread::sleep_for(std::chrono::nanoseconds(t_ns - now));
    }
    std::chrono::system_clock::time_point time() override { return std::chrono::system_clock::now(); }

    core::Status trace(int host_tgid, std::uint64_t mm) override { return stream_->trace(host_tgid, mm); }
    core::Status untrace(int host_tgid, std::uint64_t mm) override { return stream_->untrace(host_tgid, mm); }
    bool traced(int host_tgid) const override { return stream_->traced(host_tgid); }
    void forget_mm(std::uint64_t mm, std::uint64_t before_ns) override { stream_->forget_mm(mm, before_ns); }
    core::Status trace_matching(const probe::Pattern &pattern) override { return stream_->trace_matching(pattern); }
    void detach() override {
        stream_->detach();
        if (side_band_) side_band_->stop();
        if (mapping_hooks_) mapping_hooks_->detach();
    }

    void collect(const Records &use) override { drain_.collect(use); }
    core::Losses losses() override { return stream_->losses(); }
    std::vector<std::vector<std::byte>> samples() override {
        const std::vector<std::byte> bytes = drain_.collect_samples();
        std::vector<std::vector<std::byte>> all;
        rsslag_sample sample{};
        for (std::size_t at = 0; at + sizeof(sample) <= bytes.size(); at += sizeof(sample) + sample.bytes) {
            std::memcpy(&sample, bytes.data() + at, sizeof(sample));
            if (sample.bytes > bytes.size() - at - sizeof(sample)) break;
            const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(at);
            all.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(sizeof(sample) + sample.bytes));
        }
        return all;
    }
    void copy_more(int host_tid, std::size_t copied) override { stream_->copy_more(host_tid, copied); }
    void copy_less() override { stream_->copy_less(); }
    std::uint64_t lost_samples() override { return stream_->lost_samples(); }
    std::optional<core::EndFigures> end_of(int host_tgid) override { return stream_->end_of(host_tgid); }
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
        const auto process = processes_.of(host_tgid, pid);
        if (!process) return process.error();
        return snapshotter_.take_raw(**process, walk);
    }
    void forget(int host_tgid) override { processes_.forget(host_tgid); }

    std::vector<core::MappingChange> mapping_changes() override {
        std::vector<core::MappingChange> changes = probe::mapping_changes(drain_.collect_side_band());
        const std::size_t before = changes.size();
        if (mapping_hooks_) mapping_hooks_->drain(changes);
        for (std::size_t i = before; i < changes.size(); ++i)
            if (changes[i].t_ns == 0) changes[i].t_ns = now_ns();
        return changes;
    }
    core::Result<core::MappingListing> list_mappings(int host_tgid, pid_t pid, bool walk) override {
        const auto process = processes_.of(host_tgid, pid);
        if (!process) return process.error();
        return snapshotter_.list_mappings(**process, walk);
    }

    core::Result<std::vector<std::uint64_t>> absent_pages(int host_tgid, pid_t pid,
                                                          const std::vector<std::uint64_t> &addresses) override {
        const auto process = processes_.of(host_tgid, pid);
        if (!process) return process.error();
        return snapshotter_.absent_pages(**process, addresses);
    }

    core::OwnCost cost(std::uint64_t sent) override { return cost_by(meter_, sent); }
    core::OwnCost whole_cost(std::uint64_t sent) override { return cost_by(whole_, sent); }

  private:
    core::OwnCost cost_by(system::OwnCostMeter &meter, std::uint64_t sent) {
        core::OwnCost cost = meter.since_last(stream_->cost().run_ns, sent);
        cost.buffers = core::Kilobytes{static_cast<std::int64_t>(stream_->buffer_bytes() / 1024)};
        return cost;
    }

    static constexpr std::uint64_t kSecond = 1'000'000'000;

    static Drain::Other side_band_reader(probe::SideBand *side_band) {
        if (side_band == nullptr) return {};
        return [side_band](std::vector<std::byte> &out) { side_band->drain(out); };
    }

    core::SnapshotDocument facts_;
    system::Snapshotter snapshotter_;
    std::unique_ptr<probe::StreamProbe> stream_;
    std::unique_ptr<probe::SideBand> side_band_;          // may be null
    std::unique_ptr<probe::MappingHooks> mapping_hooks_;  // may be null
    std::vector<std::string> missing_;
    Drain drain_;                      // declared after what its thread uses
    system::KeptProcesses processes_;  // by host TGID
    system::OwnCostMeter meter_, whole_;
};

}  // namespace

core::Result<std::unique_ptr<Source>> open_live_source(const LiveOptions &options) {
    give_memory_back();
    const auto traits = probe::running_kernel_traits();
    if (!traits) return traits.error();
    const system::Host host = system::this_host();
    auto stream = probe::StreamProbe::open(*traits, {.cpus_possible = host.machine.cpus_possible,
                                                     .ring_bytes = options.ring_bytes,
                                                     .memory_bytes = options.memory_bytes,
                                                     .follow = options.follow,
                                                     .counting = options.counting,
                                                     .samples = options.samples});
    if (!stream) return stream.error();
    NameProbes names = options.names ? open_name_probes(*stream, *traits, host.machine.cpus_possible) : NameProbes();
    const Niceness niceness;
    system::SnapshotterOptions readings;  // opened last: drops the capabilities that readings do not need
    readings.dropped = options.dropped;
    readings.calibrated = options.calibrated;
    readings.stop_waiting = options.stop_waiting;
    readings.command_lines = options.command_lines;
    readings.traits = &*traits;
    auto snapshotter = system::Snapshotter::open(readings);
    if (!snapshotter) return snapshotter.error();
    std::unique_ptr<Source> source =
        std::make_unique<LiveSource>(std::make_unique<probe::StreamProbe>(std::move(*stream)), std::move(names),
                                     std::move(*snapshotter), options.helper);
    niceness.drain_runs();
    return source;
}

}  // namespace rsslag::tracer
