// SPDX-License-Identifier: BSD-2-Clause
// The files that the code of traced processes is in: how to unwind through them, and the names of their functions.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/fd.h"
#include "core/mapping.h"
#include "frame_rules.h"
#include "procfs/elf.h"

namespace rsslag::unwind {

/// What identifies a mapped file.
struct FileKey {
    std::string path;  ///< raw bytes, as in /proc/PID/maps
    core::BuildId build_id{};
    std::uint64_t inode = 0;  ///< 0: not known
    friend auto operator<=>(const FileKey &, const FileKey &) = default;
};

class CodeFile {
  public:
    /// Takes what it can: a file may lack rules, symbols or both.
    explicit CodeFile(core::Fd file);

    /// The load bias of a mapping of this file from `start` on at `offset`: an address in memory minus that in the
    /// file. nullopt: no load segment contains the offset.
    std::optional<std::uint64_t> bias(std::uint64_t start, std::uint64_t offset) const;
    FrameTable *rules() { return rules_ ? &*rules_ : nullptr; }
    /// The demangled name of the function at an address in the file; empty: unknown.
    std::string function_at(std::uint64_t address) const;
    const core::BuildId &build_id() const { return build_id_; }

  private:
    std::optional<FrameTable> rules_;
    procfs::ElfFile elf_;
    core::BuildId build_id_;
};

/// The code files of all processes, each opened once.
class CodeFiles {
  public:
    CodeFiles();
    /// Opens the file in the root directory of the process, else in rsslag's own. Only the file that was mapped: it
    /// must be regular, and have that build id or inode. nullptr: it cannot be opened, or is another one.
    CodeFile *find(const FileKey &key, pid_t pid);

  private:
    std::map<FileKey, std::unique_ptr<CodeFile>> files_;
};

/// Opens a file in the root directory `root`, without leaving it. Does not block if it is a FIFO. `flags`: more of
/// open(2).
core::Fd open_in(const std::string &root, const std::string &path, std::uint64_t flags = 0);

/// The NT_GNU_BUILD_ID of an ELF file.
core::BuildId build_id_of(int fd);

}  // namespace rsslag::unwind
