// SPDX-License-Identifier: BSD-2-Clause
#include "probe/traits.h"

#include <bpf/btf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/vfs.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include "core/fd.h"
#include "kernel_types.h"

namespace rsslag::probe {

using core::Fd;
namespace {

using core::kMembers;
using core::Scheme;

/// Finds a member of a struct, also inside anonymous structs and unions (mm_struct wraps all of its members in one).
const btf_member *find_member(const KernelTypes &types, const btf_type *type, std::string_view name) {
    const btf_member *members = btf_members(type);
    for (int i = 0; i < btf_vlen(type); ++i) {
        const char *member_name = types.string(members[i].name_off);
        if (name == member_name) return &members[i];
        if (*member_name != '\0') continue;
        const btf_type *inner = types.type(members[i].type);
        if (inner == nullptr || !btf_is_composite(inner)) continue;
        if (const btf_member *found = find_member(types, inner, name)) return found;
    }
    return nullptr;
}

const btf_type *find_struct(const KernelTypes &types, const char *name, unsigned kind = BTF_KIND_STRUCT) {
    return types.type(types.find(name, kind));
}

/// The type's name, typedefs unresolved: "atomic_long_t", "percpu_counter", "?" for an anonymous type.
std::string name_of(const KernelTypes &types, unsigned id) {
    const btf_type *type = types.type(id);
    if (type == nullptr) return "?";
    if (btf_is_array(type)) {
        const struct btf_array *array = btf_array(type);
        return fmt::format("{}[{}]", name_of(types, array->type), array->nelems);
    }
    if (btf_is_ptr(type)) return name_of(types, type->type) + " *";
    const char *name = types.string(type->name_off);
    return *name != '\0' ? name : "?";
}

/// Whether the type is an atomic_long_t behind any typedefs: a struct of the size of a long with a member "counter".
bool is_atomic_long(const KernelTypes &types, unsigned id) {
    const btf_type *type = types.resolve(id);
    return type != nullptr && btf_is_composite(type) && type->size == sizeof(long) &&
           find_member(types, type, "counter") != nullptr;
}

bool is_integer(const KernelTypes &types, unsigned id, unsigned bytes, bool is_signed) {
    const btf_type *type = types.resolve(id);
    return type != nullptr && btf_is_int(type) && type->size == bytes &&
           ((btf_int_encoding(type) & BTF_INT_SIGNED) != 0) == is_signed;
}

/// Whether the type is int[kMembers], as in task_struct.rss_stat.
bool is_array_of_ints(const KernelTypes &types, unsigned id) {
    const btf_type *type = types.resolve(id);
    if (type == nullptr || !btf_is_array(type)) return false;
    const struct btf_array *array = btf_array(type);
    return array->nelems == kMembers && is_integer(types, array->type, 4, true);
}

/// count is signed 64 bit, counters a pointer to signed 32 bit (include/linux/percpu_counter.h).
bool is_percpu_counter(const KernelTypes &types, unsigned id) {
    const btf_type *type = types.resolve(id);
    if (type == nullptr || !btf_is_struct(type) || name_of(types, id) != "percpu_counter") return false;
    const btf_member *count = find_member(types, type, "count");
    const btf_member *counters = find_member(types, type, "counters");
    if (count == nullptr || counters == nullptr) return false;
    const btf_type *counters_type = types.resolve(counters->type);
    if (!is_integer(types, count->type, 8, true)) return false;
    if (counters_type == nullptr || !btf_is_ptr(counters_type)) return false;
    return is_integer(types, counters_type->type, 4, true);
}

struct Verdict {
    std::variant<Scheme, UnknownLayout> scheme;
    std::string evidence;
};

Verdict unknown(std::string found) {
    return {UnknownLayout{found}, std::move(found)};
}

/// struct mm_rss_stat { atomic_long_t count[NR_MM_COUNTERS]; }: tasks cache if task_struct has a member rss_stat.
Verdict atomics_verdict(const KernelTypes &types, const btf_type *mm_rss_stat, const std::string &found) {
    const btf_member *count = find_member(types, mm_rss_stat, "count");
    const btf_type *array = count == nullptr ? nullptr : types.resolve(count->type);
    if (array == nullptr || !btf_is_array(array)) return unknown(found + " without an array named count");
    const struct btf_array *counts = btf_array(array);
    if (counts->nelems != kMembers || !is_atomic_long(types, counts->type)) {
        return unknown(fmt::format("{} with count as {}", found, name_of(types, count->type)));
    }
    const btf_type *task = find_struct(types, "task_struct");
    if (task == nullptr) return unknown("no task_struct");
    const btf_member *cache = find_member(types, task, "rss_stat");
    if (cache == nullptr) return {Scheme::Plain, found + " of atomics, task_struct has no rss_stat"};
    const btf_type *task_rss_stat = types.resolve(cache->type);
    if (task_rss_stat == nullptr || !btf_is_struct(task_rss_stat)) {
        return unknown("task_struct.rss_stat is " + name_of(types, cache->type));
    }
    const btf_member *events = find_member(types, task_rss_stat, "events");
    const btf_member *cached = find_member(types, task_rss_stat, "count");
    if (events == nullptr || cached == nullptr || !is_integer(types, events->type, 4, true) ||
        !is_array_of_ints(types, cached->type)) {
        return unknown(fmt::format("task_struct.rss_stat is {} with count as {}", name_of(types, cache->type),
                                   cached == nullptr ? "nothing" : name_of(types, cached->type)));
    }
    return {Scheme::Thread, found + " of atomics, task_struct.rss_stat caches for each thread"};
}

Verdict scheme_verdict(const KernelTypes &types) {
    const btf_type *mm = find_struct(types, "mm_struct");
    if (mm == nullptr) return unknown("no mm_struct");
    const btf_member *member = find_member(types, mm, "rss_stat");
    if (member == nullptr) return unknown("mm_struct has no rss_stat");
    const std::string found = "mm_struct.rss_stat is " + name_of(types, member->type);
    const btf_type *type = types.resolve(member->type);
    if (type == nullptr) return unknown(found);
    if (btf_is_array(type)) {
        const struct btf_array *array = btf_array(type);
        if (array->nelems == kMembers && is_percpu_counter(types, array->type)) {
            return {Scheme::Cpu, found + ", each CPU caches up to a batch"};
        }
        return unknown(found);
    }
    return btf_is_struct(type) ? atomics_verdict(types, type, found) : unknown(found);
}

/// btf_trace_NAME is a pointer to void (*)(void *, arguments…).
std::optional<int> tracepoint_arguments(const KernelTypes &types, const char *name) {
    const std::string type_name = std::string("btf_trace_") + name;
    const btf_type *type = find_struct(types, type_name.c_str(), BTF_KIND_TYPEDEF);
    const btf_type *pointer = type == nullptr ? nullptr : types.resolve(type->type);
    if (pointer == nullptr || !btf_is_ptr(pointer)) return std::nullopt;
    const btf_type *function = types.resolve(pointer->type);
    if (function == nullptr || !btf_is_func_proto(function)) return std::nullopt;
    return btf_vlen(function) - 1;
}

std::optional<int> function_arguments(const KernelTypes &types, const char *name) {
    const btf_type *function = find_struct(types, name, BTF_KIND_FUNC);
    if (function == nullptr) return std::nullopt;
    const btf_type *prototype = types.resolve(function->type);
    return prototype == nullptr ? std::nullopt : std::optional<int>(btf_vlen(prototype));
}

/// Whether the kernel has this helper: enum bpf_func_id (include/uapi/linux/bpf.h) names all of them.
bool has_helper(const KernelTypes &types, std::string_view name) {
    const btf_type *ids = find_struct(types, "bpf_func_id", BTF_KIND_ENUM);
    if (ids == nullptr) return false;
    const struct btf_enum *first = btf_enum(ids);
    return std::any_of(first, first + btf_vlen(ids),
                       [&](const struct btf_enum &id) { return name == types.string(id.name_off); });
}

}  // namespace

core::Error unsupported(const UnknownLayout &layout) {
    return {core::Kind::Unsupported, "unknown layout of this kernel's RSS counters: " + layout.found, 0,
            "report it with the output of rsslag doctor --json"};
}

KernelTraits traits_of(const KernelTypes &types) {
    KernelTraits traits;
    Verdict verdict = scheme_verdict(types);
    traits.scheme = std::move(verdict.scheme);
    traits.evidence = std::move(verdict.evidence);
    traits.task_iterator = find_struct(types, "bpf_iter__task") != nullptr;
    if (const btf_type *info = find_struct(types, "bpf_iter_link_info", BTF_KIND_UNION)) {
        traits.task_iterator_by_group = find_member(types, info, "task") != nullptr;
    }
    traits.loops = has_helper(types, "BPF_FUNC_loop") && has_helper(types, "BPF_FUNC_map_lookup_percpu_elem");
    traits.task_registers = has_helper(types, "BPF_FUNC_task_pt_regs");
    traits.map_allocator = types.find("bpf_mem_alloc_init", BTF_KIND_FUNC) != 0;
    traits.rss_stat_arguments = tracepoint_arguments(types, "rss_stat");
    traits.page_fault_user = tracepoint_arguments(types, "page_fault_user").has_value();
    traits.page_fault_kernel = tracepoint_arguments(types, "page_fault_kernel").has_value();
    traits.cpuhp_exit = tracepoint_arguments(types, "cpuhp_exit") == 4;
    traits.handle_mm_fault = function_arguments(types, "handle_mm_fault") == 4;
    traits.compat_calls = function_arguments(types, "__ia32_sys_mremap") == 1;
    traits.refcount_type = types.find("refcount_struct", BTF_KIND_STRUCT);
    traits.registers_type = types.find("pt_regs", BTF_KIND_STRUCT);
    traits.task_type = types.find("task_struct", BTF_KIND_STRUCT);
    return traits;
}

namespace {

/// Opens the file again to get its errno.
core::Error why_no_btf() {
    struct statfs about {};
    if (statfs("/sys", &about) == 0 && about.f_type != SYSFS_MAGIC) {
        return {core::Kind::Unsupported,
                "cannot read the kernel's BTF, which describes its RSS counters: /sys is not mounted", ENOENT,
                "run mount -t sysfs sysfs /sys"};
    }
    const Fd fd(open(kKernelTypesFile, O_RDONLY | O_CLOEXEC));
    const int err = fd.open() ? EINVAL : errno;
    if (err == ENOENT) {
        return {core::Kind::Unsupported,
                fmt::format("this kernel has no BTF ({}), which describes its RSS counters", kKernelTypesFile), err,
                "boot a kernel built with CONFIG_DEBUG_INFO_BTF=y"};
    }
    if (err == EMFILE || err == ENFILE || err == ENOMEM) {
        return {core::Kind::Denied, fmt::format("cannot open {}: {}", kKernelTypesFile, std::strerror(err)), err,
                err == EMFILE ? "raise the limit on open files: ulimit -n 1024" : ""};
    }
    if (err == EACCES || err == EPERM) {
        return {core::Kind::Denied, fmt::format("cannot open {}: {}", kKernelTypesFile, std::strerror(err)), err,
                "run rsslag as a user that may read it"};
    }
    return {core::Kind::Unsupported, fmt::format("cannot parse {}", kKernelTypesFile), err,
            "run rsslag doctor to see what this kernel allows"};
}

}  // namespace

core::Result<KernelTraits> running_kernel_traits() {
    std::shared_ptr<const KernelTypes> types = running_kernel_types();
    if (!types) return why_no_btf();
    KernelTraits traits = traits_of(*types);
    traits.types = std::move(types);
    return traits;
}

}  // namespace rsslag::probe
