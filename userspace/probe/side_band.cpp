// SPDX-License-Identifier: BSD-2-Clause
#include "probe/side_band.h"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <optional>
#include <utility>

#include "core/fd.h"

namespace rsslag::probe {
namespace {

using core::Error;
using core::Kind;
using core::MappingChange;

/// Size of each CPU's ring. With its header page it fits into the default of kernel.perf_event_mlock_kb.
constexpr std::size_t kRingBytes = std::size_t{256} << 10;
/// Of a PERF_RECORD_MMAP2 with a path of PATH_MAX bytes.
constexpr std::size_t kLargestRecord = 4096 + 256;

perf_event_attr attributes() {
    perf_event_attr attr{};
    attr.type = PERF_TYPE_SOFTWARE;
    attr.size = sizeof(attr);
    attr.config = PERF_COUNT_SW_DUMMY;
    attr.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
    attr.sample_id_all = 1;
    attr.mmap = 1;
    attr.mmap_data = 1;
    attr.mmap2 = 1;
    attr.build_id = 1;  // 5.12, 88a16a130933
    attr.comm = 1;
    attr.comm_exec = 1;
    attr.use_clockid = 1;
    attr.clockid = CLOCK_MONOTONIC;
    return attr;
}

core::Fd open_on(int cpu, perf_event_attr &attr) {
    return core::Fd(static_cast<int>(syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC)));
}

Error no_side_band(int err) {
    const bool denied = err == EACCES || err == EPERM;
    return {denied ? Kind::Denied : Kind::Unsupported, std::string("perf_event_open: ") + std::strerror(err), err, ""};
}

/// PERF_RECORD_LOST as the kernel writes it, with the trailing fields of sample_id_all.
struct LostRecord {
    perf_event_header header;
    std::uint64_t id, lost;
    std::uint64_t task, t_ns;
};

std::uint64_t monotonic_ns() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

/// Invalidates the kernel's PERF_RECORD_LOST records (type 0): PERF_FORMAT_LOST already counts these losses.
void drop_lost_records(std::span<std::byte> records) {
    perf_event_header header{};
    while (records.size() >= sizeof(header)) {
        std::memcpy(&header, records.data(), sizeof(header));
        if (header.size < sizeof(header) || header.size > records.size()) return;
        if (std::exchange(header.type, 0U) == PERF_RECORD_LOST) std::memcpy(records.data(), &header, sizeof(header));
        records = records.subspan(header.size);
    }
}

/// A perf ring buffer (include/uapi/linux/perf_event.h struct perf_event_mmap_page).
class Ring {
  public:
    Ring(core::Fd fd, std::size_t page, bool counts_lost) : fd_(std::move(fd)), page_(page), counts_lost_(counts_lost) {
        void *at = mmap(nullptr, page_ + kRingBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0);
        head_ = at == MAP_FAILED ? nullptr : static_cast<perf_event_mmap_page *>(at);
    }
    ~Ring() {
        if (head_ != nullptr) munmap(head_, page_ + kRingBytes);
    }
    Ring(Ring &&o) noexcept
        : fd_(std::move(o.fd_)),
          page_(o.page_),
          counts_lost_(o.counts_lost_),
          full_(o.full_),
          stopped_(o.stopped_),
          lost_(o.lost_),
          head_(std::exchange(o.head_, nullptr)) {}
    Ring &operator=(Ring &&) = delete;

    bool mapped() const { return head_ != nullptr; }
    void stop() {
        ioctl(fd_.get(), PERF_EVENT_IOC_DISABLE, 0);
        stopped_ = true;
    }

    void drain(std::vector<std::byte> &out) {
        const std::size_t first = out.size();
        const std::uint64_t until = __atomic_load_n(&head_->data_head, __ATOMIC_ACQUIRE);
        std::uint64_t at = head_->data_tail;
        if (at < until) full_ = until - at > kRingBytes - kLargestRecord;
        const auto *const data = reinterpret_cast<const std::byte *>(head_) + page_;
        while (at < until) {
            const std::size_t offset = at % kRingBytes;
            const std::size_t run = std::min<std::uint64_t>(until - at, kRingBytes - offset);
            out.insert(out.end(), data + offset, data + offset + run);
            at += run;
        }
        __atomic_store_n(&head_->data_tail, until, __ATOMIC_RELEASE);
        if (counts_lost_ && out.size() > first) add_counted_loss(out, first);
        // A kernel that does not count losses writes its record of them before the next record that fits. If the ring
        // was full and no record followed, at least one change may be lost.
        if (!counts_lost_ && stopped_ && std::exchange(full_, false)) add_lost_record(out, 1);
    }

  private:
    /// Replaces the kernel's records of losses by one of the losses since the last call.
    void add_counted_loss(std::vector<std::byte> &out, std::size_t first) {
        drop_lost_records(std::span(out).subspan(first));
        struct {
            std::uint64_t value, lost;
        } counts{};
        if (read(fd_.get(), &counts, sizeof(counts)) != sizeof(counts) || counts.lost <= lost_) return;
        add_lost_record(out, counts.lost - std::exchange(lost_, counts.lost));
    }
    static void add_lost_record(std::vector<std::byte> &out, std::uint64_t lost) {
        const LostRecord record{{PERF_RECORD_LOST, 0, sizeof(record)}, 0, lost, 0, monotonic_ns()};
        const auto *const bytes = reinterpret_cast<const std::byte *>(&record);
        out.insert(out.end(), bytes, bytes + sizeof(record));
    }

    core::Fd fd_;
    std::size_t page_;
    bool counts_lost_;
    bool full_ = false;  ///< at the last drain that found a record
    bool stopped_ = false;
    std::uint64_t lost_ = 0;  ///< already reported
    perf_event_mmap_page *head_ = nullptr;
};

/// Decodes the fields of one record.
class Fields {
  public:
    explicit Fields(std::span<const std::byte> bytes) : rest_(bytes) {}

    template <class Number>
    Number take() {
        Number number{};
        if (rest_.size() < sizeof(number)) {
            bad_ = true;
            return number;
        }
        std::memcpy(&number, rest_.data(), sizeof(number));
        rest_ = rest_.subspan(sizeof(number));
        return number;
    }
    std::string text() {
        const auto *const begin = reinterpret_cast<const char *>(rest_.data());
        return {begin, strnlen(begin, rest_.size())};
    }
    /// Removes and returns the last `size` bytes: the trailing fields of sample_id_all.
    std::span<const std::byte> split_end(std::size_t size) {
        if (rest_.size() < size) {
            bad_ = true;
            return {};
        }
        const auto end = rest_.last(size);
        rest_ = rest_.first(rest_.size() - size);
        return end;
    }
    bool bad() const { return bad_; }

  private:
    std::span<const std::byte> rest_;
    bool bad_ = false;
};

std::uint8_t flags_of(std::uint32_t prot, std::uint32_t flags) {
    std::uint8_t all = 0;
    const auto set = [&all](bool is, core::MappingFlag flag) {
        if (is) all = static_cast<std::uint8_t>(all | flag);
    };
    set((prot & PROT_READ) != 0, core::MappingRead);
    set((prot & PROT_WRITE) != 0, core::MappingWrite);
    set((prot & PROT_EXEC) != 0, core::MappingExecute);
    set((flags & MAP_SHARED) != 0, core::MappingShared);
    set((flags & MAP_GROWSDOWN) != 0, core::MappingGrowsDown);
    set((flags & MAP_HUGETLB) != 0, core::MappingHugetlb);
    return all;
}

/// Empty for the placeholders of perf_event_mmap_event() (kernel/events/core.c), which maps does not show: a mapping
/// without a name, or with a path that the kernel could not get.
std::string name_of(std::string name) {
    return name == "//anon" || name == "//enomem" || name == "//toolong" ? std::string() : std::move(name);
}

/// The build id takes the place of device, inode and inode generation.
core::BuildId read_build_id(Fields &in) {
    core::BuildId id;
    id.size = std::min(in.take<std::uint8_t>(), static_cast<std::uint8_t>(core::BuildId::kMost));
    in.take<std::uint8_t>();
    in.take<std::uint16_t>();
    id.bytes = in.take<decltype(id.bytes)>();
    std::fill(id.bytes.begin() + id.size, id.bytes.end(), std::uint8_t{0});
    return id;
}

void read_mmap2(Fields &in, bool has_build_id, MappingChange &change) {
    change.pid = in.take<std::int32_t>();
    change.tid = in.take<std::int32_t>();
    change.range.start = in.take<std::uint64_t>();
    change.range.end = change.range.start + in.take<std::uint64_t>();
    change.range.offset = in.take<std::uint64_t>();
    if (has_build_id) {
        change.build_id = read_build_id(in);
    } else {
        const auto major_number = in.take<std::uint32_t>();
        change.range.device = core::device_number(major_number, in.take<std::uint32_t>());
        change.range.inode = in.take<std::uint64_t>();
        in.take<std::uint64_t>();  // inode generation
    }
    const auto prot = in.take<std::uint32_t>();
    change.range.flags = flags_of(prot, in.take<std::uint32_t>());
    change.range.name = name_of(in.text());
}

std::optional<MappingChange> change_of(const perf_event_header &header, std::span<const std::byte> body) {
    constexpr std::size_t kSampleId = 16;  // TID, TIME
    Fields in(body);
    Fields id(in.split_end(kSampleId));
    if (in.bad()) return std::nullopt;
    id.take<std::uint64_t>();
    MappingChange change;
    change.t_ns = id.take<std::uint64_t>();
    if (header.type == PERF_RECORD_MMAP2) {
        read_mmap2(in, (header.misc & PERF_RECORD_MISC_MMAP_BUILD_ID) != 0, change);
    } else if (header.type == PERF_RECORD_COMM && (header.misc & PERF_RECORD_MISC_COMM_EXEC) != 0) {
        change.kind = MappingChange::Kind::Exec;
        change.pid = in.take<std::int32_t>();
        change.tid = in.take<std::int32_t>();
    } else if (header.type == PERF_RECORD_LOST) {
        change.kind = MappingChange::Kind::Lost;
        in.take<std::uint64_t>();
        change.lost = in.take<std::uint64_t>();
    } else {
        return std::nullopt;
    }
    return in.bad() ? std::nullopt : std::optional(std::move(change));
}

}  // namespace

struct SideBand::State {
    std::vector<Ring> rings;
};

SideBand::SideBand(std::unique_ptr<State> state) : state_(std::move(state)) {}
SideBand::~SideBand() = default;
SideBand::SideBand(SideBand &&) noexcept = default;
SideBand &SideBand::operator=(SideBand &&) noexcept = default;

core::Result<SideBand> SideBand::open(int cpus_possible) {
    auto state = std::make_unique<State>();
    perf_event_attr attr = attributes();
    attr.read_format = PERF_FORMAT_LOST;  // 6.0, 119a784c8127
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    for (int cpu = 0; cpu < cpus_possible; ++cpu) {
        core::Fd fd = open_on(cpu, attr);
        if (!fd.open() && errno == EINVAL && std::exchange(attr.read_format, 0) != 0) fd = open_on(cpu, attr);
        if (!fd.open() && errno == EINVAL && attr.build_id != 0) {
            attr.build_id = 0;
            fd = open_on(cpu, attr);
        }
        if (!fd.open() && errno == ENODEV) continue;  // offline
        if (!fd.open()) return no_side_band(errno);
        Ring ring(std::move(fd), page, attr.read_format != 0);
        if (!ring.mapped()) return no_side_band(errno);
        state->rings.push_back(std::move(ring));
    }
    return SideBand(std::move(state));
}

void SideBand::drain(std::vector<std::byte> &out) {
    for (Ring &ring : state_->rings)
        ring.drain(out);
}

void SideBand::stop() {
    for (Ring &ring : state_->rings)
        ring.stop();
}

std::vector<MappingChange> mapping_changes(std::span<const std::byte> records) {
    std::vector<MappingChange> changes;
    while (records.size() >= sizeof(perf_event_header)) {
        perf_event_header header{};
        std::memcpy(&header, records.data(), sizeof(header));
        if (header.size < sizeof(header) || header.size > records.size()) break;
        const auto body = records.subspan(sizeof(header), header.size - sizeof(header));
        if (auto change = change_of(header, body)) changes.push_back(std::move(*change));
        records = records.subspan(header.size);
    }
    return changes;
}

}  // namespace rsslag::probe
