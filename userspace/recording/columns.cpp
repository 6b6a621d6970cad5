// SPDX-License-Identifier: BSD-2-Clause
#include "columns.h"

#include <array>
#include <cstring>
#include <deque>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "rsslag/core/wire.h"

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

/// Finds them. Packer and unpacker get the same ones, as they see the keys in the same order.
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
    using Four = std::array<std::int64_t, 4>;
    std::uint64_t base_ns_;
    std::map<std::uint16_t, std::uint64_t> times_;
    std::map<std::int32_t, std::uint64_t> addresses_;
    std::map<std::pair<std::uint64_t, std::uint8_t>, std::int64_t> counts_;
    std::map<std::tuple<std::int32_t, std::uint64_t, std::uint16_t, std::uint8_t>, std::array<std::int64_t, 1>> one_;
    std::map<std::int32_t, Four> by_task_;
    std::map<std::pair<std::uint16_t, std::uint64_t>, Four> by_cpu_;
    std::map<std::uint16_t, std::uint64_t> numbers_;
    std::map<std::int32_t, std::int64_t> events_;
};

Key key_of(const rsslag_update &r) {
    return {r.kind,
            r.flags,
            r.tid,
            r.mm,
            std::uint64_t{r.cpu} | std::uint64_t{r.member} << 16 | std::uint64_t{r.pad} << 24,
            r.address != 0};
}
Key key_of(const rsslag_fault &r) {
    return {r.kind, r.flags, r.tid, r.mm, std::uint64_t{r.cpu} | std::uint64_t{r.pad} << 16, r.address != 0};
}
Key key_of(const rsslag_sum &r) {
    return {r.kind,
            r.flags,
            r.tid,
            r.mm,
            std::uint64_t{r.cpu} | std::uint64_t{r.of} << 16 | std::uint64_t{r.members} << 32 |
                std::uint64_t{r.pad[0]} << 40 | std::uint64_t{r.pad[1]} << 48 | std::uint64_t{r.pad[2]} << 56,
            false};
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
        write(record, previous);
        going_on_ += wire::is_sent(record) ? 0 : 1;
    }

    void write(const rsslag_update &r, const Previous &previous) {
        if (r.address != 0) put_signed(columns_[Address], growth(r.address, *previous.address));
        put_signed(columns_[Count], growth(std::int64_t{r.count}, *previous.count));
        put_signed(columns_[Cached], growth(std::int64_t{r.cached}, *previous.cached));
    }
    void write(const rsslag_fault &r, const Previous &previous) {
        if (r.address != 0) put_signed(columns_[Address], growth(r.address, *previous.address));
        for (std::size_t i = 0; i < 4; ++i)
            put_signed(columns_[Each], growth(std::int64_t{r.cached[i]}, previous.cached[i]));
        put_signed(columns_[Events], growth(std::int64_t{r.events}, *previous.events));
    }
    void write(const rsslag_sum &r, const Previous &previous) {
        for (std::size_t i = 0; i < 4; ++i)
            put_signed(columns_[Each], growth(std::int64_t{r.cached[i]}, previous.cached[i]));
        put(columns_[Events], r.updates);
        put_signed(columns_[Numbers], growth(std::uint64_t{r.number}, *previous.number));
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

    template <class Record>
    Record begun(const Key &key, const Previous &previous) {
        Record r{};
        r.kind = key.kind;
        r.flags = key.flags;
        r.tid = key.tid;
        r.mm = key.mm;
        r.cpu = key.cpu();
        r.t_ns = grow(*previous.t_ns, columns_[Times].signed_number());
        return r;
    }

    bool read(std::type_identity<rsslag_task> /*whole*/, const Key & /*key*/, const Previous & /*previous*/) {
        append(columns_[Raw].raw(sizeof(rsslag_task)));
        return !columns_[Raw].bad();
    }
    bool read(std::type_identity<rsslag_update> /*type*/, const Key &key, const Previous &previous) {
        auto r = begun<rsslag_update>(key, previous);
        r.member = static_cast<rsslag_u8>(key.rest >> 16);
        r.pad = static_cast<rsslag_u8>(key.rest >> 24);
        if (key.addressed) r.address = grow(*previous.address, columns_[Address].signed_number());
        r.count = grow(*previous.count, columns_[Count].signed_number());
        r.cached = static_cast<rsslag_s32>(grow(*previous.cached, columns_[Cached].signed_number()));
        return done(r);
    }
    bool read(std::type_identity<rsslag_fault> /*type*/, const Key &key, const Previous &previous) {
        auto r = begun<rsslag_fault>(key, previous);
        r.pad = static_cast<rsslag_u16>(key.rest >> 16);
        if (key.addressed) r.address = grow(*previous.address, columns_[Address].signed_number());
        for (std::size_t i = 0; i < 4; ++i)
            r.cached[i] = static_cast<rsslag_s32>(grow(previous.cached[i], columns_[Each].signed_number()));
        r.events = static_cast<rsslag_s32>(grow(*previous.events, columns_[Events].signed_number()));
        return done(r);
    }
    bool read(std::type_identity<rsslag_sum> /*type*/, const Key &key, const Previous &previous) {
        auto r = begun<rsslag_sum>(key, previous);
        r.of = static_cast<rsslag_u16>(key.rest >> 16);
        r.members = static_cast<rsslag_u8>(key.rest >> 32);
        for (std::size_t i = 0; i < 3; ++i)
            r.pad[i] = static_cast<rsslag_u8>(key.rest >> (40 + 8 * i));
        for (std::size_t i = 0; i < 4; ++i)
            r.cached[i] = static_cast<rsslag_s32>(grow(previous.cached[i], columns_[Each].signed_number()));
        r.updates = static_cast<rsslag_u32>(columns_[Events].number());
        r.number = static_cast<rsslag_u32>(grow(*previous.number, columns_[Numbers].signed_number()));
        return done(r);
    }

    template <class Record>
    bool done(const Record &r) {
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
