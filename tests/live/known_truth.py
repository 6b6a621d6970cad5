#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Each thread's net is correct within its `uncertain`: threads touch and drop known pages while they are traced.

By default a sample of the shapes, with `--long` all of them, all but the two worst with a quarter of the rounds. The test compares each thread's net of each counter in the
last tick of a trace, and in that of its recording, with the truth. With `--gate`, one shape; disagreements, which depend on
the scheduling of CPUs, are printed there but do not fail the test. With `--narrow`, `uncertain` must be narrow as well: in
the median at most a two thousandth of the touched pages in events mode, a two hundredth in counts mode.
Exit status: 0 correct, 1 not, 77 skipped with a reason."""
import argparse
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / 'tests/bench'))
sys.dont_write_bytecode = True
from children import Child, Failed, Rsslag, WORKING, without_live  # noqa: E402

PAGES = 200
# An emulated CPU may be taken away for longer than rsslag waits for a record, which is reported as a disagreement.
EMULATED = 'rsslag.slow' in Path('/proc/cmdline').read_text()
KINDS = ('anon', 'file', 'shmem')
AGREEMENT = 600 if EMULATED else 120  # seconds until a quiescent process must agree


class Known(Child):
    """Ready and waiting after construction; alive until its end is requested."""

    def __init__(self, path, run, directory):
        super().__init__([path, '--threads', str(run['threads']), '--pinned', 'yes' if run['pinned'] else 'no',
                          '--rounds', str(run['rounds']), '--pages', str(PAGES), '--kinds', ','.join(run['kinds']),
                          '--directory', directory])
        self.expect(lambda line: line == f'ready {self.pid}')
        self.await_rest()

    def run(self):
        self.say('b')
        self.expect(lambda line: line == 'rest', WORKING)


def await_agreement(rsslag):
    until = time.monotonic() + AGREEMENT
    while (tick := rsslag.tick())['verdict'] != 'agrees':
        if time.monotonic() > until:
            shown = {key: tick[key] for key in ('verdict', 'residual', 'exact', 'flushed', 'cached', 'lost', 'resyncs', 'disagreements')}
            raise Failed(f'no tick agrees {AGREEMENT} s after the process became quiet; the last one: {json.dumps(shown)}')


def observe(options, run, recording):
    """The last tick of a trace of all the work, and the last tick of its recording."""
    with Known(options.known_pages, run, options.directory) as known:
        with Rsslag(options.rsslag, known.pid, run['mode'], '--interval', '100ms', '--ring', options.ring,
                    '--record', recording, walk=True) as rsslag:
            known.run()
            rsslag.tick()  # the tick may have started before the work ended
            await_agreement(rsslag)
            tick, _ = rsslag.finish()
    replayed = subprocess.run([options.rsslag, 'replay', recording, '--format', 'jsonl'],
                              capture_output=True, text=True, check=True, timeout=WORKING)
    ticks = [json.loads(line) for line in replayed.stdout.splitlines() if '"rsslag.tick/' in line]
    return tick, ticks[-1]


def wrong_of(options, run, tick):
    """The errors of this tick, and the `uncertain` of its threads."""
    wrong, widths = [], []
    workers = [thread for thread in tick['threads'] if re.fullmatch(r'known\d+', thread['comm'])]
    if len(workers) != run['threads']:
        wrong.append(f'{len(workers)} of {run["threads"]} threads')
    for thread in workers:
        widths.append(thread['uncertain'])
        truth = {kind: PAGES if kind in run['kinds'] else 0 for kind in KINDS} | {'rss': PAGES * len(run['kinds'])}
        for kind, pages in truth.items():
            if abs(thread['net'][kind] - pages) > thread['uncertain']:
                wrong.append(f'{thread["comm"]}: net {kind} {thread["net"][kind]} ± {thread["uncertain"]}, not {pages}')
    if tick['disagreements'] and not tick['lost'] and not EMULATED:
        if options.gate:
            print(f'{run["mode"]}: {tick["disagreements"]} disagreements, {tick["resyncs"]} resyncs: not checked here')
        else:
            wrong.append(f'{tick["disagreements"]} disagreements')
    return wrong, widths


def try_run(options, run):
    """The errors of a run, the `uncertain` of its threads, and the lost records."""
    with tempfile.TemporaryDirectory(prefix='rsslag-known-') as directory:
        tick, replayed = observe(options, run, f'{directory}/trace.rsslag')
        wrong, widths = wrong_of(options, run, tick)
        if replayed['threads'] != tick['threads']:
            wrong.append('replay shows other threads')
        if wrong and options.keep:
            name = '-'.join(str(value) for value in (run['mode'], run['threads'], *run['kinds'], os.getpid(), run['number']))
            shutil.move(f'{directory}/trace.rsslag', f'{options.keep}/{name}.rsslag')
    return wrong, widths, tick['lost']


def runs_of(options):
    """All runs, in their order."""
    if options.threads:
        shapes = [(options.threads, options.pinned, tuple(options.kinds.split(',')))]
    elif options.gate:
        shapes = [(2, True, ('anon',))]
    elif options.long:
        shapes = list(itertools.product((2, 3, 8), (True, False), (('anon',), ('file',), ('shmem',), KINDS)))
    else:
        shapes = [(2, True, ('anon',)), (3, False, KINDS)]
    number = 0
    for threads, pinned, kinds in shapes:
        for mode in options.modes.split(','):
            # Two shapes that were once wrong: two threads that never leave their CPUs, in both modes.
            worst = threads == 2 and pinned and kinds == ('anon',)
            times = options.times if worst else max(1, options.times // 10)
            rounds = options.rounds // 4 if options.long and not worst else options.rounds
            for _ in range(times):
                number += 1
                yield {'threads': threads, 'pinned': pinned, 'kinds': kinds, 'mode': mode, 'rounds': rounds, 'number': number}


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--rsslag', default=ROOT / 'build/rsslag')
    parser.add_argument('--known-pages', default=ROOT / 'build/tests/bench/known_pages')
    parser.add_argument('--long', action='store_true', help='all shapes, not a sample')
    parser.add_argument('--gate', action='store_true',
                        help='one shape: two threads that never leave their CPUs; does not check results that depend on timing')
    parser.add_argument('--narrow', action='store_true', help='uncertain must be narrow, too')
    parser.add_argument('--threads', type=int, help='one shape only')
    parser.add_argument('--pinned', action='store_true')
    parser.add_argument('--kinds', default='anon')
    parser.add_argument('--modes', default='events,counts')
    parser.add_argument('--rounds', type=int, help='200 with --gate, else 2,000')
    parser.add_argument('--times', type=int, default=1, help='runs of the two worst shapes; the others run a tenth as often')
    parser.add_argument('--ring', default='64M')
    parser.add_argument('--directory', default='/var/tmp', help='the directory of the mapped file')
    parser.add_argument('--keep', help='a directory for the recordings of wrong runs')
    options = parser.parse_args()
    options.rounds = options.rounds or (200 if options.gate else 2000)
    return options


def skip_reason(options):
    if os.geteuid() != 0:
        return 'loading BPF programs needs root'
    if os.sched_getaffinity(0) < set(range(os.sysconf('SC_NPROCESSORS_ONLN'))):
        return f'only CPUs {sorted(os.sched_getaffinity(0))} are allowed here, and threads are pinned to each'
    return without_live(options.rsslag)


def main():
    options = parse()
    if reason := skip_reason(options):
        print(f'skipped: known truth: {reason}')
        return 77
    failed = 0
    widths = {}
    runs = list(runs_of(options))
    for run in runs:
        name = f'{run["mode"]}, {run["threads"]} {"pinned" if run["pinned"] else "free"} threads, {" ".join(run["kinds"])}'
        try:
            wrong, found, lost = try_run(options, run)
        except (Failed, OSError, subprocess.SubprocessError) as failure:
            wrong, found, lost = [str(failure)], [], 0
        widths.setdefault((run['mode'], run['kinds'], run['rounds'], name), []).extend(found)
        failed += bool(wrong)
        for line in wrong:
            print(f'known truth: {name}: {line}' + (f' (lost {lost})' if lost else ''), flush=True)
        print(f'run {run["number"]} of {len(runs)}, {name}: {"wrong" if wrong else "right"}', flush=True)
    for (mode, kinds, rounds, name), found in widths.items():
        if found:
            touched = rounds * PAGES * len(kinds)
            print(f'{name}: {len(found)} nets, uncertain median {median(found):g} pages, most {max(found)} '
                  f'({100 * median(found) / touched:.4f} and {100 * max(found) / touched:.4f} % of what each touched)')
            if options.narrow and median(found) > touched / (2000 if mode == 'events' else 200):
                print(f'known truth: {name}: uncertain exceeds its limit')
                failed += 1
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
