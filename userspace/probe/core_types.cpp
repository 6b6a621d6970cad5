// SPDX-License-Identifier: BSD-2-Clause
#include "core_types.h"

#include <bpf/btf.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "kernel_types.h"

namespace rsslag::probe {
namespace {

/// Removes the flavor: "task_struct___old" → "task_struct" (tools/lib/bpf/relo_core.c bpf_core_essential_name_len).
std::string_view essential(std::string_view name) {
    constexpr std::string_view kSeparator = "___";
    for (std::size_t at = name.rfind(kSeparator); at != std::string_view::npos && at > 0;
         at = name.rfind(kSeparator, at - 1)) {
        const std::size_t after = at + kSeparator.size();
        if (name[at - 1] != '_' && after < name.size() && name[after] != '_') return name.substr(0, at);
    }
    return name;
}

/// Whether CO-RE relocates types of this kind; it does not relocate functions and variables.
bool relocated(const btf_type &type) {
    switch (btf_kind(&type)) {
        case BTF_KIND_INT:
        case BTF_KIND_STRUCT:
        case BTF_KIND_UNION:
        case BTF_KIND_ENUM:
        case BTF_KIND_ENUM64:
        case BTF_KIND_FWD:
        case BTF_KIND_TYPEDEF: return true;
        default: return false;
    }
}

/// Copies types depth first: the types of members before the struct. This ends, as no struct contains itself and
/// pointers are not followed.
class TypeCopier {
  public:
    TypeCopier(const KernelTypes &from, btf &to) : from_(from), to_(to) {}

    /// The id of the copy; negative: out of memory.
    int copy(unsigned id) {
        if (id == 0) return 0;
        if (const auto known = ids_.find(id); known != ids_.end()) return known->second;
        const int made = make(*from_.type(id));
        ids_.emplace(id, made);
        return made;
    }

  private:
    int make(const btf_type &type) {
        const char *const name = from_.string(type.name_off);
        switch (btf_kind(&type)) {
            case BTF_KIND_STRUCT:
            case BTF_KIND_UNION: return make_composite(type, name);
            case BTF_KIND_ARRAY: return make_array(*btf_array(&type));
            case BTF_KIND_PTR: return btf__add_ptr(&to_, 0);
            case BTF_KIND_TYPEDEF: return wrap(type.type, [&](int of) { return btf__add_typedef(&to_, name, of); });
            case BTF_KIND_INT: return btf__add_int(&to_, name, type.size, btf_int_encoding(&type));
            case BTF_KIND_FLOAT: return btf__add_float(&to_, name, type.size);
            case BTF_KIND_FWD: return btf__add_fwd(&to_, name, btf_kflag(&type) ? BTF_FWD_UNION : BTF_FWD_STRUCT);
            case BTF_KIND_ENUM: return make_enum(type, name);
            case BTF_KIND_ENUM64: return make_enum64(type, name);
            default: return copy(type.type);  // qualifiers and tags
        }
    }

    template <class Add>
    int wrap(unsigned inner, const Add &add) {
        const int of = copy(inner);
        return of < 0 ? of : add(of);
    }

    int make_array(const struct btf_array &array) {
        const int index = copy(array.index_type);
        if (index < 0) return index;
        return wrap(array.type, [&](int of) { return btf__add_array(&to_, index, of, array.nelems); });
    }

    int make_enum(const btf_type &type, const char *name) {
        const int id = btf__add_enum(&to_, name, type.size);
        for (unsigned i = 0; id > 0 && i < btf_vlen(&type); ++i) {
            const struct btf_enum &value = btf_enum(&type)[i];
            const std::int64_t number = btf_kflag(&type) ? value.val : static_cast<std::uint32_t>(value.val);
            const int err = btf__add_enum_value(&to_, from_.string(value.name_off), number);
            if (err != 0) return err;
        }
        return id;
    }

    int make_enum64(const btf_type &type, const char *name) {
        const int id = btf__add_enum64(&to_, name, type.size, btf_kflag(&type));
        for (unsigned i = 0; id > 0 && i < btf_vlen(&type); ++i) {
            const struct btf_enum64 &value = btf_enum64(&type)[i];
            const int err = btf__add_enum64_value(&to_, from_.string(value.name_off), btf_enum64_value(&value));
            if (err != 0) return err;
        }
        return id;
    }

    int make_composite(const btf_type &type, const char *name) {
        const btf_member *const members = btf_members(&type);
        std::vector<int> inner;
        for (unsigned i = 0; i < btf_vlen(&type); ++i) {
            inner.push_back(copy(members[i].type));
            if (inner.back() < 0) return inner.back();
        }
        const int id =
            btf_is_union(&type) ? btf__add_union(&to_, name, type.size) : btf__add_struct(&to_, name, type.size);
        for (unsigned i = 0; id > 0 && i < inner.size(); ++i) {
            const char *const member = from_.string(members[i].name_off);
            const int err = btf__add_field(&to_, member, inner[i], btf_member_bit_offset(&type, i),
                                           btf_member_bitfield_size(&type, i));
            if (err != 0) return err;
        }
        return id;
    }

    const KernelTypes &from_;
    btf &to_;
    std::unordered_map<unsigned, int> ids_;
};

}  // namespace

void BtfDeleter::operator()(btf *types) const {
    btf__free(types);
}

BtfPtr types_named(const KernelTypes &kernel, const btf &program) {
    std::unordered_set<std::string_view> names;
    for (unsigned id = 1; id < btf__type_cnt(&program); ++id) {
        const btf_type &type = *btf__type_by_id(&program, id);
        if (relocated(type)) names.insert(essential(btf__name_by_offset(&program, type.name_off)));
    }
    names.erase(std::string_view());
    BtfPtr named(btf__new_empty());
    if (!named) return nullptr;
    TypeCopier copier(kernel, *named);
    bool enough_memory = true;
    kernel.for_each([&](unsigned id, const btf_type &type) {
        if (relocated(type) && names.count(essential(kernel.string(type.name_off))) != 0)
            enough_memory = enough_memory && copier.copy(id) >= 0;
    });
    return enough_memory ? std::move(named) : nullptr;
}

CoreTypes::CoreTypes(const KernelTypes *kernel, const btf &program) {
    const BtfPtr named = kernel == nullptr ? nullptr : types_named(*kernel, program);
    if (!named) return;
    std::uint32_t size = 0;
    const void *const bytes = btf__raw_data(named.get(), &size);
    file_ = core::Fd(memfd_create("rsslag_types", MFD_CLOEXEC));
    if (bytes == nullptr || !file_.open() || write(file_.get(), bytes, size) != static_cast<ssize_t>(size)) return;
    path_ = fmt::format("/proc/self/fd/{}", file_.get());
    if (access(path_.c_str(), R_OK) != 0) path_.clear();
    std::memset(&options_, 0, sizeof(options_));  // libbpf checks that the padding is zero
    options_.sz = sizeof(options_);
    options_.btf_custom_path = path_.c_str();
}

}  // namespace rsslag::probe
