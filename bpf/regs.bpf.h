/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Registers by what they are for: each architecture has its own struct pt_regs. */
#ifndef RSSLAG_REGS_BPF_H
#define RSSLAG_REGS_BPF_H

#if defined(__TARGET_ARCH_arm64)
#define REGS_IP pc
#else
#define REGS_IP ip
#endif

#endif
