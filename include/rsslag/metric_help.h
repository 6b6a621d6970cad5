/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* NOLINTBEGIN: a C header, shared with BPF programs */
/* The help lines of the metrics that the mounted rss.prom and userspace have in common: node_exporter rejects different
 * help lines of one metric. */
#ifndef RSSLAG_METRIC_HELP_H
#define RSSLAG_METRIC_HELP_H

#define RSSLAG_HELP_RESIDENT                                                                                         \
    "Exact resident memory of the processes of a group, as the sum over member and part: the kernel's own counters " \
    "(flushed) and updates cached by threads or CPUs (cached)."
#define RSSLAG_HELP_SWAP "Anonymous memory in swap of the processes of a group, as the sum over part."
#define RSSLAG_HELP_PROCESSES "Processes of a group."
#define RSSLAG_HELP_THREADS "Threads of the processes of a group."
#define RSSLAG_HELP_INEXACT \
    "Processes of a group that changed while they were read, or whose memory is used by threads that are not counted."

#endif
/* NOLINTEND */
