// SPDX-License-Identifier: BSD-2-Clause
// Readings by what the kernel itself shows in /proc, where that is true.
#pragma once

#include <sys/types.h>

#include "reading.h"

namespace rsslag::lib {

class ProcWay {
  public:
    /// `truth`: of stat and status here.
    ProcWay(core::PageSize page_size, const core::Calibration &truth) : page_size_(page_size), truth_(truth) {}

    /// Whether it is known of both what they show.
    bool certain() const { return truth_.stat != core::Truth::Unknown && truth_.status != core::Truth::Unknown; }
    /// Way::Status and Way::Rollup. Kind::Unsupported where status is not exact on this kernel.
    core::Status usable(Way way) const;
    /// Kind::Gone, also where there is no memory; Kind::Denied.
    core::Result<Reading> read(pid_t pid, Way way) const;
    /// All in `way`; those that end meanwhile are left out.
    core::Result<Readings> read_all(Way way) const;

  private:
    core::PageSize page_size_;
    core::Calibration truth_;
};

}  // namespace rsslag::lib
