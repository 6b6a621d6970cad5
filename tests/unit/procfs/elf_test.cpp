// SPDX-License-Identifier: BSD-2-Clause
#include "procfs/elf.h"

#include <elf.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string_view>

/// A symbol to find.
extern "C" {
std::array<char, 12345> elf_test_mark{1};
}

namespace rsslag::procfs {
namespace {

using core::Pages;

const core::PageSize kPageSize{sysconf(_SC_PAGESIZE)};

Fd self() {
    return Fd(open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
}

Fd holding(const std::string &bytes) {
    Fd fd(memfd_create("elf", MFD_CLOEXEC));
    EXPECT_EQ(write(fd.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    lseek(fd.get(), 0, SEEK_SET);
    return fd;
}

const ElfPart *mark_of(const ElfFile &file) {
    const auto mark = std::ranges::find(file.symbols, "elf_test_mark", &ElfPart::name);
    return mark == file.symbols.end() ? nullptr : &*mark;
}

TEST(Elf, FindsASymbolWhereItIs) {
    const auto file = read_elf(self().get());
    ASSERT_TRUE(file.ok()) << file.error().what;
    EXPECT_NE(std::ranges::find(file->sections, ".text", &ElfPart::name), file->sections.end());
    const ElfPart *const mark = mark_of(*file);
    ASSERT_NE(mark, nullptr);
#ifdef RSSLAG_SANITIZED
    EXPECT_GE(mark->size, elf_test_mark.size());  // with its red zone
#else
    EXPECT_EQ(mark->size, elf_test_mark.size());
#endif

    const auto process = Process::open(getpid());
    ASSERT_TRUE(process.ok());
    const auto text = process->smaps_text();
    ASSERT_TRUE(text.ok());
    auto mappings = parse_smaps(text->bytes);
    ASSERT_TRUE(mappings.ok());
    const std::string exe = *process->exe();
    std::erase_if(*mappings, [&](const Mapping &mapping) { return mapping.name != exe; });
    ASSERT_FALSE(mappings->empty());
    const auto bias = load_bias(*file, *mappings, kPageSize);
    ASSERT_TRUE(bias);
    EXPECT_EQ(*bias + mark->address, reinterpret_cast<std::uintptr_t>(elf_test_mark.data()));
    EXPECT_TRUE(open_mapped(*process, mappings->front()).ok());
}

TEST(TypeOfMapped, IsThatOfTheMappedInode) {
    const auto process = Process::open(getpid());
    ASSERT_TRUE(process.ok());
    struct stat about {};
    ASSERT_EQ(stat("/dev/null", &about), 0);
    Mapping mapping;
    mapping.name = "/dev/null";
    mapping.inode = about.st_ino;
    EXPECT_EQ(type_of_mapped(*process, mapping), S_IFCHR);
    ++mapping.inode;
    EXPECT_FALSE(type_of_mapped(*process, mapping)) << "another file has the name now";
}

TEST(Elf, HasNoBiasWhereNothingIsLoaded) {
    const ElfFile file{{{0x1000, 0x2000, 0x500, 0x600}}, {}, {}};
    Mapping mapping;
    mapping.offset = 0x9000;
    EXPECT_FALSE(load_bias(file, {mapping}, {4096}));
    mapping.offset = 0x1000;
    mapping.start = 0x7000;
    EXPECT_EQ(load_bias(file, {mapping}, {4096}), 0x5000U);
}

TEST(Elf, RefusesWhatIsNone) {
    const auto text = read_elf(holding("no ELF file at all, but some text").get());
    ASSERT_FALSE(text.ok());
    EXPECT_EQ(text.error().kind, core::Kind::Unsupported);
    EXPECT_FALSE(read_elf(holding("").get()).ok());
}

TEST(Elf, SurvivesOneThatIsCutOrScrambled) {
    std::ifstream stream("/proc/self/exe", std::ios::binary);
    std::string whole{std::istreambuf_iterator<char>(stream), {}};
    ASSERT_GT(whole.size(), 4096U);
    for (const std::size_t size : {4U, 16U, 63U, 64U, 100U, 1000U, 4096U})
        static_cast<void>(read_elf(holding(whole.substr(0, size)).get()));
    for (std::size_t at = 16; at < 64; ++at) {
        std::string broken = whole.substr(0, 64 * 1024);
        broken[at] = static_cast<char>(~broken[at]);
        const auto file = read_elf(holding(broken).get());
        if (file) {
            EXPECT_TRUE(std::ranges::is_sorted(file->sections, {}, &ElfPart::address));
        }
    }
}

/// An ELF file with one symbol, whose name is at byte 1 of `names`.
std::string with_names(const std::string &names, std::uint64_t flags) {
    Elf64_Ehdr head{};
    std::memcpy(head.e_ident, ELFMAG, SELFMAG);
    head.e_ident[EI_CLASS] = ELFCLASS64;
    head.e_ident[EI_DATA] = ELFDATA2LSB;
    head.e_ident[EI_VERSION] = EV_CURRENT;
    head.e_type = ET_DYN;
    head.e_machine = EM_X86_64;
    head.e_version = EV_CURRENT;
    head.e_ehsize = sizeof(Elf64_Ehdr);
    head.e_shentsize = sizeof(Elf64_Shdr);
    head.e_shnum = 3;
    head.e_shstrndx = 2;
    std::array<Elf64_Sym, 2> symbols{};
    symbols[1].st_name = 1;
    symbols[1].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
    symbols[1].st_shndx = 1;
    symbols[1].st_value = 16;
    symbols[1].st_size = 8;
    std::array<Elf64_Shdr, 3> sections{};
    sections[1].sh_type = SHT_SYMTAB;
    sections[1].sh_offset = sizeof(head);
    sections[1].sh_size = sizeof(symbols);
    sections[1].sh_link = 2;
    sections[1].sh_addralign = 8;
    sections[1].sh_entsize = sizeof(Elf64_Sym);
    head.e_shoff = sizeof(head) + sizeof(symbols);
    sections[2].sh_type = SHT_STRTAB;
    sections[2].sh_flags = flags;
    sections[2].sh_offset = head.e_shoff + sizeof(sections);
    sections[2].sh_size = names.size();
    sections[2].sh_addralign = 8;
    std::string file(sections[2].sh_offset, '\0');
    std::memcpy(file.data(), &head, sizeof(head));
    std::memcpy(file.data() + sizeof(head), symbols.data(), sizeof(symbols));
    std::memcpy(file.data() + head.e_shoff, sections.data(), sizeof(sections));
    return file + names;
}

TEST(Elf, ReadsNamesUpToTheEndOfTheirTable) {
    const auto file = read_elf(holding(with_names(std::string("\0name", 5), 0)).get());
    ASSERT_TRUE(file.ok()) << file.error().what;
    ASSERT_EQ(file->symbols.size(), 1U);
    EXPECT_EQ(file->symbols[0].name, "name");
}

TEST(Elf, UnpacksNoNames) {
    constexpr std::string_view kPacked("\x78\xda\x63\xc8\x4b\xcc\x4d\x65\x00\x00\x05\xc1\x01\xa2",
                                       14);  // zlib: "\0name\0"
    Elf64_Chdr head{};
    head.ch_type = ELFCOMPRESS_ZLIB;
    head.ch_size = 6;
    head.ch_addralign = 1;
    std::string names(sizeof(head), '\0');
    std::memcpy(names.data(), &head, sizeof(head));
    names += kPacked;
    const auto file = read_elf(holding(with_names(names, SHF_COMPRESSED)).get());
    ASSERT_FALSE(file.ok());
    EXPECT_EQ(file.error().kind, core::Kind::Corrupt);
}

TEST(Presence, CountsThePagesThatAPartOverlaps) {
    const ElfPages pages({{0x1000, true, false}, {0x2000, false, true}, {0x5000, false, false}});
    const ElfPresence across = presence({"x", 0x1ff8, 16}, pages, {4096});
    EXPECT_EQ(across.pages, Pages{2});
    EXPECT_EQ(across.resident, Pages{2});
    EXPECT_EQ(across.shared, Pages{1});
    EXPECT_EQ(across.written, Pages{1});
    EXPECT_EQ(presence({"x", 0x3000, 4096}, pages, {4096}).resident, Pages{0});
    EXPECT_EQ(presence({"x", 0x5fff, 1}, pages, {4096}).resident, Pages{1});
    EXPECT_EQ(presence({"x", ~0ULL - 3, 16}, pages, {4096}).resident, Pages{0})
        << "an address range that wraps around has no pages";
}

}  // namespace
}  // namespace rsslag::procfs
