// SPDX-License-Identifier: BSD-2-Clause
#include "memory/used_reader.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <set>
#include <utility>

#include "procfs/process.h"

namespace rsslag::memory {
namespace {

using core::Kilobytes;
namespace fs = std::filesystem;

/// Names in a directory of sysfs; none if it does not exist.
std::vector<std::string> entries_of(const std::string &path) {
    std::vector<std::string> names;
    std::error_code failed;
    for (fs::directory_iterator at(path, failed), end; !failed && at != end; at.increment(failed))
        names.push_back(at->path().filename().string());
    return names;
}

/// The size in a name like "hugepages-2048kB".
std::optional<Kilobytes> size_in(const std::string &name) {
    constexpr std::string_view kPrefix = "hugepages-";
    Kilobytes size;
    if (!name.starts_with(kPrefix)) return std::nullopt;
    const char *const end = name.data() + name.size();
    if (std::from_chars(name.data() + kPrefix.size(), end, size.n).ec != std::errc{}) return std::nullopt;
    return size;
}

/// nullopt if this kernel does not count them.
std::optional<Kilobytes> partly_mapped() {
    static const std::string root = "/sys/kernel/mm/transparent_hugepage/";
    std::optional<Kilobytes> sum;
    for (const std::string &name : entries_of(root)) {
        const auto size = size_in(name);
        const auto number = procfs::read_single_number(root + name + "/stats/nr_anon_partially_mapped");
        if (size && number) sum = sum.value_or(Kilobytes{}) + Kilobytes{size->n * static_cast<std::int64_t>(*number)};
    }
    return sum;
}

std::optional<HugePool> hugepool(const std::string &name) {
    static const std::string root = "/sys/kernel/mm/hugepages/";
    HugePool pool;
    const auto size = size_in(name);
    if (!size) return std::nullopt;
    pool.page = *size;
    const auto number = [&](const char *file) { return procfs::read_single_number(root + name + "/" + file); };
    const auto total = number("nr_hugepages"), free = number("free_hugepages"), reserved = number("resv_hugepages"),
               surplus = number("surplus_hugepages");
    if (!total || !free || !reserved || !surplus) return std::nullopt;
    pool.total = static_cast<std::int64_t>(*total);
    pool.free = static_cast<std::int64_t>(*free);
    pool.reserved = static_cast<std::int64_t>(*reserved);
    pool.surplus = static_cast<std::int64_t>(*surplus);
    return pool;
}

std::vector<HugePool> huge_pools() {
    std::vector<HugePool> pools;
    for (const std::string &name : entries_of("/sys/kernel/mm/hugepages")) {
        if (const auto pool = hugepool(name)) pools.push_back(*pool);
    }
    std::ranges::sort(pools, {}, &HugePool::page);
    return pools;
}

/// nullopt if another mount covers this one.
std::optional<TmpfsUse> use_of_mount(const procfs::Mount &mount) {
    TmpfsUse use;
    use.where = unescaped(mount.where);
    struct stat about {};
    struct statvfs space {};
    if (stat(use.where.c_str(), &about) != 0 || statvfs(use.where.c_str(), &space) != 0) return std::nullopt;
    if (fmt::format("{:02x}:{:02x}", major(about.st_dev), minor(about.st_dev)) != mount.device) return std::nullopt;
    const auto kb = [&](std::uint64_t blocks) {
        return Kilobytes{static_cast<std::int64_t>(blocks * space.f_frsize / 1024)};
    };
    // Without a limit statvfs() reports neither size nor use (mm/shmem.c shmem_statfs).
    if (space.f_blocks == 0) return std::nullopt;
    use.used = kb(space.f_blocks - space.f_bfree);
    use.size = kb(space.f_blocks);
    return use;
}

std::vector<TmpfsUse> tmpfs_here() {
    std::vector<TmpfsUse> found;
    const auto self = procfs::Process::open(getpid());
    if (!self) return found;
    const auto text = self->read("mountinfo");
    if (!text) return found;
    const auto mounts = procfs::parse_mountinfo(text->bytes);
    if (!mounts) return found;
    std::set<std::string> seen;
    for (const procfs::Mount &mount : *mounts) {
        if (mount.type != "tmpfs" && mount.type != "devtmpfs") continue;
        if (seen.contains(mount.device)) continue;
        auto use = use_of_mount(mount);
        if (!use) continue;
        seen.insert(mount.device);
        if (use->used.n != 0) found.push_back(*std::move(use));
    }
    std::ranges::sort(found, [](const TmpfsUse &a, const TmpfsUse &b) { return a.used > b.used; });
    return found;
}

std::optional<bool> virtio_balloon() {
    static const std::string root = "/sys/bus/virtio/drivers/virtio_balloon/";
    for (const std::string &name : entries_of(root)) {
        const auto features = procfs::read_single_line(root + name + "/features");
        if (features) return balloon_in_total(*features);
    }
    return std::nullopt;
}

/// meminfo covers the whole machine, the /proc of a container only its processes. If hidepid= hides processes from this
/// user, it hides PID 1 too.
bool sees_all_processes() {
    constexpr ino_t kFirstPidNamespace = 0xEFFFFFFCU;  // PROC_PID_INIT_INO
    struct stat about {};
    return stat("/proc/self/ns/pid", &about) == 0 && about.st_ino == kFirstPidNamespace && access("/proc/1", F_OK) == 0;
}

}  // namespace

MachineMemory read_machine() {
    MachineMemory machine;
    machine.sees_all_processes = sees_all_processes();
    if (const auto stat = procfs::read_vmstat()) machine.vmstat = *stat;
    if (const auto lists = procfs::read_zoneinfo()) machine.cpu_lists = *lists;
    machine.stacks_in_vmalloc = procfs::kernel_types_name("stack_vm_area");
    machine.balloon_in_total = virtio_balloon();
    machine.partly_mapped = partly_mapped();
    machine.pools = huge_pools();
    machine.tmpfs = tmpfs_here();
    return machine;
}

}  // namespace rsslag::memory
