// SPDX-License-Identifier: BSD-2-Clause
#include "setting.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <utility>

#include "pages.h"
#include "workload/failure.h"
#include "workload/proc_text.h"

namespace rsslag::workload {

core::Result<BorrowedSetting> BorrowedSetting::lock(std::string path) {
    Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd.open()) return failed("cannot open " + path, errno);
    while (flock(fd.get(), LOCK_EX) != 0) {
        if (errno != EINTR) return failed("cannot lock " + path, errno);
    }
    return BorrowedSetting(std::move(path), std::move(fd));
}

BorrowedSetting::BorrowedSetting(BorrowedSetting &&other) noexcept
    : path_(std::move(other.path_)),
      lock_(std::move(other.lock_)),
      before_(std::exchange(other.before_, std::nullopt)) {}

BorrowedSetting::~BorrowedSetting() {
    static_cast<void>(restore());
}

core::Status BorrowedSetting::set(std::string_view text) {
    auto before = read_text(path_);
    if (!before) return before.error();
    if (auto ok = write_text(path_, text); !ok) return ok;
    if (!before_) before_ = std::move(*before);
    return core::success();
}

core::Status BorrowedSetting::restore() {
    if (!before_) return core::success();
    const std::string text = *std::exchange(before_, std::nullopt);
    return write_text(path_, text);
}

}  // namespace rsslag::workload
