// SPDX-License-Identifier: BSD-2-Clause
#include "columns.h"

#include <array>
#include <concepts>
#include <cstring>
#include <deque>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "core/units.h"
#include "core/wire.h"

namespace rsslag::recording {
namespace {

enum Column : std::uint8_t { Keys, Index, Times, Address, Count, Cached, Each, Events, Numbers, Raw, Tail };
constexpr std::size_t kColumns = Tail + 1;

/// The values that many records have in common.
struct Key {
    std::uint16_t kind = 0;
    std::uint16_t flags = 0;
    std::int32_t tid = 0;
    std::uint64_t mm = 0;
    std::uint64_t rest = 0;  ///< CPU (16 bits), then the other small fields
    bool addressed = false;  ///< its address is not 0

    friend bool operator==(const Key &, const Key &) = default;
    std::uint16_t cpu() const { return static_cast<std::uint16_t>(rest); }
};

struct KeyHash {
    std::size_t operator()(const Key &key) const {
        std::uint64_t x = key.mm * 0x9e3779b97f4a7c15ULL;
        x ^= (static_cast<std::uint64_t>(key.tid) << 32) ^ (std::uint64_t{key.flags} << 16) ^ key.kind;
        x ^= key.rest * 0xbf58476d1ce4e5b9ULL;
        return (x ^ (x >> 29)) * 0x94d049bb133111ebULL >> 7;
    }
};

/// Values of the previous records that a record's values are stored relative to.
struct Previous {
    std::uint64_t *t_ns = nullptr;     ///< by CPU
    std::uint64_t *address = nullptr;  ///< by task
    std::int64_t *count = nullptr;     ///< by mm and member
    std::int64_t *cached = nullptr;    ///< update: one; fault by task, sum by CPU and mm: one per member
    std::uint64_t *number = nullptr;   ///< by CPU
    std::int64_t *events = nullptr;    ///< by task
};

/// Finds these values. Packer and unpacker get the same ones, because they process the keys in the same order.
class PreviousRecords {
  public:
    explicit PreviousRecords(std::uint64_t base_ns) : base_ns_(base_ns) {}

    Previous of(const Key &key) {
        Previous previous;
        const auto member = static_cast<std::uint8_t>(key.rest >> 16);
        const auto of = static_cast<std::uint16_t>(key.rest >> 16);
        const auto [time, fresh] = times_.try_emplace(key.cpu(), base_ns_);
        previous.t_ns = &time->second;
        previous.address = &addresses_[key.tid];
        previous.count = &counts_[{key.mm, member}];
        previous.cached = wire::with_type(key.kind, [&]<class Record>(std::type_identity<Record>) -> std::int64_t * {
            if constexpr (std::is_same_v<Record, rsslag_update>)
                return one_[{key.tid, key.mm, key.cpu(), member}].data();
            if constexpr (std::is_same_v<Record, rsslag_fault>) return by_task_[key.tid].data();
            if constexpr (std::is_same_v<Record, rsslag_sum>) return by_cpu_[{of, key.mm}].data();
            return nullptr;  // task records are kept whole
        });
        previous.number = &numbers_[of];
        previous.events = &events_[key.tid];
        return previous;
    }

  private:
    using ByMember = std::array<std::int64_t, core::kMembers>;
    std::uint64_t base_ns_;
    std::map<std::uint16_t, std::uint64_t> times_;
    std::map<std::int32_t, std::uint64_t> addresses_;
    std::map<std::pair<std::uint64_t, std::uint8_t>, std::int64_t> counts_;
    std::map<std::tuple<std::int32_t, std::uint64_t, std::uint16_t, std::uint8_t>, std::array<std::int64_t, 1>> one_;
    std::map<std::int32_t, ByMember> by_task_;
    std::map<std::pair<std::uint16_t, std::uint64_t>, ByMember> by_cpu_;
    std::map<std::uint16_t, std::uint64_t> numbers_;
    std::map<std::int32_t, std::int64_t> events_;
};

// The fields of each record that is not stored as a whole, for both directions. small() calls `use` for the fields in
// Key::rest, from the lowest bit on. each_value() passes all other fields to the packer or the unpacker.

/// Const in the packer.
template <class Record, class Kind>
concept Of = std::same_as<std::remove_const_t<Record>, Kind>;

template <class Use>
void small(Of<rsslag_update> auto &r, Use use) {
    use(r.cpu);
    use(r.member);
    use(r.pad);
}
template <class Use>
void small(Of<rsslag_fault> auto &r, Use use) {
    use(r.cpu);
    use(r.pad);
}
template <class Use>
void small(Of<rsslag_sum> auto &r, Use use) {
    use(r.cpu);
    use(r.of);
    use(r.members);
    for (auto &pad : r.pad)
        use(pad);
}

template <class Use>
void each_value(Of<rsslag_update> auto &r, const Previous &previous, Use &use) {
    use.address(r.address, *previous.address);
    use.growing(Count, r.count, *previous.count);
    use.growing(Cached, r.cached, *previous.cached);
}
template <class Use>
void each_value(Of<rsslag_fault> auto &r, const Previous &previous, Use &use) {
    use.address(r.address, *previous.address);
    for (std::size_t i = 0; i < core::kMembers; ++i)
        use.growing(Each, r.cached[i], previous.cached[i]);
    use.growing(Events, r.events, *previous.events);
}
template <class Use>
void each_value(Of<rsslag_sum> auto &r, const Previous &previous, Use &use) {
    for (std::size_t i = 0; i < core::kMembers; ++i)
        use.growing(Each, r.cached[i], previous.cached[i]);
    use.whole(Events, r.updates);
    use.growing(Numbers, r.number, *previous.number);
}

template <class Record>
Key key_of(const Record &r) {
    Key key{r.kind, r.flags, r.tid, r.mm, 0, false};
    int shift = 0;
    small(r, [&](auto field) {
        key.rest |= std::uint64_t{field} << shift;
        shift += 8 * sizeof(field);
    });
    if constexpr (requires { r.address; }) key.addressed = r.address != 0;
    return key;
}

template <class Record>
Record record_of(const Key &key) {
    Record r{};
    r.kind = key.kind;
    r.flags = key.flags;
    r.tid = key.tid;
    r.mm = key.mm;
    int shift = 0;
    small(r, [&]<class Field>(Field &field) {
        field = static_cast<Field>(key.rest >> shift);
        shift += 8 * sizeof(field);
    });
    return r;
}

// Differences wrap, so any two numbers have one.
std::int64_t growth(std::uint64_t now, std::uint64_t &before) {
    return static_cast<std::int64_t>(now - std::exchange(before, now));
}
std::int64_t growth(std::int64_t now, std::int64_t &before) {
    const auto old = static_cast<std::uint64_t>(std::exchange(before, now));
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(now) - old);
}
std::uint64_t grow(std::uint64_t &before, std::int64_t by) {
    return before += static_cast<std::uint64_t>(by);
}
std::int64_t grow(std::int64_t &before, std::int64_t by) {
    return before = static_cast<std::int64_t>(static_cast<std::uint64_t>(before) + static_cast<std::uint64_t>(by));
}

class Packer {
  public:
    explicit Packer(std::uint64_t base_ns) : previous_records_(base_ns) {}

    Packed pack(std::span<const std::byte> bytes, Bytes &out) {
        Packed done;
        std::size_t n = 0;
        std::size_t took = 0;
        for (; n < kMostRecords && (took = one(bytes.subspan(done.bytes))) > 0; ++n) {
            done.bytes += took;
        }
        done.records = n - going_on_;
        if (n < kMostRecords) {
            columns_[Tail] = as_text(bytes.subspan(done.bytes));
            done.bytes = bytes.size();
        }
        put(out, n);
        for (const Bytes &column : columns_)
            put_text(out, column);
        return done;
    }

    // For each_value().
    void address(std::uint64_t address, std::uint64_t &before) {
        if (address != 0) growing(Address, address, before);
    }
    template <class Field, class Before>
    void growing(Column column, Field field, Before &before) {
        put_signed(columns_[column], growth(static_cast<Before>(field), before));
    }
    void whole(Column column, std::uint64_t number) { put(columns_[column], number); }

  private:
    /// Adds the record at the start; returns its size, 0: not a record.
    std::size_t one(std::span<const std::byte> bytes) {
        return wire::visit_first(bytes, [this](const auto &record) { add(record); });
    }
    void add(const rsslag_task &record) {
        name({record.kind, 0, 0, 0, 0, false});
        columns_[Raw] += as_text(std::as_bytes(std::span(&record, 1)));
    }
    template <class Record>
    void add(const Record &record) {
        const Previous &previous = name(key_of(record));
        put_signed(columns_[Times], growth(record.t_ns, *previous.t_ns));
        each_value(record, previous, *this);
        going_on_ += wire::is_sent(record) ? 0 : 1;
    }

    /// Writes the key: 0 and all of its fields the first time, then its number (from 1).
    const Previous &name(const Key &key) {
        if (last_ == nullptr || key != last_->first) {
            const auto [found, fresh] = named_.try_emplace(key, 0, Previous{});
            last_ = &*found;
            if (fresh) {
                last_->second = {static_cast<std::uint32_t>(named_.size()), previous_records_.of(key)};
                put(columns_[Index], 0);
                Bytes &keys = columns_[Keys];
                put(keys, key.kind);
                put(keys, key.flags);
                put_signed(keys, key.tid);
                put_signed(keys, growth(key.mm, mm_));
                put(keys, key.rest);
                put(keys, key.addressed ? 1 : 0);
                return last_->second.second;
            }
        }
        put(columns_[Index], last_->second.first);
        return last_->second.second;
    }

    std::array<Bytes, kColumns> columns_;
    PreviousRecords previous_records_;
    std::unordered_map<Key, std::pair<std::uint32_t, Previous>, KeyHash> named_;
    std::pair<const Key, std::pair<std::uint32_t, Previous>> *last_ = nullptr;
    std::uint64_t mm_ = 0;
    std::size_t going_on_ = 0;
};

class Unpacker {
  public:
    Unpacker(ByteReader &in, std::uint64_t base_ns) : previous_records_(base_ns), n_(in.number()) {
        for (std::size_t i = 0; i < kColumns; ++i)
            columns_.emplace_back(in.text());
        if (n_ > kMostRecords) in.fail();
        bad_ = in.bad();
    }

    std::optional<std::vector<std::byte>> unpack() {
        if (bad_) return std::nullopt;
        out_.reserve(static_cast<std::size_t>(n_) * sizeof(rsslag_update));
        for (std::uint64_t i = 0; i < n_; ++i) {
            const Named *const named = next();
            if (named == nullptr || !record(*named)) return std::nullopt;
        }
        for (std::size_t i = 0; i < Tail; ++i) {
            if (columns_[i].bad() || !columns_[i].at_end()) return std::nullopt;
        }
        append(columns_[Tail].raw(columns_[Tail].left()));
        return std::move(out_);
    }

    // For each_value().
    void address(rsslag_u64 &address, std::uint64_t &before) {
        if (addressed_) growing(Address, address, before);
    }
    template <class Field, class Before>
    void growing(Column column, Field &field, Before &before) {
        field = static_cast<Field>(grow(before, columns_[column].signed_number()));
    }
    template <class Field>
    void whole(Column column, Field &field) {
        field = static_cast<Field>(columns_[column].number());
    }

  private:
    using Named = std::pair<Key, Previous>;

    const Named *next() {
        const std::uint64_t index = columns_[Index].number();
        if (index > named_.size() || columns_[Index].bad()) return nullptr;
        if (index > 0) return &named_[static_cast<std::size_t>(index) - 1];
        ByteReader &keys = columns_[Keys];
        Key key;
        key.kind = static_cast<std::uint16_t>(keys.number());
        key.flags = static_cast<std::uint16_t>(keys.number());
        key.tid = static_cast<std::int32_t>(keys.signed_number());
        key.mm = grow(mm_, keys.signed_number());
        key.rest = keys.number();
        key.addressed = keys.yes();
        if (keys.bad()) return nullptr;
        return &named_.emplace_back(key, previous_records_.of(key));
    }

    bool record(const Named &named) {
        return wire::with_type(named.first.kind, [&]<class Record>(std::type_identity<Record> type) {
            return read(type, named.first, named.second);
        });
    }

    bool read(std::type_identity<rsslag_task> /*whole*/, const Key & /*key*/, const Previous & /*previous*/) {
        append(columns_[Raw].raw(sizeof(rsslag_task)));
        return !columns_[Raw].bad();
    }
    template <class Record>
    bool read(std::type_identity<Record> /*type*/, const Key &key, const Previous &previous) {
        auto r = record_of<Record>(key);
        r.t_ns = grow(*previous.t_ns, columns_[Times].signed_number());
        addressed_ = key.addressed;
        each_value(r, previous, *this);
        append({reinterpret_cast<const char *>(&r), sizeof(r)});
        return true;
    }
    void append(std::string_view bytes) {
        const auto *const begin = reinterpret_cast<const std::byte *>(bytes.data());
        out_.insert(out_.end(), begin, begin + bytes.size());
    }

    std::vector<ByteReader> columns_;
    PreviousRecords previous_records_;
    std::uint64_t n_;
    std::deque<Named> named_;
    std::vector<std::byte> out_;
    std::uint64_t mm_ = 0;
    bool bad_ = false;
    bool addressed_ = false;  ///< the current record has an address
};

}  // namespace

Packed pack(std::span<const std::byte> bytes, std::uint64_t base_ns, Bytes &out) {
    return Packer(base_ns).pack(bytes, out);
}

std::uint64_t count_records(std::span<const std::byte> bytes) {
    std::uint64_t records = 0;
    const auto count = [&records](const auto &record) { records += wire::is_sent(record) ? 1 : 0; };
    while (const std::size_t size = wire::visit_first(bytes, count))
        bytes = bytes.subspan(size);
    return records;
}

std::optional<std::vector<std::byte>> unpack(ByteReader &in, std::uint64_t base_ns) {
    return Unpacker(in, base_ns).unpack();
}

}  // namespace rsslag::recording
