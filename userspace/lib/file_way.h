// SPDX-License-Identifier: BSD-2-Clause
// Readings from the files of `rsslag mount`. They require no capability and keep no state.
#pragma once

#include <sys/types.h>

#include <string>

#include "reading.h"

namespace rsslag::lib {

class FileWay {
  public:
    FileWay(std::string directory, core::PageSize page_size)
        : directory_(std::move(directory)), page_size_(page_size) {}

    /// Kind::Unsupported if nothing is mounted there, Kind::Denied if this user may not read it.
    core::Status usable() const;
    /// Kind::Gone if the file has no line for `pid`.
    core::Result<Reading> read(pid_t pid) const;
    core::Result<Reading> read_self() const;
    core::Result<Readings> read_all() const;

  private:
    core::Result<std::string> text(const char *name) const;

    std::string directory_;
    core::PageSize page_size_;
};

}  // namespace rsslag::lib
