// SPDX-License-Identifier: BSD-2-Clause
#include "item_codec.h"

#include <type_traits>
#include <utility>

#include "columns.h"
#include "rsslag/core/text.h"

namespace rsslag::recording {
namespace {

// As the file has them; Kind has no numbers of its own.
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

/// Words for people, as rsslag wrote them; who prints an error takes them so.
core::Error read_error(In &in) {
    core::Error error;
    const std::uint64_t kind = in.number();
    if (kind < std::size(kKinds)) error.kind = kKinds[kind];
    error.what = core::harmless(in.text());
    error.err = in.small();
    error.remedy = core::harmless(in.text());
    return error;
}

struct PutBody {
    Bytes &out;
    std::uint64_t base_ns;

    void time(std::uint64_t t_ns) const { put_signed(out, static_cast<std::int64_t>(t_ns - base_ns)); }

    ItemKind operator()(const Call &call) const {
        put(out, static_cast<std::uint64_t>(call.ask));
        put_signed(out, call.pid);
        return ItemKind::Call;
    }
    ItemKind operator()(const Records &records) const {
        put(out, records.ring);
        pack(records.bytes, base_ns, out);
        return ItemKind::Records;
    }
    ItemKind operator()(const Collected & /*end*/) const { return ItemKind::Collected; }
    ItemKind operator()(const Now &now) const {
        time(now.t_ns);
        return ItemKind::Now;
    }
    ItemKind operator()(const Time &time) const {
        put_signed(out, time.unix_ns);
        return ItemKind::Time;
    }
    ItemKind operator()(const core::Losses &losses) const {
        put_losses(out, losses);
        return ItemKind::Losses;
    }
    ItemKind operator()(const Faults &faults) const {
        put(out, faults.tasks.size());
        int before = 0;
        for (const Faults::Task &task : faults.tasks) {
            put_signed(out, std::int64_t{task.host_tid} - before);
            before = task.host_tid;
            put(out, task.counts.user);
            put(out, task.counts.kernel);
        }
        return ItemKind::Faults;
    }
    ItemKind operator()(const Counters &counters) const {
        put_signed(out, counters.pid);
        put(out, counters.told ? 1 : 0);
        if (counters.told) {
            put_counters(out, counters.told->counters);
            time(counters.told->begin_ns);
            time(counters.told->end_ns);
        } else {
            put_error(out, counters.told.error());
        }
        return ItemKind::Counters;
    }
    ItemKind operator()(const Reading &reading) const {
        put_signed(out, reading.host_tgid);
        put_signed(out, reading.pid);
        put(out, reading.told ? 1 : 0);
        if (reading.told) {
            put_raw_reading(out, *reading.told, base_ns);
        } else {
            put_error(out, reading.told.error());
        }
        return ItemKind::Reading;
    }
    ItemKind operator()(const Wanted &wanted) const {
        put(out, wanted.told ? 1 : 0);
        if (!wanted.told) put_error(out, wanted.told.error());
        return ItemKind::Wanted;
    }
    ItemKind operator()(const Cost &cost) const {
        put(out, cost.whole ? 1 : 0);
        put_double(out, cost.cpu_percent);
        put(out, cost.bpf_ns_per_event ? 1 : 0);
        if (cost.bpf_ns_per_event) put_double(out, *cost.bpf_ns_per_event);
        put_signed(out, cost.rss.n);
        return ItemKind::Cost;
    }
    ItemKind operator()(const Overflow &overflow) const {
        put(out, overflow.records);
        put(out, overflow.items);
        return ItemKind::Overflow;
    }
};

std::uint64_t read_time(In &in, std::uint64_t base_ns) {
    return base_ns + static_cast<std::uint64_t>(in.signed_number());
}

std::optional<Item> read_call(In &in) {
    const std::uint64_t ask = in.number();
    const int pid = in.small();
    if (ask < static_cast<std::uint64_t>(Ask::Attach) || ask > static_cast<std::uint64_t>(Ask::Summary))
        return std::nullopt;
    return Call{static_cast<Ask>(ask), pid};
}

std::optional<Item> read_records(In &in, std::uint64_t base_ns) {
    Records records;
    records.ring = static_cast<std::uint32_t>(in.number());
    auto bytes = unpack(in, base_ns);
    if (!bytes) {
        in.fail();
        return std::nullopt;
    }
    records.bytes = std::move(*bytes);
    return records;
}

Item read_faults(In &in) {
    Faults faults;
    const std::size_t tasks = in.count();
    std::uint32_t tid = 0;
    for (std::size_t i = 0; i < tasks && !in.bad(); ++i) {
        tid += static_cast<std::uint32_t>(in.signed_number());
        const std::uint64_t user = in.number();
        faults.tasks.push_back({static_cast<int>(tid), {user, in.number()}});
    }
    return faults;
}

Item read_counters_item(In &in, std::uint64_t base_ns) {
    const int pid = in.small();
    if (!in.yes()) return Counters{pid, read_error(in)};
    core::TimedCounters timed;
    timed.counters = read_counters(in);
    timed.begin_ns = read_time(in, base_ns);
    timed.end_ns = read_time(in, base_ns);
    return Counters{pid, std::move(timed)};
}

Item read_reading(In &in, std::uint64_t base_ns) {
    const int host_tgid = in.small();
    const int pid = in.small();
    if (!in.yes()) return Reading{host_tgid, pid, read_error(in)};
    return Reading{host_tgid, pid, read_raw_reading(in, base_ns)};
}

Item read_cost(In &in) {
    Cost cost;
    cost.whole = in.yes();
    cost.cpu_percent = in.real();
    if (in.yes()) cost.bpf_ns_per_event = in.real();
    cost.rss.n = in.signed_number();
    return cost;
}

std::optional<Item> read_body(ItemKind kind, In &in, std::uint64_t base_ns) {
    switch (kind) {
        case ItemKind::Call: return read_call(in);
        case ItemKind::Records: return read_records(in, base_ns);
        case ItemKind::Collected: return Collected{};
        case ItemKind::Now: return Now{read_time(in, base_ns)};
        case ItemKind::Time: return Time{in.signed_number()};
        case ItemKind::Losses: return read_losses(in);
        case ItemKind::Faults: return read_faults(in);
        case ItemKind::Counters: return read_counters_item(in, base_ns);
        case ItemKind::Reading: return read_reading(in, base_ns);
        case ItemKind::Wanted: return in.yes() ? Wanted{core::success()} : Wanted{read_error(in)};
        case ItemKind::Cost: return read_cost(in);
        case ItemKind::Overflow: {
            const std::uint64_t records = in.number();
            return Overflow{records, in.number()};
        }
    }
    return std::nullopt;
}

void put_body(Bytes &out, ItemKind kind, std::string_view body) {
    put(out, static_cast<std::uint64_t>(kind));
    put_text(out, body);
}

}  // namespace

void put_item(Bytes &out, const Item &item, std::uint64_t base_ns) {
    Bytes body;
    const ItemKind kind = std::visit(PutBody{body, base_ns}, item);
    put_body(out, kind, body);
}

void put_records(Bytes &out, std::uint32_t ring, std::string_view packed) {
    Bytes head;
    put(head, ring);
    put(out, static_cast<std::uint64_t>(ItemKind::Records));
    put(out, head.size() + packed.size());
    out += head;
    out += packed;
}

std::optional<Item> next_item(In &in, std::uint64_t base_ns) {
    const std::uint64_t kind = in.number();
    In body(in.text());
    if (in.bad() || kind > static_cast<std::uint64_t>(ItemKind::Overflow)) return std::nullopt;
    auto item = read_body(static_cast<ItemKind>(kind), body, base_ns);
    if (!body.bad()) return item;  // what a later version adds to a body is not looked at
    in.fail();
    return std::nullopt;
}

}  // namespace rsslag::recording
