# SPDX-License-Identifier: BSD-2-Clause
"""The cost of rsslag's own parts, apart from the storm's time: its programs in the kernel, and its consumer."""
import contextlib
import glob
import json
import os
import select
import shutil
import statistics
import subprocess
import time

from children import Failed, Rsslag, Storm
from tracers import empty_hooks

STATISTICS = '/proc/sys/kernel/bpf_stats_enabled'
HOOKS = ('rss_stat', 'page_fault_user')


def bpftool():
    return shutil.which('bpftool', path=os.environ.get('PATH', '') + ':/usr/sbin:/sbin')


def without_statistics():
    """Why BPF run time cannot be read here; None if it can."""
    if not bpftool():
        return 'bpftool is not installed'
    return None if os.access(STATISTICS, os.W_OK) else f'cannot write {STATISTICS}'


@contextlib.contextmanager
def statistics_enabled():
    """Enables the statistics, which cost about 75 ns per run, and restores the previous setting."""
    with open(STATISTICS) as file:
        before = file.read()
    try:
        with open(STATISTICS, 'w') as file:
            file.write('1')
        yield
    finally:
        with open(STATISTICS, 'w') as file:
            file.write(before)


def program_ids(pid):
    ids = set()
    for path in glob.glob(f'/proc/{pid}/fdinfo/*'):
        with contextlib.suppress(FileNotFoundError), open(path) as file:
            ids |= {line.split()[1] for line in file if line.startswith('prog_id:')}
    return ids


def run_times(pid):
    """{hook: (ns, runs, recursion misses) so far} of the BPF programs that the process holds."""
    times = {hook: (0, 0, 0) for hook in HOOKS}
    for number in program_ids(pid):
        shown = subprocess.run([bpftool(), '-j', 'prog', 'show', 'id', number], capture_output=True, check=False)
        if shown.returncode != 0:
            continue
        program = json.loads(shown.stdout)
        added = tuple(program.get(key, 0) for key in ('run_time_ns', 'run_cnt', 'recursion_misses'))
        for hook in HOOKS:
            if hook in program['name']:
                times[hook] = tuple(a + b for a, b in zip(times[hook], added))
    return times


def difference(before, after):
    return {hook: tuple(a - b for a, b in zip(after[hook], before[hook])) for hook in HOOKS}


def run_once(bench, mode, wanted):
    """ns per run of each hook's program, minus those of the empty program in the same storm; None if one never ran."""
    with Storm(bench.storm, 1, bench.storm_rounds) as target, Storm(bench.storm, 1, bench.storm_rounds) as other, \
            empty_hooks(bench.hooks) as floor, Rsslag(bench.rsslag, target.pid, mode) as rsslag:
        before = run_times(rsslag.pid), run_times(floor.pid)
        (target if wanted else other).run()
        after = run_times(rsslag.pid), run_times(floor.pid)
        rsslag.finish()
    own, empty = (difference(*pair) for pair in zip(before, after))
    result = {}
    for hook in HOOKS:
        (ns, runs, misses), (empty_ns, empty_runs, _) = own[hook], empty[hook]
        net = ns / runs - empty_ns / empty_runs if runs and empty_runs else None
        result[hook] = {'net': net, 'empty': empty_ns / empty_runs if empty_runs else None, 'misses': misses}
    return result


def run_time_rows(bench):
    """One row for each program, mode, and whether the storm is traced."""
    rows = []
    with statistics_enabled():
        for mode in bench.modes:
            for wanted in (True, False):
                runs = [run_once(bench, mode, wanted) for _ in range(bench.cost_rounds)]
                rows += [run_time_row(hook, mode, wanted, [run[hook] for run in runs]) for hook in HOOKS]
    return rows


def run_time_row(hook, mode, wanted, runs):
    net = [run['net'] for run in runs if run['net'] is not None]
    empty = [run['empty'] for run in runs if run['empty'] is not None]
    return {'program': hook, 'mode': mode, 'wanted': wanted,
            'ns_net': statistics.median(net) if net else None, 'least': min(net, default=None),
            'most': max(net, default=None), 'ns_empty': statistics.median(empty) if empty else None,
            'recursion_misses': sum(run['misses'] for run in runs)}


def cpu_ns(pid):
    """CPU time of another process, to the nanosecond: clock_getcpuclockid(3), which Python lacks."""
    return time.clock_gettime_ns((~pid << 3) | 2)


def said(child):
    return bool(child.rest) or bool(select.select([child.process.stdout], [], [], 0)[0])


def drained(rsslag, storm):
    """The tick by which all records of the storm have arrived, and the highest CPU share of all ticks."""
    most, before = 0.0, None
    while True:
        tick = rsslag.tick()
        most = max(most, tick['own']['cpu_percent'] or 0)
        now = tick['updates'], tick['faults']
        if said(storm) and before == now:
            return tick, most
        before = now


def consumer_once(bench, mode, threads):
    with Storm(bench.storm, threads, 4 * bench.storm_rounds) as storm, \
            Rsslag(bench.rsslag, storm.pid, mode, '--interval', '100ms') as rsslag:
        cpu = cpu_ns(rsslag.pid)
        storm.say('b')
        tick, most = drained(rsslag, storm)
        cpu = cpu_ns(rsslag.pid) - cpu
        result = json.loads(storm.line())
        if tick['faults'] < result['faults']:
            raise Failed(f'{result["faults"]} faults, only {tick["faults"]} reported')
        # On the `thread` scheme a fault is recorded, and mostly updates no counter of the mm.
        updates = max(tick['updates'], tick['faults'])
        return {'ns_per_update': cpu / updates, 'updates_per_second': updates * 1e9 / result['ns'],
                'most_cpu_percent': most, 'rss_kb': tick['own']['rss_kb'], 'lost': tick['lost']}


def consumer_rows(bench):
    """The consumer's CPU time per update; a tenth of the ns is its % of one core at a million updates per second."""
    rows = []
    for mode in bench.modes:
        for threads in (1, 2):
            runs = [consumer_once(bench, mode, threads) for _ in range(bench.cost_rounds)]
            median = {key: statistics.median(run[key] for run in runs) for key in runs[0]}
            rows.append({'mode': mode, 'threads': threads, **median, 'lost': sum(run['lost'] for run in runs),
                         'percent_per_million': median['ns_per_update'] / 10})
    return rows


def idle_percent(bench, ticks=20):
    """% of one core while the target does nothing, at ten ticks per second."""
    with Storm(bench.storm, 1, 1) as storm, \
            Rsslag(bench.rsslag, storm.pid, 'events', '--interval', '100ms') as rsslag:
        begin, cpu = time.monotonic_ns(), cpu_ns(rsslag.pid)
        for _ in range(ticks):
            rsslag.tick()
        return 100 * (cpu_ns(rsslag.pid) - cpu) / (time.monotonic_ns() - begin)
