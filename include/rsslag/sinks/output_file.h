// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <string_view>

#include "rsslag/core/fd.h"
#include "rsslag/core/result.h"

namespace rsslag::sinks {

/// A file that is there only when it is whole: it grows under another name beside its own. Mode 0600. What is no
/// regular file (/dev/null, a pipe) is written to as it is.
class OutputFile {
  public:
    /// An existing file is refused unless `force`, one that is `input` in any case, a directory too: Kind::BadInput.
    /// What the system refuses is Kind::Io.
    static core::Result<OutputFile> open(const std::string &path, bool force, const std::string &input = "");

    OutputFile(OutputFile &&other) noexcept;
    OutputFile &operator=(OutputFile &&) = delete;
    /// Without commit() nothing is left of it.
    ~OutputFile();

    /// Where it grows, for whoever writes to a path.
    const std::string &path() const { return growing_; }
    core::Status write(std::string_view text);
    /// As any file that a program makes: the umask says who may read it.
    core::Status share();
    /// It is whole.
    core::Status commit();

  private:
    OutputFile(std::string path, bool force) : path_(std::move(path)), force_(force) {}

    core::Error failed(const char *what) const;
    core::Status put_in_place();

    std::string path_;     ///< as it shall be called
    std::string growing_;  ///< empty: nothing is to be moved
    bool force_ = false;
    core::Fd fd_;
};

}  // namespace rsslag::sinks
