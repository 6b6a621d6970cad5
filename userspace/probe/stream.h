// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/glob_states.h"
#include "core/losses.h"
#include "core/result.h"
#include "core/samples.h"
#include "probe/traits.h"
#include "rsslag/abi.h"

namespace rsslag::probe {

using core::FaultCounts;
using core::Losses;

/// Run time and number of runs of BPF programs. The kernel counts them only while kernel.bpf_stats_enabled is set.
struct ProgramCost {
    std::uint64_t run_ns = 0;
    std::uint64_t runs = 0;
};

/// Conditions for processes that are traced later. A process must meet all conditions that are set.
struct Pattern {
    std::optional<core::GlobStates> comm;  ///< matched against the comm after the exec
    std::string cgroup;                    ///< a cgroup v2 directory, with its descendants; empty: no condition
    std::optional<std::uint32_t> uid;      ///< the real UID in the initial user namespace
};

/// Streams the counter updates of traced processes out of the kernel. The programs stay attached until detach() or
/// destruction. One thread may call drain() while another calls the other functions.
class StreamProbe {
  public:
    struct Options {
        int cpus_possible = 1;
        /// Size of each ring, rounded up to a power of two. With one ring for each CPU on the `cpu` scheme, also the
        /// upper bound on each CPU's update buffer. 0: as ring_size().
        std::size_t ring_bytes = 0;
        std::size_t memory_bytes = 0;  ///< of all rings and update buffers; 0: as ring_size()
        bool follow = false;           ///< also trace children of traced processes
        /// `cpu` scheme: the programs send sums of updates if possible. Other schemes: faults send no record of what
        /// the task caches.
        bool counting = false;
        /// On the `thread` scheme they require fexit/handle_mm_fault.
        core::SampleOptions samples;
    };

    /// Loads and attaches the programs that fit the kernel; no process is traced yet. Kind::Unsupported or Kind::Denied
    /// as in SnapshotProbe::open().
    static core::Result<StreamProbe> open(const KernelTraits &traits, const Options &options);

    ~StreamProbe();
    StreamProbe(StreamProbe &&) noexcept;
    StreamProbe &operator=(StreamProbe &&) noexcept;

    /// Starts to trace this thread group (host TGID) and, unless `mm` is 0, this mm (address of the mm_struct).
    /// Kind::Unsupported if the map of traced processes is full.
    core::Status trace(int host_tgid, std::uint64_t mm);
    /// Reverts trace() for a group that had ended before.
    core::Status untrace(int host_tgid, std::uint64_t mm);

    /// Frees the entry of an mm (address) all of whose records have come, if its teardown started before `before_ns`
    /// (CLOCK_MONOTONIC). Without it, entries of ended mms would fill the map.
    void forget_mm(std::uint64_t mm, std::uint64_t before_ns);

    /// Whether this thread group is traced, for whatever reason.
    bool traced(int host_tgid) const;

    /// Traces each process that matches `pattern`: from its next exec on, for which the program sends RSSLAG_EXEC, or,
    /// as a child of a traced process, from its start. rsslag itself never matches.
    core::Status trace_matching(const Pattern &pattern);

    /// Number of rings. Records in a ring are in the order in which their CPU sent them; a ring may serve several CPUs.
    std::size_t rings() const;
    /// The memory of all rings and update buffers.
    std::size_t buffer_bytes() const;
    /// Appends the contents of ring i and of its CPU's update buffer to out[i]: structs rsslag_update, _fault,
    /// _task, _sum and _at_exec, each of which starts with its u16 kind. Then appends an RSSLAG_PARTIAL sum for each
    /// CPU whose sum has grown since the last call. `out` must have rings() elements.
    void drain(std::span<std::vector<std::byte>> out);

    /// Appends the samples in the order of their ring, each a struct rsslag_sample with its stack after it. One thread
    /// may call this while others call the other functions.
    void drain_samples(std::vector<std::byte> &out);
    /// From now on copies more of this thread's stack. `copied`: what was copied of it until now. At most 32 KiB.
    void copy_more(int host_tid, std::size_t copied);
    /// From now on the largest copies have the next smaller size.
    void copy_less();
    /// Samples that did not fit into the ring.
    std::uint64_t lost_samples() const;

    /// Detaches the programs. Records that they have sent can still be drained.
    void detach();

    /// Records sent and lost since the attach. Not thread-safe.
    Losses losses() const;
    /// Faults of a task since the attach. After the task's exit they remain readable until another task takes its slot,
    /// so they can be read before RSSLAG_EXIT is drained.
    FaultCounts faults(int host_tid) const;
    /// Peaks of a process that has ended; nullopt once another ended process has taken its slot. There are
    /// RSSLAG_END_SLOTS slots.
    std::optional<core::EndFigures> end_of(int host_tgid) const;
    /// The number of times that a CPU has gone offline since the attach (`cpu` scheme). The kernel folds what such a
    /// CPU caches without a tracepoint, so every mm must be read again when this number grows.
    std::uint64_t folded_cpus() const;
    /// The sum over all programs.
    ProgramCost cost() const;
    /// For MappingHooks: the map of traced thread groups, and rsslag's PID namespace.
    int traced_groups_fd() const;
    rsslag_view view() const;
    /// Hooks that are not used, each with the reason: "tp_btf/page_fault_user: …".
    const std::vector<std::string> &missing() const;

  private:
    struct State;
    explicit StreamProbe(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace rsslag::probe
