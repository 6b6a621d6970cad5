// SPDX-License-Identifier: BSD-2-Clause
// The most that the `cpu` scheme can cache: each member just under the batch on each CPU.
#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <optional>

#include "failure.h"
#include "memory.h"
#include "quiescence.h"
#include "starts.h"
#include "temp_file.h"

#include <sys/mman.h>

#include "core/fd.h"

namespace rsslag::workload {

using core::Fd;
namespace {

/// Field 24 of /proc/self/stat (rss). Reads after the first one touch no new page.
class StatRss {
  public:
    core::Status open() {
        fd_ = Fd(::open("/proc/self/stat", O_RDONLY | O_CLOEXEC));
        if (!fd_.open()) return failed("cannot open /proc/self/stat", errno);
        return core::success();
    }
    std::optional<std::int64_t> read();

  private:
    Fd fd_;
    std::array<char, 1024> text_{};
};

std::optional<std::int64_t> StatRss::read() {
    const ssize_t got = pread(fd_.get(), text_.data(), text_.size(), 0);
    if (got <= 0) return std::nullopt;
    const char *at = text_.data() + got;
    while (at > text_.data() && *at != ')')
        --at;  // comm, field 2, may contain blanks and brackets
    const char *const end = text_.data() + got;
    for (int field = 2; field < 24; ++field) {
        while (at < end && *at != ' ')
            ++at;
        ++at;
    }
    if (at >= end) return std::nullopt;
    std::int64_t pages = 0;
    while (at < end && *at >= '0' && *at <= '9')
        pages = pages * 10 + (*at++ - '0');
    return pages;
}

/// Untouched pages of one member.
struct Supply {
    Memory left;

    void take_one() {
        touch(left.first(page_size()));
        left = left.subspan(page_size());
    }
};

struct Batch {
    std::int64_t pages = 0;
    /// The number of touched pages after which a fold must have occurred: a CPU's count starts in (-batch, batch). The
    /// `thread` scheme has no batch and flushes after 66 faults.
    std::int64_t patience() const { return 3 * pages + 128; }
};

/// lib/percpu_counter.c, compute_batch_value().
Batch current_batch() {
    return {std::max(32L, 2 * sysconf(_SC_NPROCESSORS_ONLN))};
}

/// Leaves this CPU's count of one member at batch - 1. The count is unknown at first. /proc/self/stat shows only folded
/// pages, so when its value changes after a touch, that touch has folded the count, which is then 0.
void leave_just_under(Batch batch, Supply &supply, StatRss &rss) {
    const auto before = rss.read();
    for (std::int64_t touched = 0; touched < batch.patience(); ++touched) {
        supply.take_one();
        if (rss.read() != before) break;
    }
    for (std::int64_t i = 1; i < batch.pages; ++i)
        supply.take_one();
}

struct CpuSetDeleter {
    void operator()(cpu_set_t *set) const { CPU_FREE(set); }
};

/// A set of any number of CPUs; a plain cpu_set_t has 1,024.
struct CpuSet {
    explicit CpuSet(int cpus) : bytes(CPU_ALLOC_SIZE(cpus)), set(CPU_ALLOC(cpus)) { CPU_ZERO_S(bytes, set.get()); }

    std::size_t bytes;
    std::unique_ptr<cpu_set_t, CpuSetDeleter> set;
};

core::Result<CpuSet> allowed_cpus() {
    for (int cpus = 1024; cpus <= 1 << 20; cpus *= 2) {
        CpuSet set(cpus);
        if (sched_getaffinity(0, set.bytes, set.set.get()) == 0) return set;
        if (errno != EINVAL) break;  // EINVAL: the kernel has more CPUs than the set
    }
    return failed("sched_getaffinity", errno);
}

struct Supplies {
    Supply anon, shmem;
    std::optional<Supply> file;
};

core::Result<Supplies> map_supplies(std::size_t bytes) {
    // Most of it is never touched: without MAP_NORESERVE strict overcommit could refuse it.
    constexpr int kProt = PROT_READ | PROT_WRITE;
    auto anon = map_guarded(bytes, {kProt, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE});
    if (!anon) return anon.error();
    auto shmem = map_guarded(bytes, {kProt, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE});
    if (!shmem) return shmem.error();
    for (Memory memory : {*anon, *shmem}) {
        if (auto ok = forbid_huge_pages(memory); !ok) return ok.error();
    }
    Supplies supplies{{*anon}, {*shmem}, std::nullopt};
    // A write fault on a shared file mapping maps one page; a read fault would also map the pages around it.
    if (auto fd = writable_file(bytes)) {
        auto file = map_guarded(bytes, {kProt, MAP_SHARED, fd->get()});
        if (!file) return file.error();
        supplies.file = Supply{*file};
    }
    return supplies;
}

/// Spreads the build-up: `in_all` is divided among the visits of CPUs.
struct Pace {
    std::chrono::milliseconds in_all{};
    int visits = 1;

    /// Called after each of the three members on each CPU. Sleeping touches no page.
    void rest() const { sleep_part(in_all, 3 * static_cast<std::size_t>(visits)); }
};

void leave_all_just_under(Batch batch, Supplies &supplies, StatRss &rss, Pace pace) {
    leave_just_under(batch, supplies.anon, rss);
    pace.rest();
    leave_just_under(batch, supplies.shmem, rss);
    pace.rest();
    if (supplies.file) leave_just_under(batch, *supplies.file, rss);
    pace.rest();
}

/// Pins this task to one CPU after the other. Returns the number of CPUs.
core::Result<int> visit_each(const CpuSet &allowed, Batch batch, Supplies &supplies, StatRss &rss, Pace pace) {
    CpuSet one(static_cast<int>(allowed.bytes * 8));
    int visited = 0;
    for (std::size_t cpu = 0; cpu < allowed.bytes * 8; ++cpu) {
        if (!CPU_ISSET_S(cpu, allowed.bytes, allowed.set.get())) continue;
        CPU_ZERO_S(one.bytes, one.set.get());
        CPU_SET_S(cpu, one.bytes, one.set.get());
        if (sched_setaffinity(0, one.bytes, one.set.get()) != 0) {
            if (errno == EINVAL) continue;  // the CPU went offline meanwhile
            return failed("sched_setaffinity", errno);
        }
        leave_all_just_under(batch, supplies, rss, pace);
        ++visited;
    }
    if (sched_setaffinity(0, allowed.bytes, allowed.set.get()) != 0) return failed("sched_setaffinity", errno);
    return visited;
}

}  // namespace

Started start_per_cpu(const Options &given) {
    const auto size = sizes(given, {.over = std::chrono::milliseconds{0}});
    if (!size) return size.error();
    auto allowed = allowed_cpus();
    if (!allowed) return allowed.error();
    const Batch batch = current_batch();
    const int cpus = CPU_COUNT_S(allowed->bytes, allowed->set.get());
    const auto pages = static_cast<std::size_t>((cpus + 1) * (batch.patience() + batch.pages));
    auto supplies = map_supplies(pages * page_size());
    if (!supplies) return supplies.error();
    StatRss rss;
    if (auto ok = rss.open(); !ok) return ok.error();

    // Everything that the visits touch is touched before them: code, stack, and these strings.
    Facts facts{number("cpus", cpus), number("batch", batch.pages), {"file", supplies->file ? "yes" : "no"}};
    const Pace pace{size->over, cpus + 1};
    leave_all_just_under(batch, *supplies, rss, pace);
    auto visited = visit_each(*allowed, batch, *supplies, rss, pace);
    if (!visited) return visited.error();
    if (*visited != cpus) facts.front() = number("cpus", *visited);
    return facts;
}

}  // namespace rsslag::workload
