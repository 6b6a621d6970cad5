// SPDX-License-Identifier: BSD-2-Clause
// What a mapped ELF file says of its own addresses, through libelf.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rsslag/core/result.h"
#include "rsslag/core/units.h"
#include "rsslag/procfs/files.h"
#include "rsslag/procfs/process.h"

namespace rsslag::procfs {

/// A section or a symbol, in the file's own address space.
struct ElfPart {
    std::string name;  ///< raw
    std::uint64_t address = 0, size = 0;
};

/// A PT_LOAD program header.
struct ElfLoad {
    std::uint64_t offset = 0, address = 0, file_size = 0, memory_size = 0;
};

struct ElfFile {
    std::vector<ElfLoad> loads;
    std::vector<ElfPart> sections;  ///< those that take memory, by address
    std::vector<ElfPart> symbols;   ///< objects and functions with a size, by address; of .symtab, else .dynsym
};

/// Kind::Unsupported where the file is no ELF file, Kind::Corrupt where libelf cannot make sense of it.
core::Result<ElfFile> read_elf(int fd);

/// The file behind a mapping, deleted or not: the very inode, or Kind::Denied or Kind::Gone.
core::Result<Fd> open_mapped(const Process &process, const Mapping &mapping);

/// Where the file is loaded: what to add to its own addresses. The one that most of `mappings` agree on; nullopt where
/// none is a load of it. Pure.
std::optional<std::uint64_t> load_bias(const ElfFile &file, const std::vector<Mapping> &mappings,
                                       const core::PageSize &page_size);

/// One resident page, in the file's own address space.
struct ElfPage {
    std::uint64_t address = 0;
    bool shared = false;   ///< mapped more than once
    bool written = false;  ///< dirty: no longer what is in the file
};

/// How much of a part is there: pages that overlap it.
struct ElfPresence {
    ElfPart part;
    core::Pages pages, resident, shared, written;
};

/// Resident pages to be counted in many parts: a part costs no more for the pages in it.
class ElfPages {
  public:
    /// Ascending by address.
    explicit ElfPages(const std::vector<ElfPage> &pages);
    /// Those from `first` to `last`, into its resident, shared and written.
    void count(std::uint64_t first, std::uint64_t last, ElfPresence &presence) const;

  private:
    struct Sum {
        std::int64_t shared = 0, written = 0;
    };
    std::vector<std::uint64_t> addresses_;
    std::vector<Sum> sums_;  ///< over all pages before one
};

/// Pure.
ElfPresence presence(const ElfPart &part, const ElfPages &pages, const core::PageSize &page_size);

}  // namespace rsslag::procfs
