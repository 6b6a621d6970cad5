// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>

#include "item_codec.h"

namespace rsslag::recording {
namespace {

/// Numbers of the fields in the file. A number is never reused.
enum class Field : std::uint8_t {
    Writer = 1,
    Kernel = 2,
    Arch = 3,
    Host = 4,
    CommandLine = 5,
    Machine = 6,
    Calibration = 7,
    MissingHooks = 8,
    Clocks = 9,
    HalfIdKey = 10,
    Tracing = 11,
    Segment = 12,
    Before = 13,
    Version = 14,
    AnonOrders = 15,
    BootId = 16,
    TraceId = 17,
    IdKey = 18,
    Samples = 19,
    Last = Samples
};

void put_field(Bytes &out, Field field, std::string_view body) {
    put(out, static_cast<std::uint64_t>(field));
    put_text(out, body);
}

template <class... Numbers>
Bytes numbers(Numbers... values) {
    Bytes body;
    (put_signed(body, static_cast<std::int64_t>(values)), ...);
    return body;
}

Bytes texts(const std::vector<std::string> &values) {
    Bytes body;
    put(body, values.size());
    for (const std::string &value : values)
        put_text(body, value);
    return body;
}

std::vector<std::string> read_texts(ByteReader &in) {
    std::vector<std::string> values;
    const std::size_t n = in.count();
    for (std::size_t i = 0; i < n && !in.bad(); ++i)
        values.emplace_back(in.text());
    return values;
}

template <class Enum>
Enum read_enum(ByteReader &in, Enum last) {
    const std::int64_t value = in.signed_number();
    if (value < 0 || value > static_cast<std::int64_t>(last)) {
        in.fail();
        return last;
    }
    return static_cast<Enum>(value);
}

constexpr std::int64_t kMostClockTicks = 1 << 20;
constexpr std::uint64_t kMostInterval = std::uint64_t{1} << 40;  // ms; no overflow when converted to ns
/// No command line is longer (MAX_ARG_STRLEN; a quarter of the stack limit). Also bounds what is printed of it.
constexpr std::size_t kMostHeader = std::size_t{8} << 20;

/// struct new_utsname has 64 bytes per text; a UUID is shorter. Exports repeat these names in each row.
constexpr std::size_t kMostName = 64;

std::string read_name(ByteReader &in) {
    if (in.left() > kMostName) in.fail();
    return std::string(in.raw(in.left()));
}

int read_positive(ByteReader &in, std::int64_t most) {
    const std::int64_t value = in.signed_number();
    if (value < 1 || value > most) in.fail();
    return static_cast<int>(std::clamp<std::int64_t>(value, 1, most));
}

void read_machine(ByteReader &in, core::Machine &machine) {
    machine.scheme = read_enum(in, core::Scheme::Plain);
    machine.page_size.bytes = in.signed_number();
    if (machine.page_size.bytes < 1024 || machine.page_size.bytes > (1 << 24)) {
        in.fail();
        machine.page_size = {};
    }
    machine.cpus_online = read_positive(in, core::kMostCpus);
    machine.cpus_possible = read_positive(in, core::kMostCpus);
    if (!in.at_end()) machine.cpus_present = read_positive(in, core::kMostCpus);  // absent from old recordings
}

void read_field(Field field, ByteReader &in, Header &header) {
    switch (field) {
        case Field::Writer: header.writer = in.raw(in.left()); break;
        case Field::Kernel: header.kernel = read_name(in); break;
        case Field::Arch: header.arch = in.raw(in.left()); break;
        case Field::Host: header.host = read_name(in); break;
        case Field::CommandLine: header.command_line = read_texts(in); break;
        case Field::Machine: read_machine(in, header.machine); break;
        case Field::Calibration:
            for (core::Truth *const truth :
                 {&header.calibration.stat, &header.calibration.statm, &header.calibration.status})
                *truth = read_enum(in, core::Truth::Exact);
            break;
        case Field::MissingHooks: header.missing_hooks = read_texts(in); break;
        case Field::Clocks:
            header.start_ns = static_cast<std::uint64_t>(in.signed_number());
            header.start_unix_ns = in.signed_number();
            header.boot_unix_ns = in.signed_number();
            header.clock_ticks = read_positive(in, kMostClockTicks);
            break;
        case Field::HalfIdKey: header.id_key.first = static_cast<std::uint64_t>(in.signed_number()); break;
        case Field::IdKey:
            header.id_key.first = static_cast<std::uint64_t>(in.signed_number());
            header.id_key.second = static_cast<std::uint64_t>(in.signed_number());
            break;
        case Field::Tracing:
            header.follow = in.signed_number() != 0;
            header.counting = in.signed_number() != 0;
            header.walk = in.signed_number() != 0;
            header.threads = static_cast<std::uint8_t>(std::clamp<std::int64_t>(in.signed_number(), 0, 3));
            header.threads_top = static_cast<std::uint64_t>(in.signed_number());
            header.interval_ms = std::min(static_cast<std::uint64_t>(in.signed_number()), kMostInterval);
            break;
        case Field::Segment: header.segment = static_cast<std::uint64_t>(in.signed_number()); break;
        case Field::Before: header.before = read_losses(in); break;
        case Field::Version: header.version = static_cast<std::uint32_t>(in.signed_number()); break;
        case Field::BootId: header.boot_id = read_name(in); break;
        case Field::TraceId: header.trace_id = read_name(in); break;
        case Field::Samples: header.sample_period = static_cast<std::uint32_t>(in.signed_number()); break;
        case Field::AnonOrders: header.machine.anon_orders = static_cast<std::uint32_t>(in.signed_number()) | 1U; break;
    }
}

}  // namespace

void put_header(Bytes &out, const Header &header) {
    put_field(out, Field::Writer, header.writer);
    put_field(out, Field::Kernel, header.kernel);
    put_field(out, Field::Arch, header.arch);
    put_field(out, Field::Host, header.host);
    put_field(out, Field::CommandLine, texts(header.command_line));
    const core::Machine &machine = header.machine;
    put_field(out, Field::Machine,
              numbers(machine.scheme, machine.page_size.bytes, machine.cpus_online, machine.cpus_possible,
                      std::max(machine.cpus_present, machine.cpus_online)));
    put_field(out, Field::Calibration,
              numbers(header.calibration.stat, header.calibration.statm, header.calibration.status));
    put_field(out, Field::MissingHooks, texts(header.missing_hooks));
    put_field(out, Field::Clocks,
              numbers(header.start_ns, header.start_unix_ns, header.boot_unix_ns, header.clock_ticks));
    put_field(out, Field::HalfIdKey, numbers(header.id_key.first));  // for readers that do not know the other field
    put_field(
        out, Field::Tracing,
        numbers(header.follow, header.counting, header.walk, header.threads, header.threads_top, header.interval_ms));
    put_field(out, Field::Segment, numbers(header.segment));
    Bytes before;
    put_losses(before, header.before);
    put_field(out, Field::Before, before);
    put_field(out, Field::Version, numbers(header.version));
    put_field(out, Field::AnonOrders, numbers(machine.anon_orders));
    put_field(out, Field::BootId, header.boot_id);
    put_field(out, Field::TraceId, header.trace_id);
    put_field(out, Field::IdKey, numbers(header.id_key.first, header.id_key.second));
    if (header.sample_period > 0) put_field(out, Field::Samples, numbers(header.sample_period));
}

std::optional<Header> read_header(std::string_view bytes) {
    if (bytes.size() > kMostHeader) return std::nullopt;
    ByteReader in(bytes);
    Header header;
    header.version = 1;  // version 1 has no such field
    bool machine = false;
    while (!in.at_end()) {
        const std::uint64_t field = in.number();
        ByteReader body(in.text());
        if (field >= 1 && field <= static_cast<std::uint64_t>(Field::Last))
            read_field(static_cast<Field>(field), body, header);
        if (in.bad() || body.bad()) return std::nullopt;
        machine = machine || field == static_cast<std::uint64_t>(Field::Machine);
    }
    if (!machine) return std::nullopt;
    return header;
}

}  // namespace rsslag::recording
