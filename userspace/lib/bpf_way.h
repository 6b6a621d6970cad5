// SPDX-License-Identifier: BSD-2-Clause
// Readings by a BPF program of this handle's own.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>

#include "reading.h"

namespace rsslag::lib {

/// Threads take turns, as the program has one place for what it is asked.
class BpfWay {
  public:
    virtual ~BpfWay() = default;
    /// Kind::Gone: no such process, or none with memory.
    virtual core::Result<Reading> read(pid_t pid) = 0;
    virtual core::Result<Readings> read_all() = 0;
};

struct Opened {
    std::optional<core::Scheme> scheme;  ///< as the kernel's BTF tells; nullopt where it does not
    core::Result<std::unique_ptr<BpfWay>> way;
};

/// Kind::Denied with a remedy for a program that is not rsslag itself, Kind::Unsupported where this kernel cannot, or
/// where it is not `wanted`.
Opened open_bpf(core::Machine machine, bool wanted);

}  // namespace rsslag::lib
