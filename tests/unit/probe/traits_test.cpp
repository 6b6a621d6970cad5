// SPDX-License-Identifier: BSD-2-Clause
#include "probe/traits.h"

#include <gtest/gtest.h>

#include "kernel_btf.h"

namespace rsslag::probe {
namespace {

using core::Scheme;
using test::Field;
using test::KernelBtf;

/// The scheme, or nullopt if the layout is unknown.
std::optional<Scheme> scheme_of(const KernelBtf &kernel) {
    const KernelTraits traits = traits_of(kernel.types());
    const auto *scheme = std::get_if<Scheme>(&traits.scheme);
    return scheme == nullptr ? std::nullopt : std::optional(*scheme);
}

/// Whether the layout is refused, the finding contains all of `words`, and the evidence is the same text.
testing::AssertionResult unknown(const KernelBtf &kernel, const std::vector<std::string> &words) {
    const KernelTraits traits = traits_of(kernel.types());
    const auto *layout = std::get_if<UnknownLayout>(&traits.scheme);
    if (layout == nullptr) return testing::AssertionFailure() << "a layout was recognised: " << traits.evidence;
    if (traits.evidence != layout->found) return testing::AssertionFailure() << "evidence differs: " << traits.evidence;
    for (const std::string &word : words) {
        if (layout->found.find(word) == std::string::npos) {
            return testing::AssertionFailure() << "found: " << layout->found;
        }
    }
    return testing::AssertionSuccess();
}

/// A kernel whose mm_struct.rss_stat is an array of four `element`.
template <class Make>
KernelBtf four_of(Make element) {
    KernelBtf kernel;
    const int type = element(kernel);
    kernel.mm_struct({{"rss_stat", kernel.array(type, 4)}});
    kernel.structure("task_struct", {{"mm", kernel.u64()}});
    return kernel;
}

/// A kernel whose mm_rss_stat has this `count`, with or without a cache in its tasks.
template <class Make>
KernelBtf atomics(Make count, bool cached) {
    KernelBtf kernel;
    const int type = count(kernel);
    kernel.mm_struct({{"rss_stat", kernel.structure("mm_rss_stat", {{"count", type}})}});
    std::vector<Field> task{{"mm", kernel.u64()}};
    if (cached) {
        const int counts = kernel.array(kernel.s32(), 4);
        task.push_back({"rss_stat", kernel.structure("task_rss_stat", {{"events", kernel.s32()}, {"count", counts}})});
    }
    kernel.structure("task_struct", task);
    return kernel;
}

int four_atomics(KernelBtf &kernel) {
    return kernel.array(kernel.atomic_long(), 4);
}

TEST(Traits, KnowTheKernelWhoseThreadsCache) {
    const KernelBtf kernel = test::thread_kernel();
    const KernelTraits traits = traits_of(kernel.types());
    EXPECT_EQ(scheme_of(kernel), Scheme::Thread);
    EXPECT_NE(traits.evidence.find("mm_struct.rss_stat is mm_rss_stat"), std::string::npos) << traits.evidence;
    EXPECT_TRUE(traits.task_iterator);
    EXPECT_FALSE(traits.task_iterator_by_group);
    EXPECT_FALSE(traits.loops);
    EXPECT_FALSE(traits.task_registers);
    EXPECT_FALSE(traits.map_allocator);
    EXPECT_EQ(traits.rss_stat_arguments, 3);
    EXPECT_TRUE(traits.page_fault_user);
    EXPECT_TRUE(traits.page_fault_kernel);
    EXPECT_TRUE(traits.handle_mm_fault);
}

TEST(Traits, KnowTheKernelWhoseCpusCache) {
    const KernelBtf kernel = test::cpu_kernel();
    const KernelTraits traits = traits_of(kernel.types());
    EXPECT_EQ(scheme_of(kernel), Scheme::Cpu);
    EXPECT_NE(traits.evidence.find("mm_struct.rss_stat is percpu_counter[4]"), std::string::npos) << traits.evidence;
    EXPECT_TRUE(traits.task_iterator);
    EXPECT_TRUE(traits.task_iterator_by_group);
    EXPECT_TRUE(traits.loops);
    EXPECT_TRUE(traits.task_registers);
    EXPECT_TRUE(traits.map_allocator);
    EXPECT_EQ(traits.rss_stat_arguments, 2);
    EXPECT_FALSE(traits.page_fault_user);
    EXPECT_FALSE(traits.page_fault_kernel);
    EXPECT_FALSE(traits.handle_mm_fault);
    EXPECT_TRUE(traits.cpuhp_exit);
}

TEST(Traits, KnowTheKernelThatCachesNothing) {
    EXPECT_EQ(scheme_of(atomics(four_atomics, false)), Scheme::Plain);
    EXPECT_EQ(scheme_of(atomics(four_atomics, true)), Scheme::Thread);
}

TEST(Traits, FindRssStatInAnMmStructWithoutAWrapperAndInADeeperOne) {
    KernelBtf flat;
    flat.structure("mm_struct", {{"rss_stat", flat.array(flat.percpu_counter(), 4)}});
    EXPECT_EQ(scheme_of(flat), Scheme::Cpu);
    KernelBtf deep;
    const int inner = deep.structure("", {{"rss_stat", deep.array(deep.percpu_counter(), 4)}});
    deep.mm_struct({{"owner", deep.u64()}, {"", deep.union_of("", {{"", inner}})}});
    EXPECT_EQ(scheme_of(deep), Scheme::Cpu);
}

TEST(Traits, DoNotLookIntoNamedStructsForRssStat) {
    KernelBtf kernel;
    const int other = kernel.structure("other", {{"rss_stat", kernel.array(kernel.percpu_counter(), 4)}});
    kernel.mm_struct({{"other", other}});
    EXPECT_TRUE(unknown(kernel, {"mm_struct has no rss_stat"}));
}

TEST(UnknownLayouts, AreNamedWhereTheCountersAreOfAProposedKind) {
    for (const char *name : {"percpu_counter_tree", "lazy_percpu_counter"}) {
        EXPECT_TRUE(unknown(
            four_of([name](KernelBtf &kernel) {
                return kernel.structure(name, {{"count", kernel.s64()}, {"counters", kernel.pointer(kernel.s32())}});
            }),
            {std::string(name) + "[4]"}))
            << name;
    }
}

TEST(UnknownLayouts, AreNamedWhereAMemberIsMoreOrLess) {
    for (const int members : {3, 5}) {
        KernelBtf kernel;
        kernel.mm_struct({{"rss_stat", kernel.array(kernel.percpu_counter(), members)}});
        EXPECT_TRUE(unknown(kernel, {"percpu_counter[" + std::to_string(members) + "]"}));
        const auto count = [members](KernelBtf &btf) { return btf.array(btf.atomic_long(), members); };
        EXPECT_TRUE(unknown(atomics(count, true), {"count", "atomic_long_t[" + std::to_string(members) + "]"}));
        EXPECT_TRUE(unknown(atomics(count, false), {"atomic_long_t[" + std::to_string(members) + "]"}));
    }
}

TEST(UnknownLayouts, AreNamedWhereCountIsNoAtomic) {
    EXPECT_TRUE(unknown(atomics([](KernelBtf &kernel) { return kernel.array(kernel.s32(), 4); }, true),
                        {"mm_rss_stat", "int[4]"}));
    EXPECT_TRUE(unknown(atomics([](KernelBtf &kernel) { return kernel.s32(); }, true), {"without an array"}));
    const auto narrow = [](KernelBtf &kernel) {
        return kernel.array(kernel.alias("atomic_t", kernel.structure("", {{"counter", kernel.s32()}}, 4)), 4);
    };
    EXPECT_TRUE(unknown(atomics(narrow, true), {"atomic_t[4]"}));
}

TEST(UnknownLayouts, AreNamedWhereAPercpuCounterHasOtherFields) {
    const auto with = [](const char *count, const char *counters) {
        return four_of([=](KernelBtf &kernel) {
            return kernel.structure("percpu_counter",
                                    {{count, kernel.s64()}, {counters, kernel.pointer(kernel.s32())}});
        });
    };
    EXPECT_EQ(scheme_of(with("count", "counters")), Scheme::Cpu);
    EXPECT_TRUE(unknown(with("total", "counters"), {"percpu_counter[4]"}));
    EXPECT_TRUE(unknown(with("count", "locals"), {"percpu_counter[4]"}));
}

TEST(UnknownLayouts, AreNamedWhereAPercpuCounterHasFieldsOfOtherTypes) {
    EXPECT_TRUE(unknown(four_of([](KernelBtf &kernel) {
                            return kernel.structure("percpu_counter", {{"count", kernel.s32()},
                                                                       {"counters", kernel.pointer(kernel.s32())}});
                        }),
                        {"percpu_counter[4]"}));
    EXPECT_TRUE(unknown(four_of([](KernelBtf &kernel) {
                            return kernel.structure("percpu_counter", {{"count", kernel.s64()},
                                                                       {"counters", kernel.pointer(kernel.s64())}});
                        }),
                        {"percpu_counter[4]"}));
    EXPECT_TRUE(
        unknown(four_of([](KernelBtf &kernel) {
                    return kernel.structure("percpu_counter", {{"count", kernel.s64()}, {"counters", kernel.s64()}});
                }),
                {"percpu_counter[4]"}));
}

TEST(UnknownLayouts, AreNamedWhereSomethingIsAbsent) {
    EXPECT_TRUE(unknown(KernelBtf(), {"no mm_struct"}));
    KernelBtf bare;
    bare.mm_struct({{"total_vm", bare.u64()}});
    EXPECT_TRUE(unknown(bare, {"no rss_stat"}));
    KernelBtf no_task;
    no_task.mm_struct({{"rss_stat", no_task.structure("mm_rss_stat", {{"count", four_atomics(no_task)}})}});
    EXPECT_TRUE(unknown(no_task, {"no task_struct"}));
    KernelBtf pointer;
    pointer.mm_struct({{"rss_stat", pointer.pointer(pointer.percpu_counter())}});
    EXPECT_TRUE(unknown(pointer, {"percpu_counter *"}));
}

TEST(UnknownLayouts, AreNamedWhereATasksCacheIsOfAnotherKind) {
    for (const char *absent : {"events", "count"}) {
        KernelBtf kernel;
        kernel.mm_struct({{"rss_stat", kernel.structure("mm_rss_stat", {{"count", four_atomics(kernel)}})}});
        std::vector<Field> fields;
        if (std::string(absent) != "events") fields.push_back({"events", kernel.s32()});
        if (std::string(absent) != "count") fields.push_back({"count", kernel.array(kernel.s32(), 4)});
        kernel.structure("task_struct", {{"rss_stat", kernel.structure("task_rss_stat", fields)}});
        EXPECT_TRUE(unknown(kernel, {"task_struct.rss_stat is task_rss_stat"})) << absent;
    }
}

TEST(UnknownLayouts, LeaveTheOtherTraitsKnown) {
    KernelBtf kernel;
    kernel.structure("bpf_iter__task", {{"task", kernel.u64()}});
    kernel.tracepoint("rss_stat", 2);
    EXPECT_TRUE(unknown(kernel, {"no mm_struct"}));
    EXPECT_TRUE(traits_of(kernel.types()).task_iterator);
    EXPECT_EQ(traits_of(kernel.types()).rss_stat_arguments, 2);
}

TEST(Tracepoints, AreAbsentWhereBtfHasNone) {
    const KernelTraits traits = traits_of(KernelBtf().types());
    EXPECT_EQ(traits.rss_stat_arguments, std::nullopt);
    EXPECT_FALSE(traits.page_fault_user);
    EXPECT_FALSE(traits.task_iterator);
    EXPECT_FALSE(traits.task_iterator_by_group);
    EXPECT_FALSE(traits.handle_mm_fault);
}

TEST(Tracepoints, AFaultHandlerWithoutRegistersCannotShowTheCauseOfAPage) {
    KernelBtf kernel;
    kernel.function("handle_mm_fault", 3);  // 5.8
    EXPECT_FALSE(traits_of(kernel.types()).handle_mm_fault);
}

TEST(Tracepoints, AreNotMistakenForOtherTypesOfTheirName) {
    KernelBtf kernel;
    kernel.alias("btf_trace_rss_stat", kernel.s32());
    kernel.alias("btf_trace_page_fault_user", kernel.pointer(kernel.s32()));
    kernel.structure("handle_mm_fault", {{"x", kernel.s32()}});
    const KernelTraits traits = traits_of(kernel.types());
    EXPECT_EQ(traits.rss_stat_arguments, std::nullopt);
    EXPECT_FALSE(traits.page_fault_user);
    EXPECT_FALSE(traits.handle_mm_fault);
}

TEST(Traits, NameTypesByTheKernelsOwnNumbers) {
    KernelBtf kernel = test::cpu_kernel();
    const int registers = kernel.structure("pt_regs", {{"ip", kernel.u64()}});
    const KernelTraits traits = traits_of(kernel.types());
    EXPECT_EQ(traits.registers_type, static_cast<unsigned>(registers));
    EXPECT_EQ(traits.refcount_type, 0U) << "the kernel has no such type";
}

}  // namespace
}  // namespace rsslag::probe
