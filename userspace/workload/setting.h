// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "rsslag/core/fd.h"
#include "rsslag/core/result.h"

namespace rsslag::workload {

using core::Fd;

/// A setting of the machine (a file below /proc/sys or /sys) that a workload changes for a moment. Two workloads never
/// borrow the same one at a time, or the second would put back what the first has written: the file is locked.
class BorrowedSetting {
  public:
    /// Waits for the lock; changes nothing yet.
    static core::Result<BorrowedSetting> lock(std::string path);
    BorrowedSetting(BorrowedSetting &&other) noexcept;
    BorrowedSetting &operator=(BorrowedSetting &&) = delete;
    ~BorrowedSetting();

    core::Status set(std::string_view text);
    /// Puts back what was there, and says whether that went well; the destructor does it silently.
    core::Status restore();

  private:
    BorrowedSetting(std::string path, Fd lock) : path_(std::move(path)), lock_(std::move(lock)) {}

    std::string path_;
    Fd lock_;
    std::optional<std::string> before_;
};

}  // namespace rsslag::workload
