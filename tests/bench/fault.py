# SPDX-License-Identifier: BSD-2-Clause
"""The cost of an untraced page fault on this machine, and whether ratios to it are meaningful."""
import statistics

from children import Storm

# A fault takes half a microsecond to two on hardware and with hardware virtualization; 25 in a paravirtualized guest. There
# the hypervisor's share hides that of a tracer, and a percentage would only describe the machine.
DEAR_NS = 5000
# The storm never sleeps. If it takes more wall time than this times its CPU time, other programs or the hypervisor took the
# rest, and a ratio of wall times would describe them.
MOST_WALL_PER_CPU = 1.2
LOOKS = 3


def wall_per_cpu(result):
    """Wall time of a storm, as a multiple of its CPU time."""
    return result['ns_per_fault'] / result['cpu_ns_per_fault']


def untraced_fault(bench):
    """(ns of CPU time per fault, wall_per_cpu()) of an untraced storm of one thread; the medians of some."""
    looks = []
    for _ in range(LOOKS):
        with Storm(bench.storm, 1, bench.storm_rounds) as storm:
            looks.append(storm.run())
            storm.end()
    return (statistics.median(look['cpu_ns_per_fault'] for look in looks), statistics.median(map(wall_per_cpu, looks)))


def why_no_ratios(ns, wall):
    """None if a percentage of a fault is meaningful for the cost of a tracer. `wall`: wall_per_cpu() of the storm."""
    if ns > DEAR_NS:
        return (f'an untraced page fault costs {ns / 1000:.1f} us here, more than {DEAR_NS / 1000:.0f}: what tracing adds '
                'in percent would be a figure of this machine, and what the storm takes longer would be, too')
    return why_busy(wall)


def why_busy(wall):
    if wall <= MOST_WALL_PER_CPU:
        return None
    return (f'the untraced storm takes {wall:.2f} times its CPU time, more than {MOST_WALL_PER_CPU}: other programs use the '
            'CPUs, and a percentage would describe them')


def why_rows_give_no_ratios(rows):
    """The same by the rows of all storms: a tracer cannot cost less than nothing."""
    for row in rows:
        if row['way'] == 'untraced' and (why := why_busy(row['wall_per_cpu'])):
            return why
        if row['way'] == 'floor' and row['missing'] is None and min(row['ratio'], row['cpu_ratio']) < 1:
            return (f'the storm with empty programs is {100 * (1 - min(row["ratio"], row["cpu_ratio"])):.1f} % faster than '
                    'untraced: this machine varies by more than tracing costs')
    return None
