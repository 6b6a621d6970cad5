// SPDX-License-Identifier: BSD-2-Clause
// Which pages of file mappings are the same pages, with and without frame numbers. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "procfs/memory_map.h"

namespace rsslag::procfs {

using FileRange = std::pair<std::uint64_t, std::uint64_t>;

/// A mapped range of a file, as offsets in kB. A locked range has no clean pages.
struct MappedPart {
    const Mapping *mapping = nullptr;
    std::uint64_t begin = 0, end = 0;
    std::uint64_t clean = 0, dirty = 0;
    bool locked = false, locked_whole = false;
};
using MappedParts = std::vector<MappedPart>;

/// A page of a file that a part has.
struct Held {
    std::uint64_t offset = 0;  ///< in the file, in bytes
    std::size_t part = 0;
    std::uint64_t number = 0;  ///< of the page: its frame, or what PageNumbers assigns
    bool exclusive = false;
};

/// The pages of some parts.
struct HeldPages {
    std::vector<Held> held;
    /// By part: it lost pages between readings, or one of its pages was mapped once in one reading and more often in
    /// another. Empty if no part did. Held::exclusive of such a part proves nothing: if a process drops a page of one
    /// mapping and maps it again while another mapping is read, the page is mapped once in both.
    std::vector<bool> changed;
};

/// The pages of the parts in `ranges`, which ascend. nullopt if pagemap cannot be read. Reads them again to find those
/// that change, unless all parts are of one file.
std::optional<HeldPages> pages_in(const std::vector<FileRange> &ranges, const MappedParts &parts,
                                  const FilePages &pages, bool one_file);

/// Identifies the file of a mapping, so that equal ids mean equal pages. nullopt: smaps does not show that.
std::optional<std::string> file_id(const Mapping &mapping, const Devices &devices);

/// Numbers pages whose frames are not known: two pages of one number are the same.
class PageNumbers {
  public:
    PageNumbers(const MappedParts &parts, const Devices &devices, const FilePages &pages);

    /// The root of the file of `part`: the index of one of its parts, the same for all of them.
    std::size_t root(std::size_t part) const;

    /// The roots of files that may be the file of another root, by the ranges of their parts.
    std::set<std::size_t> open_roots() const;

    /// The roots of files that have pages which may be those of another root, as far as assign() has found any.
    std::set<std::size_t> unsettled_roots() const;

    /// Numbers the pages that have no frame number. Pages of unsettled roots may be the same although their numbers
    /// differ. Sorts the pages by offset.
    void assign(HeldPages &read);

  private:
    using Holder = std::pair<std::size_t, std::size_t>;  ///< the root of a file, a part of it that has the page
    using Holders = std::map<std::size_t, std::size_t>;  ///< as Holder

    /// The mappings of a page.
    struct Mappers {
        std::set<std::uint64_t> addresses;  ///< of the mappings that have the page
        std::set<std::size_t> unseen;       ///< parts that may have had the page without being seen
    };

    void unite_by_frame(std::span<const Held> pages);
    void assign_at_one_offset(std::span<Held> pages, const std::vector<bool> &changed);
    bool has_pmd(std::size_t part) const;
    bool is_open(std::size_t a, std::size_t b) const;
    std::vector<Holder> in_order(const Holders &holders) const;
    void settle(Holders holders, std::uint64_t offset);
    std::optional<Mappers> ask(const Mapping &mapping, const Holders &holders, std::uint64_t offset) const;
    std::set<std::uint64_t> to_ask(const Holders &holders, std::uint64_t offset) const;
    bool would_be_seen(std::size_t part, std::uint64_t offset) const;
    void unite(Holders &holders, const std::set<std::uint64_t> &mappers);
    void drop_united(Holders &holders) const;

    const MappedParts &parts_;
    const Devices &devices_;
    const FilePages &pages_;
    std::vector<std::size_t> parent_;  ///< of each part: a part of the same file; a root is its own
    std::set<std::pair<std::size_t, std::size_t>> different_;  ///< roots
    std::set<std::size_t> refused_;                            ///< parts whose file cannot be opened
    std::set<std::size_t> unsettled_;                          ///< parts of which pages may be those of another root
    std::uint64_t next_ = 0;
};

}  // namespace rsslag::procfs
