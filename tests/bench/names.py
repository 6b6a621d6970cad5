# SPDX-License-Identifier: BSD-2-Clause
"""The cost of mapping names in a recording of the storm, and the overhead of rsslag peak for a command that does nothing."""
import json
import os
import shutil
import statistics
import subprocess
import tempfile
import time

from children import Rsslag, Storm
from cost import cpu_ns

WAYS = {'untraced': None, 'without': ('--no-names',), 'with': ()}


def one_storm(bench, options, file):
    """CPU time per fault of the storm and of rsslag, and the bytes per record of the recording."""
    with Storm(bench.storm, 1, bench.storm_rounds) as storm:
        if options is None:
            result = storm.run()
            storm.end()
            return {'storm': result['cpu_ns_per_fault']}
        with Rsslag(bench.rsslag, storm.pid, 'events', '--threads', 'none', '--record', file, *options) as rsslag:
            before = cpu_ns(rsslag.pid)
            result = storm.run()
            storm.end()
            _, summary = rsslag.finish()
            # rsslag has ended: RUSAGE_CHILDREN counts only children that were waited for.
            own = rsslag.own_cpu_ns - before
        return {'storm': result['cpu_ns_per_fault'], 'rsslag': own / result['faults'], 'lost': summary['lost'],
                'bytes': os.path.getsize(file) / summary['records']}


def names_row(bench):
    """Interleaved, and each round starts with another way; ratios are within a round."""
    rounds = {way: [] for way in WAYS}
    with tempfile.TemporaryDirectory() as directory:
        for number in range(bench.rounds):
            order = list(WAYS)
            order = order[number % 3:] + order[:number % 3]
            for way in order:
                rounds[way].append(one_storm(bench, WAYS[way], f'{directory}/{way}-{number}'))
    def of(way, key, of_what=None):
        return statistics.median(run[key] / (of_what[i][key] if of_what else 1) for i, run in enumerate(rounds[way]))
    return {'storm_percent': {way: 100 * (of(way, 'storm', rounds['untraced']) - 1) for way in ('without', 'with')},
            'storm_points': 100 * statistics.median(
                (named['storm'] - plain['storm']) / bare['storm']
                for named, plain, bare in zip(rounds['with'], rounds['without'], rounds['untraced'])),
            'rsslag_ns_per_fault': {way: of(way, 'rsslag') for way in ('without', 'with')},
            'bytes_per_record': {way: of(way, 'bytes') for way in ('without', 'with')},
            'bytes_percent': 100 * (of('with', 'bytes', rounds['without']) - 1),
            'lost': sum(run['lost'] for way in ('without', 'with') for run in rounds[way])}


def run_command(argv):
    """Wall time and CPU time of the command and its descendants that were waited for, in ms."""
    begin = time.monotonic_ns()
    child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return {'wall': (time.monotonic_ns() - begin) / 1e6, 'cpu': 1000 * (used.ru_utime + used.ru_stime),
            'status': child.returncode}


def peak_row(bench, times=20):
    true = shutil.which('true')
    runs = {'true': [], 'peak': []}
    for _ in range(times):
        runs['true'].append(run_command([true]))
        runs['peak'].append(run_command([bench.rsslag, 'peak', '--', true]))
    def median(key):
        return statistics.median(peak[key] - bare[key] for peak, bare in zip(runs['peak'], runs['true']))
    return {'adds_wall_ms': median('wall'), 'adds_cpu_ms': median('cpu'),
            'least_wall_ms': min(run['wall'] for run in runs['peak']),
            'most_wall_ms': max(run['wall'] for run in runs['peak']),
            'failed': sum(run['status'] != 0 for run in runs['peak'])}


def print_names(row):
    print('\nNames of mappings, recording the storm of one thread (medians of rounds)')
    print(f'\n{"":<20}{"storm":>10}{"rsslag ns/fault":>18}{"bytes/record":>15}')
    for way, title in (('without', '--no-names'), ('with', 'names')):
        print(f'{title:<20}{row["storm_percent"][way]:>+8.1f} %{row["rsslag_ns_per_fault"][way]:>18.0f}'
              f'{row["bytes_per_record"][way]:>15.2f}')
    print(f'{"names add":<20}{row["storm_points"]:>+7.2f} points{"":>14}{row["bytes_percent"]:>+13.2f} %'
          f'   lost {row["lost"]}')


def print_peak(row):
    print(f'\nrsslag peak -- true adds {row["adds_wall_ms"]:.0f} ms ({row["adds_cpu_ms"]:.0f} ms of CPU time), median; '
          f'it took {row["least_wall_ms"]:.0f} to {row["most_wall_ms"]:.0f} ms')


if __name__ == '__main__':
    import argparse
    import types
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('build')
    parser.add_argument('--rounds', type=int, default=9)
    parser.add_argument('--only', choices=('names', 'peak'))
    chosen = parser.parse_args()
    here = types.SimpleNamespace(rsslag=chosen.build + '/rsslag', storm=chosen.build + '/tests/bench/storm',
                                 rounds=chosen.rounds, storm_rounds=100)
    if chosen.only != 'peak':
        print_names(names := names_row(here))
        print(json.dumps(names))
    if chosen.only != 'names':
        print_peak(peak := peak_row(here))
        print(json.dumps(peak))
