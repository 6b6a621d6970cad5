# SPDX-License-Identifier: BSD-2-Clause
"""The cost of an untraced page fault on this machine, and whether ratios to it are meaningful."""
import statistics

from children import Storm

# Half a microsecond to two on hardware and where the hardware virtualises; a paravirtualised guest takes 25. What a
# tracer adds is then lost in what the hypervisor takes, and a percentage of it is the machine's.
DEAR_NS = 5000
LOOKS = 3


def fault_ns(bench):
    """ns of CPU time a fault of a storm of one thread that nobody traces; the median of some."""
    looks = []
    for _ in range(LOOKS):
        with Storm(bench.storm, 1, bench.storm_rounds) as storm:
            looks.append(storm.run()['cpu_ns_per_fault'])
            storm.end()
    return statistics.median(looks)


def why_no_ratios(ns):
    """None where a tracer's cost may be told in percent of a fault."""
    if ns <= DEAR_NS:
        return None
    return (f'an untraced page fault costs {ns / 1000:.1f} us here, more than {DEAR_NS / 1000:.0f}: what tracing adds in '
            'percent would be a figure of this machine, and what the storm takes longer would be, too')
