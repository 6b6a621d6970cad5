// SPDX-License-Identifier: BSD-2-Clause
// The debug information of one ELF file: from an address to functions, inlined ones too, and lines of source.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/fd.h"

namespace rsslag::unwind {

/// A function at an address, and the line of it that was executed.
struct SourceFrame {
    std::string function;    ///< raw bytes, demangled; empty: unknown
    std::string file;        ///< raw bytes: the path of the source as the compiler got it; empty: unknown
    std::uint32_t line = 0;  ///< 0: unknown
};

/// DWARF 2 to 5, read by libdw and kept. Split units (.dwo) are skipped. For one thread.
class DebugInfo {
  public:
    /// Opens the debug information in the file, and the file to which dwz moved a part of it, by its path in the
    /// directory `root`. nullopt: there is none, it is larger than `most_bytes`, or libdw cannot read it.
    static std::optional<DebugInfo> open(core::Fd file, const std::string &root, std::size_t most_bytes);
    DebugInfo(DebugInfo &&other) noexcept;
    DebugInfo &operator=(DebugInfo &&other) noexcept;
    ~DebugInfo();

    /// The functions at an address in the file, without the load bias, the innermost first. Each is inlined into the
    /// next one. Empty: unknown, or all calls together have taken 30 s.
    std::vector<SourceFrame> at(std::uint64_t address);
    /// Size of the sections that libdw may hold in memory.
    std::size_t bytes() const;

  private:
    struct State;
    explicit DebugInfo(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace rsslag::unwind
