// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/fd.h"
#include "core/samples.h"

namespace rsslag::unwind {

/// Names of the kernel's code, from /proc/kallsyms.
class KernelSymbols {
  public:
    /// `kallsyms` may be closed: no names. The kernel shows addresses to a file that was opened with CAP_SYSLOG, also
    /// after the process has given it up (kernel/kallsyms.c kallsyms_open). The file is read at the first stack.
    explicit KernelSymbols(core::Fd kallsyms) : kallsyms_(std::move(kallsyms)) {}

    /// The frames of return addresses, the innermost first, without those of the BPF program that copied them.
    std::vector<core::StackFrame> frames_of(std::span<const std::uint64_t> addresses);

    /// The number of symbols.
    std::size_t size() const { return symbols_.size(); }

  private:
    struct Symbol {
        std::uint64_t address = 0;
        std::size_t name = 0, name_size = 0;      ///< in names_
        std::size_t module = 0, module_size = 0;  ///< the same, "[xfs]"; empty: the kernel itself
    };
    void read();
    void add(std::string_view line);
    core::StackFrame frame_at(std::uint64_t address) const;

    core::Fd kallsyms_;
    std::string names_;
    std::vector<Symbol> symbols_;  ///< by address
};

}  // namespace rsslag::unwind
