// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <ctime>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"

namespace rsslag::cli {

/// Limits the cost of reading recordings by the total size of the files. Memory: 256 MiB plus that size, enforced by
/// RLIMIT_DATA. CPU time: at most 10 s plus 1 s for each 4 MB. It is more, up to 15 us for each byte, for as much work
/// as records make, unless the recording has far more records per byte than those of a tracer; system::slowness()
/// multiplies it. A timer ends rsslag if a single step takes longer. It first restores the terminal and removes the
/// files of terminal::remove_at_death().
class FileBudget {
  public:
    explicit FileBudget(std::vector<std::string> files);
    ~FileBudget();
    FileBudget(const FileBudget &) = delete;
    FileBudget &operator=(const FileBudget &) = delete;

    /// Whether the CPU time is spent. `work`: analysis::Replay::work() so far. Once true, it stays true.
    bool spent(std::uint64_t work);
    bool was_spent() const { return spent_; }
    /// CPU time allowed for reading so far, in seconds.
    double seconds() const;
    /// The time starts again: a screen has shown what the user asked for.
    void restart();
    /// Allows another file this much memory, and 1 s of CPU time for each 4 MB of it.
    void add(std::uint64_t bytes);
    /// No limit of time from here on. Call it before an output file is put in its place.
    void done();
    /// Calls `read` and returns its status. If memory or time is spent, prints an error and returns kBadInput; if a
    /// lower limit that rsslag was started with is exceeded, the status of Kind::Io.
    int run(const std::function<int()> &read);

  private:
    std::string names() const;
    core::Error refusal(const std::string &why) const;
    core::Error too_little_memory(const char *limit) const;
    void start_clock();
    void set_deadline();

    std::vector<std::string> files_;
    std::uint64_t bytes_ = 0;         ///< of all recordings
    std::uint64_t more_bytes_ = 0;    ///< of add()
    std::uint64_t given_memory_ = 0;  ///< RLIMIT_DATA of rsslag at its start
    std::uint64_t work_ = 0;          ///< of the file that is being read
    std::uint64_t earlier_work_ = 0;  ///< of the files before it
    double began_ = 0;                ///< CPU time of the process
    double deadline_of_ = 0;          ///< seconds() when the deadline was set
    std::optional<timer_t> timer_;
    std::optional<double> slowness_;  ///< measured when the time is over for the first time
    bool dense_ = false;
    bool spent_ = false;
};

}  // namespace rsslag::cli
