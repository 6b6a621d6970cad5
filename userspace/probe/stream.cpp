// SPDX-License-Identifier: BSD-2-Clause
#include "rsslag/probe/stream.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <map>

#include "libbpf_log.h"
#include "link.h"
#include "rsslag/abi.h"
#include "rsslag/core/fd.h"
#include "rsslag/core/wire.h"
#include "rsslag/probe/denial.h"
#include "stream.skel.h"
#include "update_buffer.h"

namespace rsslag::probe {

using core::Fd;
namespace {

using core::Error;
using core::Kind;
using core::Status;

constexpr std::uint32_t kMaxRings = 32;

struct StreamDeleter {
    void operator()(rsslag_stream *skeleton) const { rsslag_stream__destroy(skeleton); }
};
struct RingDeleter {
    void operator()(ring_buffer *ring) const { ring_buffer__free(ring); }
};

class Mapping {
  public:
    Mapping() = default;
    Mapping(int fd, std::size_t bytes, int access = PROT_READ) : bytes_(bytes) {
        void *at = mmap(nullptr, bytes, access, MAP_SHARED, fd, 0);
        at_ = at == MAP_FAILED ? nullptr : at;
    }
    ~Mapping() {
        if (at_ != nullptr) munmap(at_, bytes_);
    }
    Mapping(Mapping &&o) noexcept : at_(std::exchange(o.at_, nullptr)), bytes_(o.bytes_) {}
    Mapping &operator=(Mapping &&o) noexcept {
        std::swap(at_, o.at_);
        std::swap(bytes_, o.bytes_);
        return *this;
    }
    void *get() const { return at_; }

  private:
    void *at_ = nullptr;
    std::size_t bytes_ = 0;
};

Error refused(int err) {
    return explain_denial(err, own_privileges(), own_binary());
}

/// One slot for each number that a task can have, within reason: two tasks that share one cost a hash lookup.
std::uint32_t fault_slot_count() {
    std::ifstream file("/proc/sys/kernel/pid_max");
    std::uint32_t pid_max = 32768;
    file >> pid_max;
    return std::bit_ceil(std::clamp(pid_max, 4096U, 65536U));
}

/// Where a ring's records go, among the updates of its CPU where these are in a buffer of their own, and how many bytes
/// more may come in this call: a ring that is filled faster than it is emptied would never be empty.
struct Sink {
    std::vector<std::byte> *out = nullptr;
    UpdateBuffer *updates = nullptr;
    std::size_t left = 0;
    std::atomic<std::uint64_t> *malformed = nullptr;
};

/// A record that is not as long as its kind is would hide all that comes after it.
bool well_formed(const std::byte *bytes, std::size_t size) {
    std::uint16_t kind = 0;
    if (size < sizeof(kind)) return false;
    std::memcpy(&kind, bytes, sizeof(kind));
    return size == wire::record_bytes(kind);
}

int append(void *to, void *data, std::size_t size) {
    auto *sink = static_cast<Sink *>(to);
    const auto *bytes = static_cast<const std::byte *>(data);
    if (well_formed(bytes, size)) {
        if (sink->updates != nullptr) {
            std::uint64_t t_ns = 0;
            std::memcpy(&t_ns, bytes + wire::kTimeOffset, sizeof(t_ns));
            sink->updates->take_before(t_ns, *sink->out);
        }
        sink->out->insert(sink->out->end(), bytes, bytes + size);
    } else {
        sink->malformed->fetch_add(1, std::memory_order_relaxed);
    }
    if (sink->left <= size) return -EAGAIN;  // libbpf stops after this record
    sink->left -= size;
    return 0;
}

/// A CPU's sum as it is between two updates; false where the CPU was taken away in the middle of one.
bool read_run(const rsslag_run &run, rsslag_run &out) {
    constexpr int kTries = 100'000;  // an update takes some nanoseconds
    for (int i = 0; i < kTries; ++i) {
        const std::uint32_t sequence = __atomic_load_n(&run.sequence, __ATOMIC_ACQUIRE);
        if ((sequence & 1) != 0) continue;
        std::memcpy(&out, &run, sizeof(out));
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (__atomic_load_n(&run.sequence, __ATOMIC_RELAXED) == sequence) return true;
    }
    return false;
}

}  // namespace

struct StreamProbe::State {
    std::unique_ptr<rsslag_stream, StreamDeleter> skeleton;
    std::vector<int> ring_fds;
    std::vector<std::unique_ptr<ring_buffer, RingDeleter>> rings;
    std::size_t ring_bytes = 0;
    std::vector<Sink> sinks;  ///< where each ring's callback appends; its address is kept
    std::vector<Link> links;
    std::vector<std::string> missing;
    std::atomic<std::uint64_t> malformed = 0;
    mutable std::map<bpf_program *, std::uint64_t> recursion;  ///< as last told
    mutable std::uint64_t unreadable = 0;
    Mapping cpu_states;
    Mapping slots;
    Mapping updates;
    std::vector<UpdateBuffer> update_buffers;  ///< of each ring's CPU; none: updates come through the rings
    std::size_t update_places = 0;             ///< of each buffer; 0: there are none
    Mapping runs;                              ///< none: nothing is summed up
    std::vector<rsslag_sum> grown;
    std::vector<std::uint32_t> emitted_sequence;  ///< of each CPU's sum, when last sent on
    std::uint32_t fault_mask = 0;
    int cpus = 1;

    ~State() {
        links.clear();
        rings.clear();
        for (const int fd : ring_fds)
            close(fd);
    }

    void choose(const KernelTraits &traits, core::Scheme scheme, bool counting);
    Status load(const Options &options);
    Status make_rings(std::uint32_t bytes, std::uint32_t count);
    Status hand_over_rings();
    Status learn(core::Scheme scheme);
    Status attach();
    std::vector<bpf_program *> programs() const;
    void read_sums();
    Status map_updates();
    std::span<const rsslag_cpu> cpu_list() const {
        return {static_cast<const rsslag_cpu *>(cpu_states.get()), static_cast<std::size_t>(cpus)};
    }
};

std::vector<bpf_program *> StreamProbe::State::programs() const {
    std::vector<bpf_program *> all;
    bpf_program *program = nullptr;
    bpf_object__for_each_program(program, skeleton->obj) {
        if (bpf_program__autoload(program)) all.push_back(program);
    }
    return all;
}

/// Only what this kernel can take is loaded: the verifier refuses a wrong number of arguments, 5.10 lacks helpers.
void StreamProbe::State::choose(const KernelTraits &traits, core::Scheme scheme, bool counting) {
    auto &p = skeleton->progs;
    const bool by_cpu = scheme == core::Scheme::Cpu;
    const auto load_if = [](bpf_program *program, bool requested) { bpf_program__set_autoload(program, requested); };
    load_if(p.rss_stat_cpu, by_cpu);
    load_if(p.page_fault_user_cpu, by_cpu && traits.page_fault_user);
    load_if(p.page_fault_kernel_cpu, by_cpu && traits.page_fault_kernel);
    load_if(p.learn_offsets, by_cpu);
    load_if(p.rss_stat_thread, !by_cpu);
    load_if(p.page_fault_user_thread, !by_cpu && traits.page_fault_user);
    load_if(p.page_fault_kernel_thread, !by_cpu && traits.page_fault_kernel);
    load_if(p.learn_view, !by_cpu);
    load_if(p.cpu_folded, by_cpu && traits.cpuhp_exit);
    load_if(p.fault_done, scheme == core::Scheme::Thread && traits.handle_mm_fault && !counting);
    bpf_map__set_autocreate(skeleton->maps.anchor, by_cpu);
    bpf_map__set_autocreate(skeleton->maps.runs, by_cpu);
    bpf_map__set_autocreate(skeleton->maps.updates, by_cpu);
    if (!traits.page_fault_user) missing.emplace_back("tp_btf/page_fault_user: this kernel does not have it");
    if (!traits.page_fault_kernel) missing.emplace_back("tp_btf/page_fault_kernel: this kernel does not have it");
}

/// Made before the object is loaded, whose map of rings takes the first one for a model of all.
Status StreamProbe::State::make_rings(std::uint32_t bytes, std::uint32_t count) {
    sinks.resize(count);
    ring_bytes = bytes;
    for (std::uint32_t i = 0; i < count; ++i) {
        const int fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "rsslag_ring", 0, 0, bytes, nullptr);
        if (fd < 0) return refused(-fd);
        ring_fds.push_back(fd);
        rings.emplace_back(ring_buffer__new(fd, append, &sinks[i], nullptr));
        if (!rings.back()) return refused(errno);
    }
    if (const int err = bpf_map__set_inner_map_fd(skeleton->maps.rings, ring_fds[0]); err != 0) return refused(-err);
    bpf_map__set_max_entries(skeleton->maps.rings, count);
    return core::success();
}

Status StreamProbe::State::hand_over_rings() {
    for (std::uint32_t i = 0; i < ring_fds.size(); ++i) {
        if (bpf_map_update_elem(bpf_map__fd(skeleton->maps.rings), &i, &ring_fds[i], BPF_ANY) != 0) {
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
    skeleton->bss->filter.follow = options.follow ? 1 : 0;
    bpf_map__set_max_entries(skeleton->maps.fault_slots, fault_count);
    bpf_map__set_max_entries(skeleton->maps.cpus, static_cast<std::uint32_t>(cpus));
    bpf_map__set_max_entries(skeleton->maps.runs, static_cast<std::uint32_t>(cpus));
    if (bpf_map__autocreate(skeleton->maps.updates) && count == static_cast<std::uint32_t>(cpus)) {
        update_places = std::max<std::size_t>(options.ring_bytes, 4096) / sizeof(rsslag_update);
        skeleton->rodata->update_places = static_cast<std::uint32_t>(update_places);
        bpf_map__set_max_entries(skeleton->maps.updates, static_cast<std::uint32_t>(count * update_places));
    }
    const auto bytes = static_cast<std::uint32_t>(std::bit_ceil(std::max<std::size_t>(options.ring_bytes, 4096)));
    if (Status made = make_rings(bytes, count); !made) return made;
    if (const int err = rsslag_stream__load(skeleton.get()); err != 0) return refused(-err);
    if (skeleton->bss == nullptr) return variables_out_of_reach();
    if (Status given = hand_over_rings(); !given) return given;
    cpu_states = Mapping(bpf_map__fd(skeleton->maps.cpus), static_cast<std::size_t>(cpus) * sizeof(rsslag_cpu),
                         PROT_READ | PROT_WRITE);
    if (cpu_states.get() == nullptr) return refused(errno);
    slots = Mapping(bpf_map__fd(skeleton->maps.fault_slots), fault_count * sizeof(rsslag_fault_slot));
    if (slots.get() == nullptr) return refused(errno);
    if (Status mapped = map_updates(); !mapped) return mapped;
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

/// Runs the iterator that finds out rsslag's PID namespace and the CPUs' offsets.
Status StreamProbe::State::learn(core::Scheme scheme) {
    const auto count = static_cast<std::uint32_t>(rings.size());
    for (std::uint32_t cpu = 0; cpu < static_cast<std::uint32_t>(cpus); ++cpu) {
        rsslag_cpu facts{};
        facts.ring = cpu % count;
        if (bpf_map_update_elem(bpf_map__fd(skeleton->maps.cpus), &cpu, &facts, BPF_ANY) != 0) return refused(errno);
    }
    bpf_program *const program =
        scheme == core::Scheme::Cpu ? skeleton->progs.learn_offsets : skeleton->progs.learn_view;
    const Link link(bpf_program__attach_iter(program, nullptr));
    if (!link) return refused(errno);
    const Fd fd(bpf_iter_create(bpf_link__fd(link.get())));
    if (!fd.open()) return refused(-fd.get());
    char byte = 0;
    while (read(fd.get(), &byte, 1) > 0) {
    }
    if (scheme != core::Scheme::Cpu) return core::success();
    const auto all = cpu_list();
    const auto unknown = std::find_if(all.begin(), all.end(), [](const rsslag_cpu &cpu) { return cpu.known == 0; });
    if (unknown == all.end()) return core::success();
    return Error{Kind::Unsupported,
                 fmt::format("this kernel does not show where CPU {} keeps its counters", unknown - all.begin()), 0,
                 "rsslag snapshot works without it"};
}

Status StreamProbe::State::attach() {
    for (bpf_program *program : programs()) {
        if (bpf_program__type(program) == BPF_PROG_TYPE_TRACING &&
            bpf_program__expected_attach_type(program) == BPF_TRACE_ITER) {
            continue;
        }
        if (program == skeleton->progs.trace) continue;  // run by want()
        links.emplace_back(bpf_program__attach(program));
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
    if (scheme == nullptr || !traits.rss_stat_arguments) {
        return Error{Kind::Unsupported, "this kernel has no tracepoint kmem:rss_stat that rsslag knows", 0,
                     "rsslag snapshot works without it"};
    }
    log_libbpf();
    KernelTraits usable = traits;
    std::vector<std::string> missing;
    for (;;) {
        auto state = std::make_unique<State>();
        state->missing = missing;
        state->skeleton.reset(rsslag_stream__open());
        if (!state->skeleton) return refused(errno);
        state->choose(usable, *scheme, options.counting);
        Status ready = state->load(options);
        if (ready) ready = state->learn(*scheme);
        if (ready) ready = state->attach();
        if (ready) return StreamProbe(std::move(state));
        if (!usable.handle_mm_fault || *scheme != core::Scheme::Thread) return ready.error();
        // fexit is the only luxury: where it cannot be had, faults are told at their entry.
        usable.handle_mm_fault = false;
        missing.push_back("fexit/handle_mm_fault: " + std::string(std::strerror(ready.error().err)));
    }
}

/// By the program that does it for all others: the filter has one owner.
Status StreamProbe::trace(int host_tgid, std::uint64_t mm) {
    std::uint64_t arguments[] = {static_cast<std::uint32_t>(host_tgid), mm};
    LIBBPF_OPTS(bpf_test_run_opts, run, .ctx_in = arguments, .ctx_size_in = sizeof(arguments));
    if (bpf_prog_test_run_opts(bpf_program__fd(state_->skeleton->progs.trace), &run) != 0) return refused(errno);
    if (run.retval == 0) return core::success();
    return Error{Kind::Unsupported, "too many processes are traced", 0, "trace fewer of them"};
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

std::size_t StreamProbe::rings() const {
    return state_->rings.size();
}

/// Sums that go on and have grown. Before the rings are emptied: then what a CPU told before it began a sum comes
/// first.
void StreamProbe::State::read_sums() {
    grown.clear();
    const auto *all = static_cast<const rsslag_run *>(runs.get());
    for (std::size_t cpu = 0; cpu < emitted_sequence.size(); ++cpu) {
        rsslag_run run;
        if (__atomic_load_n(&all[cpu].sequence, __ATOMIC_RELAXED) == emitted_sequence[cpu]) continue;
        if (!read_run(all[cpu], run)) continue;
        emitted_sequence[cpu] = run.sequence;
        if (run.mm == 0) continue;
        timespec now{};
        clock_gettime(CLOCK_MONOTONIC, &now);
        rsslag_sum &sum = grown.emplace_back();
        sum.kind = RSSLAG_SUM;
        sum.flags = run.flags | RSSLAG_PARTIAL;
        sum.tid = run.tid;
        sum.t_ns = static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
        sum.mm = run.mm;
        std::copy(std::begin(run.cached), std::end(run.cached), sum.cached);
        sum.updates = run.updates;
        sum.number = run.number;
        sum.cpu = sum.of = static_cast<std::uint16_t>(cpu);
        sum.members = run.members;
    }
}

/// Each CPU's records in the order in which it sent them. Before an update that is there at the begin, all that its CPU
/// has sent by its ring is there, too: so these go on to the end of it.
void StreamProbe::drain(std::span<std::vector<std::byte>> out) {
    state_->read_sums();
    for (std::size_t i = 0; i < state_->rings.size(); ++i) {
        UpdateBuffer *const updates = state_->update_buffers.empty() ? nullptr : &state_->update_buffers[i];
        const std::uint64_t sent = updates == nullptr ? 0 : updates->sent();
        state_->sinks[i] = {&out[i], updates, state_->ring_bytes, &state_->malformed};
        ring_buffer__consume(state_->rings[i].get());
        if (updates == nullptr) continue;
        updates->take_until(sent, out[i]);
        updates->give_back();
    }
    for (const rsslag_sum &sum : state_->grown) {
        const auto bytes = std::as_bytes(std::span(&sum, 1));
        auto &ring = out[sum.cpu % state_->rings.size()];
        ring.insert(ring.end(), bytes.begin(), bytes.end());
    }
}

void StreamProbe::detach() {
    state_->links.clear();
}

/// What cannot be counted is told by itself: it is not nothing.
Losses StreamProbe::losses() const {
    const auto load = [](const rsslag_u64 &count) { return __atomic_load_n(&count, __ATOMIC_RELAXED); };
    Losses losses;
    std::uint64_t ring = 0;
    std::uint64_t room = load(state_->skeleton->bss->lost_without_cpu);
    for (const rsslag_cpu &cpu : state_->cpu_list()) {
        ring += load(cpu.lost_ring);
        room += load(cpu.lost_room);
        losses.sent += load(cpu.updates) + load(cpu.others);
    }
    std::uint64_t recursion = 0;
    for (bpf_program *program : state_->programs()) {
        bpf_prog_info info{};
        std::uint32_t size = sizeof(info);
        std::uint64_t &last = state_->recursion[program];
        if (bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size) == 0) {
            last = info.recursion_misses;
        } else {
            ++state_->unreadable;
        }
        recursion += last;
    }
    losses.sent += ring + room + recursion + state_->unreadable;
    losses.by_cause = {{"ring_full", ring},
                       {"recursion", recursion},
                       {"no_room", room},
                       {"malformed", state_->malformed.load(std::memory_order_relaxed)}};
    if (state_->unreadable > 0) losses.by_cause["unreadable"] = state_->unreadable;
    return losses;
}

FaultCounts StreamProbe::faults(int host_tid) const {
    const auto tid = static_cast<std::uint32_t>(host_tid);
    const auto *slots = static_cast<const rsslag_fault_slot *>(state_->slots.get());
    const rsslag_fault_slot &slot = slots[tid & state_->fault_mask];
    const auto whose = [](const rsslag_fault_slot &of) { return std::abs(__atomic_load_n(&of.tid, __ATOMIC_ACQUIRE)); };
    if (whose(slot) == host_tid) {
        const FaultCounts counts{__atomic_load_n(&slot.user_faults, __ATOMIC_ACQUIRE),
                                 __atomic_load_n(&slot.kernel_faults, __ATOMIC_ACQUIRE)};
        if (whose(slot) == host_tid) return counts;  // else its place has just become another's
    }
    rsslag_fault_slot overflow{};
    if (bpf_map_lookup_elem(bpf_map__fd(state_->skeleton->maps.fault_slots_overflow), &tid, &overflow) != 0)
        return {};  // it has had none
    return {overflow.user_faults, overflow.kernel_faults};
}

std::uint64_t StreamProbe::folded_cpus() const {
    return __atomic_load_n(&state_->skeleton->bss->folded_cpus, __ATOMIC_RELAXED);
}

ProgramCost StreamProbe::cost() const {
    ProgramCost cost;
    for (bpf_program *program : state_->programs()) {
        bpf_prog_info info{};
        std::uint32_t size = sizeof(info);
        if (bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size) != 0) continue;
        cost.run_ns += info.run_time_ns;
        cost.runs += info.run_cnt;
    }
    return cost;
}

const std::vector<std::string> &StreamProbe::missing() const {
    return state_->missing;
}

}  // namespace rsslag::probe
