// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "core/fd.h"

namespace rsslag::unwind {

/// The names of functions that a JIT wrote to /tmp/perf-PID.map: lines of start, size (both hexadecimal) and name
/// (tools/perf/Documentation/jit-interface.txt in the kernel's source).
class PerfMap {
  public:
    /// What is read of the file. If there is more, no function has a name: a later line may replace each of those read.
    static constexpr std::size_t kMostBytes = std::size_t{64} << 20, kMostFunctions = 500'000;
    static constexpr std::size_t kMostName = 1000;  ///< bytes; longer ones are cut
    /// The limit for all reads of a file that is written repeatedly.
    static constexpr std::size_t kMostInAll = 8 * kMostBytes;

    /// `path` in the root directory `root`. Takes only a regular file of the user `owner`, of root, or of rsslag's
    /// user, that was written to since `since_ns` (CLOCK_REALTIME): an older one belongs to an earlier program.
    PerfMap(std::string root, std::string path, uid_t owner, std::int64_t since_ns = 0)
        : root_(std::move(root)), path_(std::move(path)), owner_(owner), since_ns_(since_ns) {}
    /// The map of a process, in its mount namespace and with the number that it sees as its own. `exec_ns`: when the
    /// program started (CLOCK_MONOTONIC); 0: with the process, as far as known.
    static PerfMap of(pid_t pid, std::uint64_t exec_ns = 0);

    /// Reads what was appended since the last call, or opens the file if it did not exist then. Reads all of it if it
    /// was replaced or written again, as Java does: functions that it no longer lists keep their names.
    void update();
    /// Raw bytes; empty: unknown. A later line replaces earlier ones that it overlaps.
    const std::string &function_at(std::uint64_t address) const;

  private:
    struct Function {
        std::uint64_t end = 0;
        std::string name;
    };
    void open();
    bool is_another() const;
    void parse(std::string_view text);
    void parse_line(std::string_view line);

    std::string root_, path_;
    uid_t owner_;
    std::int64_t since_ns_;
    core::Fd file_;
    std::size_t read_ = 0;                         ///< bytes of the file as it is now
    std::size_t read_in_all_ = 0;                  ///< bytes
    bool more_ = false;                            ///< the file is larger than what was read
    std::string last_;                             ///< the last bytes of those `read_`
    std::string rest_;                             ///< a line that is not complete
    std::map<std::uint64_t, Function> functions_;  ///< by start
};

}  // namespace rsslag::unwind
