// SPDX-License-Identifier: BSD-2-Clause
// Writes a recording as packets of Perfetto's trace format, https://perfetto.dev/docs/reference/trace-packet-proto.
// Times are since the attach.
#include <fmt/format.h>

#include <protozero/pbf_writer.hpp>

#include <map>
#include <string>
#include <unordered_set>
#include <utility>

#include "core/member_name.h"
#include "core/text.h"
#include "entity_ids.h"
#include "exporters/sink.h"
#include "perfetto_fields.h"

namespace rsslag::exporters {
namespace {

using core::Pages;
using core::Status;
using protozero::pbf_writer;

/// What a track shows. Kind, owner and CPU form the track's number, which must be unique in a trace.
enum class TrackKind : std::uint8_t {
    Process = 1,
    Thread,
    Cpus,
    Cpu,
    Losses,
    Reported,
    Exact,
    Cached,
    Walked,
    ThreadCached,
    CpuCached
};

std::uint64_t uuid(TrackKind kind, std::int64_t owner = 0, int cpu = 0) {
    return static_cast<std::uint64_t>(kind) << 56U | static_cast<std::uint64_t>(owner) << 16U |
           static_cast<std::uint64_t>(cpu);
}

std::string named(std::string_view comm, int number) {
    return fmt::format("{} [{}]", core::printable(comm), number);
}

class Perfetto : public Sink {
  public:
    explicit Perfetto(Write write) : write_(std::move(write)) {}

    Status begin(const Facts &facts) override {
        page_size_ = facts.machine.page_size;
        packet(0, [](pbf_writer &packet) {
            packet.add_uint32(field::kSequenceFlags, field::kIncrementalStateCleared);
            packet.add_bool(field::kFirstPacketOnSequence, true);
        });
        return core::success();
    }

    Status row(const Row &row) override {
        std::visit([this](const auto &each) { put(each); }, row);
        return out_.size() < kFullBuffer ? core::success() : pass_on();
    }

    Status end(const Ending &ending) override {
        for (const MissingPart &each : ending.missing)
            put(each);
        return pass_on();
    }

  private:
    Status pass_on() {
        Status written = write_(out_);
        out_.clear();
        return written;
    }

    template <class Fill>
    void packet(std::uint64_t t_ns, Fill fill) {
        pbf_writer trace(out_);
        pbf_writer packet(trace, field::kPacket);
        packet.add_uint64(field::kTimestamp, t_ns);
        packet.add_uint32(field::kTrustedPacketSequenceId, 1);
        fill(packet);
    }

    /// Whether this is the first use of the track.
    bool is_new(std::uint64_t track) { return tracks_.insert(track).second; }

    template <class Fill>
    void describe(std::uint64_t track, std::uint64_t parent, const std::string &name, Fill fill) {
        packet(0, [&](pbf_writer &packet) {
            pbf_writer descriptor(packet, field::kTrackDescriptor);
            descriptor.add_uint64(field::kUuid, track);
            descriptor.add_string(field::kTrackName, name);
            if (parent != 0) descriptor.add_uint64(field::kParentUuid, parent);
            fill(descriptor);
        });
    }
    void describe(std::uint64_t track, std::uint64_t parent, const std::string &name) {
        describe(track, parent, name, [](pbf_writer &) {});
    }

    std::uint64_t process_track(std::int64_t process, const Stamp &at) {
        const std::uint64_t track = uuid(TrackKind::Process, process);
        if (is_new(track)) {
            describe(track, 0, named(at.comm, at.pid), [&](pbf_writer &descriptor) {
                pbf_writer own(descriptor, field::kProcess);
                own.add_int32(field::kProcessPid, at.pid);
                own.add_string(field::kProcessName, core::printable(at.comm));
            });
        }
        return track;
    }

    std::uint64_t thread_track(std::int64_t thread, int pid, int tid, std::string_view comm) {
        const std::uint64_t track = uuid(TrackKind::Thread, thread);
        if (is_new(track)) {
            describe(track, 0, named(comm, tid), [&](pbf_writer &descriptor) {
                pbf_writer own(descriptor, field::kThread);
                own.add_int32(field::kThreadPid, pid);
                own.add_int32(field::kThreadTid, tid);
                own.add_string(field::kThreadName, core::printable(comm));
            });
        }
        return track;
    }

    std::uint64_t cpu_track(int cpu) {
        if (is_new(uuid(TrackKind::Cpus))) describe(uuid(TrackKind::Cpus), 0, "CPUs");
        const std::uint64_t track = uuid(TrackKind::Cpu, 0, cpu);
        if (is_new(track)) describe(track, uuid(TrackKind::Cpus), fmt::format("CPU {}", cpu));
        return track;
    }

    /// In bytes, as Perfetto has no unit for pages.
    void count(std::uint64_t track, std::uint64_t parent, const std::string &name, std::uint64_t t_ns, Pages pages) {
        if (is_new(track)) {
            describe(track, parent, name, [](pbf_writer &descriptor) {
                pbf_writer counter(descriptor, field::kCounter);
                counter.add_enum(field::kCounterUnit, field::kSizeBytes);
            });
        }
        packet(t_ns, [&](pbf_writer &packet) {
            pbf_writer event(packet, field::kTrackEvent);
            event.add_enum(field::kEventType, field::kTypeCounter);
            event.add_uint64(field::kTrackUuid, track);
            event.add_int64(field::kCounterValue, pages.n * page_size_.bytes);
        });
    }

    /// Skips unchanged values, which would be most of the file.
    void count_changed(std::uint64_t track, std::uint64_t parent, const std::string &name, std::uint64_t t_ns,
                       Pages pages) {
        const auto [last, first] = counted_.try_emplace(track, pages);
        if (!first && last->second == pages) return;
        last->second = pages;
        count(track, parent, name, t_ns, pages);
    }

    template <class Annotate>
    void instant(std::uint64_t track, std::uint64_t t_ns, const std::string &name, Annotate annotate) {
        packet(t_ns, [&](pbf_writer &packet) {
            pbf_writer event(packet, field::kTrackEvent);
            event.add_enum(field::kEventType, field::kTypeInstant);
            event.add_uint64(field::kTrackUuid, track);
            event.add_string(field::kEventName, name);
            annotate(event);
        });
    }

    static void annotate(pbf_writer &event, std::string_view name, std::int64_t value) {
        pbf_writer annotation(event, field::kDebugAnnotations);
        annotation.add_string(field::kAnnotationName, name.data(), name.size());
        annotation.add_int64(field::kAnnotationInt, value);
    }

    void put(const UpdateRow &row);
    void put(const FaultRow &row) { ids_.of(row.at); }
    void put(const SumRow &row) { ids_.of(row.at); }
    void put(const TaskRow &row) { ids_.of_task(row); }
    void put(const ReadingRow & /*row*/) {}
    void put(const WalkRow & /*row*/) {}
    void put(const MappingRow & /*row*/) {}
    void put(const LossRow &row);
    void put(const MissingPart &missing);
    std::uint64_t losses_track() {
        const std::uint64_t track = uuid(TrackKind::Losses);
        if (is_new(track)) describe(track, 0, "losses");
        return track;
    }
    void put(const TickRow &row);
    void put_holders(const TickRow &row, std::int64_t process);

    Write write_;
    std::string out_;
    core::PageSize page_size_;
    EntityIds ids_;
    std::unordered_set<std::uint64_t> tracks_;
    std::map<std::uint64_t, Pages> counted_;
};

void Perfetto::put(const UpdateRow &row) {
    const EntityIds::Ids ids = ids_.of(row.at);
    if (row.type == UpdateRow::Type::Update) return;
    const bool fold = row.type == UpdateRow::Type::Fold;
    if (fold ? !row.at.cpu : !ids.thread) return;
    const std::uint64_t track =
        fold ? cpu_track(*row.at.cpu) : thread_track(*ids.thread, row.at.pid, row.at.tid, row.at.comm);
    const std::string_view member = row.member ? core::name(*row.member) : "unknown";
    const std::string name =
        fold ? fmt::format("fold {}", member)
             : fmt::format("flush {}: {}", member, row.reason ? core::name(*row.reason) : "unknown");
    instant(track, row.at.t_ns, name, [&](pbf_writer &event) {
        if (row.flushed) annotate(event, "flushed_pages", row.flushed->n);
        if (row.pages) annotate(event, "pages", row.pages->n);
        if (fold && row.at.tid > 0) annotate(event, "tid", row.at.tid);
        if (row.at.pid > 0) annotate(event, "pid", row.at.pid);
    });
}

void Perfetto::put(const LossRow &row) {
    instant(losses_track(), row.at.t_ns, "lost: " + core::printable(row.cause), [&](pbf_writer &event) {
        if (row.records) annotate(event, "records", static_cast<std::int64_t>(*row.records));
    });
}

void Perfetto::put(const MissingPart &missing) {
    instant(losses_track(), missing.from_ns, "missing: " + core::printable(missing.reason), [&](pbf_writer &event) {
        annotate(event, "to_ns", static_cast<std::int64_t>(missing.to_ns));
        if (missing.records) annotate(event, "records", static_cast<std::int64_t>(*missing.records));
    });
}

void Perfetto::put(const TickRow &row) {
    const EntityIds::Ids ids = ids_.of_tick(row);
    if (!ids.process) return;
    const std::uint64_t process = process_track(*ids.process, row.at);
    const auto put = [&](TrackKind kind, const char *name, Pages pages) {
        count(uuid(kind, *ids.process), process, name, row.at.t_ns, pages);
    };
    if (row.readers.stat) put(TrackKind::Reported, "reported (stat)", *row.readers.stat);
    put(TrackKind::Exact, "exact", row.exact.rss());
    put(TrackKind::Cached, "cached", row.cached.rss());
    if (row.walk) put(TrackKind::Walked, "walked", page_size_.pages(row.walk->rss));
    if (row.ledger != nullptr) put_holders(row, *ids.process);
}

void Perfetto::put_holders(const TickRow &row, std::int64_t process) {
    for (const core::TaskNet &task : row.ledger->tasks) {
        const std::int64_t thread = ids_.thread_of(process, task, row.at.t_ns);
        if (!task.cached) continue;
        const std::uint64_t track = uuid(TrackKind::ThreadCached, thread);
        if (task.cached->rss().n == 0 && tracks_.count(track) == 0) continue;
        count_changed(track, thread_track(thread, row.at.pid, task.tid, task.comm), "cached", row.at.t_ns,
                      task.cached->rss());
    }
    for (const core::CpuNet &cpu : row.ledger->cpus) {
        count_changed(uuid(TrackKind::CpuCached, process, cpu.cpu), cpu_track(cpu.cpu),
                      "cached of " + named(row.at.comm, row.at.pid), row.at.t_ns, cpu.cached.rss());
    }
}

}  // namespace

std::unique_ptr<Sink> perfetto_sink(Write write) {
    return std::make_unique<Perfetto>(std::move(write));
}

}  // namespace rsslag::exporters
