// SPDX-License-Identifier: BSD-2-Clause
#include "probe/stream.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <numeric>

#include "core/fd.h"
#include "core_types.h"
#include "kernel_ids.h"
#include "probe/denial.h"
#include "ring_size.h"
#include "stream_state.h"

namespace rsslag::probe {

using core::Fd;
namespace {

using core::Error;
using core::Kind;
using core::Status;

constexpr std::uint32_t kMaxRings = 32;

/// Why samples of updates cannot be taken, if so.
std::optional<Error> no_samples(const KernelTraits &traits, core::Scheme scheme) {
    if (core::cpus_cache(scheme)) return std::nullopt;
    const char *const remedy = "trace without --stacks, or use Linux 5.15 or later on x86-64";
    if (!traits.task_registers)
        return Error{Kind::Unsupported, "stacks cannot be sampled: this kernel lacks the BPF helper bpf_task_pt_regs",
                     0, remedy};
    if (core::tasks_cache(scheme) && !traits.handle_mm_fault)
        return Error{Kind::Unsupported, "stacks cannot be sampled: this kernel lacks fexit/handle_mm_fault", 0, remedy};
    return std::nullopt;
}

Error refused(int err) {
    return explain_denial(err, own_privileges(), own_binary());
}

/// One slot for each possible TID, up to 65,536: two tasks that share a slot cost a hash lookup.
std::uint32_t fault_slot_count() {
    std::ifstream file("/proc/sys/kernel/pid_max");
    std::uint32_t pid_max = 32768;
    file >> pid_max;
    return std::bit_ceil(std::clamp(pid_max, 4096U, 65536U));
}

}  // namespace

std::vector<bpf_program *> StreamProbe::State::programs() const {
    std::vector<bpf_program *> all;
    bpf_program *program = nullptr;
    bpf_object__for_each_program(program, skeleton->obj) {
        if (bpf_program__autoload(program)) all.push_back(program);
    }
    return all;
}

/// Selects the programs to load. Those of the other scheme must not be loaded: the verifier refuses a wrong number of
/// tracepoint arguments, and 5.10 lacks helpers.
void StreamProbe::State::choose(const KernelTraits &traits, core::Scheme scheme, bool counting, bool sampling) {
    auto &p = skeleton->progs;
    const bool by_cpu = core::cpus_cache(scheme);
    skeleton->rodata->refcount_type = traits.refcount_type;
    skeleton->rodata->registers_type = traits.registers_type;
    skeleton->rodata->task_type = traits.task_type;
    const auto load_if = [](bpf_program *program, bool requested) { bpf_program__set_autoload(program, requested); };
    load_if(p.task_exec_cpu, by_cpu);
    load_if(p.rss_stat_cpu, by_cpu);
    load_if(p.page_fault_user_cpu, by_cpu && traits.page_fault_user);
    load_if(p.page_fault_kernel_cpu, by_cpu && traits.page_fault_kernel);
    load_if(p.learn_offsets, by_cpu);
    load_if(p.task_exec_thread, !by_cpu);
    load_if(p.rss_stat_thread, !by_cpu);
    load_if(p.page_fault_user_thread, !by_cpu && traits.page_fault_user);
    load_if(p.page_fault_kernel_thread, !by_cpu && traits.page_fault_kernel);
    load_if(p.learn_view, !by_cpu);
    load_if(p.cpu_folded, by_cpu && traits.cpuhp_exit);
    load_if(p.fault_done, core::tasks_cache(scheme) && traits.handle_mm_fault && !counting);
    bpf_map__set_autocreate(skeleton->maps.exact_rss_anchor, by_cpu);
    bpf_map__set_autocreate(skeleton->maps.runs, by_cpu);
    bpf_map__set_autocreate(skeleton->maps.updates, by_cpu);
    // By default the kernel allocates all elements of a hash map in advance.
    if (traits.map_allocator) {
        for (bpf_map *const map : {skeleton->maps.mms, skeleton->maps.groups})
            bpf_map__set_map_flags(map, BPF_F_NO_PREALLOC);
    }
    bpf_map__set_autocreate(skeleton->maps.samples, sampling);
    bpf_map__set_autocreate(skeleton->maps.last_updates, sampling);
    bpf_map__set_autocreate(skeleton->maps.stack_sizes, sampling);
    bpf_map__set_autocreate(skeleton->maps.thread_caches, sampling && !by_cpu);
    if (!traits.page_fault_user) missing.emplace_back("tp_btf/page_fault_user: this kernel does not have it");
    if (!traits.page_fault_kernel) missing.emplace_back("tp_btf/page_fault_kernel: this kernel does not have it");
}

/// Must run before the object is loaded: the map of rings needs the first ring as its template.
Status StreamProbe::State::make_rings(std::uint32_t bytes, std::uint32_t count) {
    sinks.resize(count);
    ring_bytes = bytes;
    for (std::uint32_t i = 0; i < count; ++i) {
        const int fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "rsslag_ring", 0, 0, bytes, nullptr);
        if (fd < 0) return refused(-fd);
        ring_fds.push_back(fd);
        rings.emplace_back(ring_buffer__new(fd, append_record, &sinks[i], nullptr));
        if (!rings.back()) return refused(errno);
    }
    if (const int err = bpf_map__set_inner_map_fd(skeleton->maps.rings, ring_fds[0]); err != 0) return refused(-err);
    bpf_map__set_max_entries(skeleton->maps.rings, count);
    return core::success();
}

/// Puts the rings into their map in one batch. After each change of a map of maps the kernel waits for running
/// programs; from 6.8 on it waits only once for a batch.
Status StreamProbe::State::hand_over_rings() {
    std::vector<std::uint32_t> indices(ring_fds.size());
    std::iota(indices.begin(), indices.end(), 0);
    auto count = static_cast<std::uint32_t>(indices.size());
    const int map = bpf_map__fd(skeleton->maps.rings);
    if (bpf_map_update_batch(map, indices.data(), ring_fds.data(), &count, nullptr) == 0) return core::success();
    for (std::uint32_t i = 0; i < ring_fds.size(); ++i) {
        if (bpf_map_update_elem(map, &i, &ring_fds[i], BPF_ANY) != 0) {
            return refused(errno);
        }
    }
    return core::success();
}

Status StreamProbe::State::load(const Options &options) {
    cpus = options.cpus_possible;
    const std::uint32_t count = std::min(static_cast<std::uint32_t>(cpus), kMaxRings);
    const std::uint32_t fault_count = fault_slot_count();
    fault_mask = fault_count - 1;
    skeleton->rodata->fault_mask = fault_mask;
    skeleton->rodata->possible_cpus = static_cast<std::uint32_t>(cpus);
    skeleton->rodata->fault_emitted_at_exit = bpf_program__autoload(skeleton->progs.fault_done);
    skeleton->rodata->counting = options.counting;
    skeleton->rodata->sample_period = options.samples.period;
    skeleton->rodata->sample_seed = options.samples.seed;
    const auto sizes = core::stack_sizes(options.samples.stack_bytes);
    std::copy(sizes.begin(), sizes.end(), skeleton->rodata->sample_stack_bytes);
    skeleton->rodata->sample_whole_stack_bytes = core::whole_stack_bytes(options.samples.period);
    if (options.samples.period > 0) {
        sample_ring_bytes = sample_ring_size(options.samples.ring_bytes, options.memory_bytes);
        bpf_map__set_max_entries(skeleton->maps.samples, static_cast<std::uint32_t>(sample_ring_bytes));
    }
    skeleton->bss->filter.follow = options.follow ? 1 : 0;
    bpf_map__set_max_entries(skeleton->maps.fault_slots, fault_count);
    bpf_map__set_max_entries(skeleton->maps.stack_sizes, fault_count);
    bpf_map__set_max_entries(skeleton->maps.cpus, static_cast<std::uint32_t>(cpus));
    bpf_map__set_max_entries(skeleton->maps.runs, static_cast<std::uint32_t>(cpus));
    const bool buffers = bpf_map__autocreate(skeleton->maps.updates) && count == static_cast<std::uint32_t>(cpus);
    const std::size_t size =
        ring_size(options.ring_bytes, options.memory_bytes, buffers ? 2 * count : count, sample_ring_bytes);
    if (buffers) {
        update_places = size / sizeof(rsslag_update);
        skeleton->rodata->update_places = static_cast<std::uint32_t>(update_places);
        bpf_map__set_max_entries(skeleton->maps.updates, static_cast<std::uint32_t>(count * update_places));
    }
    const auto bytes = static_cast<std::uint32_t>(std::bit_ceil(size));
    if (Status made = make_rings(bytes, count); !made) return made;
    if (const int err = rsslag_stream__load(skeleton.get()); err != 0) return refused(-err);
    if (skeleton->bss == nullptr) return variables_not_mapped();
    if (Status given = hand_over_rings(); !given) return given;
    cpu_states = Mapping(bpf_map__fd(skeleton->maps.cpus), static_cast<std::size_t>(cpus) * sizeof(rsslag_cpu),
                         PROT_READ | PROT_WRITE);
    if (cpu_states.get() == nullptr) return refused(errno);
    slots = Mapping(bpf_map__fd(skeleton->maps.fault_slots), fault_count * sizeof(rsslag_fault_slot));
    if (slots.get() == nullptr) return refused(errno);
    ends = Mapping(bpf_map__fd(skeleton->maps.ends), RSSLAG_END_SLOTS * sizeof(rsslag_end));
    if (ends.get() == nullptr) return refused(errno);
    if (Status mapped = map_updates(); !mapped) return mapped;
    if (options.samples.period > 0) {
        sample_ring.reset(ring_buffer__new(bpf_map__fd(skeleton->maps.samples), append_sample, &sample_sink, nullptr));
        if (!sample_ring) return refused(errno);
        stack_sizes = Mapping(bpf_map__fd(skeleton->maps.stack_sizes), fault_count * sizeof(std::uint64_t),
                              PROT_READ | PROT_WRITE);
        if (stack_sizes.get() == nullptr) return refused(errno);
    }
    if (options.counting && bpf_map__fd(skeleton->maps.runs) >= 0) {
        emitted_sequence.resize(static_cast<std::size_t>(cpus));
        runs = Mapping(bpf_map__fd(skeleton->maps.runs), emitted_sequence.size() * sizeof(rsslag_run));
        if (runs.get() == nullptr) return refused(errno);
    }
    return core::success();
}

Status StreamProbe::State::map_updates() {
    if (update_places == 0) return core::success();
    const std::size_t count = rings.size() * update_places;
    updates = Mapping(bpf_map__fd(skeleton->maps.updates), count * sizeof(rsslag_update));
    if (updates.get() == nullptr) return refused(errno);
    const std::span all(static_cast<const rsslag_update *>(updates.get()), count);
    for (std::size_t i = 0; i < rings.size(); ++i)
        update_buffers.emplace_back(static_cast<rsslag_cpu *>(cpu_states.get())[i],
                                    all.subspan(i * update_places, update_places));
    return core::success();
}

/// Runs the iterator that finds rsslag's PID namespace and, on the `cpu` scheme, the CPUs' per-CPU offsets.
Status StreamProbe::State::learn(core::Scheme scheme) {
    const auto count = static_cast<std::uint32_t>(rings.size());
    for (std::uint32_t cpu = 0; cpu < static_cast<std::uint32_t>(cpus); ++cpu) {
        rsslag_cpu facts{};
        facts.ring = cpu % count;
        if (bpf_map_update_elem(bpf_map__fd(skeleton->maps.cpus), &cpu, &facts, BPF_ANY) != 0) return refused(errno);
    }
    bpf_program *const program = core::cpus_cache(scheme) ? skeleton->progs.learn_offsets : skeleton->progs.learn_view;
    const Link link(bpf_program__attach_iter(program, nullptr));
    if (!link) return refused(errno);
    const Fd fd(bpf_iter_create(bpf_link__fd(link.get())));
    if (!fd.open()) return refused(-fd.get());
    char byte = 0;
    while (read(fd.get(), &byte, 1) > 0) {
    }
    if (!core::cpus_cache(scheme)) return core::success();
    const auto all = cpu_list();
    const auto unknown = std::find_if(all.begin(), all.end(), [](const rsslag_cpu &cpu) { return cpu.known == 0; });
    if (unknown == all.end()) return core::success();
    return Error{Kind::Unsupported, fmt::format("cannot find the per-CPU offset of CPU {}", unknown - all.begin()), 0,
                 "report it with the output of rsslag doctor --json"};
}

Status StreamProbe::State::attach() {
    for (bpf_program *program : programs()) {
        if (bpf_program__type(program) == BPF_PROG_TYPE_TRACING &&
            bpf_program__expected_attach_type(program) == BPF_TRACE_ITER) {
            continue;
        }
        const auto &progs = skeleton->progs;
        if (program == progs.trace || program == progs.untrace || program == progs.forget_mm) continue;  // see run()
        links.emplace_back(probe::attach(program));
        if (links.back()) continue;
        const int err = errno;
        if (program != skeleton->progs.cpu_folded) return refused(err);
        links.pop_back();
        missing.push_back("tp_btf/cpuhp_exit: " + std::string(std::strerror(err)));
    }
    return core::success();
}

StreamProbe::StreamProbe(std::unique_ptr<State> state) : state_(std::move(state)) {}
StreamProbe::~StreamProbe() = default;
StreamProbe::StreamProbe(StreamProbe &&) noexcept = default;
StreamProbe &StreamProbe::operator=(StreamProbe &&) noexcept = default;

core::Result<StreamProbe> StreamProbe::open(const KernelTraits &traits, const Options &options) {
    const auto *scheme = std::get_if<core::Scheme>(&traits.scheme);
    if (scheme == nullptr) return unsupported(std::get<UnknownLayout>(traits.scheme));
    if (!traits.rss_stat_arguments) {
        return Error{Kind::Unsupported, "this kernel has no tracepoint kmem:rss_stat", 0,
                     traits.task_iterator ? "use rsslag snapshot, which does not need it" : "use Linux 5.8 or later"};
    }
    if (options.samples.period > 0)
        if (auto why = no_samples(traits, *scheme)) return *std::move(why);
    KernelTraits usable = traits;
    find_ids_in(traits.types);
    std::vector<std::string> missing;
    for (;;) {
        auto state = std::make_unique<State>();
        state->missing = missing;
        state->skeleton.reset(rsslag_stream__open());
        if (!state->skeleton) return refused(errno);
        const CoreTypes types(traits.types.get(), *bpf_object__btf(state->skeleton->obj));
        if (types.made()) state->skeleton.reset(rsslag_stream__open_opts(types.open_options()));
        if (!state->skeleton) return refused(errno);
        state->choose(usable, *scheme, options.counting, options.samples.period > 0);
        Status ready = state->load(options);
        if (ready) ready = state->learn(*scheme);
        if (ready) ready = state->attach();
        if (ready) return StreamProbe(std::move(state));
        if (!usable.handle_mm_fault || !core::tasks_cache(*scheme) || options.samples.period > 0) return ready.error();
        // Only fexit is optional: without it, fault records are sent at the entry of faults.
        usable.handle_mm_fault = false;
        missing.push_back("fexit/handle_mm_fault: " + std::string(std::strerror(ready.error().err)));
    }
}

/// Runs a BPF program: only BPF programs write the filter's tables.
core::Result<std::uint32_t> StreamProbe::State::run(const bpf_program *program, int host_tgid, std::uint64_t mm) const {
    std::uint64_t arguments[] = {static_cast<std::uint32_t>(host_tgid), mm};
    LIBBPF_OPTS(bpf_test_run_opts, run, .ctx_in = arguments, .ctx_size_in = sizeof(arguments));
    if (bpf_prog_test_run_opts(bpf_program__fd(program), &run) != 0) return refused(errno);
    return run.retval;
}

Status StreamProbe::trace(int host_tgid, std::uint64_t mm) {
    const auto full = state_->run(state_->skeleton->progs.trace, host_tgid, mm);
    if (!full) return full.error();
    if (*full == 0) return core::success();
    return Error{Kind::Unsupported, "too many processes to trace", 0, "trace fewer of them"};
}

Status StreamProbe::untrace(int host_tgid, std::uint64_t mm) {
    const auto done = state_->run(state_->skeleton->progs.untrace, host_tgid, mm);
    return done ? core::success() : Status(done.error());
}

void StreamProbe::forget_mm(std::uint64_t mm, std::uint64_t before_ns) {
    constexpr unsigned kShift = 20;  // MM_ENDS_SHIFT
    const auto before = static_cast<std::uint32_t>(before_ns >> kShift);
    // Without it the entry stays until another mm has the address.
    (void)state_->run(state_->skeleton->progs.forget_mm, static_cast<int>(before), mm);
}

bool StreamProbe::traced(int host_tgid) const {
    const auto tgid = static_cast<std::uint32_t>(host_tgid);
    std::uint32_t state = 0;
    return bpf_map_lookup_elem(traced_groups_fd(), &tgid, &state) == 0;
}

Status StreamProbe::trace_matching(const Pattern &pattern) {
    rsslag_pattern &out = state_->skeleton->bss->pattern;
    std::uint32_t conditions = 0;
    if (pattern.comm) {
        conditions |= RSSLAG_BY_COMM;
        out.start = pattern.comm->start;
        out.loops = pattern.comm->loops;
        out.ends = pattern.comm->ends;
        std::copy(pattern.comm->takes.begin(), pattern.comm->takes.end(), out.takes);
    }
    if (pattern.uid) {
        conditions |= RSSLAG_BY_USER;
        out.uid = *pattern.uid;
    }
    if (!pattern.cgroup.empty()) {
        conditions |= RSSLAG_BY_CGROUP;
        const Fd directory(::open(pattern.cgroup.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        if (!directory.open()) return refused(errno);
        const std::uint32_t zero = 0;
        const int value = directory.get();
        const int map = bpf_map__fd(state_->skeleton->maps.cgroups);
        if (bpf_map_update_elem(map, &zero, &value, BPF_ANY) != 0) return refused(errno);
    }
    __atomic_store_n(&out.conditions, conditions, __ATOMIC_RELEASE);
    return core::success();
}

void StreamProbe::detach() {
    state_->links.clear();
}

int StreamProbe::traced_groups_fd() const {
    return bpf_map__fd(state_->skeleton->maps.groups);
}

rsslag_view StreamProbe::view() const {
    return state_->skeleton->bss->reader;
}

const std::vector<std::string> &StreamProbe::missing() const {
    return state_->missing;
}

}  // namespace rsslag::probe
