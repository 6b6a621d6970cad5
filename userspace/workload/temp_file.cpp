// SPDX-License-Identifier: BSD-2-Clause
#include "temp_file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string>
#include <vector>

#include "failure.h"
#include "memory.h"
#include "proc_text.h"

namespace rsslag::workload {
namespace {

core::Error no_directory(int err) {
    core::Error error = unsupported(
        "cannot create a file on a disk: the directories for temporary files are on tmpfs or cannot be used",
        "set TMPDIR to a directory on a disk");
    error.err = err;
    return error;
}

Fd unlinked_in(const std::string &directory) {
    if (Fd fd(open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600)); fd.open()) return fd;
    std::string path = directory + "/rsslag.XXXXXX";  // overlayfs before 6.1 has no O_TMPFILE
    Fd fd(mkostemp(path.data(), O_CLOEXEC));
    if (fd.open()) unlink(path.c_str());
    return fd;
}

core::Result<Fd> enlarged(Fd fd, std::size_t bytes) {
    if (ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) return failed("ftruncate", errno);
    return fd;
}

std::int64_t resident_kb(const char *member) {
    const auto status = read_text("/proc/self/status");
    return status ? labelled_kb(*status, member).value_or(0) : 0;
}

/// The pages of a file on overlayfs are those of the file system below, whose type is hidden. So this touches more
/// pages than CPUs or threads can cache, and checks whether RssShmem has changed. A change of RssFile would prove
/// nothing, as pages cached at the program's start may be flushed now.
bool counts_as_shmem(const Fd &fd) {
    const std::int64_t batch = std::max(32L, 2 * sysconf(_SC_NPROCESSORS_CONF));
    const std::size_t bytes = static_cast<std::size_t>(8 * batch + 128) * page_size();
    if (ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) return true;
    const auto trial = map_guarded(bytes, {PROT_READ | PROT_WRITE, MAP_SHARED, fd.get()});
    if (!trial) return true;
    const std::int64_t before = resident_kb("RssShmem:");
    touch(*trial);
    const bool moved = resident_kb("RssShmem:") > before;
    munmap(trial->data(), bytes);
    return ftruncate(fd.get(), 0) != 0 || moved;
}

bool fit(const Fd &fd) {
    struct statfs fs {};
    if (fstatfs(fd.get(), &fs) != 0 || fs.f_type == TMPFS_MAGIC || fs.f_type == HUGETLBFS_MAGIC) return false;
    if (fs.f_type == OVERLAYFS_SUPER_MAGIC) return !counts_as_shmem(fd);
    // 9p and some FUSE file systems refuse shared writable mappings.
    void *const page = mmap(nullptr, page_size(), PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
    if (page == MAP_FAILED) return false;
    munmap(page, page_size());
    return true;
}

/// A file in a new ramfs outside any directory tree, which is freed with the last descriptor. Its pages count as file
/// pages.
Fd in_memory() {
    const Fd context(fsopen("ramfs", FSOPEN_CLOEXEC));
    if (!context.open()) return {};
    if (fsconfig(context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0) return {};
    const Fd mount(fsmount(context.get(), FSMOUNT_CLOEXEC, 0));
    if (!mount.open()) return {};
    // Not O_TMPFILE, which ramfs has only from 5.12 on; the name is not visible to other processes.
    return Fd(openat(mount.get(), "file", O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600));
}

}  // namespace

core::Result<Fd> writable_file(std::size_t bytes) {
    std::vector<std::string> directories{"/var/tmp", "/tmp", "."};
    if (const char *chosen = std::getenv("TMPDIR"); chosen && *chosen) directories.insert(directories.begin(), chosen);
    for (const std::string &directory : directories) {
        Fd fd = unlinked_in(directory);
        if (fd.open() && fit(fd)) return enlarged(std::move(fd), bytes);
    }
    Fd fd = in_memory();
    if (!fd.open()) return no_directory(errno);
    return enlarged(std::move(fd), bytes);
}

}  // namespace rsslag::workload
