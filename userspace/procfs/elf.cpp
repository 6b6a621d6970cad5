// SPDX-License-Identifier: BSD-2-Clause
#include "rsslag/procfs/elf.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gelf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <tuple>
#include <variant>

#include "io.h"
#include "process_errors.h"

namespace rsslag::procfs {

namespace {

struct EndElf {
    void operator()(Elf *elf) const { elf_end(elf); }
};
using ElfHandle = std::unique_ptr<Elf, EndElf>;

core::Error not_understood() {
    return {core::Kind::Corrupt, fmt::format("the ELF file is not understood: {}", elf_errmsg(-1)), 0, ""};
}

bool by_address(const ElfPart &a, const ElfPart &b) {
    return std::tie(a.address, a.size, a.name) < std::tie(b.address, b.size, b.name);
}

bool read_loads(Elf *elf, ElfFile &file) {
    std::size_t count = 0;
    if (elf_getphdrnum(elf, &count) != 0) return false;
    for (std::size_t i = 0; i < count; ++i) {
        GElf_Phdr header;
        if (gelf_getphdr(elf, static_cast<int>(i), &header) == nullptr) return false;
        if (header.p_type != PT_LOAD) continue;
        file.loads.push_back({header.p_offset, header.p_vaddr, header.p_filesz, header.p_memsz});
    }
    return true;
}

void read_symbols(Elf *elf, Elf_Scn *section, const GElf_Shdr &header, ElfFile &file) {
    Elf_Data *const data = elf_getdata(section, nullptr);
    if (data == nullptr || header.sh_entsize == 0) return;
    const std::size_t count = data->d_size / header.sh_entsize;
    for (std::size_t i = 0; i < count; ++i) {
        GElf_Sym symbol;
        if (gelf_getsym(data, static_cast<int>(i), &symbol) == nullptr) return;
        const auto type = GELF_ST_TYPE(symbol.st_info);
        if (symbol.st_shndx == SHN_UNDEF || symbol.st_size == 0) continue;
        if (type != STT_OBJECT && type != STT_FUNC && type != STT_GNU_IFUNC) continue;
        const char *const name = elf_strptr(elf, header.sh_link, symbol.st_name);
        file.symbols.push_back({name == nullptr ? "" : name, symbol.st_value, symbol.st_size});
    }
}

bool read_sections(Elf *elf, ElfFile &file) {
    std::size_t names = 0;
    if (elf_getshdrstrndx(elf, &names) != 0) return true;  // a file may have no sections at all
    Elf_Scn *dynamic_symbols = nullptr;
    GElf_Shdr dynamic_header;
    for (Elf_Scn *section = elf_nextscn(elf, nullptr); section != nullptr; section = elf_nextscn(elf, section)) {
        GElf_Shdr header;
        if (gelf_getshdr(section, &header) == nullptr) return false;
        if (header.sh_type == SHT_SYMTAB) read_symbols(elf, section, header, file);
        if (header.sh_type == SHT_DYNSYM) dynamic_symbols = section, dynamic_header = header;
        // .tbss has a size and takes no memory here.
        const bool air = header.sh_type == SHT_NOBITS && (header.sh_flags & SHF_TLS) != 0;
        if ((header.sh_flags & SHF_ALLOC) == 0 || header.sh_size == 0 || air) continue;
        const char *const name = elf_strptr(elf, names, header.sh_name);
        file.sections.push_back({name == nullptr ? "" : name, header.sh_addr, header.sh_size});
    }
    if (file.symbols.empty() && dynamic_symbols != nullptr) read_symbols(elf, dynamic_symbols, dynamic_header, file);
    return true;
}

/// A regular file of that inode.
bool is_the_file(const Fd &fd, const Mapping &mapping) {
    struct stat about {};
    return fstat(fd.get(), &about) == 0 && S_ISREG(about.st_mode) && about.st_ino == mapping.inode;
}

}  // namespace

core::Result<ElfFile> read_elf(int fd) {
    elf_version(EV_CURRENT);
    const ElfHandle elf(elf_begin(fd, ELF_C_READ, nullptr));
    if (!elf) return not_understood();
    if (elf_kind(elf.get()) != ELF_K_ELF) {
        return core::Error{core::Kind::Unsupported, "the file is no ELF file", 0, ""};
    }
    ElfFile file;
    if (!read_loads(elf.get(), file) || !read_sections(elf.get(), file)) return not_understood();
    std::sort(file.sections.begin(), file.sections.end(), by_address);
    std::sort(file.symbols.begin(), file.symbols.end(), by_address);
    const auto same = [](const ElfPart &a, const ElfPart &b) { return !by_address(a, b) && !by_address(b, a); };
    file.symbols.erase(std::unique(file.symbols.begin(), file.symbols.end(), same), file.symbols.end());
    return file;
}

core::Result<Fd> open_mapped(const Process &process, const Mapping &mapping) {
    // The link of a mapping opens its very file, but only for CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE. A FIFO of that
    // name must not hold us up.
    int err = ENOENT;
    for (const std::string &path :
         {fmt::format("map_files/{:x}-{:x}", mapping.start, mapping.end), "root" + mapping.name}) {
        auto opened = open_at(process.dir_fd(), path.c_str(), O_RDONLY | O_NONBLOCK);
        if (auto *fd = std::get_if<Fd>(&opened)) {
            if (is_the_file(*fd, mapping)) return std::move(*fd);
            err = ENOENT;
        } else {
            err = std::get<Errno>(opened).value;
        }
    }
    if (err == EACCES || err == EPERM) return failure(process.pid(), "root", err);
    return core::Error{core::Kind::Gone, fmt::format("the mapped file {} is not there any more", mapping.name), err,
                       "CAP_SYS_ADMIN can open it all the same"};
}

std::optional<std::uint64_t> load_bias(const ElfFile &file, const std::vector<Mapping> &mappings,
                                       const core::PageSize &page_size) {
    const auto down = [&](std::uint64_t at) { return at - at % static_cast<std::uint64_t>(page_size.bytes); };
    std::map<std::uint64_t, int> votes;
    for (const Mapping &mapping : mappings) {
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

ElfPresence presence(const ElfPart &part, const std::vector<ElfPage> &pages, const core::PageSize &page_size) {
    const auto bytes = static_cast<std::uint64_t>(page_size.bytes);
    ElfPresence presence;
    presence.part = part;
    if (part.size == 0 || part.address + part.size < part.address) return presence;
    const std::uint64_t first = part.address - part.address % bytes;
    const std::uint64_t last = part.address + part.size - 1;
    presence.pages = {static_cast<std::int64_t>(last / bytes - first / bytes + 1)};
    auto page = std::lower_bound(pages.begin(), pages.end(), first,
                                 [](const ElfPage &a, std::uint64_t address) { return a.address < address; });
    for (; page != pages.end() && page->address <= last; ++page) {
        ++presence.resident.n;
        presence.shared.n += page->shared ? 1 : 0;
        presence.written.n += page->written ? 1 : 0;
    }
    return presence;
}

}  // namespace rsslag::procfs
