// SPDX-License-Identifier: BSD-2-Clause
#include "code_file.h"

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <gelf.h>
#include <linux/openat2.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "demangle.h"
#include "elf_handle.h"

namespace rsslag::unwind {
namespace {

constexpr std::uint64_t kPageBytes = 4096;

/// `by_device`: if it is not known by its build id, the device must be that of the mapping.
bool is_the_file(const core::Fd &fd, const FileKey &key, bool by_device) {
    struct stat about {};
    if (!fd.open() || fstat(fd.get(), &about) != 0 || !S_ISREG(about.st_mode)) return false;
    if (key.build_id.known()) return build_id_of(fd.get()) == key.build_id;
    if (by_device && core::device_number(major(about.st_dev), minor(about.st_dev)) != key.device) return false;
    return key.inode != 0 && (about.st_ino == key.inode || procfs::inode_number(fd) == key.inode);
}

/// The program that the process runs, even if its file has been deleted or replaced.
core::Fd program_of(pid_t pid, const std::string &path) {
    const std::string link = fmt::format("/proc/{}/exe", pid);
    std::error_code failed;
    const std::string target = std::filesystem::read_symlink(link, failed).string();
    if (failed || (target != path && target != path + " (deleted)")) return {};
    return core::Fd(open(link.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
}

core::Fd open_mapped(const FileKey &key, pid_t pid, const std::vector<std::string> &roots) {
    for (const std::string &root : roots)
        if (core::Fd file = open_in(root, key.path); is_the_file(file, key, root != roots.front())) return file;
    core::Fd program = program_of(pid, key.path);
    return is_the_file(program, key, false) ? std::move(program) : core::Fd();
}

/// As gdb finds it, and as Debian's packages of debug symbols install it.
core::Fd debug_file(const std::string &root, const core::BuildId &id) {
    const std::string digits = core::hex(id);
    if (digits.size() < 3) return {};
    core::Fd file =
        open_in(root, fmt::format("/usr/lib/debug/.build-id/{}/{}.debug", digits.substr(0, 2), digits.substr(2)));
    return is_file_with(file, id) ? std::move(file) : core::Fd();
}

/// rsslag's own vdso is that of all 64-bit processes of the machine.
core::Fd vdso() {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the auxiliary vector has addresses as numbers
    const auto *const image = reinterpret_cast<const char *>(getauxval(AT_SYSINFO_EHDR));
    if (image == nullptr) return {};
    core::Fd copy(memfd_create("rsslag-vdso", MFD_CLOEXEC));
    const auto *const header = reinterpret_cast<const Elf64_Ehdr *>(image);
    const std::size_t size = header->e_shoff + std::size_t{header->e_shnum} * header->e_shentsize;
    std::string_view bytes(image, size);
    return copy.open() && core::write_all(copy.get(), bytes) == 0 ? std::move(copy) : core::Fd();
}

}  // namespace

core::Fd open_in(const std::string &root, const std::string &path, std::uint64_t flags) {
    const core::Fd directory(open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!directory.open()) return {};
    open_how how{};
    how.flags = O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY | flags;
    how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
    return core::Fd(static_cast<int>(syscall(SYS_openat2, directory.get(), path.c_str(), &how, sizeof(how))));
}

core::BuildId build_id_of(int fd) {
    core::BuildId id;
    elf_version(EV_CURRENT);
    const ElfHandle elf(elf_begin(fd, ELF_C_READ, nullptr));
    const void *bytes = nullptr;
    const ssize_t size = elf == nullptr ? -1 : dwelf_elf_gnu_build_id(elf.get(), &bytes);
    if (size <= 0) return id;
    id.size = static_cast<std::uint8_t>(std::min<std::size_t>(static_cast<std::size_t>(size), core::BuildId::kMost));
    std::copy_n(static_cast<const std::uint8_t *>(bytes), id.size, id.bytes.begin());
    return id;
}

bool is_file_with(const core::Fd &file, const core::BuildId &id) {
    return is_the_file(file, {"", id, 0, 0}, false);
}

CodeFile::CodeFile(core::Fd file, const std::vector<std::string> &roots, std::size_t most_debug_bytes) {
    build_id_ = build_id_of(file.get());
    if (auto elf = procfs::read_elf(file.get())) elf_ = std::move(*elf);
    debug_ = DebugInfo::open(core::Fd(fcntl(file.get(), F_DUPFD_CLOEXEC, 0)), roots.front(), most_debug_bytes);
    for (auto root = roots.begin(); (!debug_ || elf_.stripped) && root != roots.end(); ++root) {
        core::Fd separate = debug_file(*root, build_id_);
        if (!separate.open()) continue;
        if (elf_.stripped) {
            auto elf = procfs::read_elf(separate.get());
            if (elf && !elf->stripped) {
                elf_.symbols = std::move(elf->symbols);
                elf_.stripped = false;
            }
        }
        if (!debug_) debug_ = DebugInfo::open(std::move(separate), *root, most_debug_bytes);
    }
    if (auto rules = FrameTable::open(std::move(file))) rules_.emplace(std::move(*rules));
}

std::optional<std::uint64_t> CodeFile::bias(std::uint64_t start, std::uint64_t offset) const {
    for (const procfs::ElfLoad &load : elf_.loads) {
        if (!load.executable) continue;  // it may be in the first page of the next one
        const std::uint64_t begin = load.offset & ~(kPageBytes - 1);
        if (offset >= begin && offset < load.offset + load.file_size)
            return start - offset + load.offset - load.address;
    }
    return std::nullopt;
}

std::string CodeFile::symbol_at(std::uint64_t address) const {
    const auto &symbols = elf_.symbols;
    auto after = std::upper_bound(symbols.begin(), symbols.end(), address,
                                  [](std::uint64_t at, const procfs::ElfPart &symbol) { return at < symbol.address; });
    if (after == symbols.begin()) return {};
    const procfs::ElfPart &symbol = *--after;
    return address - symbol.address < symbol.size ? demangled(symbol.name) : std::string();
}

const std::vector<SourceFrame> &CodeFile::functions_at(std::uint64_t address) {
    constexpr std::size_t kMostKept = 1'000'000;
    if (functions_.size() >= kMostKept) functions_.clear();
    const auto [entry, is_new] = functions_.try_emplace(address);
    std::vector<SourceFrame> &functions = entry->second;
    if (!is_new) return functions;
    if (debug_) functions = debug_->at(address);
    if (functions.empty()) functions.emplace_back();
    // The name that is the same without debug information: "_exit", not "__GI__exit".
    if (std::string symbol = symbol_at(address); !symbol.empty()) functions.back().function = std::move(symbol);
    return functions;
}

CodeFiles::CodeFiles(bool symbols) : debug_bytes_left_(symbols ? kMostDebugBytes : 0) {
    if (core::Fd image = vdso(); image.open())
        files_[{"[vdso]"}] = std::make_shared<CodeFile>(std::move(image), std::vector<std::string>{"/"}, 0);
}

CodeFile *CodeFiles::find(const FileKey &key, pid_t pid) {
    if (key.path == "[vdso]") {
        const auto own = files_.find({key.path});
        return own == files_.end() ? nullptr : own->second.get();
    }
    if (!key.path.starts_with('/')) return nullptr;
    if (const auto found = files_.find(key); found != files_.end()) return found->second.get();
    const std::vector<std::string> roots{fmt::format("/proc/{}/root", pid), "/"};
    core::Fd file = open_mapped(key, pid, roots);
    if (!file.open()) return nullptr;
    const core::BuildId id = build_id_of(file.get());
    const auto same = id.known() ? by_build_id_.find(id) : by_build_id_.end();
    std::shared_ptr<CodeFile> code = same == by_build_id_.end() ? nullptr : same->second;
    if (code == nullptr) {
        code = std::make_shared<CodeFile>(std::move(file), roots, debug_bytes_left_);
        debug_bytes_left_ -= code->debug_bytes();
        if (id.known()) by_build_id_[id] = code;
    }
    files_[key] = code;
    return code.get();
}

}  // namespace rsslag::unwind
