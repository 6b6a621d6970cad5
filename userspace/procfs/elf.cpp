// SPDX-License-Identifier: BSD-2-Clause
#include "procfs/elf.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gelf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>

#include "io.h"
#include "process_errors.h"

namespace rsslag::procfs {

namespace {

struct EndElf {
    void operator()(Elf *elf) const { elf_end(elf); }
};
using ElfHandle = std::unique_ptr<Elf, EndElf>;

core::Error cannot_parse() {
    return {core::Kind::Corrupt, fmt::format("cannot parse the ELF file: {}", elf_errmsg(-1)), 0, ""};
}

bool by_address(const ElfPart &a, const ElfPart &b) {
    return std::tie(a.address, a.size, a.name) < std::tie(b.address, b.size, b.name);
}

bool read_loads(Elf *elf, ElfFile &file) {
    std::size_t count = 0;
    constexpr std::size_t kMostHeaders = 1024;  // a linker writes about 10
    if (elf_getphdrnum(elf, &count) != 0 || count > kMostHeaders) return false;
    for (std::size_t i = 0; i < count; ++i) {
        GElf_Phdr header;
        if (gelf_getphdr(elf, static_cast<int>(i), &header) == nullptr) return false;
        if (header.p_type != PT_LOAD) continue;
        file.loads.push_back(
            {header.p_offset, header.p_vaddr, header.p_filesz, header.p_memsz, (header.p_flags & PF_X) != 0});
    }
    return true;
}

/// Bounds what is read from a file. Sections that do not overlap are together at most as large as the file, and names,
/// which may share bytes, are not many times as large. Only a forged file exceeds this.
class ElfBudget {
  public:
    explicit ElfBudget(std::uint64_t file_size) : data_(file_size), names_(kNames * file_size) {}

    /// Whether a section may be read. libelf keeps what it has read, so a section counts once.
    bool takes(Elf_Scn *section) {
        GElf_Shdr header;
        if (section == nullptr || gelf_getshdr(section, &header) == nullptr) return false;
        return !read_.insert(elf_ndxscn(section)).second || spend(data_, header.sh_size);
    }
    /// nullopt: the budget is used up. Does not call elf_strptr(), which unpacks a compressed table to any size, and
    /// which searches a table without a final NUL from its end for each name. No linker makes such tables.
    std::optional<std::string> name(Elf *elf, std::size_t table, std::size_t offset) {
        Elf_Scn *const section = elf_getscn(elf, table);
        GElf_Shdr header;
        if (!takes(section) || gelf_getshdr(section, &header) == nullptr || (header.sh_flags & SHF_COMPRESSED) != 0)
            return std::nullopt;
        const Elf_Data *const data = header.sh_type == SHT_STRTAB ? elf_rawdata(section, nullptr) : nullptr;
        if (data == nullptr || data->d_buf == nullptr || offset >= data->d_size) return "";
        const char *const name = static_cast<const char *>(data->d_buf) + offset;
        std::string copy(name, strnlen(name, std::min(kMostName, data->d_size - offset)));
        return spend(names_, copy.size()) ? std::optional(std::move(copy)) : std::nullopt;
    }

  private:
    static constexpr std::uint64_t kNames = 16;
    static constexpr std::size_t kMostName = 64 * 1024;  // compilers write names of up to about 10 kB

    static bool spend(std::uint64_t &left, std::uint64_t bytes) {
        if (bytes > left) return false;
        left -= bytes;
        return true;
    }

    std::uint64_t data_, names_;
    std::set<std::size_t> read_;
};

/// False if the budget is used up.
bool read_symbols(Elf *elf, Elf_Scn *section, const GElf_Shdr &header, ElfFile &file, ElfBudget &budget) {
    if (!budget.takes(section)) return false;
    Elf_Data *const data = elf_getdata(section, nullptr);
    if (data == nullptr || header.sh_entsize == 0) return true;
    const std::size_t count = data->d_size / header.sh_entsize;
    for (std::size_t i = 0; i < count; ++i) {
        GElf_Sym symbol;
        if (gelf_getsym(data, static_cast<int>(i), &symbol) == nullptr) return true;
        const auto type = GELF_ST_TYPE(symbol.st_info);
        if (symbol.st_shndx == SHN_UNDEF || symbol.st_size == 0) continue;
        if (type != STT_OBJECT && type != STT_FUNC && type != STT_GNU_IFUNC) continue;
        auto name = budget.name(elf, header.sh_link, symbol.st_name);
        if (!name) return false;
        file.symbols.push_back({std::move(*name), symbol.st_value, symbol.st_size});
    }
    return true;
}

bool read_sections(Elf *elf, ElfFile &file, ElfBudget budget) {
    std::size_t names = 0;
    if (elf_getshdrstrndx(elf, &names) != 0) return true;  // a file may have no sections at all
    Elf_Scn *dynamic_symbols = nullptr;
    GElf_Shdr dynamic_header;
    for (Elf_Scn *section = elf_nextscn(elf, nullptr); section != nullptr; section = elf_nextscn(elf, section)) {
        GElf_Shdr header;
        if (gelf_getshdr(section, &header) == nullptr) return false;
        if (header.sh_type == SHT_SYMTAB && !read_symbols(elf, section, header, file, budget)) return false;
        if (header.sh_type == SHT_DYNSYM) dynamic_symbols = section, dynamic_header = header;
        // .tbss has a size and occupies no memory in the image.
        const bool tls_bss = header.sh_type == SHT_NOBITS && (header.sh_flags & SHF_TLS) != 0;
        if ((header.sh_flags & SHF_ALLOC) == 0 || header.sh_size == 0 || tls_bss) continue;
        auto name = budget.name(elf, names, header.sh_name);
        if (!name) return false;
        file.sections.push_back({std::move(*name), header.sh_addr, header.sh_size});
    }
    file.stripped = file.symbols.empty();
    if (!file.stripped || dynamic_symbols == nullptr) return true;
    return read_symbols(elf, dynamic_symbols, dynamic_header, file, budget);
}

/// What stat(2) reports of an open file, if it is that of the mapping by its inode number.
std::optional<struct stat> stat_if_mapped(const Fd &fd, const Mapping &mapping) {
    struct stat about {};
    if (fstat(fd.get(), &about) != 0) return std::nullopt;
    if (about.st_ino != mapping.inode && inode_number(fd) != mapping.inode) return std::nullopt;
    return about;
}

/// Whether `fd` is a regular file with the inode number of the mapping.
bool is_the_file(const Fd &fd, const Mapping &mapping) {
    const auto about = stat_if_mapped(fd, mapping);
    return about && S_ISREG(about->st_mode);
}

/// The paths of the mapped file, relative to the directory of the process. A map_files link leads to the mapped file
/// itself, but requires CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE. It exists in /proc/TID and not in task/TID
/// (fs/proc/base.c). Another file may have the name by now.
std::array<std::string, 2> paths_of(const Process &process, const Mapping &mapping) {
    const auto task = process.memory_task();
    const bool by_thread = task && task->tid != process.pid();
    const std::string links = by_thread ? fmt::format("../{}/", task->tid) : "";
    return {fmt::format("{}map_files/{:x}-{:x}", links, mapping.start, mapping.end),
            (by_thread ? task->directory : "") + "root" + mapping.name};
}

/// How much of a file may be read: a hole counts little. File systems may compress the data, or not report blocks.
std::uint64_t most_data(const struct stat &about) {
    constexpr std::uint64_t kBlock = 512, kCompression = 64, kLeast = std::uint64_t{1} << 20;
    constexpr std::uint64_t kWithoutBlocks = std::uint64_t{64} << 20;
    const auto blocks = static_cast<std::uint64_t>(about.st_blocks);
    const std::uint64_t most = blocks == 0 ? kWithoutBlocks : kLeast + kCompression * kBlock * blocks;
    return std::min(static_cast<std::uint64_t>(about.st_size), most);
}

}  // namespace

std::optional<std::uint64_t> inode_number(const Fd &fd) {
    const auto opened = open_at(AT_FDCWD, fmt::format("/proc/self/fdinfo/{}", fd.get()).c_str(), O_RDONLY);
    const auto *const info = std::get_if<Fd>(&opened);
    const Try<std::string> text = info != nullptr ? read_to_end(info->get()) : Errno{};
    const auto *const lines = std::get_if<std::string>(&text);
    constexpr std::string_view kInode = "\nino:";
    const std::size_t at = lines ? lines->find(kInode) : std::string::npos;
    if (at == std::string::npos) return std::nullopt;
    return std::strtoull(lines->c_str() + at + kInode.size(), nullptr, 10);
}

core::Result<ElfFile> read_elf(int fd) {
    elf_version(EV_CURRENT);
    const ElfHandle elf(elf_begin(fd, ELF_C_READ, nullptr));
    if (!elf) return cannot_parse();
    if (elf_kind(elf.get()) != ELF_K_ELF) {
        return core::Error{core::Kind::Unsupported, "not an ELF file", 0, ""};
    }
    ElfFile file;
    struct stat about {};
    if (fstat(fd, &about) != 0) return cannot_parse();
    if (!read_loads(elf.get(), file)) return cannot_parse();
    if (!read_sections(elf.get(), file, ElfBudget(most_data(about)))) {
        return core::Error{core::Kind::Corrupt, "cannot parse the ELF file: its section headers are invalid", 0, ""};
    }
    std::sort(file.sections.begin(), file.sections.end(), by_address);
    std::sort(file.symbols.begin(), file.symbols.end(), by_address);
    const auto same = [](const ElfPart &a, const ElfPart &b) { return !by_address(a, b) && !by_address(b, a); };
    file.symbols.erase(std::unique(file.symbols.begin(), file.symbols.end(), same), file.symbols.end());
    return file;
}

core::Result<Fd> open_mapped(const Process &process, const Mapping &mapping) {
    int err = ENOENT;
    for (const std::string &path : paths_of(process, mapping)) {
        // O_NONBLOCK: opening a FIFO that now has the name must not block.
        auto opened = open_at(process.dir_fd(), path.c_str(), O_RDONLY | O_NONBLOCK);
        if (auto *fd = std::get_if<Fd>(&opened)) {
            if (is_the_file(*fd, mapping)) return std::move(*fd);
            err = ENOENT;
        } else {
            err = std::get<Errno>(opened).value;
        }
    }
    if (err == EACCES || err == EPERM) return failure(process.pid(), "root", err);
    return core::Error{core::Kind::Gone, fmt::format("the mapped file {} was deleted or replaced", mapping.name), err,
                       "run rsslag with CAP_SYS_ADMIN, which can open it through /proc/PID/map_files"};
}

std::optional<mode_t> type_of_mapped(const Process &process, const Mapping &mapping) {
    for (const std::string &path : paths_of(process, mapping)) {
        const auto opened = open_at(process.dir_fd(), path.c_str(), O_PATH);
        const auto *const fd = std::get_if<Fd>(&opened);
        if (const auto about = fd ? stat_if_mapped(*fd, mapping) : std::nullopt) return about->st_mode & S_IFMT;
    }
    return std::nullopt;
}

std::optional<std::uint64_t> load_bias(const ElfFile &file, const std::vector<Mapping> &mappings,
                                       const core::PageSize &page_size) {
    const auto down = [&](std::uint64_t at) { return at - at % static_cast<std::uint64_t>(page_size.bytes); };
    constexpr std::size_t kVoters = 1000;  // a process may have any number of mappings of the file
    std::map<std::uint64_t, int> votes;
    for (const Mapping &mapping : std::span(mappings).first(std::min(mappings.size(), kVoters))) {
        for (const ElfLoad &load : file.loads) {
            const std::uint64_t begin = down(load.offset);
            if (mapping.offset < begin || mapping.offset - begin >= load.file_size) continue;
            ++votes[mapping.start - (down(load.address) + (mapping.offset - begin))];
        }
    }
    const auto most =
        std::max_element(votes.begin(), votes.end(), [](const auto &a, const auto &b) { return a.second < b.second; });
    if (most == votes.end()) return std::nullopt;
    return most->first;
}

ElfPages::ElfPages(const std::vector<ElfPage> &pages) : sums_(1) {
    for (const ElfPage &page : pages) {
        const Sum &before = sums_.back();
        sums_.push_back({before.shared + (page.shared ? 1 : 0), before.written + (page.written ? 1 : 0)});
        addresses_.push_back(page.address);
    }
}

void ElfPages::count(std::uint64_t first, std::uint64_t last, ElfPresence &presence) const {
    const auto begin = std::lower_bound(addresses_.begin(), addresses_.end(), first);
    const auto end = std::upper_bound(begin, addresses_.end(), last);
    const Sum &from = sums_[static_cast<std::size_t>(begin - addresses_.begin())];
    const Sum &to = sums_[static_cast<std::size_t>(end - addresses_.begin())];
    presence.resident = {end - begin};
    presence.shared = {to.shared - from.shared};
    presence.written = {to.written - from.written};
}

ElfPresence presence(const ElfPart &part, const ElfPages &pages, const core::PageSize &page_size) {
    const auto bytes = static_cast<std::uint64_t>(page_size.bytes);
    ElfPresence presence;
    presence.part = part;
    if (part.size == 0 || part.address + part.size < part.address) return presence;
    const std::uint64_t first = part.address - part.address % bytes;
    const std::uint64_t last = part.address + part.size - 1;
    presence.pages = {static_cast<std::int64_t>(last / bytes - first / bytes + 1)};
    pages.count(first, last, presence);
    return presence;
}

}  // namespace rsslag::procfs
