// SPDX-License-Identifier: BSD-2-Clause
#include "kernel_types.h"

#include <bpf/btf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>

#include "core/fd.h"

namespace rsslag::probe {
namespace {

/// The bytes that follow a type of a kind: `fixed`, and `each` for each of its btf_vlen() members.
struct Extra {
    std::uint8_t fixed = 0, each = 0;
    bool known = false;
};

constexpr std::array<Extra, NR_BTF_KINDS> kExtra = [] {
    std::array<Extra, NR_BTF_KINDS> all{};
    all[BTF_KIND_INT] = {sizeof(std::uint32_t), 0, true};
    all[BTF_KIND_ARRAY] = {sizeof(struct btf_array), 0, true};
    all[BTF_KIND_STRUCT] = all[BTF_KIND_UNION] = {0, sizeof(btf_member), true};
    all[BTF_KIND_ENUM] = {0, sizeof(struct btf_enum), true};
    all[BTF_KIND_ENUM64] = {0, sizeof(struct btf_enum64), true};
    all[BTF_KIND_FUNC_PROTO] = {0, sizeof(btf_param), true};
    all[BTF_KIND_VAR] = {sizeof(struct btf_var), 0, true};
    all[BTF_KIND_DATASEC] = {0, sizeof(btf_var_secinfo), true};
    all[BTF_KIND_DECL_TAG] = {sizeof(struct btf_decl_tag), 0, true};
    constexpr std::array<unsigned, 9> kAlone{BTF_KIND_PTR,   BTF_KIND_FWD,      BTF_KIND_TYPEDEF,
                                             BTF_KIND_CONST, BTF_KIND_VOLATILE, BTF_KIND_RESTRICT,
                                             BTF_KIND_FUNC,  BTF_KIND_FLOAT,    BTF_KIND_TYPE_TAG};
    for (const unsigned kind : kAlone)
        all[kind] = {0, 0, true};
    return all;
}();

bool known(const btf_type &type) {
    return btf_kind(&type) < kExtra.size() && kExtra[btf_kind(&type)].known;
}

/// The size of a type of a known kind.
std::size_t size_of(const btf_type &type) {
    const Extra &extra = kExtra[btf_kind(&type)];
    return sizeof(type) + extra.fixed + std::size_t{extra.each} * btf_vlen(&type);
}

struct Unmap {
    std::size_t bytes;
    void operator()(void *begin) const { munmap(begin, bytes); }
};

/// The file's bytes with what reads them.
struct File {
    std::unique_ptr<void, Unmap> mapping;
    std::vector<std::byte> copy;
    std::optional<KernelTypes> types;
};

/// The kernel returns at most a page for each read (fs/kernfs/file.c).
std::vector<std::byte> read_to_the_end(int fd, std::size_t size) {
    std::vector<std::byte> bytes(size);
    std::size_t done = 0;
    while (done < size) {
        const ssize_t count = read(fd, bytes.data() + done, size - done);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return {};
        done += static_cast<std::size_t>(count);
    }
    return bytes;
}

}  // namespace

KernelTypes::KernelTypes(std::span<const std::byte> bytes) {
    btf_header header{};
    if (bytes.size() < sizeof(header)) return;
    std::memcpy(&header, bytes.data(), sizeof(header));
    if (header.magic != BTF_MAGIC || header.hdr_len < sizeof(header) || header.hdr_len > bytes.size()) return;
    const std::span<const std::byte> body = bytes.subspan(header.hdr_len);
    if ((header.hdr_len + header.type_off) % alignof(btf_type) != 0 || header.type_off > body.size() ||
        header.type_len > body.size() - header.type_off || header.str_off > body.size() ||
        header.str_len > body.size() - header.str_off || header.str_len == 0)
        return;
    types_ = body.subspan(header.type_off, header.type_len);
    strings_ = {reinterpret_cast<const char *>(body.data() + header.str_off), header.str_len};
    if (strings_.back() != '\0') return;
    unsigned found = 0;
    for (std::size_t at = 0; at < types_.size(); ++found) {
        if (found % kStep == 0) offsets_.push_back(static_cast<std::uint32_t>(at));
        const std::size_t left = types_.size() - at;
        if (left < sizeof(btf_type)) return;
        const auto &type = *reinterpret_cast<const btf_type *>(types_.data() + at);
        if (!known(type) || size_of(type) > left) return;
        at += size_of(type);
    }
    count_ = found + 1;
}

const btf_type *KernelTypes::first() const {
    return reinterpret_cast<const btf_type *>(types_.data());
}

const btf_type *KernelTypes::next(const btf_type *type) {
    return reinterpret_cast<const btf_type *>(reinterpret_cast<const std::byte *>(type) + size_of(*type));
}

const btf_type *KernelTypes::type(unsigned id) const {
    if (id == 0 || id >= count_) return nullptr;
    const unsigned index = id - 1;
    const auto *found = reinterpret_cast<const btf_type *>(types_.data() + offsets_[index / kStep]);
    for (unsigned i = 0; i < index % kStep; ++i)
        found = next(found);
    return found;
}

const char *KernelTypes::string(std::uint32_t offset) const {
    return offset < strings_.size() ? strings_.data() + offset : "";
}

unsigned KernelTypes::find(const char *name, unsigned kind) const {
    const btf_type *type = first();
    for (unsigned id = 1; id < count_; ++id, type = next(type)) {
        if (btf_kind(type) == kind && std::strcmp(string(type->name_off), name) == 0) return id;
    }
    return 0;
}

const btf_type *KernelTypes::resolve(unsigned id) const {
    constexpr int kMostSteps = 32;  // as libbpf's MAX_RESOLVE_DEPTH
    for (int i = 0; i < kMostSteps; ++i) {
        const btf_type *const found = type(id);
        if (found == nullptr || !(btf_is_mod(found) || btf_is_typedef(found) || btf_is_type_tag(found))) return found;
        id = found->type;
    }
    return nullptr;
}

std::shared_ptr<const KernelTypes> running_kernel_types() {
    const core::Fd fd(open(kKernelTypesFile, O_RDONLY | O_CLOEXEC));
    struct stat about {};
    if (!fd.open() || fstat(fd.get(), &about) != 0 || about.st_size <= 0) return nullptr;
    const auto size = static_cast<std::size_t>(about.st_size);
    auto file = std::make_shared<File>();
    // The file can be mapped from 6.16 on (kernel/bpf/sysfs_btf.c).
    void *const begin = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd.get(), 0);
    if (begin != MAP_FAILED) {
        file->mapping = {begin, Unmap{size}};
        file->types.emplace(std::span(static_cast<const std::byte *>(begin), size));
    } else {
        file->copy = read_to_the_end(fd.get(), size);
        file->types.emplace(file->copy);
    }
    if (file->types->count() == 0) return nullptr;
    return {file, &*file->types};
}

}  // namespace rsslag::probe
