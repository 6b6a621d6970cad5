// SPDX-License-Identifier: BSD-2-Clause
#include "probe/traits.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include "core/fd.h"
#include "core_types.h"

namespace rsslag::probe {

using core::Fd;
namespace {

using core::kMembers;
using core::Scheme;

/// Finds a member of a struct, also inside anonymous structs and unions (mm_struct wraps all of its members in one).
const btf_member *find_member(const btf &btf, const btf_type *type, std::string_view name) {
    const btf_member *members = btf_members(type);
    for (int i = 0; i < btf_vlen(type); ++i) {
        const char *member_name = btf__name_by_offset(&btf, members[i].name_off);
        if (member_name != nullptr && name == member_name) return &members[i];
        if (member_name != nullptr && *member_name != '\0') continue;
        const btf_type *inner = btf__type_by_id(&btf, members[i].type);
        if (inner == nullptr || !btf_is_composite(inner)) continue;
        if (const btf_member *found = find_member(btf, inner, name)) return found;
    }
    return nullptr;
}

const btf_type *find_struct(const btf &btf, const char *name, unsigned kind = BTF_KIND_STRUCT) {
    const int id = btf__find_by_name_kind(&btf, name, kind);
    return id < 0 ? nullptr : btf__type_by_id(&btf, static_cast<unsigned>(id));
}

/// 0: no such type.
unsigned id_of(const btf &btf, const char *name, unsigned kind) {
    return static_cast<unsigned>(std::max(0, btf__find_by_name_kind(&btf, name, kind)));
}

/// The type behind typedefs and qualifiers.
const btf_type *resolve(const btf &btf, unsigned id) {
    const int resolved = btf__resolve_type(&btf, id);
    return resolved < 0 ? nullptr : btf__type_by_id(&btf, static_cast<unsigned>(resolved));
}

/// The type's name, typedefs unresolved: "atomic_long_t", "percpu_counter", "?" for an anonymous type.
std::string name_of(const btf &btf, unsigned id) {
    const btf_type *type = btf__type_by_id(&btf, id);
    if (type == nullptr) return "?";
    if (btf_is_array(type)) {
        const struct btf_array *array = btf_array(type);
        return fmt::format("{}[{}]", name_of(btf, array->type), array->nelems);
    }
    if (btf_is_ptr(type)) return name_of(btf, type->type) + " *";
    const char *name = btf__name_by_offset(&btf, type->name_off);
    return name != nullptr && *name != '\0' ? name : "?";
}

/// Whether the type is an atomic_long_t behind any typedefs: a struct of the size of a long with a member "counter".
bool is_atomic_long(const btf &btf, unsigned id) {
    const btf_type *type = resolve(btf, id);
    return type != nullptr && btf_is_composite(type) && type->size == sizeof(long) &&
           find_member(btf, type, "counter") != nullptr;
}

bool is_integer(const btf &btf, unsigned id, unsigned bytes, bool is_signed) {
    const btf_type *type = resolve(btf, id);
    return type != nullptr && btf_is_int(type) && type->size == bytes &&
           ((btf_int_encoding(type) & BTF_INT_SIGNED) != 0) == is_signed;
}

/// Whether the type is int[kMembers], as in task_struct.rss_stat.
bool is_array_of_ints(const btf &btf, unsigned id) {
    const btf_type *type = resolve(btf, id);
    if (type == nullptr || !btf_is_array(type)) return false;
    const struct btf_array *array = btf_array(type);
    return array->nelems == kMembers && is_integer(btf, array->type, 4, true);
}

/// count is signed 64 bit, counters a pointer to signed 32 bit (include/linux/percpu_counter.h).
bool is_percpu_counter(const btf &btf, unsigned id) {
    const btf_type *type = resolve(btf, id);
    if (type == nullptr || !btf_is_struct(type) || name_of(btf, id) != "percpu_counter") return false;
    const btf_member *count = find_member(btf, type, "count");
    const btf_member *counters = find_member(btf, type, "counters");
    if (count == nullptr || counters == nullptr) return false;
    const btf_type *counters_type = resolve(btf, counters->type);
    if (!is_integer(btf, count->type, 8, true)) return false;
    if (counters_type == nullptr || !btf_is_ptr(counters_type)) return false;
    return is_integer(btf, counters_type->type, 4, true);
}

/// The kernel's BTF. It can be mapped from 6.16 on (kernel/bpf/sysfs_btf.c); on older kernels it is read page by page.
constexpr const char *kBtf = "/sys/kernel/btf/vmlinux";

BtfPtr load_btf() {
    const Fd fd(open(kBtf, O_RDONLY | O_CLOEXEC));
    struct stat file {};
    void *mapped = MAP_FAILED;
    if (fd.open() && fstat(fd.get(), &file) == 0 && file.st_size > 0) {
        mapped = mmap(nullptr, static_cast<std::size_t>(file.st_size), PROT_READ, MAP_PRIVATE, fd.get(), 0);
    }
    if (mapped == MAP_FAILED) return BtfPtr(btf__load_vmlinux_btf());
    BtfPtr parsed(btf__new(mapped, static_cast<unsigned>(file.st_size)));
    munmap(mapped, static_cast<std::size_t>(file.st_size));
    return parsed;
}

struct Verdict {
    std::variant<Scheme, UnknownLayout> scheme;
    std::string evidence;
};

Verdict unknown(std::string found) {
    return {UnknownLayout{found}, std::move(found)};
}

/// struct mm_rss_stat { atomic_long_t count[NR_MM_COUNTERS]; }: tasks cache if task_struct has a member rss_stat.
Verdict atomics_verdict(const btf &btf, const btf_type *mm_rss_stat, const std::string &found) {
    const btf_member *count = find_member(btf, mm_rss_stat, "count");
    const btf_type *array = count == nullptr ? nullptr : resolve(btf, count->type);
    if (array == nullptr || !btf_is_array(array)) return unknown(found + " without an array named count");
    const struct btf_array *counts = btf_array(array);
    if (counts->nelems != kMembers || !is_atomic_long(btf, counts->type)) {
        return unknown(fmt::format("{} with count as {}", found, name_of(btf, count->type)));
    }
    const btf_type *task = find_struct(btf, "task_struct");
    if (task == nullptr) return unknown("no task_struct");
    const btf_member *cache = find_member(btf, task, "rss_stat");
    if (cache == nullptr) return {Scheme::Plain, found + " of atomics, task_struct has no rss_stat"};
    const btf_type *task_rss_stat = resolve(btf, cache->type);
    if (task_rss_stat == nullptr || !btf_is_struct(task_rss_stat)) {
        return unknown("task_struct.rss_stat is " + name_of(btf, cache->type));
    }
    const btf_member *events = find_member(btf, task_rss_stat, "events");
    const btf_member *cached = find_member(btf, task_rss_stat, "count");
    if (events == nullptr || cached == nullptr || !is_integer(btf, events->type, 4, true) ||
        !is_array_of_ints(btf, cached->type)) {
        return unknown(fmt::format("task_struct.rss_stat is {} with count as {}", name_of(btf, cache->type),
                                   cached == nullptr ? "nothing" : name_of(btf, cached->type)));
    }
    return {Scheme::Thread, found + " of atomics, task_struct.rss_stat caches for each thread"};
}

Verdict scheme_verdict(const btf &btf) {
    const btf_type *mm = find_struct(btf, "mm_struct");
    if (mm == nullptr) return unknown("no mm_struct");
    const btf_member *member = find_member(btf, mm, "rss_stat");
    if (member == nullptr) return unknown("mm_struct has no rss_stat");
    const std::string found = "mm_struct.rss_stat is " + name_of(btf, member->type);
    const btf_type *type = resolve(btf, member->type);
    if (type == nullptr) return unknown(found);
    if (btf_is_array(type)) {
        const struct btf_array *array = btf_array(type);
        if (array->nelems == kMembers && is_percpu_counter(btf, array->type)) {
            return {Scheme::Cpu, found + ", each CPU caches up to a batch"};
        }
        return unknown(found);
    }
    return btf_is_struct(type) ? atomics_verdict(btf, type, found) : unknown(found);
}

/// btf_trace_NAME is a pointer to void (*)(void *, arguments…).
std::optional<int> tracepoint_arguments(const btf &btf, const char *name) {
    const std::string type_name = std::string("btf_trace_") + name;
    const btf_type *type = find_struct(btf, type_name.c_str(), BTF_KIND_TYPEDEF);
    const btf_type *pointer = type == nullptr ? nullptr : resolve(btf, type->type);
    if (pointer == nullptr || !btf_is_ptr(pointer)) return std::nullopt;
    const btf_type *function = resolve(btf, pointer->type);
    if (function == nullptr || !btf_is_func_proto(function)) return std::nullopt;
    return btf_vlen(function) - 1;
}

std::optional<int> function_arguments(const btf &btf, const char *name) {
    const btf_type *function = find_struct(btf, name, BTF_KIND_FUNC);
    if (function == nullptr) return std::nullopt;
    const btf_type *prototype = resolve(btf, function->type);
    return prototype == nullptr ? std::nullopt : std::optional<int>(btf_vlen(prototype));
}

/// Whether the kernel has this helper: enum bpf_func_id (include/uapi/linux/bpf.h) names all of them.
bool has_helper(const btf &btf, std::string_view name) {
    const btf_type *ids = find_struct(btf, "bpf_func_id", BTF_KIND_ENUM);
    if (ids == nullptr) return false;
    const struct btf_enum *first = btf_enum(ids);
    return std::any_of(first, first + btf_vlen(ids), [&](const struct btf_enum &id) {
        const char *found = btf__name_by_offset(&btf, id.name_off);
        return found != nullptr && name == found;
    });
}

}  // namespace

core::Error unsupported(const UnknownLayout &layout) {
    return {core::Kind::Unsupported, "unknown layout of this kernel's RSS counters: " + layout.found, 0,
            "report it with the output of rsslag doctor --json"};
}

KernelTraits traits_of(const btf &btf) {
    KernelTraits traits;
    Verdict verdict = scheme_verdict(btf);
    traits.scheme = std::move(verdict.scheme);
    traits.evidence = std::move(verdict.evidence);
    traits.task_iterator = find_struct(btf, "bpf_iter__task") != nullptr;
    if (const btf_type *info = find_struct(btf, "bpf_iter_link_info", BTF_KIND_UNION)) {
        traits.task_iterator_by_group = find_member(btf, info, "task") != nullptr;
    }
    traits.loops = has_helper(btf, "BPF_FUNC_loop") && has_helper(btf, "BPF_FUNC_map_lookup_percpu_elem");
    traits.rss_stat_arguments = tracepoint_arguments(btf, "rss_stat");
    traits.page_fault_user = tracepoint_arguments(btf, "page_fault_user").has_value();
    traits.page_fault_kernel = tracepoint_arguments(btf, "page_fault_kernel").has_value();
    traits.cpuhp_exit = tracepoint_arguments(btf, "cpuhp_exit") == 4;
    traits.handle_mm_fault = function_arguments(btf, "handle_mm_fault") == 4;
    traits.compat_calls = function_arguments(btf, "__ia32_sys_mremap") == 1;
    traits.refcount_type = id_of(btf, "refcount_struct", BTF_KIND_STRUCT);
    traits.registers_type = id_of(btf, "pt_regs", BTF_KIND_STRUCT);
    traits.task_type = id_of(btf, "task_struct", BTF_KIND_STRUCT);
    return traits;
}

namespace {

/// Opens the file again to get its errno: libbpf has tried other files since, and returns one errno for all of them.
core::Error why_no_btf() {
    struct statfs about {};
    if (statfs("/sys", &about) == 0 && about.f_type != SYSFS_MAGIC) {
        return {core::Kind::Unsupported,
                "cannot read the kernel's BTF, which describes its RSS counters: /sys is not mounted", ENOENT,
                "run mount -t sysfs sysfs /sys"};
    }
    const Fd fd(open(kBtf, O_RDONLY | O_CLOEXEC));
    const int err = fd.open() ? EINVAL : errno;
    if (err == ENOENT) {
        return {core::Kind::Unsupported,
                fmt::format("this kernel has no BTF ({}), which describes its RSS counters", kBtf), err,
                "boot a kernel built with CONFIG_DEBUG_INFO_BTF=y"};
    }
    if (err == EMFILE || err == ENFILE || err == ENOMEM) {
        return {core::Kind::Denied, fmt::format("cannot open {}: {}", kBtf, std::strerror(err)), err,
                err == EMFILE ? "raise the limit on open files: ulimit -n 1024" : ""};
    }
    if (err == EACCES || err == EPERM) {
        return {core::Kind::Denied, fmt::format("cannot open {}: {}", kBtf, std::strerror(err)), err,
                "run rsslag as a user that may read it"};
    }
    return {core::Kind::Unsupported, fmt::format("cannot parse {}", kBtf), err,
            "run rsslag doctor to see what this kernel allows"};
}

}  // namespace

core::Result<KernelTraits> running_kernel_traits() {
    BtfPtr btf = load_btf();
    if (btf == nullptr) return why_no_btf();
    KernelTraits traits = traits_of(*btf);
    traits.types = std::move(btf);
    return traits;
}

}  // namespace rsslag::probe
