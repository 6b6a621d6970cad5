// SPDX-License-Identifier: BSD-2-Clause
#include "debug_info.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <gelf.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

#include "code_file.h"
#include "demangle.h"
#include "elf_handle.h"

namespace rsslag::unwind {
namespace {

struct DwarfEnd {
    void operator()(Dwarf *dwarf) const { dwarf_end(dwarf); }
};
using DwarfHandle = std::unique_ptr<Dwarf, DwarfEnd>;

/// An ELF file, read by pread(2): a file that is mapped and truncated would end rsslag with SIGBUS.
struct Sections {
    core::Fd file;
    ElfHandle elf;
    DwarfHandle dwarf;
    std::size_t bytes = 0;  ///< of debug information, uncompressed
};

/// Size of the section as libelf would uncompress it.
std::size_t size_of(Elf_Scn *section, const GElf_Shdr &header) {
    GElf_Chdr compressed{};
    if ((header.sh_flags & SHF_COMPRESSED) != 0 && gelf_getchdr(section, &compressed) != nullptr)
        return compressed.ch_size;
    return header.sh_size;
}

std::size_t bytes_of_debug_sections(Elf *elf) {
    std::size_t names = 0, bytes = 0;
    if (elf_getshdrstrndx(elf, &names) != 0) return 0;
    for (Elf_Scn *section = elf_nextscn(elf, nullptr); section != nullptr; section = elf_nextscn(elf, section)) {
        GElf_Shdr header{};
        if (gelf_getshdr(section, &header) == nullptr) continue;
        const char *const name = elf_strptr(elf, names, header.sh_name);
        if (name == nullptr || header.sh_type == SHT_NOBITS || !std::string_view(name).starts_with(".debug_")) continue;
        if (__builtin_add_overflow(bytes, size_of(section, header), &bytes)) return SIZE_MAX;
    }
    return bytes;
}

std::optional<Sections> sections_of(core::Fd file, std::size_t most_bytes) {
    Sections sections;
    sections.file = std::move(file);
    elf_version(EV_CURRENT);
    sections.elf.reset(elf_begin(sections.file.get(), ELF_C_READ, nullptr));
    if (sections.elf == nullptr) return std::nullopt;
    sections.bytes = bytes_of_debug_sections(sections.elf.get());
    if (sections.bytes == 0 || sections.bytes > most_bytes) return std::nullopt;
    sections.dwarf.reset(dwarf_begin_elf(sections.elf.get(), DWARF_C_READ, nullptr));
    if (sections.dwarf == nullptr) return std::nullopt;
    return sections;
}

std::uint64_t number_of(Dwarf_Die *die, unsigned name) {
    Dwarf_Attribute attribute{};
    Dwarf_Word value = 0;
    if (dwarf_attr(die, name, &attribute) == nullptr || dwarf_formudata(&attribute, &value) != 0) return 0;
    return value;
}

std::string function_of(Dwarf_Die *die) {
    Dwarf_Attribute attribute{};
    for (const unsigned name : {unsigned{DW_AT_linkage_name}, unsigned{DW_AT_MIPS_linkage_name}}) {
        if (dwarf_attr_integrate(die, name, &attribute) == nullptr) continue;
        if (const char *const text = dwarf_formstring(&attribute)) return demangled(text);
    }
    const char *const text = dwarf_diename(die);
    return text == nullptr ? "" : text;
}

std::uint32_t line_number(std::uint64_t number) {
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(number, UINT32_MAX));
}

using Clock = std::chrono::steady_clock;

/// Code of something.
template <typename Thing>
struct Range {
    std::uint64_t begin = 0, end = 0;  ///< exclusive
    Thing of{};
};

/// The thing at the address, of ranges that are sorted and do not overlap; of ones that do, one of them.
template <typename Thing>
const Thing *find_in(const std::vector<Range<Thing>> &ranges, std::uint64_t address) {
    auto after = std::upper_bound(ranges.begin(), ranges.end(), address,
                                  [](std::uint64_t at, const Range<Thing> &range) { return at < range.begin; });
    if (after == ranges.begin() || (--after)->end <= address) return nullptr;
    return &after->of;
}

template <typename Thing>
void sort(std::vector<Range<Thing>> &ranges) {
    std::sort(ranges.begin(), ranges.end(), [](const auto &a, const auto &b) { return a.begin < b.begin; });
}

}  // namespace

struct DebugInfo::State {
    std::optional<Sections> moved;  ///< by dwz; outlives `main`, which refers to it
    Sections main;

    struct Unit {
        Dwarf_Die die{};
        bool is_read = false;
        std::vector<Range<Dwarf_Die>> functions;
    };
    std::vector<Unit> units;
    std::vector<Range<std::size_t>> unit_ranges;

    /// In a damaged file any number of entries may have the same list of ranges.
    std::size_t ranges_left = 4'000'000;
    /// In a damaged file a look-up may take any time.
    Clock::duration left = std::chrono::seconds(30);
    Clock::time_point deadline{};

    bool in_time() const { return Clock::now() < deadline; }
    /// A part of `left`.
    class Timed {
      public:
        explicit Timed(State &state) : state_(state) { state_.deadline = Clock::now() + state_.left; }
        ~Timed() { state_.left = state_.deadline - Clock::now(); }
        Timed(const Timed &) = delete;
        Timed &operator=(const Timed &) = delete;

      private:
        State &state_;
    };

    void read_units();
    void read_functions(Unit &unit);
    template <typename Thing>
    bool add_ranges(std::vector<Range<Thing>> &ranges, Dwarf_Die *die, const Thing &of);
    template <typename Visit>
    void each_child(Dwarf_Die *parent, const Visit &visit);
    std::vector<Dwarf_Die> calls_at(Dwarf_Die function, std::uint64_t address);
    static SourceFrame line_at(Dwarf_Die *unit, std::uint64_t address);
    static SourceFrame call_of(Dwarf_Die *unit, Dwarf_Die *call);
};

DebugInfo::DebugInfo(std::unique_ptr<State> state) : state_(std::move(state)) {}
DebugInfo::DebugInfo(DebugInfo &&other) noexcept = default;
DebugInfo &DebugInfo::operator=(DebugInfo &&other) noexcept = default;
DebugInfo::~DebugInfo() = default;

std::optional<DebugInfo> DebugInfo::open(core::Fd file, const std::string &root, std::size_t most_bytes) {
    auto main = sections_of(std::move(file), most_bytes);
    if (!main) return std::nullopt;
    auto state = std::make_unique<State>();
    state->main = std::move(*main);
    // libdw would open the file by its name, and block if that is a FIFO.
    const char *name = nullptr;
    const void *id = nullptr;
    if (dwelf_dwarf_gnu_debugaltlink(state->main.dwarf.get(), &name, &id) > 0) {
        core::Fd moved = open_in(root, name);
        struct stat about {};
        if (!moved.open() || fstat(moved.get(), &about) != 0 || !S_ISREG(about.st_mode)) return std::nullopt;
        state->moved = sections_of(std::move(moved), most_bytes - state->main.bytes);
        if (!state->moved) return std::nullopt;
        dwarf_setalt(state->main.dwarf.get(), state->moved->dwarf.get());
    }
    const State::Timed timed(*state);
    state->read_units();
    if (state->unit_ranges.empty()) return std::nullopt;
    return DebugInfo(std::move(state));
}

/// Returns whether the entry has ranges.
template <typename Thing>
bool DebugInfo::State::add_ranges(std::vector<Range<Thing>> &ranges, Dwarf_Die *die, const Thing &of) {
    Dwarf_Addr base = 0, begin = 0, end = 0;
    bool any = false;
    for (ptrdiff_t at = 0; ranges_left > 0 && (at = dwarf_ranges(die, at, &base, &begin, &end)) > 0;) {
        if (begin >= end || begin == 0) continue;  // the linker has removed a function at 0
        ranges.push_back({begin, end, of});
        --ranges_left;
        any = true;
    }
    return any;
}

template <typename Visit>
void DebugInfo::State::each_child(Dwarf_Die *parent, const Visit &visit) {
    Dwarf_Die child{};
    if (dwarf_child(parent, &child) != 0) return;
    do {
        if (!in_time() || !visit(child)) return;
    } while (dwarf_siblingof(&child, &child) == 0);
}

void DebugInfo::State::read_units() {
    Dwarf_CU *at = nullptr;
    Dwarf_Die die{};
    std::uint8_t type = 0;
    while (in_time() && dwarf_get_units(main.dwarf.get(), at, &at, nullptr, &type, &die, nullptr) == 0) {
        if (type != DW_UT_compile || dwarf_tag(&die) != DW_TAG_compile_unit) continue;
        if (add_ranges(unit_ranges, &die, units.size())) units.push_back({die, false, {}});
    }
    sort(unit_ranges);
}

/// The functions of a unit are its children, or those of a namespace or a class.
void DebugInfo::State::read_functions(Unit &unit) {
    unit.is_read = true;
    std::vector<Dwarf_Die> parents{unit.die};
    while (!parents.empty()) {
        Dwarf_Die parent = parents.back();
        parents.pop_back();
        each_child(&parent, [&](Dwarf_Die &child) {
            switch (dwarf_tag(&child)) {
                case DW_TAG_subprogram: add_ranges(unit.functions, &child, child); break;
                case DW_TAG_namespace:
                case DW_TAG_module:
                case DW_TAG_class_type:
                case DW_TAG_structure_type:
                case DW_TAG_union_type: parents.push_back(child); break;
                default: break;
            }
            return true;
        });
    }
    sort(unit.functions);
}

/// The function, and the calls at the address that are inlined into it, the innermost last.
std::vector<Dwarf_Die> DebugInfo::State::calls_at(Dwarf_Die function, std::uint64_t address) {
    constexpr int kMostDepth = 256;
    std::vector<Dwarf_Die> calls{function};
    Dwarf_Die parent = function;
    bool found = true;
    for (int depth = 0; found && depth < kMostDepth; ++depth) {
        found = false;
        Dwarf_Die below{};
        each_child(&parent, [&](Dwarf_Die &child) {
            const int tag = dwarf_tag(&child);
            if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_lexical_block) return true;
            if (dwarf_haspc(&child, address) != 1) return true;
            if (tag == DW_TAG_inlined_subroutine) calls.push_back(child);
            below = child;
            found = true;
            return false;
        });
        parent = below;
    }
    return calls;
}

SourceFrame DebugInfo::State::line_at(Dwarf_Die *unit, std::uint64_t address) {
    SourceFrame frame;
    Dwarf_Line *const line = dwarf_getsrc_die(unit, address);
    int number = 0;
    if (line == nullptr) return frame;
    if (const char *const file = dwarf_linesrc(line, nullptr, nullptr)) frame.file = file;
    if (dwarf_lineno(line, &number) == 0 && number > 0) frame.line = line_number(static_cast<std::uint64_t>(number));
    return frame;
}

/// Where the inlined call is.
SourceFrame DebugInfo::State::call_of(Dwarf_Die *unit, Dwarf_Die *call) {
    SourceFrame frame;
    Dwarf_Files *files = nullptr;
    std::size_t count = 0;
    const std::uint64_t number = number_of(call, DW_AT_call_file);
    if (dwarf_getsrcfiles(unit, &files, &count) == 0 && number < count)
        if (const char *const file = dwarf_filesrc(files, number, nullptr, nullptr)) frame.file = file;
    frame.line = line_number(number_of(call, DW_AT_call_line));
    return frame;
}

std::vector<SourceFrame> DebugInfo::at(std::uint64_t address) {
    const State::Timed timed(*state_);
    if (!state_->in_time()) return {};
    const std::size_t *const number = find_in(state_->unit_ranges, address);
    if (number == nullptr) return {};
    State::Unit &unit = state_->units[*number];
    if (!unit.is_read) state_->read_functions(unit);
    const Dwarf_Die *const function = find_in(unit.functions, address);
    SourceFrame place = State::line_at(&unit.die, address);
    if (function == nullptr) return {place};
    std::vector<Dwarf_Die> calls = state_->calls_at(*function, address);
    std::vector<SourceFrame> frames;
    for (auto call = calls.rbegin(); call != calls.rend(); ++call) {
        place.function = function_of(&*call);
        frames.push_back(std::move(place));
        place = State::call_of(&unit.die, &*call);
    }
    return frames;
}

std::size_t DebugInfo::bytes() const {
    return state_->main.bytes + (state_->moved ? state_->moved->bytes : 0);
}

}  // namespace rsslag::unwind
