// SPDX-License-Identifier: BSD-2-Clause
#include "probe/mounted.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/fd.h"
#include "link.h"
#include "mount.skel.h"
#include "probe/denial.h"

namespace rsslag::probe {
namespace {

using core::Error;
using core::Fd;
using core::Kind;

struct MountDeleter {
    void operator()(rsslag_mount *skeleton) const { rsslag_mount__destroy(skeleton); }
};
using MountSkeleton = std::unique_ptr<rsslag_mount, MountDeleter>;

core::Result<MountSkeleton> load_files(const core::Machine &machine) {
    MountSkeleton skeleton(rsslag_mount__open());
    if (!skeleton) return explain_denial(errno, own_privileges(), own_binary());
    skeleton->rodata->page_kib = static_cast<unsigned>(machine.page_size.bytes / 1024);
    const int err = rsslag_mount__load(skeleton.get());
    if (err != 0) return explain_denial(-err, own_privileges(), own_binary());
    return skeleton;
}

/// `task`: the only task that the iterator visits, by its TID in the reader's PID namespace; 0: all tasks.
core::Status pin_file(const bpf_program *program, pid_t task, const char *name) {
    bpf_iter_link_info info{};
    info.task.tid = static_cast<__u32>(task);
    LIBBPF_OPTS(bpf_iter_attach_opts, options);
    options.link_info = &info;
    options.link_info_len = sizeof(info);
    const Link link(bpf_program__attach_iter(program, &options));
    if (link == nullptr) return explain_denial(errno, own_privileges(), own_binary());
    const std::string path = fmt::format("./{}", name);
    if (bpf_obj_pin(bpf_link__fd(link.get()), path.c_str()) == 0) return core::success();
    return Error{Kind::Io, fmt::format("cannot pin {}: {}", name, std::strerror(errno)), errno, ""};
}

core::Status allow_readers(int directory, const char *name, const Readers &readers) {
    // Sets the group first, so that in between the file allows too little rather than too much.
    if (fchownat(directory, name, 0, readers.group, AT_SYMLINK_NOFOLLOW) == 0 &&
        fchmodat(directory, name, readers.mode, 0) == 0)
        return core::success();
    return Error{Kind::Io, fmt::format("cannot set group and mode of {}: {}", name, std::strerror(errno)), errno, ""};
}

/// bpffs accepts a name with a dot only while its root has no mode bits at all (kernel/bpf/inode.c bpf_lookup).
core::Status set_mode(int directory, mode_t mode) {
    if (fchmodat(directory, ".", mode, 0) == 0) return core::success();
    return Error{Kind::Io, fmt::format("cannot set the mode of the directory: {}", std::strerror(errno)), errno, ""};
}

/// Changes the working directory until its destructor. bpf(BPF_OBJ_PIN) takes a path, and a directory descriptor only
/// from 6.5 on. A file system that is not mounted yet has no absolute path.
class WorkingDirectory {
  public:
    explicit WorkingDirectory(int directory) : before_(::open(".", O_PATH | O_CLOEXEC)) {
        changed_ = before_.open() && fchdir(directory) == 0;
    }
    ~WorkingDirectory() {
        if (changed_) [[maybe_unused]]
            const int restored = fchdir(before_.get());
    }
    WorkingDirectory(const WorkingDirectory &) = delete;
    WorkingDirectory &operator=(const WorkingDirectory &) = delete;

    bool changed() const { return changed_; }

  private:
    Fd before_;
    bool changed_ = false;
};

}  // namespace

core::Status can_pin_files(const KernelTraits &traits) {
    if (const auto *layout = std::get_if<UnknownLayout>(&traits.scheme)) return unsupported(*layout);
    std::vector<std::string_view> missing;
    if (!traits.task_iterator) missing.emplace_back("the BPF task iterator");
    if (!traits.task_iterator_by_group) missing.emplace_back("the iterator's filter by task");
    if (!traits.loops) missing.emplace_back("a helper (bpf_loop or bpf_map_lookup_percpu_elem)");
    if (missing.empty()) return core::success();
    return Error{
        Kind::Unsupported,
        fmt::format("this kernel cannot provide the files of rsslag mount: it lacks {}", fmt::join(missing, " and ")),
        0, "use Linux 6.1 or later"};
}

core::Status pin_files(const KernelTraits &traits, const core::Machine &machine, int directory,
                       const Readers &readers) {
    if (auto fits = can_pin_files(traits); !fits) return fits;
    const auto loaded = load_files(machine);
    if (!loaded) return loaded.error();
    const WorkingDirectory there(directory);
    if (!there.changed())
        return Error{Kind::Io, fmt::format("cannot change the working directory: {}", std::strerror(errno)), errno, ""};
    // `self` prints its reader after the last task. Its iterator visits only TID 1, so that it does not visit all
    // tasks.
    struct File {
        const bpf_program *program;
        pid_t task;
    };
    const auto &programs = (*loaded)->progs;
    const std::array<File, kMountedFiles.size()> files{
        {{programs.rsslag_rss, 0}, {programs.rsslag_self, 1}, {programs.rsslag_prom, 0}}};
    if (auto open = set_mode(directory, 0); !open) return open;
    for (std::size_t i = 0; i < files.size(); ++i) {
        if (auto pinned = pin_file(files[i].program, files[i].task, kMountedFiles[i]); !pinned) return pinned;
        if (auto allowed = allow_readers(directory, kMountedFiles[i], readers); !allowed) return allowed;
    }
    return set_mode(directory, 0755);
}

}  // namespace rsslag::probe
