// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace rsslag::cli {

/// Limits the cost of reading recordings by the total size of the files. Memory: 256 MiB plus that size, enforced by
/// RLIMIT_DATA. CPU time: 10 s plus 1 s for each 4 MB, only for recordings that are far denser than those of a tracer.
class FileBudget {
  public:
    explicit FileBudget(std::vector<std::string> files);

    /// Whether the CPU time is spent. `work`: analysis::Replay::work() so far. Once true, it stays true.
    bool spent(std::uint64_t work);
    bool was_spent() const { return spent_; }
    /// Calls `read` and returns its status. If memory or time is spent, prints an error and returns kBadInput.
    int run(const std::function<int()> &read);

  private:
    int refuse(const std::string &why) const;

    std::vector<std::string> files_;
    std::uint64_t bytes_ = 0;  ///< of all files
    bool spent_ = false;
};

}  // namespace rsslag::cli
