#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""rsslag reports every counter update and every fault of a fault storm: exactly as many as `perf stat` counts.

The storm waits until both have attached, and stays alive until both have stopped: at its end perf would miss the updates of the
teardown. Exit status: 0 equal, 1 not, 77 skipped with a reason."""
import argparse
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / 'tests/bench'))
sys.dont_write_bytecode = True
from children import Failed, Perf, Rsslag, Storm, without_live, without_perf  # noqa: E402

EVENTS = ('kmem:rss_stat', 'exceptions:page_fault_user', 'exceptions:page_fault_kernel')


def counts(text):
    """perf's -x output: a line of value;unit;event;... for each event."""
    found = {}
    for line in text.splitlines():
        fields = line.split(';')
        if len(fields) > 2 and fields[2] in EVENTS:
            found[fields[2]] = int(fields[0])
    if len(found) != len(EVENTS):
        raise Failed(f'perf stat counted only {sorted(found)}: {text}')
    return found


def ring(options):
    """Ring size for all records of the storm, so that none is lost however late rsslag gets a CPU."""
    bytes_of_a_fault = 128
    faults = options.threads * options.rounds * (8 << 20) // os.sysconf('SC_PAGESIZE')
    return f'{1 << max(2, (faults * bytes_of_a_fault >> 20).bit_length())}M'


def observe(options):
    """Traces one storm with both. Returns rsslag's last tick and summary, perf's counts, and the storm's own result."""
    with Storm(options.storm, options.threads, options.rounds, '--by-kernel', 'yes') as storm:
        with Rsslag(options.rsslag, storm.pid, options.mode, '--interval', '100ms', '--ring', ring(options)) as rsslag:
            arguments = ['stat', '-x', ';', *(word for event in EVENTS for word in ('-e', event)),
                         '--no-inherit', '-p', str(storm.pid)]
            with Perf(arguments) as perf:
                result = storm.run()
                perf.control('disable')
                perf.stop()
                counted = counts(perf.complaint())
            tick, summary = rsslag.finish()
        storm.end()
    return tick, summary, counted, result


def mismatches(tick, summary, counted, threads):
    faults = counted['exceptions:page_fault_user'] + counted['exceptions:page_fault_kernel']
    expected = [('updates by its threads', tick['updates'], counted['kmem:rss_stat']),
                ('faults', tick['faults'], faults),
                ('threads', tick['threads_count'], threads + 1),
                ('lost', tick['lost'], 0),
                ('lost, in the summary', summary['lost'], 0)]
    expected += [(f'lost by {cause}', lost, 0) for cause, lost in tick['lost_by'].items()]
    return [f'{what}: {seen}, not {wanted}' for what, seen, wanted in expected if seen != wanted]


def skip_reason(options):
    if os.geteuid() != 0:
        return 'loading BPF programs needs root'
    return without_perf() or without_live(options.rsslag, options.mode)


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--rsslag', default=ROOT / 'build/rsslag')
    parser.add_argument('--storm', default=ROOT / 'build/tests/bench/storm')
    parser.add_argument('--threads', type=int, default=2)
    parser.add_argument('--rounds', type=int, default=100)
    parser.add_argument('--mode', choices=('events', 'counts'), default='events')
    return parser.parse_args()


def main():
    options = parse()
    if reason := skip_reason(options):
        print(f'skipped: completeness: {reason}')
        return 77
    try:
        tick, summary, counted, result = observe(options)
    except (Failed, OSError, subprocess.SubprocessError) as failure:
        print(f'completeness: {failure}')
        return 1
    wrong = mismatches(tick, summary, counted, options.threads)
    print(f'{options.threads} threads, {result["faults"]} faults in the storm; perf: {counted}; '
          f'rsslag: {tick["updates"]} updates, {tick["faults"]} faults, {tick["updates_by_others"]} updates by others, '
          f'{tick["lost"]} lost')
    for line in wrong:
        print(f'completeness: {line}')
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
