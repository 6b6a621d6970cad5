// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/fd.h"
#include "core/result.h"

namespace rsslag::workload {

using core::Fd;

/// A setting of the machine (a file below /proc/sys or /sys) that a workload changes for a short time. The file is
/// locked, since two concurrent workloads would otherwise restore each other's values.
class BorrowedSetting {
  public:
    /// Waits for the lock; changes nothing yet.
    static core::Result<BorrowedSetting> lock(std::string path);
    BorrowedSetting(BorrowedSetting &&other) noexcept;
    BorrowedSetting &operator=(BorrowedSetting &&) = delete;
    ~BorrowedSetting();

    core::Status set(std::string_view text);
    /// Restores the previous value. The destructor does the same and ignores errors.
    core::Status restore();

  private:
    BorrowedSetting(std::string path, Fd lock) : path_(std::move(path)), lock_(std::move(lock)) {}

    std::string path_;
    Fd lock_;
    std::optional<std::string> before_;
};

}  // namespace rsslag::workload
