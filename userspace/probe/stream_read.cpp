// SPDX-License-Identifier: BSD-2-Clause
// Reads what the stream's programs produce: records, sums, losses, faults, peaks of ended processes, run times.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <iterator>

#include "core/wire.h"
#include "stream_state.h"

namespace rsslag::probe {
namespace {

/// Whether the record has the size of its kind. Otherwise the bytes after it could not be parsed.
bool well_formed(const std::byte *bytes, std::size_t size) {
    std::uint16_t kind = 0;
    if (size < sizeof(kind)) return false;
    std::memcpy(&kind, bytes, sizeof(kind));
    return size == wire::record_bytes(kind);
}

/// Copies a CPU's sum as it is between two updates; false if the CPU is preempted in the middle of an update.
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

int append_record(void *to, void *data, std::size_t size) {
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

int append_sample(void *to, void *data, std::size_t size) {
    auto *sink = static_cast<SampleSink *>(to);
    const auto *bytes = static_cast<const std::byte *>(data);
    sink->out->insert(sink->out->end(), bytes, bytes + size);
    if (sink->left <= size) return -EAGAIN;  // libbpf stops after this sample
    sink->left -= size;
    return 0;
}

void StreamProbe::drain_samples(std::vector<std::byte> &out) {
    if (!state_->sample_ring) return;
    state_->sample_sink = {&out, state_->sample_ring_bytes};
    ring_buffer__consume(state_->sample_ring.get());
}

void StreamProbe::copy_more(int host_tid, std::size_t copied) {
    const auto &sizes = state_->skeleton->rodata->sample_stack_bytes;
    auto *const entries = static_cast<std::uint64_t *>(state_->stack_sizes.get());
    const auto *const larger = std::upper_bound(std::begin(sizes), std::end(sizes), copied);
    if (entries == nullptr || larger == std::end(sizes)) return;
    const auto tid = static_cast<std::uint32_t>(host_tid);
    const std::uint64_t first = tid * RSSLAG_STACK_SIZES;
    const std::uint64_t entry = first + static_cast<std::uint64_t>(larger - std::begin(sizes));
    std::uint64_t &own = entries[tid & state_->fault_mask];
    if (own >= entry && own < first + RSSLAG_STACK_SIZES) return;  // the sample was older than its size
    __atomic_store_n(&own, entry, __ATOMIC_RELAXED);
}

void StreamProbe::copy_less() {
    rsslag_u32 &largest = state_->skeleton->data->largest_stack_size;
    if (largest > 0) __atomic_store_n(&largest, largest - 1, __ATOMIC_RELAXED);
}

std::uint64_t StreamProbe::lost_samples() const {
    return __atomic_load_n(&state_->skeleton->bss->lost_samples, __ATOMIC_RELAXED);
}

std::size_t StreamProbe::rings() const {
    return state_->rings.size();
}

std::size_t StreamProbe::buffer_bytes() const {
    return state_->rings.size() * (state_->ring_bytes + state_->update_places * sizeof(rsslag_update)) +
           state_->sample_ring_bytes;
}

/// Collects the sums that have grown since the last call. Must run before the rings are emptied: then all records that
/// a CPU sent before it started its sum are drained before the sum.
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

/// Appends each CPU's records in the order in which the CPU sent them. When `sent` is read, the ring already holds all
/// records that precede those updates: once it is emptied, the updates up to `sent` can be appended.
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

/// If a program's recursion_misses cannot be read, that is itself a loss ("unreadable"): it need not be 0.
Losses StreamProbe::losses() const {
    const auto load = [](const rsslag_u64 &count) { return __atomic_load_n(&count, __ATOMIC_RELAXED); };
    Losses losses;
    std::uint64_t ring = 0;
    std::uint64_t no_room = load(state_->skeleton->bss->lost_without_cpu);
    for (const rsslag_cpu &cpu : state_->cpu_list()) {
        ring += load(cpu.lost_ring);
        no_room += load(cpu.lost_map_full);
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
    losses.sent += ring + no_room + recursion + state_->unreadable;
    losses.by_cause = {{"ring_full", ring},
                       {"recursion", recursion},
                       {"no_room", no_room},
                       {"malformed", state_->malformed.load(std::memory_order_relaxed)}};
    if (state_->unreadable > 0) losses.by_cause["unreadable"] = state_->unreadable;
    return losses;
}

FaultCounts StreamProbe::faults(int host_tid) const {
    const auto tid = static_cast<std::uint32_t>(host_tid);
    const auto *slots = static_cast<const rsslag_fault_slot *>(state_->slots.get());
    const rsslag_fault_slot &slot = slots[tid & state_->fault_mask];
    const auto tid_of = [](const rsslag_fault_slot &of) {
        return std::abs(__atomic_load_n(&of.tid, __ATOMIC_ACQUIRE));
    };
    if (tid_of(slot) == host_tid) {
        const FaultCounts counts{__atomic_load_n(&slot.user_faults, __ATOMIC_ACQUIRE),
                                 __atomic_load_n(&slot.kernel_faults, __ATOMIC_ACQUIRE)};
        if (tid_of(slot) == host_tid) return counts;  // else another task has just taken the slot
    }
    // The task has had no fault. This saves a system call for each idle thread at each tick.
    if (__atomic_load_n(&state_->skeleton->bss->fault_slots_overflowed, __ATOMIC_ACQUIRE) == 0) return {};
    rsslag_fault_slot overflow{};
    if (bpf_map_lookup_elem(bpf_map__fd(state_->skeleton->maps.fault_slots_overflow), &tid, &overflow) != 0) return {};
    return {overflow.user_faults, overflow.kernel_faults};
}

std::optional<core::EndFigures> StreamProbe::end_of(int host_tgid) const {
    const auto *const all = static_cast<const rsslag_end *>(state_->ends.get());
    const rsslag_end &end = all[static_cast<std::uint32_t>(host_tgid) % RSSLAG_END_SLOTS];
    const auto is_its = [&] { return __atomic_load_n(&end.tgid, __ATOMIC_ACQUIRE) == host_tgid; };
    if (!is_its()) return std::nullopt;
    const auto pages = [](const rsslag_u64 &number) {
        return core::Pages{static_cast<std::int64_t>(__atomic_load_n(&number, __ATOMIC_ACQUIRE))};
    };
    core::EndFigures figures{pages(end.max_rss), pages(end.high_water)};
    if (figures.high_water->n == 0) figures.high_water.reset();
    return is_its() ? std::optional(figures) : std::nullopt;
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

}  // namespace rsslag::probe
