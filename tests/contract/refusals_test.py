#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""System calls that are refused, one at a time, by strace: an error is told in one line, and nothing crashes or hangs."""
import os
import re
import shutil
import signal
import tempfile
import unittest
from pathlib import Path

import contract
from contract import Children, TracingTest, assert_one_error_line, needs_root, rsslag, small_disk
from live import Live
from panes import Pane, needs_tmux


def inject(what, log='/dev/null'):
    return ['strace', '-qq', '-o', log, '-e', 'trace=' + what.partition(':')[0], '-e', 'inject=' + what]


@unittest.skipUnless(shutil.which('strace'), 'strace is missing')
class Refused(TracingTest):
    def test_any_call_of_bpf(self):
        """The 13th is where libbpf looks whether variables can be mapped: it goes on without, and they are not."""
        with tempfile.TemporaryDirectory() as directory, Children() as (pid,):
            log = os.path.join(directory, 'log')
            for command in (('snapshot', str(pid)), ('live', '--format', 'jsonl', '--duration', '10ms', '-p', str(pid))):
                for number in range(1, 41):
                    with self.subTest(command=command[0], number=number):
                        ran = rsslag(*command, prefix=inject(f'bpf:error=EPERM:when={number}', log))
                        self.assertIn(ran.status, (0, 1, 3), ran)
                        if ran.status != 0:
                            assert_one_error_line(self, ran, ran.status)
                    if 'INJECTED' not in Path(log).read_text():
                        break

    def test_pidfd_open_before_the_command_runs(self):
        with tempfile.TemporaryDirectory() as directory:
            for command in ('live', 'snapshot'):
                file = Path(directory, command)
                ran = rsslag(command, '--', 'touch', file, prefix=inject('pidfd_open:error=EMFILE'))
                assert_one_error_line(self, ran, 125)
                self.assertFalse(file.exists())

    def test_kill_of_the_child_that_calibrates(self):
        with tempfile.TemporaryDirectory() as directory, Children() as (pid,):
            for args in (('snapshot', str(pid)), ('maps', str(pid)), ('top', '--once'), ('doctor',), ('live', '--duration', '10ms', '-p', str(pid)),
                         ('record', '-q', '-o', os.path.join(directory, 'file'), '--duration', '10ms', '-p', str(pid))):
                with self.subTest(args=args):
                    ran = rsslag(*args, prefix=inject('kill:error=EPERM'))
                    self.assertEqual((ran.status, ran.err), (0, ''), ran)


class Nice(TracingTest):
    @needs_root
    def test_is_what_it_was(self):
        """But for the thread that must not wait for a CPU."""
        own = os.getpriority(os.PRIO_PROCESS, 0)
        for nice in (5, -3, -15):
            with self.subTest(nice=nice), Children() as (pid,), \
                    Live('--format', 'jsonl', '-p', pid, prefix=('nice', '-n', str(nice - own))) as live:
                live.document()
                tasks = [int(task.name) for task in Path(f'/proc/{live.process.pid}/task').iterdir()]
                nices = {task: os.getpriority(os.PRIO_PROCESS, task) for task in tasks}
                self.assertEqual(nices[live.process.pid], nice, nices)
                self.assertEqual(min(nices.values()), min(nice, -10), nices)
                live.signal(signal.SIGTERM)
                self.assertEqual(live.finish().status, 0)


@needs_tmux
class FullDisk(TracingTest):
    @needs_root
    def test_output_of_a_command_that_does_not_fit(self):
        directory = tempfile.mkdtemp(prefix='rsslag-contract-')
        self.addCleanup(shutil.rmtree, directory)
        with Pane(columns=200, TMPDIR=small_disk(self, directory, '64k')) as pane:
            pane.rsslag('--', 'sh', '-c', "'head -c 300000 /dev/zero | tr \"\\0\" x; read x'")
            told = re.search(r'! only its first ([\d,]+) bytes: (\S+): No space left', pane.until('only its first'))
            self.assertEqual(int(told.group(1).replace(',', '')), os.path.getsize(told.group(2)))
            pane.until('300,000 bytes')
            pane.type('q')
            pane.until('the command still runs')
            pane.type('q')
            pane.until(lambda text: f'the first {told.group(1)} of 300,000 bytes that the command wrote are in'
                       in text.replace('\n', '') and 'No space left' in text)


if __name__ == '__main__':
    contract.main()
