// SPDX-License-Identifier: BSD-2-Clause
// What the side-band does not tell of mappings: mremap, and names by prctl(PR_SET_VMA_ANON_NAME).
#pragma once

#include <memory>
#include <vector>

#include "rsslag/core/mapping.h"
#include "rsslag/core/result.h"
#include "rsslag/probe/stream.h"

namespace rsslag::probe {

/// Attached as long as it lives. One caller at a time.
class MappingHooks {
  public:
    /// Of processes that `stream` traces. Kind::Denied, Kind::Unsupported where no hook can be used.
    static core::Result<MappingHooks> open(const StreamProbe &stream);
    ~MappingHooks();
    MappingHooks(MappingHooks &&) noexcept;
    MappingHooks &operator=(MappingHooks &&) noexcept;

    /// Appends what has been told since the last call, and how much was lost meanwhile.
    void drain(std::vector<core::MappingChange> &out);
    void detach();

  private:
    struct State;
    explicit MappingHooks(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace rsslag::probe
