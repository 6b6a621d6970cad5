// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <csignal>

namespace rsslag::host::test {

/// The signals that are blocked now are those that are again once it goes: StopSignals blocks some, and a process that
/// is forked keeps that.
class SignalMask {
  public:
    SignalMask() { sigprocmask(SIG_SETMASK, nullptr, &before_); }
    ~SignalMask() { sigprocmask(SIG_SETMASK, &before_, nullptr); }
    SignalMask(const SignalMask &) = delete;
    SignalMask &operator=(const SignalMask &) = delete;

  private:
    sigset_t before_{};
};

}  // namespace rsslag::host::test
