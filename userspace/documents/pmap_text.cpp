// SPDX-License-Identifier: BSD-2-Clause
// The layout of procps' pmap -x and -X, so that parsers of pmap's output work unchanged.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "core/text.h"
#include "documents/maps.h"

namespace rsslag::documents {
namespace {

using procfs::Mapping;
using procfs::SmapsLine;
using Out = std::back_insert_iterator<std::string>;

std::int64_t kb(const std::optional<core::Kilobytes> &value) {
    return value ? value->n : 0;
}

std::string head(const MappedProcess &process, bool utf8) {
    const std::string command = process.cmdline.empty() ? "[" + process.comm + "]" : process.cmdline;
    return fmt::format("{}:   {}\n", process.pid, core::harmless(command, utf8));
}

std::string after_slash(const std::string &name) {
    const std::size_t slash = name.rfind('/');
    if (slash == std::string::npos) return name;
    return slash + 1 < name.size() ? name.substr(slash + 1) : name.substr(slash);
}

/// The name as pmap -x prints it: memory without a file is the stack or anon, a System V segment has its shmid.
std::string short_name(const Mapping &mapping, const std::string &internal) {
    if (mapping.device == internal && mapping.name.find("/SYSV") != std::string::npos) {
        return fmt::format("  [ shmid=0x{:x} ]", mapping.inode);
    }
    if (mapping.name.find('/') != std::string::npos) return after_slash(mapping.name);
    return mapping.name == "[stack]" ? "  [ stack ]" : "  [ anon ]";
}

std::string mode(const Mapping &mapping) {
    return mapping.perms.substr(0, 3) + (procfs::is_shared(mapping) ? 's' : '-') + '-';
}

/// Fields that -X omits and -XX prints.
constexpr std::array<std::string_view, 8> kMinor{"AnonHugePages", "KernelPageSize", "MMUPageSize",   "Shared_Dirty",
                                                 "Private_Dirty", "Shared_Clean",   "Private_Clean", "VmFlags"};

struct PmapColumn {
    const SmapsLine *line = nullptr;
    std::int64_t total = 0;
    std::size_t width = 0;
};

std::vector<PmapColumn> columns(const std::vector<Mapping> &mappings) {
    std::vector<PmapColumn> all;
    for (const SmapsLine &line : procfs::kSmapsLines) {
        if (std::ranges::find(kMinor, line.key) != kMinor.end()) continue;
        PmapColumn column{&line, 0, line.key.size()};
        bool printed = false;
        for (const Mapping &mapping : mappings) {
            const auto number = procfs::number(mapping, line);
            if (!number) continue;
            printed = true;
            column.total += *number;
            column.width = std::max(column.width, fmt::formatted_size("{}", *number));
        }
        column.width = std::max(column.width, fmt::formatted_size("{}", column.total));
        if (printed) all.push_back(column);
    }
    return all;
}

/// Widths of the five columns before the fields: those of the widest cells.
struct Widths {
    std::size_t address = 7, perm = 4, offset = 6, device = 6, inode = 5;

    std::size_t sum() const { return address + perm + offset + device + inode + 4; }
};

Widths widths(const std::vector<Mapping> &mappings) {
    Widths widths;
    for (const Mapping &mapping : mappings) {
        widths.address = std::max(widths.address, fmt::formatted_size("{:08x}", mapping.start));
        widths.offset = std::max(widths.offset, fmt::formatted_size("{:08x}", mapping.offset));
        widths.device = std::max(widths.device, mapping.device.size());
        widths.inode = std::max(widths.inode, fmt::formatted_size("{}", mapping.inode));
    }
    return widths;
}

}  // namespace

std::string pmap_x_text(const MappedProcess &process, bool utf8) {
    std::string text = head(process, utf8);
    const Out out = std::back_inserter(text);
    text += "Address           Kbytes     RSS   Dirty Mode  Mapping\n";
    std::int64_t size = 0;
    std::int64_t rss = 0;
    std::int64_t dirty = 0;
    for (const Mapping &mapping : process.mappings) {
        const std::int64_t written = kb(mapping.fields.private_dirty) + kb(mapping.fields.shared_dirty);
        fmt::format_to(out, "{:016x} {:>7} {:>7} {:>7} {} {}\n", mapping.start, mapping.size.n, kb(mapping.fields.rss),
                       written, mode(mapping), core::harmless(short_name(mapping, process.internal_device), utf8));
        size += mapping.size.n;
        rss += kb(mapping.fields.rss);
        dirty += written;
    }
    fmt::format_to(out, "---------------- ------- ------- ------- \n");
    fmt::format_to(out, "total kB {:>15} {:>7} {:>7}\n", size, rss, dirty);
    return text;
}

std::string pmap_details_text(const MappedProcess &process, bool utf8) {
    std::string text = head(process, utf8);
    const Out out = std::back_inserter(text);
    const Widths wide = widths(process.mappings);
    const std::vector<PmapColumn> all = columns(process.mappings);
    fmt::format_to(out, "{:>{}} {:>{}} {:>{}} {:>{}} {:>{}}", "Address", wide.address, "Perm", wide.perm, "Offset",
                   wide.offset, "Device", wide.device, "Inode", wide.inode);
    for (const PmapColumn &column : all)
        fmt::format_to(out, " {:>{}}", column.line->key, column.width);
    text += " Mapping\n";
    for (const Mapping &mapping : process.mappings) {
        fmt::format_to(out, "{:>{}} {:>{}} {:>{}} {:>{}} {:>{}}", fmt::format("{:08x}", mapping.start), wide.address,
                       mapping.perms, wide.perm, fmt::format("{:08x}", mapping.offset), wide.offset, mapping.device,
                       wide.device, mapping.inode, wide.inode);
        for (const PmapColumn &column : all) {
            const auto number = procfs::number(mapping, *column.line);
            fmt::format_to(out, " {:>{}}", number ? fmt::format("{}", *number) : "", column.width);
        }
        fmt::format_to(out, " {}\n", core::harmless(after_slash(mapping.name), utf8));
    }
    text.append(wide.sum(), ' ');
    for (const PmapColumn &column : all)
        fmt::format_to(out, " {}", std::string(column.width, '='));
    text += " \n";
    text.append(wide.sum(), ' ');
    for (const PmapColumn &column : all)
        fmt::format_to(out, " {:>{}}", column.total, column.width);
    text += " KB \n";
    return text;
}

}  // namespace rsslag::documents
