// SPDX-License-Identifier: BSD-2-Clause
#include "probe/core_types.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <gtest/gtest.h>
#include <linux/bpf.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/fd.h"
#include "hooks.skel.h"
#include "kernel_btf.h"
#include "probe/hooks.h"
#include "probe/kernel_ids.h"
#include "probe/traits.h"
#include "rsslag/abi.h"
#include "snapshot.skel.h"
#include "stream.skel.h"

namespace rsslag::probe::test {
namespace {

int struct_of(const btf &types, const char *name) {
    return btf__find_by_name_kind(&types, name, BTF_KIND_STRUCT);
}

TEST(CoreTypes, AreThoseThatAProgramNamesAndWhatLiesInThem) {
    KernelBtf kernel;
    const int inner = kernel.structure("inner", {{"number", kernel.s32()}});
    const int far = kernel.structure("far", {{"number", kernel.s64()}});
    kernel.structure("outer",
                     {{"many", kernel.array(kernel.alias("inner_t", inner), 3)}, {"far", kernel.pointer(far)}});
    kernel.structure("other", {{"number", kernel.s64()}});
    KernelBtf program;
    program.structure("outer___old", {{"many", program.s32()}});
    const BtfPtr named = types_named(kernel.types(), program.get());
    ASSERT_NE(named, nullptr);
    const int outer = struct_of(*named, "outer");
    ASSERT_GT(outer, 0);
    const btf_type *const type = btf__type_by_id(named.get(), static_cast<unsigned>(outer));
    ASSERT_EQ(btf_vlen(type), 2);
    EXPECT_EQ(btf_member_bit_offset(type, 1), 64U);
    const btf_type *const many = btf__type_by_id(named.get(), btf_members(type)[0].type);
    ASSERT_TRUE(btf_is_array(many));
    EXPECT_EQ(btf_array(many)->nelems, 3U);
    const int resolved = btf__resolve_type(named.get(), btf_array(many)->type);
    EXPECT_EQ(resolved, struct_of(*named, "inner"));
    const btf_type *const pointer = btf__type_by_id(named.get(), btf_members(type)[1].type);
    ASSERT_TRUE(btf_is_ptr(pointer));
    EXPECT_EQ(pointer->type, 0U) << "types behind pointers are not copied";
    EXPECT_LT(struct_of(*named, "far"), 0);
    EXPECT_LT(struct_of(*named, "other"), 0);
}

TEST(CoreTypes, AreAllOfOneNameWithTheirFlavors) {
    KernelBtf kernel;
    kernel.structure("twice", {{"a", kernel.s32()}});
    kernel.structure("twice", {{"b", kernel.s32()}});
    kernel.structure("twice_not", {{"b", kernel.s32()}});
    kernel.structure("___twice", {{"b", kernel.s32()}});
    kernel.enumeration("bpf_func_id", {"BPF_FUNC_unspec", "BPF_FUNC_loop"});
    KernelBtf program;
    program.structure("twice___one", {{"a", program.s32()}});
    program.structure("twice", {{"a", program.s32()}});
    program.enumeration("bpf_func_id___with_loop", {"BPF_FUNC_loop"});
    const BtfPtr named = types_named(kernel.types(), program.get());
    ASSERT_NE(named, nullptr);
    std::map<std::string, int> composites;
    for (unsigned id = 1; id < btf__type_cnt(named.get()); ++id) {
        const btf_type *const type = btf__type_by_id(named.get(), id);
        if (btf_is_composite(type) || btf_is_any_enum(type))
            composites[btf__name_by_offset(named.get(), type->name_off)]++;
    }
    EXPECT_EQ(composites, (std::map<std::string, int>{{"twice", 2}, {"bpf_func_id", 1}}));
}

/// The instructions of each program after libbpf's relocations, without the numbers of maps and BTF objects.
std::map<std::string, std::vector<std::uint64_t>> instructions(const bpf_object *object) {
    std::map<std::string, std::vector<std::uint64_t>> all;
    const bpf_program *program = nullptr;
    while ((program = bpf_object__next_program(object, const_cast<bpf_program *>(program))) != nullptr) {
        if (!bpf_program__autoload(program)) continue;
        const bpf_insn *const first = bpf_program__insns(program);
        auto &words = all[bpf_program__name(program)];
        for (std::size_t i = 0; i < bpf_program__insn_cnt(program); ++i) {
            std::uint64_t word = 0;
            static_assert(sizeof(word) == sizeof(bpf_insn));
            const bool pseudo = first[i].code == (BPF_LD | BPF_IMM | BPF_DW) && first[i].src_reg != 0;
            bpf_insn insn = first[i];
            if (pseudo || (first[i].code == (BPF_JMP | BPF_CALL) && first[i].src_reg == BPF_PSEUDO_KFUNC_CALL)) {
                insn.imm = 0;
                insn.off = 0;
            }
            std::memcpy(&word, &insn, sizeof(word));
            words.push_back(word);
        }
    }
    return all;
}

/// Without `types`: with the whole BTF of the kernel.
template <auto OpenWith, auto Load, auto Destroy, class Choose>
std::map<std::string, std::vector<std::uint64_t>> adjusted(const bpf_object_open_opts *types, const Choose &choose) {
    auto *const skeleton = OpenWith(types);
    if (skeleton == nullptr) return {};
    choose(*skeleton);
    const int err = Load(skeleton);
    EXPECT_EQ(err, 0);
    const auto all = instructions(skeleton->obj);
    Destroy(skeleton);
    return all;
}

class OnThisKernel : public testing::Test {
  protected:
    void SetUp() override {
        if (geteuid() != 0) GTEST_SKIP() << "needs root, to load programs";
        // A container's root may not be allowed to.
        const core::Fd map(bpf_map_create(BPF_MAP_TYPE_ARRAY, "allowed", 4, 4, 1, nullptr));
        if (!map.open() && errno == EPERM) GTEST_SKIP() << "this machine refuses BPF: " << std::strerror(errno);
        auto traits = running_kernel_traits();
        if (!traits) GTEST_SKIP() << traits.error().what;
        traits_ = *traits;
        if (!std::holds_alternative<core::Scheme>(traits_.scheme)) GTEST_SKIP() << traits_.evidence;
    }

    bool by_cpu() const { return std::get<core::Scheme>(traits_.scheme) == core::Scheme::Cpu; }

    template <auto OpenWith, auto Load, auto Destroy, class Choose>
    void expect_same(const Choose &choose) {
        find_ids_in(traits_.types);
        auto *const skeleton = OpenWith(nullptr);
        ASSERT_NE(skeleton, nullptr);
        const CoreTypes types(traits_.types.get(), *bpf_object__btf(skeleton->obj));
        Destroy(skeleton);
        ASSERT_TRUE(types.made());
        const auto all = adjusted<OpenWith, Load, Destroy>(nullptr, choose);
        ASSERT_FALSE(all.empty());
        EXPECT_EQ((adjusted<OpenWith, Load, Destroy>(types.open_options(), choose)), all);
    }

    KernelTraits traits_;
};

TEST_F(OnThisKernel, ReadingsAreAdjustedTheSame) {
    expect_same<rsslag_snapshot__open_opts, rsslag_snapshot__load, rsslag_snapshot__destroy>(
        [this](rsslag_snapshot &snapshot) {
            bpf_program *program = nullptr;
            bpf_object__for_each_program(program, snapshot.obj) {
                const auto &p = snapshot.progs;
                const bool wanted = by_cpu() ? program == p.snapshot_cpu || program == p.totals_cpu
                                             : program == p.snapshot_thread || program == p.totals_thread;
                bpf_program__set_autoload(program, wanted);
            }
            bpf_map__set_autocreate(snapshot.maps.exact_rss_anchor, by_cpu());
        });
}

TEST_F(OnThisKernel, TheStreamIsAdjustedTheSame) {
    const core::Fd ring(bpf_map_create(BPF_MAP_TYPE_RINGBUF, "ring", 0, 0, 4096, nullptr));
    ASSERT_TRUE(ring.open());
    expect_same<rsslag_stream__open_opts, rsslag_stream__load, rsslag_stream__destroy>([&](rsslag_stream &stream) {
        const auto &p = stream.progs;
        for (bpf_program *const program :
             {p.task_exec_cpu, p.rss_stat_cpu, p.page_fault_user_cpu, p.page_fault_kernel_cpu, p.learn_offsets})
            bpf_program__set_autoload(program, by_cpu());
        for (bpf_program *const program : {p.task_exec_thread, p.rss_stat_thread, p.page_fault_user_thread,
                                           p.page_fault_kernel_thread, p.learn_view})
            bpf_program__set_autoload(program, !by_cpu());
        bpf_program__set_autoload(p.cpu_folded, by_cpu() && traits_.cpuhp_exit);
        bpf_program__set_autoload(p.fault_done, !by_cpu() && traits_.handle_mm_fault);
        for (bpf_map *const map : {stream.maps.exact_rss_anchor, stream.maps.runs, stream.maps.updates})
            bpf_map__set_autocreate(map, by_cpu());
        bpf_map__set_autocreate(stream.maps.thread_caches, false);  // 5.10 cannot create it
        for (bpf_map *const map :
             {stream.maps.rings, stream.maps.fault_slots, stream.maps.cpus, stream.maps.runs, stream.maps.updates})
            bpf_map__set_max_entries(map, 4096);
        ASSERT_EQ(bpf_map__set_inner_map_fd(stream.maps.rings, ring.get()), 0);
        stream.rodata->refcount_type = traits_.refcount_type;
        stream.rodata->registers_type = traits_.registers_type;
        stream.rodata->task_type = traits_.task_type;
    });
}

/// For each section of the hooks whose program loads: the BTF id that the program attaches to.
std::map<std::string, unsigned> targets_of_hooks() {
    const auto open = [] {
        return std::unique_ptr<rsslag_hooks, decltype(&rsslag_hooks__destroy)>(rsslag_hooks__open(),
                                                                               rsslag_hooks__destroy);
    };
    std::map<std::string, unsigned> targets;
    for (const HookState &hook : try_hooks(nullptr)) {
        const auto hooks = open();
        bpf_program *chosen = nullptr;
        bpf_program *program = nullptr;
        bpf_object__for_each_program(program, hooks->obj) {
            const bool same = hook.name == bpf_program__section_name(program);
            bpf_program__set_autoload(program, same);
            if (same) chosen = program;
        }
        const bool loaded = rsslag_hooks__load(hooks.get()) == 0;
        EXPECT_EQ(loaded, hook.usable) << hook.name << ": " << hook.reason;
        bpf_prog_info info{};
        __u32 size = sizeof(info);
        if (loaded && bpf_obj_get_info_by_fd(bpf_program__fd(chosen), &info, &size) == 0)
            targets[hook.name] = info.attach_btf_id;
    }
    return targets;
}

TEST_F(OnThisKernel, ProgramsAttachToWhatLibbpfWouldFind) {
    find_ids_in(traits_.types);
    const auto targets = targets_of_hooks();
    EXPECT_EQ(targets.count("tp_btf/rss_stat"), 1U);
    for (const auto &[section, id] : targets) {
        const std::size_t slash = section.find('/');
        const std::string kind = section.substr(0, slash);
        const bpf_attach_type type = kind == "tp_btf"   ? BPF_TRACE_RAW_TP
                                     : kind == "fentry" ? BPF_TRACE_FENTRY
                                                        : BPF_TRACE_FEXIT;
        if (id == 0) continue;  // kernels before 5.19 do not report it
        EXPECT_EQ(static_cast<int>(id), libbpf_find_vmlinux_btf_id(section.c_str() + slash + 1, type)) << section;
    }
}

/// A kernel before 5.13 refuses a program with a reference to a function, as bpf_loop needs one, even if it is never
/// called. So only programs for the `cpu` scheme may call it.
TEST(StreamPrograms, CallBpfLoopOnTheCpuSchemeOnly) {
    const std::unique_ptr<rsslag_stream, decltype(&rsslag_stream__destroy)> stream(rsslag_stream__open(),
                                                                                   rsslag_stream__destroy);
    ASSERT_NE(stream, nullptr);
    std::vector<std::string> found;
    bpf_program *program = nullptr;
    while ((program = bpf_object__next_program(stream->obj, program)) != nullptr) {
        const bpf_insn *const begin = bpf_program__insns(program);
        const bool calls = std::any_of(begin, begin + bpf_program__insn_cnt(program), [](const bpf_insn &instruction) {
            return instruction.code == (BPF_JMP | BPF_CALL) && instruction.src_reg == 0 &&
                   instruction.imm == BPF_FUNC_loop;
        });
        if (calls) found.emplace_back(bpf_program__name(program));
    }
    EXPECT_EQ(found, (std::vector<std::string>{"task_exec_cpu", "rss_stat_cpu", "learn_offsets"}));
}

}  // namespace
}  // namespace rsslag::probe::test
