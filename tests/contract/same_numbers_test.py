# SPDX-License-Identifier: BSD-2-Clause
"""live, replay, export and report process the same events and report the same numbers, to the digit: also after losses, over
segments, and up to the point where rsslag was killed."""
import collections
import glob
import json
import os
import shutil
import signal
import subprocess
import tempfile
import unittest

import contract
from contract import (MEMBERS, TIMEOUT, Held, TracingTest, environment, interpreter, long_only, needs_root, rsslag,
                      wait_until)
from live import ROOMY, Live, unseen

LIVES = ('for i in 1 2 3; do /bin/true; done; (ls -l /usr/bin | sort) >/dev/null; '
         'exec sh -c "ls -l /usr/bin | wc -l >/dev/null; sleep 0.2"')
STORM = ('import mmap\n'
         'for _ in range(10):\n'
         '    with mmap.mmap(-1, 4 << 20) as memory:\n'
         '        for at in range(0, 4 << 20, 4096): memory[at] = 1\n')
# The part after the loss starts on request.
LOSES = unseen(STORM) + f'import sys\nsys.stdin.read()\nos.execvp("sh", ["sh", "-c", {LIVES!r}])\n'
# Two threads, on any CPUs. The rings can hold all their records.
STORMS = ('import mmap, threading\n'
          'def storm():\n'
          '    for _ in range(8):\n'
          '        with mmap.mmap(-1, 1 << 20) as memory:\n'
          '            for at in range(0, 1 << 20, 4096): memory[at] = 1\n'
          'threads = [threading.Thread(target=storm) for _ in range(2)]\n'
          'for thread in threads: thread.start()\n'
          'for thread in threads: thread.join()\n')


def ticks_of(documents):
    return [document for document in documents if document.get('schema', '').startswith('rsslag.tick/')]


def place(tick):
    return tick['seq'], tick['t_ns'], tick['pid'], tick['state'], tick['updates']


def flat(tick):
    """A tick in the form of a row of export."""
    row = {key: tick[key] for key in ('seq', 't_ns', 'time', 'pid', 'comm', 'state', 'lag', 'residual', 'verdict', 'updates',
                                      'updates_by_others', 'faults', 'flushes', 'lost', 'disagreements', 'resyncs')}
    for name in ('flushed', 'cached', 'exact'):
        row |= {f'{name}_{member}': tick[name][member] for member in MEMBERS}
    row['stat_rss_kb'] = tick['readers']['stat']['rss_kb']
    walked = tick['walked']
    row |= {'walked_rss_kb': walked and walked['rss_kb'], 'walked_age_ms': walked and walked['age_ms']}
    return row


def is_closing(tick):
    """Whether it has no reading: the last tick of a process that runs on when a segment or an unfinished recording ends."""
    return tick['state'] == 'running' and tick['readers']['stat']['rss_kb'] is None


class SameNumbers(TracingTest):
    def setUp(self):
        self.directory = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.directory)
        self.file = os.path.join(self.directory, 'trace.rsslag')

    def replay(self, name, complete=True):
        ran = rsslag('replay', name, '--format', 'jsonl')
        self.assertEqual(ran.status, 0, ran)
        self.assertEqual(ran.err == '', complete, ran)
        *ticks, summary = ran.documents()
        return ticks, summary

    def assert_same_numbers(self, name, complete=True):
        """Checks that the three commands that read a recording agree. Returns the ticks and the summary."""
        ticks, summary = self.replay(name, complete)
        ran = rsslag('export', name, '--format', 'jsonl')
        self.assertEqual(ran.status, 0, ran.err)
        _, *rows = ran.documents()
        exported = [row for row in rows if row['type'] == 'tick']
        found = sorted((flat(tick) for tick in ticks), key=place)
        self.assertEqual(len(exported), len(found))
        for row, tick in zip(sorted(exported, key=place), found):
            self.assertEqual({key: row[key] for key in tick}, tick)
        report = rsslag('report', name, '--json').document()
        for key in ('duration_ns', 'updates', 'updates_by_others', 'faults', 'flushes', 'emitted', 'lost', 'lost_by',
                    'resyncs', 'disagreements', 'flush_reasons'):
            self.assertEqual(report[key], summary[key], key)
        self.assertEqual(report['complete'], complete)
        self.assertEqual(sum(process['ticks'] for process in report['processes']), len(ticks))
        losses = {}
        for row in rows:
            if row['type'] == 'loss' and row['cause'] != 'mappings':  # those are not records of counters
                losses[row['cause']] = losses.get(row['cause'], 0) + row['records']
        self.assertEqual(losses, {cause: count for cause, count in summary['lost_by'].items() if count})
        return ticks, summary

    def assert_as_live(self, *args, program, until=lambda tick: True):
        """Traces a Python program and closes its stdin at the first tick that `until` accepts."""
        with Live('--format', 'jsonl', '--record', self.file, *args, '--', interpreter(), '-c', program,
                  stdin=subprocess.PIPE) as trace:
            trace.document(until)
            trace.process.stdin.close()
            ran = trace.finish()
        self.assertEqual((ran.status, ran.err), (0, ''), ran)
        *live, live_summary = ran.documents()
        ticks, summary = self.assert_same_numbers(self.file)
        self.assertEqual(len(ticks), len(live))
        for tick, one in zip(ticks, live):
            self.assertEqual(tick, one)
        self.assertEqual(summary, live_summary)
        return live_summary

    def test_losses(self):
        summary = self.assert_as_live('--ring', '4K', '--follow', '--interval', '20ms', program=LOSES,
                                      until=lambda tick: tick['resyncs'] > 0)
        self.assertGreater(summary['lost'], 0)

    def test_flushes_are_as_many_as_their_rows(self):
        ran = rsslag('live', '--format', 'jsonl', '--events', *ROOMY, '--record', self.file,
                     '--', interpreter(), '-c', STORMS)
        self.assertEqual((ran.status, ran.err), (0, ''), ran.err)
        events = ran.documents()
        _, summary = self.assert_same_numbers(self.file)
        self.assertEqual(summary['lost'], 0)
        rows = rsslag('export', self.file, '--format', 'jsonl').documents()
        for found in (events, rows):
            count = collections.Counter(row['reason'] for row in found if row.get('type') in ('update', 'flush', 'fold'))
            for reason, flushes in summary['flush_reasons'].items():
                self.assertEqual(count.pop(reason, 0), flushes, reason)
            self.assertEqual(set(count) - {None}, set())
            self.assertEqual(sum(row.get('type') in ('flush', 'fold') for row in found), summary['flushes'])

    def test_losses_of_one_process(self):
        summary = self.assert_as_live('--ring', '4K', '--interval', '10ms', program=unseen(STORM))
        self.assertGreater(summary['lost'], 0)

    def test_losses_in_counts(self):
        self.assert_as_live('--mode', 'counts', '--ring', '4K', '--follow', '--interval', '20ms', program=LOSES)

    @long_only('the recording must keep up with the load')
    def test_segments(self):
        with Held('busy') as busy, Held('classic') as quiet, \
                Live('--format', 'jsonl', '--interval', '50ms', '--record', self.file, '--max-size', '1M',
                     '-p', f'{busy.pid},{quiet.pid}') as trace:
            trace.document(lambda _: len(glob.glob(glob.escape(self.file) + '.*')) > 1)
            trace.signal(signal.SIGINT)
            ran = trace.finish()
        self.assertEqual((ran.status, ran.err), (0, ''), ran.raw_err)
        live = {(tick['pid'], tick['time']): tick for tick in ticks_of(ran.documents())}
        segments = sorted(glob.glob(glob.escape(self.file) + '.*')) + [self.file]
        self.assertGreater(len(segments), 1)
        found = 0
        # Totals count from the start of each segment.
        same = ('flushed', 'cached', 'exact', 'lag', 'readers', 'residual', 'verdict', 'walked', 'comm', 'threads_count')
        for name in segments:
            ticks, _ = self.assert_same_numbers(name)
            for tick in ticks:
                if is_closing(tick):
                    continue
                one = live[tick['pid'], tick['time']]
                self.assertEqual({key: tick[key] for key in same}, {key: one[key] for key in same}, name)
                found += 1
        self.assertGreater(found, len(segments))

    @long_only('it kills rsslag at a random moment')
    @needs_root
    def test_up_to_where_it_was_killed(self):
        with Held('busy') as held, open(os.path.join(self.directory, 'live'), 'w+', encoding='utf-8') as out:
            process = subprocess.Popen([contract.binary, 'live', '--format', 'jsonl', '--interval', '20ms', '--ring', '4K',
                                        '--record', self.file, '-p', str(held.pid)], stdin=subprocess.DEVNULL, stdout=out,
                                       stderr=subprocess.DEVNULL, env=environment())
            try:
                wait_until(lambda: os.path.exists(self.file) and os.path.getsize(self.file) > 20_000)
            finally:
                process.kill()
                process.wait(TIMEOUT)
            out.seek(0)
            live = [json.loads(line) for line in out if line.endswith('\n')]
        ticks, _ = self.assert_same_numbers(self.file, complete=False)
        ticks = [tick for tick in ticks if not is_closing(tick)]
        self.assertGreater(len(ticks), 3)
        self.assertLessEqual(len(ticks), len(live) + 1)
        for tick, one in zip(ticks, live):
            self.assertEqual(tick, one)


if __name__ == '__main__':
    contract.main()
