/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
#ifndef RSSLAG_NUMBER_BPF_H
#define RSSLAG_NUMBER_BPF_H

/* A kernel pointer as a number: the verifier allows no arithmetic on it otherwise. */
static __always_inline u64 as_number(const void *pointer)
{
    const void *volatile slot = pointer;
    u64 number = 0;

    bpf_probe_read_kernel(&number, sizeof(number), (const void *)&slot);
    return number;
}

#endif
