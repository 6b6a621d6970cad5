// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "rsslag/core/result.h"
#include "rsslag/host/source.h"

namespace rsslag::host {

struct LiveOptions {
    std::size_t ring_bytes = std::size_t{2} << 20;
    bool follow = false;
    bool counting = false;
    bool names = false;                    ///< changes of mappings are told
    bool calibrated = true;                ///< as SnapshotterOptions has it
    bool dropped = false;                  ///< capabilities are, before threads came up
    std::function<bool()> impatient = {};  ///< whether a walk that takes long is no longer waited for
};

/// This machine's kernel: the probes in place, nobody traced yet. Built without the tracer: Kind::Unsupported.
core::Result<std::unique_ptr<Source>> open_live_source(const LiveOptions &options);

}  // namespace rsslag::host
