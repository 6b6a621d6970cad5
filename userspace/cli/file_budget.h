// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace rsslag::cli {

/// What reading recordings may take, by their bytes and by nothing in them. Memory: 256 MiB and as much as they have;
/// the kernel holds rsslag to it. Time: 10 s and 1 s for each 4 MB, for those that are far denser than what a tracer
/// writes; others take what they take.
class FileBudget {
  public:
    explicit FileBudget(std::vector<std::string> files);

    /// Whether it is spent: so much was done (trace::Replay::work()), and it took too long. Stays so.
    bool spent(std::uint64_t work);
    bool was_spent() const { return spent_; }
    /// What `read` returns, or the status after a refusal that was told: its memory is spent, or its time.
    int run(const std::function<int()> &read);

  private:
    int refuse(const std::string &why) const;

    std::vector<std::string> files_;
    std::uint64_t bytes_ = 0;  ///< of all files
    bool spent_ = false;
};

}  // namespace rsslag::cli
