// SPDX-License-Identifier: BSD-2-Clause
// Names for the frames of stacks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "code_file.h"
#include "core/event.h"
#include "core/result.h"
#include "core/samples.h"

namespace rsslag::unwind {

/// The frame once for each function at its address, the innermost first: each is inlined into the next one. Names of
/// more than 1,000 bytes are cut.
std::vector<core::StackFrame> named(const core::StackFrame &frame, const std::vector<SourceFrame> &functions);

/// Finds the functions of recorded frames by their build ids, in files of the layout in which debuginfod's clients keep
/// what they have fetched: DIRECTORY/BUILD-ID/debuginfo and DIRECTORY/BUILD-ID/executable.
class Symbols {
  public:
    /// `opened` is called with the memory in bytes that a file may take, before it is used. Kind::BadInput if it is no
    /// directory.
    static core::Result<Symbols> open(const std::string &directory, std::function<void(std::uint64_t)> opened);

    /// Names the frames that lack a name, if a file with their build id has it.
    event::Stacks named(const event::Stacks &stacks);

  private:
    Symbols(std::string directory, std::function<void(std::uint64_t)> opened)
        : directory_(std::move(directory)), opened_(std::move(opened)) {}
    std::unique_ptr<CodeFile> open_file(const core::BuildId &id, const char *name);
    std::vector<core::StackFrame> frames_of(const core::StackFrame &frame);

    std::string directory_;
    std::function<void(std::uint64_t)> opened_;
    std::size_t debug_bytes_left_ = CodeFiles::kMostDebugBytes;
    std::map<core::BuildId, std::vector<std::unique_ptr<CodeFile>>> files_;  ///< those that exist
};

}  // namespace rsslag::unwind
