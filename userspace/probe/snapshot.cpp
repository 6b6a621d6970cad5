// SPDX-License-Identifier: BSD-2-Clause
#include "probe/snapshot.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <vector>

#include "core/fd.h"
#include "core_types.h"
#include "kernel_ids.h"
#include "link.h"
#include "probe/denial.h"
#include "rsslag/abi.h"
#include "snapshot.skel.h"
#include "snapshot_records.h"

namespace rsslag::probe {

using core::Fd;
namespace {

using core::Error;
using core::Kind;

struct SnapshotDeleter {
    void operator()(rsslag_snapshot *skeleton) const { rsslag_snapshot__destroy(skeleton); }
};

/// Reads to the end. Each read(2) returns at most the kernel's buffer of 32 KiB, and only whole records.
std::optional<Error> read_pass(int fd, std::vector<char> &bytes) {
    constexpr std::size_t kChunk = std::size_t{64} * 1024;
    bytes.clear();
    for (;;) {
        const std::size_t used = bytes.size();
        bytes.resize(used + kChunk);
        const ssize_t got = ::read(fd, bytes.data() + used, kChunk);
        bytes.resize(used + (got > 0 ? static_cast<std::size_t>(got) : 0));
        if (got == 0) return std::nullopt;
        if (got > 0 || errno == EINTR || errno == EAGAIN) continue;
        return Error{errno == E2BIG ? Kind::Unsupported : Kind::Internal,
                     fmt::format("cannot read the snapshot iterator: {}", std::strerror(errno)), errno, ""};
    }
}

bpf_program *program_for(const rsslag_snapshot &skeleton, core::Scheme scheme) {
    switch (scheme) {
        case core::Scheme::Thread: return skeleton.progs.snapshot_thread;
        case core::Scheme::Cpu: return skeleton.progs.snapshot_cpu;
        case core::Scheme::Plain: break;
    }
    return skeleton.progs.snapshot_plain;
}

bpf_program *totals_for(const rsslag_snapshot &skeleton, core::Scheme scheme) {
    switch (scheme) {
        case core::Scheme::Thread: return skeleton.progs.totals_thread;
        case core::Scheme::Cpu: return skeleton.progs.totals_cpu;
        case core::Scheme::Plain: break;
    }
    return skeleton.progs.totals_plain;
}

}  // namespace

struct SnapshotProbe::State {
    core::Scheme scheme = core::Scheme::Plain;
    bool by_group = false;
    bpf_program *program = nullptr;
    bpf_program *totals = nullptr;  ///< null: not requested
    std::unique_ptr<rsslag_snapshot, SnapshotDeleter> skeleton;
    std::vector<char> bytes;

    std::optional<Error> run(bpf_program *which, const bpf_iter_attach_opts &options);
    core::Result<core::CounterReading> pass(const rsslag_snapshot_request &request);
};

SnapshotProbe::SnapshotProbe(std::unique_ptr<State> state) : state_(std::move(state)) {}
SnapshotProbe::~SnapshotProbe() = default;
SnapshotProbe::SnapshotProbe(SnapshotProbe &&) noexcept = default;
SnapshotProbe &SnapshotProbe::operator=(SnapshotProbe &&) noexcept = default;

core::Result<SnapshotProbe> SnapshotProbe::open(const KernelTraits &traits, const core::Machine &machine, bool totals) {
    if (const auto *layout = std::get_if<UnknownLayout>(&traits.scheme)) return unsupported(*layout);
    if (!traits.task_iterator) {
        return Error{Kind::Unsupported, "this kernel has no BPF task iterator", 0, "use Linux 5.8 or later"};
    }
    auto state = std::make_unique<State>();
    state->scheme = std::get<core::Scheme>(traits.scheme);
    state->by_group = traits.task_iterator_by_group;
    find_ids_in(traits.types);
    state->skeleton.reset(rsslag_snapshot__open());
    if (!state->skeleton) return explain_denial(errno, own_privileges(), own_binary());
    const CoreTypes types(traits.types.get(), *bpf_object__btf(state->skeleton->obj));
    if (types.made()) state->skeleton.reset(rsslag_snapshot__open_opts(types.open_options()));
    if (!state->skeleton) return explain_denial(errno, own_privileges(), own_binary());
    state->program = program_for(*state->skeleton, state->scheme);
    if (totals) state->totals = totals_for(*state->skeleton, state->scheme);
    bpf_program *program = nullptr;
    bpf_object__for_each_program(program, state->skeleton->obj) {
        bpf_program__set_autoload(program, program == state->program || program == state->totals);
    }
    bpf_map__set_autocreate(state->skeleton->maps.exact_rss_anchor, core::cpus_cache(state->scheme));
    const int err = rsslag_snapshot__load(state->skeleton.get());
    if (err != 0) return explain_denial(-err, own_privileges(), own_binary());
    // Loading succeeds even if the kernel refused libbpf's feature probe for mapping the variables.
    if (state->skeleton->bss == nullptr) return variables_not_mapped();
    state->skeleton->bss->request.cpus = static_cast<rsslag_u32>(machine.cpus_possible);
    return SnapshotProbe(std::move(state));
}

/// Runs one pass of the program `which` and reads its output into `bytes`.
std::optional<Error> SnapshotProbe::State::run(bpf_program *which, const bpf_iter_attach_opts &options) {
    const Link link(bpf_program__attach_iter(which, &options));
    if (link == nullptr) {
        // The kernel looks the group up when it attaches a filtered iterator.
        if (errno == ESRCH && options.link_info != nullptr)
            return Error{Kind::Gone, fmt::format("no process {}", options.link_info->task.pid), ESRCH, ""};
        return explain_denial(errno, own_privileges(), own_binary());
    }
    const Fd fd(bpf_iter_create(bpf_link__fd(link.get())));
    if (fd.get() < 0) return explain_denial(-fd.get(), own_privileges(), own_binary());
    return read_pass(fd.get(), bytes);
}

core::Result<core::CounterReading> SnapshotProbe::State::pass(const rsslag_snapshot_request &request) {
    skeleton->bss->request = request;
    skeleton->bss->progress = {};
    bpf_iter_link_info info{};
    info.task.pid = static_cast<__u32>(request.tgid);
    LIBBPF_OPTS(bpf_iter_attach_opts, options);
    if (by_group && request.mm == 0) {
        options.link_info = &info;
        options.link_info_len = sizeof(info);
    }
    if (auto error = run(program, options)) return *error;
    return unpack_snapshot(scheme, bytes);
}

core::Result<core::CounterReading> SnapshotProbe::read(pid_t tgid) {
    const auto begin = std::chrono::steady_clock::now();
    const rsslag_u32 cpus = state_->skeleton->bss->request.cpus;
    auto reading = state_->pass({.mm = 0, .tgid = tgid, .cpus = cpus});
    if (!reading) return reading;
    if (reading->mm_users > static_cast<int>(reading->tasks.size())) {
        // The mm has other users: tasks of another group (CLONE_VM, vfork), or only a reader of its /proc files.
        const rsslag_u64 mm = reading->mm;
        reading = state_->pass({.mm = mm, .tgid = tgid, .cpus = cpus});
        if (!reading) return reading;
    }
    const auto took = std::chrono::steady_clock::now() - begin;
    reading->took_us = std::chrono::duration_cast<std::chrono::microseconds>(took).count();
    return reading;
}

core::Result<std::vector<core::ProcessTotal>> SnapshotProbe::read_all() {
    state_->skeleton->bss->progress = {};
    LIBBPF_OPTS(bpf_iter_attach_opts, options);
    if (auto error = state_->run(state_->totals, options)) return *error;
    return unpack_totals(state_->scheme, state_->bytes);
}

}  // namespace rsslag::probe
