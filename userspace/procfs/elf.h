// SPDX-License-Identifier: BSD-2-Clause
// Load segments, sections and symbols of a mapped ELF file, read with libelf.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "core/units.h"
#include "procfs/files.h"
#include "procfs/process.h"

namespace rsslag::procfs {

/// A section or a symbol. The address is that in the file, without the load bias.
struct ElfPart {
    std::string name;  ///< raw
    std::uint64_t address = 0, size = 0;
};

/// A PT_LOAD program header.
struct ElfLoad {
    std::uint64_t offset = 0, address = 0, file_size = 0, memory_size = 0;
    bool executable = false;
};

struct ElfFile {
    std::vector<ElfLoad> loads;
    std::vector<ElfPart> sections;  ///< sections that occupy memory, ascending by address
    std::vector<ElfPart> symbols;   ///< objects and functions of non-zero size, ascending; .symtab, else .dynsym
    bool stripped = true;           ///< there is no .symtab
};

/// Reads load segments, sections and symbols. Kind::Unsupported if the file is not ELF, Kind::Corrupt if libelf cannot
/// parse it.
core::Result<ElfFile> read_elf(int fd);

/// Opens the file of a mapping, even if it is deleted. Kind::Denied or Kind::Gone if the mapped inode cannot be opened.
core::Result<Fd> open_mapped(const Process &process, const Mapping &mapping);

/// The kernel's own number of the inode of an open file, which smaps shows. stat(2) may report another one: of a file
/// that an overlay has copied up, or of one with several links. nullopt before 5.14 (fs/proc/fd.c seq_show()).
std::optional<std::uint64_t> inode_number(const Fd &fd);

/// The type of the mapped file: S_IFREG, S_IFBLK, S_IFCHR. Does not open the file, as a driver may act on that. nullopt
/// if the mapped inode cannot be found.
std::optional<mode_t> type_of_mapped(const Process &process, const Mapping &mapping);

/// The load bias: the amount to add to the addresses in the file. The most frequent one among `mappings`; nullopt if
/// none of them maps a load segment of the file. Pure.
std::optional<std::uint64_t> load_bias(const ElfFile &file, const std::vector<Mapping> &mappings,
                                       const core::PageSize &page_size);

/// One resident page. The address is that in the file, without the load bias.
struct ElfPage {
    std::uint64_t address = 0;
    bool shared = false;   ///< mapped more than once
    bool written = false;  ///< anonymous, or dirty in a shared mapping
};

/// The pages that overlap a part.
struct ElfPresence {
    ElfPart part;
    core::Pages pages, resident, shared, written;
};

/// Prefix sums over resident pages, so that counting the pages of a part is a binary search.
class ElfPages {
  public:
    /// `pages` must be ascending by address.
    explicit ElfPages(const std::vector<ElfPage> &pages);
    /// Sets resident, shared and written of `presence` to the pages at addresses from `first` to `last`, inclusive.
    void count(std::uint64_t first, std::uint64_t last, ElfPresence &presence) const;

  private:
    struct Sum {
        std::int64_t shared = 0, written = 0;
    };
    std::vector<std::uint64_t> addresses_;
    std::vector<Sum> sums_;  ///< element i: over the first i pages
};

/// Counts the pages of one part. Pure.
ElfPresence presence(const ElfPart &part, const ElfPages &pages, const core::PageSize &page_size);

}  // namespace rsslag::procfs
