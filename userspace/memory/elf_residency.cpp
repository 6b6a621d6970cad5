// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>
#include <vector>

#include "core/glob.h"
#include "core/text.h"
#include "memory/page_counter.h"
#include "procfs/elf.h"
#include "procfs/memory_map.h"
#include "procfs/pagemap.h"

namespace rsslag::memory {
namespace {

constexpr std::size_t kMostSymbols = 2000;

/// All mappings of the first file that matches.
std::vector<procfs::Mapping> mappings_of(const MappedProcess &mapped, const std::string &glob) {
    std::vector<procfs::Mapping> found;
    for (const procfs::Mapping &mapping : mapped.mappings) {
        if (!procfs::has_file(mapping)) continue;
        const std::string last = mapping.name.substr(mapping.name.rfind('/') + 1);
        const bool first = found.empty() && (core::matches(glob, mapping.name) || core::matches(glob, last));
        if (first || (!found.empty() && mapping.name == found.front().name)) found.push_back(mapping);
    }
    return found;
}

/// In a private mapping a written page is anonymous: a dirty page of the file was written through the file itself. In a
/// shared mapping the flags of the frame show whether it is dirty.
bool written(const procfs::PageReader::Page &page, const std::vector<procfs::Mapping> &mappings) {
    if (!page.entry.of_file()) return true;
    if (!page.frame || !page.frame->dirty()) return false;
    const auto after =
        std::upper_bound(mappings.begin(), mappings.end(), page.address,
                         [](std::uint64_t address, const procfs::Mapping &each) { return address < each.start; });
    return after != mappings.begin() && page.address < std::prev(after)->end && procfs::is_shared(*std::prev(after));
}

using Range = std::pair<std::uint64_t, std::uint64_t>;

/// The address ranges of the load segments, in whole pages, merged: the segments of a forged file may overlap.
std::vector<Range> loaded(const procfs::ElfFile &file, std::uint64_t bias, std::uint64_t bytes) {
    std::vector<Range> ranges;
    for (const procfs::ElfLoad &load : file.loads) {
        const std::uint64_t begin = bias + load.address - load.address % bytes;
        const std::uint64_t end = bias + load.address + load.memory_size;
        if (end <= begin || end > (1ULL << 56)) continue;  // no loader maps this
        ranges.emplace_back(begin, (end + bytes - 1) / bytes * bytes);
    }
    std::sort(ranges.begin(), ranges.end());
    std::vector<Range> merged;
    for (const Range &range : ranges) {
        if (merged.empty() || merged.back().second < range.first) {
            merged.push_back(range);
        } else {
            merged.back().second = std::max(merged.back().second, range.second);
        }
    }
    return merged;
}

core::Result<std::vector<procfs::ElfPage>> resident_pages(const procfs::Process &process, const procfs::ElfFile &file,
                                                          const std::vector<procfs::Mapping> &mappings,
                                                          std::uint64_t bias, const std::function<bool()> &stop) {
    const core::PageSize page_size{sysconf(_SC_PAGESIZE)};
    const auto bytes = static_cast<std::uint64_t>(page_size.bytes);
    auto reader = procfs::PageReader::open(process, page_size);
    if (!reader) return reader.error();
    procfs::PageBudget budget;
    budget.go_on = [&] { return !stop(); };
    std::vector<procfs::ElfPage> pages;
    for (const auto &[begin, end] : loaded(file, bias, bytes)) {
        const auto read = reader->visit(begin, end, budget, [&](const procfs::PageReader::Page &page) {
            const bool zero = page.zero || (page.frame && page.frame->zero());
            if (!page.entry.present() || zero) return;
            const bool shared = page.frame ? page.frame->mapped > 1 : !page.entry.exclusive();
            pages.push_back({page.address - bias, shared, written(page, mappings)});
        });
        if (!read) return read.error();
    }
    const auto before = [](const procfs::ElfPage &a, const procfs::ElfPage &b) { return a.address < b.address; };
    const auto same = [](const procfs::ElfPage &a, const procfs::ElfPage &b) { return a.address == b.address; };
    std::sort(pages.begin(), pages.end(), before);
    pages.erase(std::unique(pages.begin(), pages.end(), same), pages.end());
    return pages;
}

}  // namespace

core::Result<ElfReport> count_elf_pages(const procfs::Process &process, const MappedProcess &mapped,
                                        const std::string &glob, const std::function<bool()> &stop) {
    const std::vector<procfs::Mapping> mappings = mappings_of(mapped, glob);
    if (mappings.empty()) {
        return core::Error{core::Kind::BadInput,
                           fmt::format("process {} maps no file '{}'", mapped.pid, core::printable(glob)), 0,
                           "run rsslag maps PID to list its mapped files"};
    }
    ElfReport report;
    report.file = mappings.front().name;
    const core::PageSize page_size{sysconf(_SC_PAGESIZE)};
    const auto fd = procfs::open_mapped(process, mappings.front());
    if (!fd) return fd.error();
    const auto file = procfs::read_elf(fd->get());
    if (!file) {
        report.reason = file.error().what;
        return report;
    }
    const auto bias = procfs::load_bias(*file, mappings, page_size);
    if (!bias) {
        report.reason = "no mapping of the file matches one of its load segments";
        return report;
    }
    const auto resident = resident_pages(process, *file, mappings, *bias, stop);
    if (!resident) return resident.error();
    const procfs::ElfPages pages(*resident);
    for (const procfs::ElfPart &section : file->sections)
        report.sections.push_back(procfs::presence(section, pages, page_size));
    for (const procfs::ElfPart &symbol : file->symbols) {
        auto presence = procfs::presence(symbol, pages, page_size);
        if (presence.resident.n > 0) report.symbols.push_back(std::move(presence));
    }
    std::stable_sort(report.symbols.begin(), report.symbols.end(), [](const auto &a, const auto &b) {
        return std::tie(b.written, b.resident, b.part.size) < std::tie(a.written, a.resident, a.part.size);
    });
    if (report.symbols.size() > kMostSymbols) {
        report.symbols_left_out = report.symbols.size() - kMostSymbols;
        report.symbols.resize(kMostSymbols);
    }
    return report;
}

}  // namespace rsslag::memory
