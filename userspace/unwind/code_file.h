// SPDX-License-Identifier: BSD-2-Clause
// The files that the code of traced processes is in: how to unwind through them, and the names of their functions.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/fd.h"
#include "core/mapping.h"
#include "debug_info.h"
#include "frame_rules.h"
#include "procfs/elf.h"

namespace rsslag::unwind {

/// What identifies a mapped file.
struct FileKey {
    std::string path;  ///< raw bytes, as in /proc/PID/maps
    core::BuildId build_id{};
    std::uint64_t inode = 0;   ///< 0: not known
    std::uint64_t device = 0;  ///< core::device_number(); 0: not known
    friend auto operator<=>(const FileKey &, const FileKey &) = default;
};

class CodeFile {
  public:
    /// Takes what it can: a file may lack rules, symbols and debug information. The latter is in the file itself, or in
    /// a file of its own below one of the directories `roots`. It is not taken if it is larger than `most_debug_bytes`.
    CodeFile(core::Fd file, const std::vector<std::string> &roots, std::size_t most_debug_bytes);

    /// The load bias of a mapping of this file's code from `start` on at `offset`: an address in memory minus that in
    /// the file. nullopt: no load segment with code contains the offset.
    std::optional<std::uint64_t> bias(std::uint64_t start, std::uint64_t offset) const;
    FrameTable *rules() { return rules_ ? &*rules_ : nullptr; }
    /// The functions at an address in the file, the innermost first: one, and those that are inlined into it. Valid
    /// until the next call.
    const std::vector<SourceFrame> &functions_at(std::uint64_t address);
    const core::BuildId &build_id() const { return build_id_; }
    /// As DebugInfo::bytes().
    std::size_t debug_bytes() const { return debug_ ? debug_->bytes() : 0; }

  private:
    std::string symbol_at(std::uint64_t address) const;

    std::optional<FrameTable> rules_;
    std::optional<DebugInfo> debug_;
    std::unordered_map<std::uint64_t, std::vector<SourceFrame>> functions_;  ///< those looked up so far
    procfs::ElfFile elf_;
    core::BuildId build_id_;
};

/// The code files of all processes.
class CodeFiles {
  public:
    static constexpr std::size_t kMostDebugBytes = std::size_t{256} << 20;
    /// `symbols`: read debug information, too.
    explicit CodeFiles(bool symbols);
    /// Opens the file in the root directory of the process, else in rsslag's own, else if it is the program that the
    /// process runs. Only the file that was mapped: it must be regular, and have that build id or inode; outside of the
    /// process's root directory, with an inode the device, too. nullptr: it cannot be opened, or is another one. A
    /// later call may find it, for a process that has not ended.
    CodeFile *find(const FileKey &key, pid_t pid);

  private:
    std::map<FileKey, std::shared_ptr<CodeFile>> files_;
    std::map<core::BuildId, std::shared_ptr<CodeFile>> by_build_id_;
    std::size_t debug_bytes_left_;
};

/// Opens a file in the root directory `root`, without leaving it. Does not block if it is a FIFO. `flags`: more of
/// open(2).
core::Fd open_in(const std::string &root, const std::string &path, std::uint64_t flags = 0);

/// The NT_GNU_BUILD_ID of an ELF file.
core::BuildId build_id_of(int fd);

/// Whether it is an open regular file that has this build id.
bool is_file_with(const core::Fd &file, const core::BuildId &id);

}  // namespace rsslag::unwind
