// SPDX-License-Identifier: BSD-2-Clause
// The user IDs for writing files after capabilities are dropped.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "core/result.h"

namespace rsslag::system {

struct FileIds {
    uid_t uid = 0;
    gid_t gid = 0;
};

/// As long as it exists, this thread accesses files with these ids (setfsuid(2)), without the capabilities that
/// override the modes of files. Without CAP_SETUID, only ids that the process has saved have an effect. nullopt changes
/// nothing.
class FileAccess {
  public:
    explicit FileAccess(const std::optional<FileIds> &ids);
    ~FileAccess();
    FileAccess(const FileAccess &) = delete;
    FileAccess &operator=(const FileAccess &) = delete;

  private:
    bool on_;
    int dumpable_ = 0;
};

/// The ids that can create, rename and delete files in the directory of `path` after this process has dropped its
/// capabilities: those of invoking_user(), if that user may write there; else its own (nullopt); else those of the
/// directory's owner. nullopt also if none of them may. Call it while this process has capabilities. Errors as
/// invoking_user().
core::Result<std::optional<FileIds>> ids_to_write(const std::string &path);

}  // namespace rsslag::system
