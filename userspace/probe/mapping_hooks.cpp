// SPDX-License-Identifier: BSD-2-Clause
#include "probe/mapping_hooks.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "core_types.h"
#include "kernel_ids.h"
#include "link.h"
#include "mappings.skel.h"
#include "probe/denial.h"

namespace rsslag::probe {
namespace {

using core::MappingChange;

struct MappingsDeleter {
    void operator()(rsslag_mappings *skeleton) const { rsslag_mappings__destroy(skeleton); }
};
struct ChangesDeleter {
    void operator()(ring_buffer *ring) const { ring_buffer__free(ring); }
};
using MappingsSkeleton = std::unique_ptr<rsslag_mappings, MappingsDeleter>;

/// Cheapest first.
enum class Hooks : std::uint8_t { Functions, Tracepoints, AllReturns };

MappingChange change_of(const rsslag_mapping &record) {
    MappingChange change;
    const bool moved = record.kind == RSSLAG_MOVED;
    change.kind = moved ? MappingChange::Kind::Moved : MappingChange::Kind::Named;
    change.t_ns = record.t_ns;
    change.pid = record.pid;
    change.tid = record.tid;
    constexpr std::uint64_t kWithin = 4095;  // the lengths are system call arguments: not always whole pages
    change.range.start = record.to;
    change.range.end = (record.to + record.to_bytes + kWithin) & ~kWithin;
    change.old_start = record.from;
    change.old_end = (record.from + record.from_bytes + kWithin) & ~kWithin;
    const std::string name(record.name, strnlen(record.name, sizeof(record.name)));
    if (!moved && !name.empty()) change.range.name = "[anon:" + name + "]";
    return change;
}

int append_change(void *to, void *data, std::size_t size) {
    rsslag_mapping record{};
    if (size < sizeof(record)) return 0;
    std::memcpy(&record, data, sizeof(record));
    static_cast<std::vector<MappingChange> *>(to)->push_back(change_of(record));
    return 0;
}

}  // namespace

struct MappingHooks::State {
    MappingsSkeleton skeleton;
    std::vector<Link> links;
    std::vector<MappingChange> pending;
    std::unique_ptr<ring_buffer, ChangesDeleter> ring;
    std::uint64_t lost = 0;

    int attach(const StreamProbe &stream, const KernelTraits &traits, Hooks hooks);
};

/// 0 or a positive errno.
int MappingHooks::State::attach(const StreamProbe &stream, const KernelTraits &traits, Hooks hooks) {
    skeleton.reset(rsslag_mappings__open());
    if (!skeleton) return errno;
    const CoreTypes types(traits.types.get(), *bpf_object__btf(skeleton->obj));
    if (types.made()) skeleton.reset(rsslag_mappings__open_opts(types.open_options()));
    if (!skeleton) return errno;
    auto &programs = skeleton->progs;
    bpf_program__set_autoload(programs.mremap_done, hooks == Hooks::Functions);
    bpf_program__set_autoload(programs.prctl_done, hooks == Hooks::Functions);
#if defined(__x86_64__)
    for (bpf_program *const program : {programs.compat_mremap_done, programs.compat_prctl_done})
        bpf_program__set_autoload(program, hooks == Hooks::Functions && traits.compat_calls);
#endif
    bpf_program__set_autoload(programs.mremap_returned, hooks == Hooks::Tracepoints);
    bpf_program__set_autoload(programs.prctl_returned, hooks == Hooks::Tracepoints);
    bpf_program__set_autoload(programs.syscall_done, hooks == Hooks::AllReturns);
    if (const int err = bpf_map__reuse_fd(skeleton->maps.groups, stream.traced_groups_fd()); err != 0) return -err;
    if (const int err = rsslag_mappings__load(skeleton.get()); err != 0) return -err;
    if (skeleton->bss == nullptr) return EPERM;
    skeleton->bss->reader = stream.view();
    bpf_program *program = nullptr;
    bpf_object__for_each_program(program, skeleton->obj) {
        if (!bpf_program__autoload(program)) continue;
        links.emplace_back(probe::attach(program));
        if (links.back()) continue;
        const int err = errno;
        links.clear();
        return err;
    }
    ring.reset(ring_buffer__new(bpf_map__fd(skeleton->maps.changes), append_change, &pending, nullptr));
    return ring ? 0 : errno;
}

MappingHooks::MappingHooks(std::unique_ptr<State> state) : state_(std::move(state)) {}
MappingHooks::~MappingHooks() = default;
MappingHooks::MappingHooks(MappingHooks &&) noexcept = default;
MappingHooks &MappingHooks::operator=(MappingHooks &&) noexcept = default;

core::Result<MappingHooks> MappingHooks::open(const StreamProbe &stream, const KernelTraits &traits) {
    find_ids_in(traits.types);
    int err = 0;
    for (const Hooks hooks : {Hooks::Functions, Hooks::Tracepoints, Hooks::AllReturns}) {
        auto state = std::make_unique<State>();
        err = state->attach(stream, traits, hooks);
        if (err == 0) return MappingHooks(std::move(state));
    }
    return explain_denial(err, own_privileges(), own_binary());
}

void MappingHooks::drain(std::vector<MappingChange> &out) {
    ring_buffer__consume(state_->ring.get());
    for (MappingChange &change : std::exchange(state_->pending, {}))
        out.push_back(std::move(change));
    const std::uint64_t lost = __atomic_load_n(&state_->skeleton->bss->lost, __ATOMIC_RELAXED);
    if (lost == state_->lost) return;
    MappingChange change;
    change.kind = MappingChange::Kind::Lost;
    change.lost = lost - std::exchange(state_->lost, lost);
    out.push_back(std::move(change));
}

void MappingHooks::detach() {
    state_->links.clear();
}

}  // namespace rsslag::probe
