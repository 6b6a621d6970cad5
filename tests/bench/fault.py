# SPDX-License-Identifier: BSD-2-Clause
"""The cost of an untraced page fault on this machine, and whether ratios to it are meaningful."""
import statistics

from children import Storm

# A fault takes half a microsecond to two on hardware and with hardware virtualization; 25 in a paravirtualized guest. There
# the hypervisor's share hides that of a tracer, and a percentage would only describe the machine.
DEAR_NS = 5000
LOOKS = 3


def fault_ns(bench):
    """ns of CPU time per fault of an untraced storm of one thread; the median of some."""
    looks = []
    for _ in range(LOOKS):
        with Storm(bench.storm, 1, bench.storm_rounds) as storm:
            looks.append(storm.run()['cpu_ns_per_fault'])
            storm.end()
    return statistics.median(looks)


def why_no_ratios(ns):
    """None if a percentage of a fault is meaningful for the cost of a tracer."""
    if ns <= DEAR_NS:
        return None
    return (f'an untraced page fault costs {ns / 1000:.1f} us here, more than {DEAR_NS / 1000:.0f}: what tracing adds in '
            'percent would be a figure of this machine, and what the storm takes longer would be, too')
