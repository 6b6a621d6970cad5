/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Names that the headers of later versions of libbpf declare (1.5: bpf_core_read.h, bpf_helpers.h). The programs must
 * not define them. */
extern void *bpf_rdonly_cast(const void *, unsigned int);
struct bpf_iter_num;
extern int bpf_iter_num_new(struct bpf_iter_num *, int, int);
extern int *bpf_iter_num_next(struct bpf_iter_num *);
extern void bpf_iter_num_destroy(struct bpf_iter_num *);
