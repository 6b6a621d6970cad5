// SPDX-License-Identifier: BSD-2-Clause
#include "mapping_codec.h"

#include "names.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rsslag::recording {
namespace {

using core::MappedRange;
using core::MappingChange;
using core::MappingListing;

/// Addresses of mappings are multiples of 4 KiB on every kernel.
constexpr unsigned kPageBits = 12;

enum MappingColumn : std::size_t {
    KindColumn,
    TimeColumn,
    PidColumn,
    TidColumn,
    StartColumn,
    LengthColumn,
    FlagColumn,
    NameColumn,
    MoreColumn,
    MappingColumnCount
};
using MappingColumns = std::array<Bytes, MappingColumnCount>;
using MappingReaders = std::array<ByteReader, MappingColumnCount>;

/// Encodes a range relative to the end of the previous one.
class Places {
  public:
    void put_range(Bytes &starts, Bytes &lengths, std::uint64_t start, std::uint64_t end) {
        put_signed(starts, static_cast<std::int64_t>((start >> kPageBits) - before_));
        put(lengths, (end - start) >> kPageBits);
        before_ = end >> kPageBits;
    }
    void read_range(ByteReader &starts, ByteReader &lengths, std::uint64_t &start, std::uint64_t &end) {
        constexpr std::uint64_t kMost = UINT64_MAX >> kPageBits;
        const std::uint64_t first = before_ + static_cast<std::uint64_t>(starts.signed_number());
        const std::uint64_t length = lengths.number();
        if (first > kMost || length > kMost - first) return starts.fail();
        start = first << kPageBits;
        end = (first + length) << kPageBits;
        before_ = first + length;
    }

  private:
    std::uint64_t before_ = 0;
};

bool has_range(MappingChange::Kind kind) {
    return kind == MappingChange::Kind::Mapped || kind == MappingChange::Kind::Moved ||
           kind == MappingChange::Kind::Named;
}

/// Build ids of the changes that have one, after all columns. Absent from older recordings.
class BuildIdWriter {
  public:
    void add(std::size_t change, const core::BuildId &id) {
        const std::string bytes(id.bytes.begin(), id.bytes.begin() + id.size);
        put(places_, change - std::exchange(before_, change));
        put(places_, ids_.number_of(bytes));
        count_++;
    }
    void finish(Bytes &out) const {
        if (count_ == 0) return;
        ids_.put_all(out);
        put(out, count_);
        out += places_;
    }

  private:
    Names ids_;
    Bytes places_;
    std::size_t before_ = 0, count_ = 0;
};

void read_build_ids(ByteReader &in, std::vector<MappingChange> &changes) {
    ReadNames ids(in);
    const std::size_t count = in.count();
    std::size_t at = 0;
    for (std::size_t i = 0; i < count && !in.bad(); ++i) {
        const std::uint64_t step = in.number();
        const std::string bytes = ids.take(in);
        if (step >= changes.size() - at || bytes.size() > core::BuildId::kMost) return in.fail();
        at += static_cast<std::size_t>(step);
        core::BuildId &id = changes[at].build_id;
        std::copy(bytes.begin(), bytes.end(), id.bytes.begin());
        id.size = static_cast<std::uint8_t>(bytes.size());
    }
}

class ChangeWriter {
  public:
    explicit ChangeWriter(std::uint64_t base_ns) : t_ns_(base_ns) {}

    void add(const MappingChange &change) {
        if (change.build_id.known()) build_ids_.add(count_, change.build_id);
        count_++;
        put(columns_[KindColumn], static_cast<std::uint64_t>(change.kind));
        put_signed(columns_[TimeColumn], static_cast<std::int64_t>(change.t_ns - t_ns_));
        put_signed(columns_[PidColumn], std::int64_t{change.pid} - pid_);
        put_signed(columns_[TidColumn], std::int64_t{change.tid} - change.pid);
        t_ns_ = change.t_ns;
        pid_ = change.pid;
        if (change.kind == MappingChange::Kind::Lost) put(columns_[MoreColumn], change.lost);
        if (!has_range(change.kind)) return;
        places_.put_range(columns_[StartColumn], columns_[LengthColumn], change.range.start, change.range.end);
        put(columns_[FlagColumn], change.range.flags);
        put(columns_[NameColumn], names_.number_of(change.range.name));
        if (change.kind != MappingChange::Kind::Moved) return;
        olds_.put_range(columns_[MoreColumn], columns_[MoreColumn], change.old_start, change.old_end);
    }
    void finish(Bytes &out) const {
        names_.put_all(out);
        for (const Bytes &column : columns_)
            put_text(out, column);
        build_ids_.finish(out);
    }

  private:
    MappingColumns columns_;
    Names names_;
    BuildIdWriter build_ids_;
    std::size_t count_ = 0;
    Places places_, olds_;
    std::uint64_t t_ns_;
    int pid_ = 0;
};

class ChangeReader {
  public:
    ChangeReader(ReadNames names, MappingReaders columns, std::uint64_t base_ns)
        : names_(std::move(names)), columns_(columns), t_ns_(base_ns) {}

    MappingChange next() {
        constexpr auto kLast = static_cast<std::uint64_t>(MappingChange::Kind::Lost);
        MappingChange change;
        const std::uint64_t kind = columns_[KindColumn].number();
        if (kind > kLast) columns_[KindColumn].fail();
        change.kind = static_cast<MappingChange::Kind>(std::min(kind, kLast));
        change.t_ns = t_ns_ += static_cast<std::uint64_t>(columns_[TimeColumn].signed_number());
        change.pid = static_cast<int>(pid_ += static_cast<std::uint32_t>(columns_[PidColumn].signed_number()));
        change.tid = static_cast<int>(pid_ + static_cast<std::uint32_t>(columns_[TidColumn].signed_number()));
        if (change.kind == MappingChange::Kind::Lost) change.lost = columns_[MoreColumn].number();
        if (has_range(change.kind)) read_range(change);
        return change;
    }
    bool bad() const {
        return std::any_of(columns_.begin(), columns_.end(), [](const ByteReader &column) { return column.bad(); });
    }

  private:
    void read_range(MappingChange &change) {
        places_.read_range(columns_[StartColumn], columns_[LengthColumn], change.range.start, change.range.end);
        change.range.flags = static_cast<std::uint8_t>(columns_[FlagColumn].number());
        change.range.name = names_.take(columns_[NameColumn]);
        if (change.kind != MappingChange::Kind::Moved) return;
        olds_.read_range(columns_[MoreColumn], columns_[MoreColumn], change.old_start, change.old_end);
    }

    ReadNames names_;
    MappingReaders columns_;
    Places places_, olds_;
    std::uint64_t t_ns_;
    std::uint32_t pid_ = 0;
};

}  // namespace

void put_mapping_changes(Bytes &out, const event::MappingChanges &event, std::uint64_t base_ns) {
    ChangeWriter writer(base_ns);
    for (const MappingChange &change : event.changes)
        writer.add(change);
    put(out, event.changes.size());
    writer.finish(out);
}

event::MappingChanges read_mapping_changes(ByteReader &in, std::uint64_t base_ns) {
    event::MappingChanges event;
    const std::size_t count = in.count();
    ReadNames names(in);
    const auto column = [&in] { return ByteReader(in.text()); };
    // In the order of MappingColumn.
    const MappingReaders columns{column(), column(), column(), column(), column(),
                                 column(), column(), column(), column()};
    ChangeReader reader(std::move(names), columns, base_ns);
    for (std::size_t i = 0; i < count && !in.bad(); ++i) {
        event.changes.push_back(reader.next());
        if (reader.bad()) in.fail();
    }
    if (!in.at_end()) read_build_ids(in, event.changes);
    return event;
}

void put_mapping_listing(Bytes &out, const event::MappingListing &event, std::uint64_t base_ns) {
    const MappingListing &listing = event.listing;
    Names names;
    Places places;
    Bytes entries;
    for (const MappingListing::Entry &entry : listing.entries) {
        places.put_range(entries, entries, entry.range.start, entry.range.end);
        put(entries, entry.range.flags);
        put(entries, names.number_of(entry.range.name));
        put(entries, entry.rss ? static_cast<std::uint64_t>(entry.rss->n) + 1 : 0);
    }
    put_signed(out, static_cast<std::int64_t>(listing.t_ns - base_ns));
    put_signed(out, listing.pid);
    put(out, listing.entries.size());
    names.put_all(out);
    out += entries;
    put(out, listing.stacks.size());
    for (const MappingListing::Stack &stack : listing.stacks) {
        put_signed(out, std::int64_t{stack.tid} - listing.pid);
        put(out, stack.pointer);
    }
}

namespace {

std::vector<MappingListing::Stack> read_stacks(ByteReader &in, int pid) {
    std::vector<MappingListing::Stack> stacks;
    const std::size_t count = in.count();
    for (std::size_t i = 0; i < count && !in.bad(); ++i) {
        const auto tid = static_cast<std::uint32_t>(pid) + static_cast<std::uint32_t>(in.signed_number());
        stacks.push_back({static_cast<int>(tid), in.number()});
    }
    return stacks;
}

}  // namespace

event::MappingListing read_mapping_listing(ByteReader &in, std::uint64_t base_ns) {
    constexpr auto kMostKilobytes = static_cast<std::uint64_t>(core::kMostPagesOfMm) << 6;
    event::MappingListing event;
    MappingListing &listing = event.listing;
    listing.t_ns = base_ns + static_cast<std::uint64_t>(in.signed_number());
    listing.pid = in.small();
    const std::size_t count = in.count();
    ReadNames names(in);
    Places places;
    for (std::size_t i = 0; i < count && !in.bad(); ++i) {
        MappingListing::Entry entry;
        places.read_range(in, in, entry.range.start, entry.range.end);
        entry.range.flags = static_cast<std::uint8_t>(in.number());
        entry.range.name = names.take(in);
        const std::uint64_t rss = in.number();
        if (rss > kMostKilobytes) in.fail();
        if (rss > 0) entry.rss = core::Kilobytes{static_cast<std::int64_t>(rss - 1)};
        if (!in.bad()) listing.entries.push_back(std::move(entry));
    }
    if (!in.at_end()) listing.stacks = read_stacks(in, listing.pid);
    return event;
}

}  // namespace rsslag::recording
