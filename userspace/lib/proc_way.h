// SPDX-License-Identifier: BSD-2-Clause
// Readings from files of /proc that show exact values.
#pragma once

#include <sys/types.h>

#include "reading.h"

namespace rsslag::lib {

class ProcWay {
  public:
    /// `truth`: what stat and status show on this kernel.
    ProcWay(core::PageSize page_size, const core::Calibration &truth) : page_size_(page_size), truth_(truth) {}

    /// Whether it is known what stat and status show.
    bool certain() const { return truth_.stat != core::Truth::Unknown && truth_.status != core::Truth::Unknown; }
    /// `way`: Status or Rollup. Kind::Unsupported for Status if it is not exact on this kernel, or this is unknown.
    core::Status usable(Way way) const;
    /// Kind::Gone if the process has ended or has no mm; Kind::Denied if the kernel refuses; errors as usable().
    core::Result<Reading> read(pid_t pid, Way way) const;
    /// Reads all processes by `way`. Those that exit meanwhile are left out.
    core::Result<Readings> read_all(Way way) const;

  private:
    core::PageSize page_size_;
    core::Calibration truth_;
};

}  // namespace rsslag::lib
