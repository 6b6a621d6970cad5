// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <csignal>

namespace rsslag::system::test {

/// Restores the current signal mask in its destructor: StopSignals blocks signals, and a forked process inherits the
/// mask.
class SignalMask {
  public:
    SignalMask() { sigprocmask(SIG_SETMASK, nullptr, &before_); }
    ~SignalMask() { sigprocmask(SIG_SETMASK, &before_, nullptr); }
    SignalMask(const SignalMask &) = delete;
    SignalMask &operator=(const SignalMask &) = delete;

  private:
    sigset_t before_{};
};

}  // namespace rsslag::system::test
