#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""--keep and --save-when: what led to a spike is in a file, although nothing was recorded until then."""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

import contract
from contract import TracingTest, assert_one_error_line, long_only, rsslag, wait_until
from live import Live, live

# Holds as many MiB as each line says.
HOLDS = 'import sys\nfor line in sys.stdin:\n    held = None\n    held = b"x" * (int(line) << 20)\n    print("holds", flush=True)\n'
MIB = 256  # pages


def exact(tick):
    return tick['exact']['rss']


class KeepTest(TracingTest):
    def setUp(self):
        super().setUp()
        self.directory = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.directory)
        self.child = subprocess.Popen([sys.executable, '-c', HOLDS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        self.addCleanup(self.end_child)
        self.hold(10)

    def end_child(self):
        self.child.kill()
        self.child.communicate()

    def hold(self, mib):
        self.child.stdin.write(f'{mib}\n')
        self.child.stdin.flush()
        self.assertEqual(self.child.stdout.readline(), 'holds\n')

    def trace(self, *args):
        return Live('--format', 'jsonl', '--interval', '50ms', '--save-when', 'rss>150MiB', '--keep', '1m', *args, '-p', self.child.pid,
                    cwd=self.directory)

    def files(self):
        return sorted(os.listdir(self.directory))

    def replayed(self, file):
        path = os.path.join(self.directory, file)
        self.assertEqual(os.stat(path).st_mode & 0o7777, 0o600)
        ran = rsslag('replay', path, '--format', 'jsonl')
        self.assertEqual((ran.status, ran.err), (0, ''), ran.raw_err)
        *ticks, summary = ran.documents()
        self.assertEqual((summary['lost'], summary['disagreements']), (0, 0))
        return ticks

    def test_a_spike_is_saved_with_what_came_before(self):
        with self.trace() as trace:
            first = trace.document()
            self.hold(30)
            trace.later(2, lambda tick: exact(tick) > 30 * MIB)
            self.assertEqual(self.files(), [])
            self.hold(300)
            said = re.fullmatch(r'rsslag: rss [\d,]+ kB > 150 MiB, in \S+ \[(\d+)\]: saved in (rsslag-\d+-\d{8}T\d{6}\.rsslag), '
                                r'which begins 0 min \d+ s before\n', trace.complaint())
            self.assertIsNotNone(said, trace.said)
            self.assertEqual(int(said[1]), self.child.pid)
            self.hold(10)
            last = trace.later(2, lambda tick: exact(tick) < 40 * MIB)
            trace.signal(signal.SIGINT)
            ran = trace.finish()
        self.assertEqual(ran.status, 0, ran.raw_err)
        self.assertEqual(self.files(), [said[2]])
        self.assertRegex(trace.said[1], r'[1-9]\d* events, .* in ' + re.escape(said[2]))
        ticks = self.replayed(said[2])
        self.assertEqual(exact(ticks[0]), exact(first), 'the first tick of the trace is in the recording')
        self.assertEqual(ticks[-1]['state'], 'running')
        self.assertEqual(exact(ticks[-1]), exact(last))
        self.assertGreater(max(exact(tick) for tick in ticks), 150 * MIB)

    def test_nothing_is_written_while_the_condition_is_false(self):
        with self.trace() as trace:
            trace.document()
            self.hold(100)
            trace.later(3, lambda tick: exact(tick) > 100 * MIB)
            trace.signal(signal.SIGINT)
            ran = trace.finish()
        self.assertEqual((ran.status, trace.said, self.files()), (0, [], []))

    def test_record_adds_the_time_to_the_name(self):
        file = os.path.join(self.directory, 'spike.rsslag')
        ran = rsslag('record', '-o', file, '--save-when', 'growth>1MiB and rss>50MiB', '--interval', '20ms', '--', sys.executable, '-c',
                     'held = []\nfor i in range(100):\n    held.append(b"x" * (1 << 20))')
        self.assertEqual(ran.status, 0, ran.raw_err)
        name, = self.files()
        self.assertRegex(name, r'^spike-\d{8}T\d{6}\.rsslag$')
        self.assertIn('keeping the last 60 s; saved when growth>1MiB and rss>50MiB', ran.err)
        ticks = self.replayed(name)
        self.assertLess(exact(ticks[0]), 50 * MIB)

    def test_what_cannot_be_saved(self):
        for args in (('--keep', '1m'), ('--save-when', 'rss'), ('--save-when', 'rss>2GiB', '--keep', '0'), ('--save-when', 'swap>1MiB'),
                     ('--save-when', 'rss>2GiB', '--save-limit', '0'), ('--save-limit', '3')):
            assert_one_error_line(self, live('--format', 'lines', *args, '-p', self.child.pid), 2)
        file = os.path.join(self.directory, 'file')
        assert_one_error_line(self, rsslag('record', '-o', file, '--save-when', 'rss>2GiB', '--max-size', '1M', '--', 'true'), 2)
        self.assertEqual(self.files(), [])

    @long_only('a recording goes on for ten seconds after the condition has become false')
    def test_each_spike_has_a_file_up_to_the_limit(self):
        with self.trace('--save-limit', '2') as trace:
            trace.document()
            for spike in range(3):
                self.hold(300)
                if spike < 2:
                    wait_until(lambda: len(self.files()) == spike + 1)
                trace.later(2, lambda tick: exact(tick) > 150 * MIB)
                self.hold(10)
                lines = 2 * min(spike + 1, 2)
                trace.document(lambda _: len(trace.said) >= lines)
                trace.later(2, lambda tick: exact(tick) < 150 * MIB)
            trace.signal(signal.SIGINT)
            ran = trace.finish()
        self.assertEqual(ran.status, 0, ran.raw_err)
        self.assertIn('; it is the last one (--save-limit)', trace.said[2])
        self.assertEqual(len(self.files()), 2)
        values = [[exact(tick) for tick in self.replayed(file)] for file in self.files()]
        self.assertLess(values[0][0], 150 * MIB)  # the second may begin while the first spike ends
        for each in values:
            self.assertGreater(max(each), 150 * MIB)
            self.assertLess(each[-1], 150 * MIB)


if __name__ == '__main__':
    contract.main()
