// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <chrono>
#include <functional>
#include <memory>

namespace rsslag::host {

/// A thread for what may wait long for a target's mmap_lock. Whoever asks waits, too, but only for so long after that
/// is wanted: then the thread is left behind.
class Walker {
  public:
    /// What a mapping holds at the end is worth waiting for.
    static constexpr std::chrono::milliseconds kPatience{1000};

    /// `impatient` is asked now and then while something takes long.
    explicit Walker(std::function<bool()> impatient, std::chrono::milliseconds patience = kPatience);
    ~Walker();
    Walker(const Walker &) = delete;
    Walker &operator=(const Walker &) = delete;

    /// Whether the job has been done. If not it may be so later, with what it owns; until then no other is taken.
    bool run(std::function<void()> job);

  private:
    struct State;
    std::function<bool()> impatient_;
    std::chrono::milliseconds patience_;
    std::shared_ptr<State> state_;  ///< the thread's, too
};

}  // namespace rsslag::host
