// SPDX-License-Identifier: BSD-2-Clause
#include "kernel_btf.h"

#include <gtest/gtest.h>

namespace rsslag::probe::test {

KernelBtf::KernelBtf()
    : btf_(btf__new_empty(), btf__free),
      s32_(btf__add_int(btf_.get(), "int", 4, BTF_INT_SIGNED)),
      s64_(btf__add_int(btf_.get(), "long", 8, BTF_INT_SIGNED)),
      u64_(btf__add_int(btf_.get(), "unsigned long", 8, 0)) {}

KernelTypes KernelBtf::types() const {
    std::uint32_t size = 0;
    const void *const bytes = btf__raw_data(btf_.get(), &size);
    return KernelTypes({static_cast<const std::byte *>(bytes), bytes == nullptr ? 0 : size});
}

int KernelBtf::structure(const std::string &name, const std::vector<Field> &fields, int bytes) {
    const auto size = static_cast<unsigned>(bytes == 0 ? 8 * fields.size() : static_cast<unsigned>(bytes));
    const int id = btf__add_struct(btf_.get(), name.c_str(), size);
    EXPECT_GT(id, 0);
    unsigned offset = 0;
    for (const Field &field : fields) {
        EXPECT_EQ(btf__add_field(btf_.get(), field.name.c_str(), field.type, offset, 0), 0);
        offset += 64;
    }
    return id;
}

int KernelBtf::union_of(const std::string &name, const std::vector<Field> &fields) {
    const int id = btf__add_union(btf_.get(), name.c_str(), 8);
    EXPECT_GT(id, 0);
    for (const Field &field : fields)
        EXPECT_EQ(btf__add_field(btf_.get(), field.name.c_str(), field.type, 0, 0), 0);
    return id;
}

int KernelBtf::array(int of, int elements) {
    return btf__add_array(btf_.get(), s32_, of, static_cast<unsigned>(elements));
}

int KernelBtf::pointer(int to) {
    return btf__add_ptr(btf_.get(), to);
}

int KernelBtf::alias(const std::string &name, int of) {
    return btf__add_typedef(btf_.get(), name.c_str(), of);
}

void KernelBtf::enumeration(const std::string &name, const std::vector<std::string> &names) {
    EXPECT_GT(btf__add_enum(btf_.get(), name.c_str(), 4), 0);
    for (std::size_t i = 0; i < names.size(); ++i)
        EXPECT_EQ(btf__add_enum_value(btf_.get(), names[i].c_str(), static_cast<std::int64_t>(i)), 0);
}

void KernelBtf::function(const std::string &name, int arguments) {
    const int prototype = btf__add_func_proto(btf_.get(), s32_);
    for (int i = 0; i < arguments; ++i)
        EXPECT_EQ(btf__add_func_param(btf_.get(), "", s64_), 0);
    EXPECT_GT(btf__add_func(btf_.get(), name.c_str(), BTF_FUNC_GLOBAL, prototype), 0);
}

void KernelBtf::tracepoint(const std::string &name, int arguments) {
    const int prototype = btf__add_func_proto(btf_.get(), 0);
    for (int i = 0; i <= arguments; ++i)
        EXPECT_EQ(btf__add_func_param(btf_.get(), "", s64_), 0);
    alias("btf_trace_" + name, pointer(prototype));
}

int KernelBtf::atomic_long() {
    return alias("atomic_long_t", alias("atomic64_t", structure("", {{"counter", s64_}})));
}

int KernelBtf::percpu_counter() {
    return structure(
        "percpu_counter",
        {{"lock", u64_}, {"count", alias("s64", s64_)}, {"list", u64_}, {"counters", pointer(alias("s32", s32_))}});
}

void KernelBtf::mm_struct(const std::vector<Field> &fields) {
    structure("mm_struct", {{"", structure("", fields)}, {"cpu_bitmap", u64_}});
}

KernelBtf thread_kernel() {
    KernelBtf kernel;
    const int counts = kernel.array(kernel.atomic_long(), 4);
    kernel.mm_struct({{"total_vm", kernel.u64()}, {"rss_stat", kernel.structure("mm_rss_stat", {{"count", counts}})}});
    const int cache =
        kernel.structure("task_rss_stat", {{"events", kernel.s32()}, {"count", kernel.array(kernel.s32(), 4)}});
    kernel.structure("task_struct", {{"mm", kernel.u64()}, {"rss_stat", cache}});
    kernel.structure("bpf_iter__task", {{"task", kernel.u64()}});
    kernel.union_of("bpf_iter_link_info", {{"map", kernel.structure("", {{"map_fd", kernel.s32()}})}});
    kernel.enumeration("bpf_func_id", {"BPF_FUNC_unspec", "BPF_FUNC_map_lookup_elem"});
    kernel.tracepoint("rss_stat", 3);
    kernel.tracepoint("page_fault_user", 3);
    kernel.tracepoint("page_fault_kernel", 3);
    kernel.function("handle_mm_fault", 4);
    return kernel;
}

KernelBtf cpu_kernel() {
    KernelBtf kernel;
    kernel.mm_struct({{"total_vm", kernel.u64()}, {"rss_stat", kernel.array(kernel.percpu_counter(), 4)}});
    kernel.structure("task_struct", {{"mm", kernel.u64()}});
    kernel.structure("bpf_iter__task", {{"task", kernel.u64()}});
    kernel.union_of("bpf_iter_link_info", {{"map", kernel.structure("", {{"map_fd", kernel.s32()}})},
                                           {"task", kernel.structure("", {{"tid", kernel.s32()}})}});
    kernel.enumeration("bpf_func_id", {"BPF_FUNC_loop", "BPF_FUNC_map_lookup_percpu_elem", "BPF_FUNC_task_pt_regs"});
    kernel.function("bpf_mem_alloc_init", 3);
    kernel.tracepoint("rss_stat", 2);
    kernel.tracepoint("cpuhp_exit", 4);
    return kernel;
}

}  // namespace rsslag::probe::test
