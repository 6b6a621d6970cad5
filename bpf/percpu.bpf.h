/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Where each CPU keeps its part of a per-CPU variable, without any kernel symbol. `cpu` scheme only. */
#ifndef RSSLAG_PERCPU_BPF_H
#define RSSLAG_PERCPU_BPF_H

#include "number.bpf.h"

/* Only its addresses matter: an element's address on a CPU minus its __percpu pointer is that CPU's per-CPU offset. */
struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, u32);
    __type(value, u64);
} anchor SEC(".maps");

static __always_inline u64 percpu_base(void)
{
    struct bpf_array *array = (void *)as_number(&anchor);

    return (u64)BPF_CORE_READ(array, pptrs[0]);
}

/* What turns a __percpu pointer into that CPU's address; false for a CPU that cannot be. */
static __always_inline bool percpu_offset(u32 cpu, u64 base, u64 *offset)
{
    u32 zero = 0;
    void *element = bpf_map_lookup_percpu_elem(&anchor, &zero, cpu);

    if (!element)
        return false;
    *offset = as_number(element) - base;
    return true;
}

#endif
