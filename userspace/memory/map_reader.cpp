// SPDX-License-Identifier: BSD-2-Clause
#include "memory/map_reader.h"

#include <fmt/format.h>
#include <linux/magic.h>
#include <malloc.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <set>
#include <string>
#include <utility>

#include "core/mapping.h"
#include "procfs/elf.h"
#include "procfs/page_mappers.h"
#include "procfs/pagemap.h"
#include "procfs/program.h"
#include "procfs/stack_pointer.h"
#include "procfs/system.h"

namespace rsslag::memory {
namespace {

using core::Error;
using core::Kind;

/// The device of the internal tmpfs of memfds, System V and shared anonymous memory (mm/shmem.c shm_mnt). Empty if this
/// kernel has no memfd_create().
std::string internal_device() {
    const procfs::Fd memory(memfd_create("rsslag", MFD_CLOEXEC));
    struct stat about {};
    if (!memory.open() || fstat(memory.get(), &about) != 0) return "";
    return fmt::format("{:02x}:{:02x}", major(about.st_dev), minor(about.st_dev));
}

/// rootfs is a ramfs or a tmpfs; statfs() shows which.
void mark_rootfs(std::vector<procfs::Mount> &mounts) {
    for (procfs::Mount &mount : mounts) {
        struct statfs about {};
        if (mount.type != "rootfs" || statfs(mount.where.c_str(), &about) != 0) continue;
        if (about.f_type == TMPFS_MAGIC) mount.type = "tmpfs";
    }
}

/// The target may be in another mount namespace.
void add_mounts(const procfs::Process &process, procfs::Devices &devices) {
    const auto text = process.read_of_memory_task("mountinfo");
    if (!text) return;
    auto mounts = procfs::parse_mountinfo(text->bytes);
    if (!mounts) return;
    std::erase_if(*mounts, [](const procfs::Mount &mount) { return mount.type == "rootfs"; });
    devices.add(*mounts);
}

/// Finds the device special files among the mapped files of tmpfs, devtmpfs and ramfs, which /dev is one of.
void add_nodes(const procfs::Process &process, const std::vector<procfs::Mapping> &mappings, procfs::Devices &devices) {
    std::set<std::pair<std::string_view, std::uint64_t>> seen;
    for (const procfs::Mapping &mapping : mappings) {
        if (!devices.in_memory(mapping) || !seen.emplace(mapping.device, mapping.inode).second) continue;
        const mode_t type = procfs::type_of_mapped(process, mapping).value_or(S_IFREG);
        if (type == S_IFBLK) devices.block_nodes.emplace(mapping.device, mapping.inode);
        if (type == S_IFCHR) devices.character_nodes.emplace(mapping.device, mapping.inode);
    }
}

/// Reads smaps and, immediately before it, the files that top reads.
core::Result<procfs::OwnWalk> walk(const procfs::Process &process, MappedProcess &out) {
    const auto statm = process.statm();
    if (statm) out.top.statm = *statm;
    out.top.vm_swap.reset();
    out.top.living.reset();
    if (const auto task = process.memory_task()) {
        const bool by_thread = task->tid != process.pid();
        out.uid = task->status.real_uid;
        if (!by_thread) out.top.vm_swap = task->status.of(core::Member::Swap);
        if (const auto of_thread = procfs::statm_of(process, *task); by_thread && of_thread)
            out.top.living = *of_thread;
    }
    const auto text = process.smaps_text();
    if (!text) return text.error();
    auto mappings = procfs::parse_smaps(text->bytes);
    if (!mappings) return mappings.error();
    out.mappings = *std::move(mappings);
    const core::Walk walk = procfs::walk_of(core::WalkFile::Smaps, procfs::sum(out.mappings), text->took);
    out.walk_us = walk.took_us;
    return procfs::OwnWalk{walk, out.mappings};
}

/// The shmem of the process if certain: by the counters if the verdict is `agrees`, or 0 if the page tables have none.
std::optional<core::Kilobytes> shmem_of(const procfs::Process &process, const MappedProcess &mapped) {
    if (mapped.reading) {
        const core::Reconciliation &verdict = mapped.reading->verdict;
        if (verdict.verdict != core::Verdict::Agrees) return std::nullopt;
        return core::PageSize{sysconf(_SC_PAGESIZE)}.kb(verdict.exact.shmem);
    }
    const auto text = process.smaps_rollup_text();
    if (!text) return std::nullopt;
    const auto rollup = procfs::parse_smaps_rollup(text->bytes);
    if (!rollup || !rollup->sums.pss_shmem || rollup->sums.pss_shmem->n != 0) return std::nullopt;
    return core::Kilobytes{};
}

/// Adds the names of the threads to those of their stacks.
void name_stacks(const procfs::Process &process, std::vector<procfs::Mapping> &mappings) {
    const auto comm_of = [&process](int tid) -> std::optional<std::string> {
        const auto text = process.read(fmt::format("task/{}/comm", tid).c_str());
        if (!text) return std::nullopt;
        return text->bytes.substr(0, text->bytes.rfind('\n'));  // the name may contain newlines
    };
    for (procfs::Mapping &mapping : mappings)
        if (!mapping.recognised.empty()) mapping.recognised = core::with_comm(mapping.recognised, comm_of);
}

/// What one PMD entry maps. 0 without CONFIG_TRANSPARENT_HUGEPAGE.
std::uint64_t pmd_bytes() {
    std::uint64_t bytes = 0;
    std::ifstream("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size") >> bytes;
    return bytes;
}

/// Finds the file pages that are present. The budgets keep this from taking much longer than smaps itself. pagemap is
/// opened on first use, as few processes map a file twice.
class FilePagesReader {
  public:
    explicit FilePagesReader(const procfs::Process &process) : process_(process) {}

    procfs::FilePages pages() {
        return {page_size_,
                [this](std::uint64_t start, std::uint64_t end, const auto &found) { return read(start, end, found); },
                [this](const procfs::Mapping &mapping, const auto &offsets) { return mappers_.find(mapping, offsets); },
                pmd_bytes(), [this] { return faults(); }};
    }

  private:
    bool read(std::uint64_t start, std::uint64_t end, const procfs::FilePages::Found &found) {
        if (!opened_) opened_ = procfs::PageReader::open(process_, page_size_);
        if (!*opened_) return false;
        const auto stop = (*opened_)->visit(start, end, budget_, [&](const procfs::PageReader::Page &page) {
            if (page.entry.present() && page.entry.of_file())
                found({page.address, page.entry.frame(), page.entry.exclusive()});
        });
        if (stop && *stop == procfs::PageStop::Limit) budget_ = std::exchange(reserve_, {.entries_left = 0});
        return stop && *stop == procfs::PageStop::Done;
    }

    /// The kernel counts a fault after it has set the entry of the page (mm/memory.c mm_account_fault()).
    std::optional<std::uint64_t> faults() const {
        const auto stat = process_.stat();
        if (!stat) return std::nullopt;
        return stat->min_flt + stat->maj_flt;
    }

    const procfs::Process &process_;
    core::PageSize page_size_{sysconf(_SC_PAGESIZE)};
    procfs::PageBudget budget_{.entries_left = 1U << 20U};  // 4 GiB
    procfs::PageBudget reserve_{.entries_left = 1U << 16U};
    procfs::PageMappers mappers_{process_, page_size_};
    std::optional<core::Result<procfs::PageReader>> opened_;
};

/// BTF is read twice, and smaps of ten thousand mappings has megabytes. glibc returns such large blocks to the kernel
/// and maps new ones each time. The page faults then cost as much as the reading, so the heap keeps the blocks. In a
/// nested guest even the faults of the first use cost as much, so the heap uses huge pages if the kernel has them.
void keep_freed_memory() {
    constexpr int kLarge = 256 * 1024 * 1024;
    constexpr int kAtOnce = 64 * 1024 * 1024;
    mallopt(M_ARENA_MAX, 1);  // for the thread that reads, too
    mallopt(M_MMAP_THRESHOLD, kLarge);
    mallopt(M_TRIM_THRESHOLD, kLarge);
    mallopt(M_TOP_PAD, kAtOnce);
    char *const old_end = static_cast<char *>(sbrk(0));
    void *volatile some = std::malloc(kAtOnce / 2);  // volatile, or the compiler may remove the unused allocation
    std::free(some);
    char *const end = static_cast<char *>(sbrk(0));
    constexpr std::uintptr_t kHugePage = 2 * 1024 * 1024;
    char *const begin = old_end + (kHugePage - reinterpret_cast<std::uintptr_t>(old_end) % kHugePage) % kHugePage;
    if (begin < end) madvise(begin, static_cast<std::size_t>(end - begin), MADV_HUGEPAGE);
}

}  // namespace

core::Result<procfs::Devices> devices_here() {
    procfs::Devices devices;
    devices.internal = internal_device();
    if (const core::Status there = procfs::own_proc(); !there) return there.error();
    const auto self = procfs::Process::open(getpid());
    if (!self) return self.error();
    const auto text = self->read("mountinfo");
    if (!text) return text.error();
    auto mounts = procfs::parse_mountinfo(text->bytes);
    if (!mounts) return mounts.error();
    mark_rootfs(*mounts);
    devices.add(*mounts);
    return devices;
}

bool may_show_twice(pid_t pid) {
    const auto process = procfs::Process::open(pid);
    if (!process) return false;
    procfs::Devices devices;
    add_mounts(*process, devices);
    const auto text = process->read_of_memory_task("maps");
    const auto mappings = text ? procfs::parse_maps(text->bytes) : std::vector<procfs::Mapping>{};
    return mappings && std::ranges::any_of(*mappings, [&](const procfs::Mapping &mapping) {
               return devices.stacked.contains(mapping.device) || devices.subvolumes.contains(mapping.device);
           });
}

std::string error_text(const Error &error) {
    return error.remedy.empty() ? error.what : error.what + "; " + error.remedy;
}

core::Result<MapReader> MapReader::open() {
    keep_freed_memory();
    auto devices = devices_here();
    if (!devices) return devices.error();
    return MapReader(*std::move(devices));
}

core::Result<MappedProcess> MapReader::read_once(const procfs::Process &process) {
    MappedProcess out;
    out.pid = process.pid();
    out.why_not_exact = why_not_exact_;
    bool walked = false;
    const auto walk_here = [&]() -> core::Result<procfs::OwnWalk> {
        auto own = walk(process, out);
        walked = own.ok();
        return own;
    };
    if (read_around_) {
        auto reading = read_around_(process, walk_here);
        if (reading) {
            out.reading = *std::move(reading);
            return out;
        }
        // The mappings may still be readable although the counters of this process are not.
        out.why_not_exact = error_text(reading.error());
    }
    if (walked) return out;
    const auto own = walk_here();
    if (!own) return own.error();
    return out;
}

core::Result<MappedProcess> MapReader::read(const procfs::Process &process) {
    const auto stat = process.stat();
    if (!stat) return stat.error();
    auto read = read_once(process);
    // A process that was moving may be quiescent at the next try.
    constexpr int kTries = 3;
    for (int i = 1; i < kTries && read && read->reading; ++i) {
        const core::Verdict verdict = read->reading->verdict.verdict;
        if (verdict != core::Verdict::Moving && verdict != core::Verdict::Unexplained) break;
        read = read_once(process);
    }
    if (!read) return read;
    MappedProcess &out = *read;
    out.start_ticks = stat->start_ticks;
    out.comm = stat->comm;
    if (auto exe = process.exe()) out.exe = *std::move(exe);
    if (auto program = procfs::program_path(process)) out.program = *std::move(program);
    out.cmdline = procfs::command_line(process);
    if (const auto meminfo = procfs::read_meminfo()) out.top.mem_total = meminfo->total;
    procfs::Devices devices = devices_;
    add_mounts(process, devices);
    add_nodes(process, out.mappings, devices);
    if (const auto shmem = shmem_of(process, out)) procfs::learn(devices, out.mappings, *shmem);
    procfs::recognise(out.mappings, procfs::sleeping_stacks(process));
    name_stacks(process, out.mappings);
    out.internal_device = devices.internal;
    out.quadrants = procfs::quadrants(out.mappings, devices);
    out.sums = procfs::sums(out.mappings, devices, FilePagesReader(process).pages());
    if (out.reading && out.reading->verdict.verdict == core::Verdict::Agrees) {
        // smaps does not show which pages of an overlay are those of a tmpfs below it. The counter of file can.
        const core::PageSize page_size{sysconf(_SC_PAGESIZE)};
        out.sums.droppable_file = std::min(out.sums.droppable_file, page_size.kb(out.reading->verdict.exact.file));
        out.sums.droppable = out.sums.droppable_file + out.sums.droppable_anon;
        out.sums.droppable_surely_once = std::min(out.sums.droppable_surely_once, out.sums.droppable);
    }
    out.groups = procfs::groups(out.mappings, devices);
    return read;
}

}  // namespace rsslag::memory
