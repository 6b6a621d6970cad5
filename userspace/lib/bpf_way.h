// SPDX-License-Identifier: BSD-2-Clause
// Readings by BPF programs that the handle loads for itself.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>

#include "reading.h"

namespace rsslag::lib {

/// Calls from several threads are serialised, as the program has a single slot for its request.
class BpfWay {
  public:
    virtual ~BpfWay() = default;
    /// Kind::Gone: no such process, or it has no mm.
    virtual core::Result<Reading> read(pid_t pid) = 0;
    virtual core::Result<Readings> read_all() = 0;
};

struct Opened {
    std::optional<core::Scheme> scheme;  ///< by the kernel's BTF; nullopt if it cannot be determined
    core::Result<std::unique_ptr<BpfWay>> way;
};

/// Loads the BPF programs. `way` is Kind::Denied if the kernel refuses, with a remedy for programs other than rsslag,
/// or Kind::Unsupported if this kernel cannot run the programs or `allowed` is false.
Opened open_bpf(core::Machine machine, bool allowed);

}  // namespace rsslag::lib
