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

#include "rsslag/abi.h"
#include "rsslag/core/glob_states.h"
#include "rsslag/core/losses.h"
#include "rsslag/core/result.h"
#include "rsslag/probe/traits.h"

namespace rsslag::probe {

using core::FaultCounts;
using core::Losses;

/// What a program cost so far; only while kernel.bpf_stats_enabled is set.
struct ProgramCost {
    std::uint64_t run_ns = 0;
    std::uint64_t runs = 0;
};

/// Processes that are wanted from their next exec on, for what they are then. What is given must all hold.
struct Pattern {
    std::optional<core::GlobStates> comm;
    std::string cgroup;  ///< a directory of cgroup v2; those below it count; empty: not asked for
    std::optional<std::uint32_t> uid;
};

/// Streams the counter updates of wanted processes out of the kernel. Attached as long as it lives. drain() may be
/// called by one thread while another calls the rest.
class StreamProbe {
  public:
    struct Options {
        int cpus_possible = 1;
        /// Of each ring: a power of two, at least a page. And at most of each CPU's buffer of updates, where there is
        /// one.
        std::size_t ring_bytes = std::size_t{2} << 20;
        bool follow = false;  ///< children of wanted processes are wanted
        /// Plain updates are summed up in the kernel (`cpu` scheme), or what tasks cache is not told at each fault.
        bool counting = false;
    };

    /// Loads and attaches what fits the kernel; nobody is wanted yet. Kind::Unsupported or Kind::Denied as
    /// SnapshotProbe.
    static core::Result<StreamProbe> open(const KernelTraits &traits, const Options &options);

    ~StreamProbe();
    StreamProbe(StreamProbe &&) noexcept;
    StreamProbe &operator=(StreamProbe &&) noexcept;

    /// From now on traces this group (the kernel's number) and, where it is not 0, this mm.
    core::Status trace(int host_tgid, std::uint64_t mm);

    /// Tells of each such exec with RSSLAG_EXEC. rsslag itself never is one of them.
    core::Status trace_matching(const Pattern &pattern);

    /// How many rings there are; each one's records are in the order of their CPU or CPUs.
    std::size_t rings() const;
    /// Appends all that is in ring i, and in its CPU's buffer of updates, to out[i], as the programs wrote it: struct
    /// rsslag_update, _fault, _task or _sum, told apart by the u16 that each begins with; after them sums that go on
    /// and have grown since the last call. out has rings() elements.
    void drain(std::span<std::vector<std::byte>> out);

    /// Takes the programs off their hooks; what they have sent can still be drained.
    void detach();

    /// One caller at a time.
    Losses losses() const;
    /// Faults of a task, also of one whose RSSLAG_EXIT has not come yet: they are kept until another task has taken its
    /// number.
    FaultCounts faults(int host_tid) const;
    /// Of a process that has ended, until another one takes its place.
    std::optional<core::EndFigures> end_of(int host_tgid) const;
    /// CPUs that have gone offline since the attach (`cpu` scheme): what each cached went into the counters with no
    /// record of it. A number that has grown means that every mm must be read again.
    std::uint64_t folded_cpus() const;
    /// All programs together.
    ProgramCost cost() const;
    /// For probes beside it: the map of traced thread groups, and rsslag's PID namespace.
    int traced_groups_fd() const;
    rsslag_view view() const;
    /// Hooks that could not be used, and why; tracing goes on with the next best.
    const std::vector<std::string> &missing() const;

  private:
    struct State;
    explicit StreamProbe(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace rsslag::probe
