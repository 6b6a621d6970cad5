// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <functional>
#include <memory>

namespace rsslag::host {

/// A thread for what may wait long for a target's mmap_lock. Whoever asks waits, too, but no longer than a second after
/// that is wanted: then the thread is left behind.
class Walker {
  public:
    /// `impatient` is asked now and then while something takes long.
    explicit Walker(std::function<bool()> impatient);
    ~Walker();
    Walker(const Walker &) = delete;
    Walker &operator=(const Walker &) = delete;

    /// Whether the job has been done. If not it may be so later, with what it owns; until then no other is taken.
    bool run(std::function<void()> job);

  private:
    struct State;
    std::function<bool()> impatient_;
    std::shared_ptr<State> state_;  ///< the thread's, too
};

}  // namespace rsslag::host
