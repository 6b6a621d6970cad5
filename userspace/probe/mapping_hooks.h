// SPDX-License-Identifier: BSD-2-Clause
// Changes of mappings that perf's side-band events do not report: mremap, and names set by
// prctl(PR_SET_VMA_ANON_NAME).
#pragma once

#include <memory>
#include <vector>

#include "core/mapping.h"
#include "core/result.h"
#include "probe/stream.h"

namespace rsslag::probe {

/// The programs stay attached until detach() or destruction. Not thread-safe.
class MappingHooks {
  public:
    /// Attaches the programs. They report changes in processes that `stream` traces. Changes by 32-bit programs are
    /// missing if only the tracepoints of single system calls can be attached: the kernel does not call those for
    /// 32-bit system calls. Kind::Denied or Kind::Unsupported if no hook can be attached.
    static core::Result<MappingHooks> open(const StreamProbe &stream, const KernelTraits &traits);
    ~MappingHooks();
    MappingHooks(MappingHooks &&) noexcept;
    MappingHooks &operator=(MappingHooks &&) noexcept;

    /// Appends the changes since the last call. If the ring had no space for some, also appends one of Kind::Lost with
    /// their number.
    void drain(std::vector<core::MappingChange> &out);
    void detach();

  private:
    struct State;
    explicit MappingHooks(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace rsslag::probe
