// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/fd.h"
#include "core/result.h"

namespace rsslag::exporters {

/// The file that OutputFile replaces: the target of symbolic links, or `path` if it does not exist.
std::string resolved(const std::string &path);

/// A file that appears only when it is complete: it is written under a temporary name in the same directory. Its mode
/// is 0600. An existing file that is not regular (/dev/null, a pipe) is written directly.
class OutputFile {
  public:
    /// Kind::BadInput: the file exists and `force` is not set, is one of `inputs`, or is a directory. Kind::Io: a
    /// system call failed.
    static core::Result<OutputFile> open(const std::string &path, bool force,
                                         const std::vector<std::string> &inputs = {});

    OutputFile(OutputFile &&other) noexcept;
    OutputFile &operator=(OutputFile &&) = delete;
    /// Removes the file unless commit() succeeded.
    ~OutputFile();

    /// The temporary name, for libraries that write to a path; empty if the file is written directly.
    const std::string &path() const { return growing_; }
    /// The descriptor of a file that is written directly, such as a FIFO, whose writes may block; -1 if `path()` is
    /// written.
    int reader() const { return growing_.empty() ? fd_.get() : -1; }
    /// Appends text. Kind::Io if that fails.
    core::Status write(std::string_view text);
    /// Changes the mode to the usual one, 0666 without the bits of the umask.
    core::Status share();
    /// Syncs the file, closes it and moves it to its name. Kind::BadInput if a file with that name has appeared and
    /// `force` is not set.
    core::Status commit();

  private:
    OutputFile(std::string path, bool force) : path_(std::move(path)), force_(force) {}

    core::Error failed(const char *what) const;
    core::Status put_in_place();

    std::string path_;     ///< the final name
    std::string growing_;  ///< the temporary name; empty: written directly, or committed
    bool force_ = false;
    core::Fd fd_;
};

}  // namespace rsslag::exporters
