// SPDX-License-Identifier: BSD-2-Clause
// BTF of made-up kernels, in memory.
#pragma once

#include <bpf/btf.h>

#include <memory>
#include <string>
#include <vector>

#include "probe/kernel_types.h"

namespace rsslag::probe::test {

struct Field {
    std::string name;
    int type;
};

/// Types are BTF ids. Fields are contiguous, 8 bytes each: traits depend on names and types alone.
class KernelBtf {
  public:
    KernelBtf();

    const btf &get() const { return *btf_; }
    /// Valid until a type is added.
    KernelTypes types() const;

    int s32() const { return s32_; }
    int s64() const { return s64_; }
    int u64() const { return u64_; }

    int structure(const std::string &name, const std::vector<Field> &fields, int bytes = 0);
    int union_of(const std::string &name, const std::vector<Field> &fields);
    int array(int of, int elements);
    int pointer(int to);
    int alias(const std::string &name, int of);  ///< typedef
    void enumeration(const std::string &name, const std::vector<std::string> &names);
    void function(const std::string &name, int arguments);
    void tracepoint(const std::string &name, int arguments);  ///< in addition to the context

    /// typedef atomic64_t atomic_long_t, itself a typedef of struct { s64 counter; }, as 64-bit kernels have it.
    int atomic_long();
    /// struct percpu_counter { raw_spinlock_t lock; s64 count; struct list_head list; s32 __percpu *counters; }
    int percpu_counter();

    /// Wraps the fields in an anonymous struct, as mm_struct does since 4.19.
    void mm_struct(const std::vector<Field> &fields);

  private:
    std::unique_ptr<btf, decltype(&btf__free)> btf_;
    int s32_;
    int s64_;
    int u64_;
};

/// 5.10 and 6.1: mm_rss_stat of atomics, a cache in each task, iterator without filter, 3 arguments.
KernelBtf thread_kernel();
/// 6.12: four percpu_counters, iterator with filter, 2 arguments.
KernelBtf cpu_kernel();

}  // namespace rsslag::probe::test
