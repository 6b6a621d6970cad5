// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "core/event.h"
#include "core/fd.h"
#include "core/mapping.h"
#include "core/samples.h"

namespace rsslag::tracer {

/// One rsslag_sample and its stack bytes, as the BPF program sent them.
using RawSample = std::vector<std::byte>;

/// Turns samples into stacks. Keeps the mappings of code of the traced processes, and opens their files.
class Unwinder {
  public:
    /// Copies of stacks grow until the samples of a batch fill half of the ring.
    /// `kallsyms`: see unwind::KernelSymbols.
    explicit Unwinder(const core::SampleOptions &options, core::Fd kallsyms = {});
    ~Unwinder();
    Unwinder(const Unwinder &) = delete;
    Unwinder &operator=(const Unwinder &) = delete;

    /// The new process has the code that its parent has at that time.
    struct Fork {
        std::uint64_t t_ns = 0;
        int parent = 0, child = 0;  ///< PIDs
    };
    /// What has come since the last one.
    struct Batch {
        std::uint64_t first = 0;  ///< number of the first sample
        std::vector<RawSample> samples;
        std::uint64_t lost = 0;  ///< as event::Stacks
        std::vector<core::MappingChange> changes;
        std::vector<core::MappingListing> listings;
        std::vector<Fork> forks;  ///< ascending by time
        std::vector<int> ended;   ///< PIDs
    };
    /// Threads many of whose stacks are longer than the copy, if there is space for larger copies: by host TID, how
    /// much was copied.
    using Cut = std::map<int, std::size_t>;
    struct Result {
        std::vector<event::Stacks> stacks;
        Cut cut;
    };
    Result unwound(Batch batch);

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace rsslag::tracer
