// SPDX-License-Identifier: BSD-2-Clause
// Readings by the files of `rsslag mount`: no capability is needed, and no state kept.
#pragma once

#include <sys/types.h>

#include <string>

#include "reading.h"

namespace rsslag::lib {

class FileWay {
  public:
    FileWay(std::string directory, core::PageSize page_size)
        : directory_(std::move(directory)), page_size_(page_size) {}

    /// Kind::Unsupported where nothing is mounted there, Kind::Denied where this user may not read it.
    core::Status usable() const;
    /// Kind::Gone where it has no line.
    core::Result<Reading> read(pid_t pid) const;
    core::Result<Reading> read_self() const;
    core::Result<Readings> read_all() const;

  private:
    core::Result<std::string> text(const char *name) const;

    std::string directory_;
    core::PageSize page_size_;
};

}  // namespace rsslag::lib
