// SPDX-License-Identifier: BSD-2-Clause
#include "item_codec.h"

#include <iterator>
#include <utility>

#include "columns.h"
#include "core/text.h"
#include "mapping_codec.h"
#include "stack_codec.h"

namespace rsslag::recording {
namespace {

// In the order of the numbers in the file, which are independent of the values of Kind.
constexpr core::Kind kKinds[] = {core::Kind::BadInput, core::Kind::Denied, core::Kind::Unsupported, core::Kind::Gone,
                                 core::Kind::Corrupt,  core::Kind::Io,     core::Kind::Internal};

void put_error(Bytes &out, const core::Error &error) {
    std::uint64_t kind = 0;
    while (kKinds[kind] != error.kind)
        ++kind;
    put(out, kind);
    put_text(out, error.what);
    put_signed(out, error.err);
    put_text(out, error.remedy);
}

/// CLOCK_REALTIME is stored as its distance from CLOCK_MONOTONIC, which hardly ever changes.
std::int64_t distance(const event::Moment &at) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(at.unix_ns) - at.t_ns);
}

struct PutBody {
    Bytes &out;
    std::uint64_t base_ns;

    void time(std::uint64_t t_ns) const { put_signed(out, static_cast<std::int64_t>(t_ns - base_ns)); }
    void moment(const event::Moment &at) const {
        time(at.t_ns);
        put_signed(out, distance(at));
    }
    void timed(const core::TimedCounters &timed) const {
        put_counters(out, timed.counters);
        time(timed.begin_ns);
        time(timed.end_ns);
    }
    void faults(const event::Faults &faults) const {
        put(out, faults.tasks.size());
        int before = 0;
        for (const event::Faults::Task &task : faults.tasks) {
            put_signed(out, std::int64_t{task.host_tid} - before);
            before = task.host_tid;
            put(out, task.counts.user);
            put(out, task.counts.kernel);
        }
    }
    void cost(const core::OwnCost &own) const {
        put_double(out, own.cpu_percent);
        put(out, own.bpf_ns_per_event ? 1 : 0);
        if (own.bpf_ns_per_event) put_double(out, *own.bpf_ns_per_event);
        put_signed(out, own.rss.n);
        if (own.buffers) put_signed(out, own.buffers->n);
    }

    ItemKind operator()(const event::Records &event) const {
        put(out, event.ring);
        pack(event.bytes, base_ns, out);
        return ItemKind::Records;
    }
    ItemKind operator()(const event::Watermark &event) const {
        time(event.until_ns);
        moment(event.at);
        return ItemKind::Watermark;
    }
    ItemKind operator()(const event::Losses &event) const {
        time(event.t_ns);
        put_losses(out, event.counts);
        return ItemKind::Losses;
    }
    ItemKind operator()(const event::Faults &event) const {
        faults(event);
        return ItemKind::Faults;
    }
    ItemKind operator()(const event::Attach &event) const {
        put_signed(out, event.host_tgid);
        timed(event.counters);
        faults(event.faults);
        put_text(out, event.counters.counters.comm);
        return ItemKind::Attach;
    }
    ItemKind operator()(const event::ExecAwaited &event) const {
        put_signed(out, event.host_tgid);
        put_signed(out, event.tgid);
        put(out, event.mm);
        return ItemKind::ExecAwaited;
    }
    ItemKind operator()(const event::Counters &event) const {
        put_signed(out, event.pid);
        put(out, event.reported ? 1 : 0);
        if (event.reported) {
            timed(*event.reported);
            put_text(out, event.reported->counters.comm);
        } else {
            put_error(out, event.reported.error());
        }
        return ItemKind::Counters;
    }
    ItemKind operator()(const event::Reading &event) const {
        put_signed(out, event.host_tgid);
        put(out, event.reported ? 1 : 0);
        if (event.reported) {
            put_raw_reading(out, *event.reported, base_ns);
        } else {
            put_error(out, event.reported.error());
        }
        return ItemKind::Reading;
    }
    ItemKind operator()(const event::TickEnd &event) const {
        put(out, event.until_ns ? 1 : 0);
        if (event.until_ns) time(*event.until_ns);
        moment(event.at);
        cost(event.own);
        return ItemKind::TickEnd;
    }
    ItemKind operator()(const event::Stop &event) const {
        moment(event.at);
        return ItemKind::Stop;
    }
    ItemKind operator()(const event::End &event) const {
        moment(event.at);
        cost(event.own);
        return ItemKind::End;
    }
    ItemKind operator()(const event::Gap &event) const {
        put(out, event.records);
        put(out, event.events);
        return ItemKind::Gap;
    }
    ItemKind operator()(const event::FreshStart & /*event*/) const { return ItemKind::FreshStart; }
    ItemKind operator()(const event::CpusFolded &event) const {
        time(event.since_ns);
        time(event.until_ns);
        return ItemKind::CpusFolded;
    }
    ItemKind operator()(const event::MappingChanges &event) const {
        put_mapping_changes(out, event, base_ns);
        return ItemKind::MappingChanges;
    }
    ItemKind operator()(const event::MappingListing &event) const {
        put_mapping_listing(out, event, base_ns);
        return ItemKind::MappingListing;
    }
    ItemKind operator()(const event::AtExec &event) const {
        timed(event.counters);
        return ItemKind::AtExec;
    }
    ItemKind operator()(const event::Samples &event) const {
        put_samples(out, event, base_ns);
        return ItemKind::Samples;
    }
    ItemKind operator()(const event::Stacks &event) const {
        put_stacks(out, event);
        return ItemKind::Stacks;
    }
    ItemKind operator()(const event::AbsentPages &event) const {
        time(event.t_ns);
        put_absent_pages(out, event);
        return ItemKind::AbsentPages;
    }
};

std::uint64_t read_time(ByteReader &in, std::uint64_t base_ns) {
    return base_ns + static_cast<std::uint64_t>(in.signed_number());
}

event::Moment read_moment(ByteReader &in, std::uint64_t base_ns) {
    event::Moment at;
    at.t_ns = read_time(in, base_ns);
    at.unix_ns = static_cast<std::int64_t>(at.t_ns + static_cast<std::uint64_t>(in.signed_number()));
    return at;
}

/// The leader's comm, at the end of an item; absent from old recordings.
void read_comm(ByteReader &in, core::TimedCounters &timed) {
    if (!in.at_end()) timed.counters.comm = in.name();
}

core::TimedCounters read_timed(ByteReader &in, std::uint64_t base_ns) {
    core::TimedCounters timed;
    timed.counters = read_counters(in);
    timed.begin_ns = read_time(in, base_ns);
    timed.end_ns = read_time(in, base_ns);
    return timed;
}

/// Escapes the texts here: they come from a file, and are printed as they are later.
core::Error read_error(ByteReader &in) {
    constexpr std::size_t kMostText = 4096;
    core::Error error;
    const std::uint64_t kind = in.number();
    if (kind < std::size(kKinds)) error.kind = kKinds[kind];
    error.what = core::harmless(in.text_up_to(kMostText));
    error.err = in.small();
    error.remedy = core::harmless(in.text_up_to(kMostText));
    return error;
}

std::optional<event::Event> read_records(ByteReader &in, std::uint64_t base_ns) {
    event::Records records;
    records.ring = static_cast<std::uint32_t>(in.number());
    auto bytes = unpack(in, base_ns);
    if (!bytes) {
        in.fail();
        return std::nullopt;
    }
    records.bytes = std::move(*bytes);
    return records;
}

event::Faults read_faults(ByteReader &in) {
    event::Faults faults;
    const std::size_t tasks = in.count();
    std::uint32_t tid = 0;
    for (std::size_t i = 0; i < tasks && !in.bad(); ++i) {
        tid += static_cast<std::uint32_t>(in.signed_number());
        const std::uint64_t user = in.number();
        faults.tasks.push_back({static_cast<int>(tid), {user, in.number()}});
    }
    return faults;
}

event::Counters read_counters_item(ByteReader &in, std::uint64_t base_ns) {
    const int pid = in.small();
    if (!in.yes()) return {pid, read_error(in)};
    core::TimedCounters timed = read_timed(in, base_ns);
    read_comm(in, timed);
    return {pid, std::move(timed)};
}

core::OwnCost read_cost(ByteReader &in) {
    core::OwnCost own;
    own.cpu_percent = in.real();
    if (in.yes()) own.bpf_ns_per_event = in.real();
    own.rss.n = in.signed_number();
    if (!in.at_end()) own.buffers = {in.signed_number()};  // absent from old recordings
    return own;
}

event::Attach read_attach(ByteReader &in, std::uint64_t base_ns) {
    event::Attach attach;
    attach.host_tgid = in.small();
    attach.counters = read_timed(in, base_ns);
    attach.faults = read_faults(in);
    read_comm(in, attach.counters);
    return attach;
}

event::ExecAwaited read_awaited(ByteReader &in) {
    event::ExecAwaited awaited;
    awaited.host_tgid = in.small();
    awaited.tgid = in.small();
    awaited.mm = in.number();
    return awaited;
}

event::Reading read_reading(ByteReader &in, std::uint64_t base_ns) {
    const int host_tgid = in.small();
    if (!in.yes()) return {host_tgid, read_error(in)};
    return {host_tgid, read_raw_reading(in, base_ns)};
}

event::TickEnd read_tick_end(ByteReader &in, std::uint64_t base_ns) {
    event::TickEnd end;
    if (in.yes()) end.until_ns = read_time(in, base_ns);
    end.at = read_moment(in, base_ns);
    end.own = read_cost(in);
    return end;
}

}  // namespace

void put_item(Bytes &out, const event::Event &event, std::uint64_t base_ns) {
    Bytes body;
    const ItemKind kind = std::visit(PutBody{body, base_ns}, event);
    put(out, static_cast<std::uint64_t>(kind));
    put_text(out, body);
}

void put_records(Bytes &out, std::uint32_t ring, std::string_view packed) {
    Bytes head;
    put(head, ring);
    put(out, static_cast<std::uint64_t>(ItemKind::Records));
    put(out, head.size() + packed.size());
    out += head;
    out += packed;
}

RawItem next_raw_item(ByteReader &in) {
    const std::uint64_t kind = in.number();
    return {kind, in.text()};
}

std::optional<event::Event> read_item(std::uint64_t kind, ByteReader &in, std::uint64_t base_ns) {
    if (kind > static_cast<std::uint64_t>(ItemKind::AbsentPages)) return std::nullopt;
    switch (static_cast<ItemKind>(kind)) {
        case ItemKind::Records: return read_records(in, base_ns);
        case ItemKind::Faults: return read_faults(in);
        case ItemKind::Counters: return read_counters_item(in, base_ns);
        case ItemKind::Gap: {
            const std::uint64_t records = in.number();
            return event::Gap{records, in.number()};
        }
        case ItemKind::Losses: {
            const std::uint64_t t_ns = read_time(in, base_ns);
            return event::Losses{t_ns, read_losses(in)};
        }
        case ItemKind::Watermark: {
            const std::uint64_t until_ns = read_time(in, base_ns);
            return event::Watermark{until_ns, read_moment(in, base_ns)};
        }
        case ItemKind::Attach: return read_attach(in, base_ns);
        case ItemKind::ExecAwaited: return read_awaited(in);
        case ItemKind::Reading: return read_reading(in, base_ns);
        case ItemKind::TickEnd: return read_tick_end(in, base_ns);
        case ItemKind::Stop: return event::Stop{read_moment(in, base_ns)};
        case ItemKind::End: {
            const event::Moment at = read_moment(in, base_ns);
            return event::End{at, read_cost(in)};
        }
        case ItemKind::FreshStart: return event::FreshStart{};
        case ItemKind::CpusFolded: {
            const std::uint64_t since_ns = read_time(in, base_ns);
            return event::CpusFolded{since_ns, read_time(in, base_ns)};
        }
        case ItemKind::MappingChanges: return read_mapping_changes(in, base_ns);
        case ItemKind::MappingListing: return read_mapping_listing(in, base_ns);
        case ItemKind::AtExec: return event::AtExec{read_timed(in, base_ns)};
        case ItemKind::Samples: return read_samples(in, base_ns);
        case ItemKind::Stacks: return read_stacks(in);
        case ItemKind::AbsentPages: {
            const std::uint64_t t_ns = read_time(in, base_ns);
            return read_absent_pages(in, t_ns);
        }
    }
    return std::nullopt;
}

}  // namespace rsslag::recording
