# SPDX-License-Identifier: BSD-2-Clause
"""Output that cannot be written: a closed stdout, a full disk, a pipe without a reader."""
import os
import select
import shutil
import signal
import subprocess
import tempfile
import unittest
from pathlib import Path

import contract
from contract import TIMEOUT, Children, Held, TracingTest, assert_one_error_line, begun, environment, rsslag, snapshot

RECORDING = contract.ROOT / 'docs' / 'recordings' / 'classic-6.1.rsslag'


def without_stdout(*args):
    done = subprocess.run(['sh', '-c', 'exec "$@" >&-', 'sh', contract.binary, *args], stdin=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, env=environment(), timeout=TIMEOUT, check=False)
    return contract.Ran(args, done.returncode, b'', done.stderr)


def onto_full_disk(*args):
    with open('/dev/full', 'wb') as full:
        return rsslag(*args, stdout=full)


class Unwritable(unittest.TestCase):
    PLAIN = (['--version'], ['--help'], ['snapshot', '--help'], ['doctor'], ['doctor', '--json'], ['demo', '--list'])

    def test_a_closed_stdout(self):
        for args in self.PLAIN:
            assert_one_error_line(self, without_stdout(*args), 1)

    def test_a_full_disk(self):
        for args in self.PLAIN:
            assert_one_error_line(self, onto_full_disk(*args), 1)


class UnreadableChild(TracingTest):
    @unittest.skipUnless(shutil.which('strace'), 'strace is missing')
    def test_demo_ends_if_it_cannot_read_its_workload(self):
        """Which read of the process it is differs from run to run. So the number of the last run is tried until it is the right one."""
        with tempfile.NamedTemporaryFile() as log:
            strace = ['strace', '-qq', '-o', log.name, '-e', 'trace=read,pipe2']

            def first_read():
                """The number of the first read from the pipe, and how it ended."""
                calls = Path(log.name).read_text(errors='replace').splitlines()
                (pipe,) = [at for at, line in enumerate(calls) if line.startswith('pipe2(')]
                before = [line for line in calls[:pipe] if line.startswith('read(')]
                return len(before) + 1, next((line for line in calls[pipe:] if line.startswith('read(')), '')

            if rsslag('demo', 'few-pages', prefix=strace).status != 0:
                self.skipTest('strace is not permitted here')
            for _ in range(100):
                number, _ = first_read()
                ran = rsslag('demo', 'few-pages', prefix=[*strace, '-e', f'inject=read:error=EIO:when={number}'])
                if 'pipe2(' in Path(log.name).read_text(errors='replace') and '(INJECTED)' in first_read()[1]:
                    assert_one_error_line(self, ran, 1)
                    self.assertIn('Input/output error', ran.err)
                    return
                self.assertEqual(rsslag('demo', 'few-pages', prefix=strace).status, 0)
        self.fail('no read from the pipe failed')


class UnwritableSnapshot(TracingTest):
    def test_a_closed_stdout(self):
        for option in ('--no-walk', '--json'):
            assert_one_error_line(self, without_stdout('snapshot', option, str(os.getpid())), 1)

    def test_a_full_disk(self):
        for option in ('--no-walk', '--json'):
            assert_one_error_line(self, onto_full_disk('snapshot', option, str(os.getpid())), 1)

    def test_a_full_disk_ends_the_repeating(self):
        with Children() as (pid,):
            assert_one_error_line(self, onto_full_disk('snapshot', '--repeat', '5', str(pid)), 1)

    def test_a_demo(self):
        for run in (without_stdout, onto_full_disk):
            assert_one_error_line(self, run('demo', 'single'), 1)
            assert_one_error_line(self, run('demo', 'single', '--hold'), 1)

    def test_closed_stdin_and_stderr_do_no_harm(self):
        with Children() as (pid,):
            done = subprocess.run(['sh', '-c', 'exec "$@" <&- 2>&-', 'sh', contract.binary, 'snapshot', '--json',
                                   str(pid), str(contract.no_such_pid())], stdout=subprocess.PIPE, env=environment(),
                                  timeout=TIMEOUT, check=False)
        self.assertEqual(done.returncode, 3)
        contract.assert_snapshot(self, contract.Ran((), 3, done.stdout, b'').document())


class ClosedPipe(TracingTest):
    def reader_leaves(self, *args):
        with begun([contract.binary, *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                   env=environment()) as process:
            process.stdout.read(1)
            process.stdout.close()
            err = process.stderr.read()
            return contract.Ran(args, process.wait(TIMEOUT), b'', err)

    def test_it_ends_quietly(self):
        with Held('single') as held:
            for options in (['--json'], ['--no-walk']):
                ran = self.reader_leaves('snapshot', '--repeat', '100000', *options, str(held.pid))
                self.assertEqual((ran.status, ran.err), (0, ''), ran)

    def test_one_that_was_closed_before_the_first_line(self):
        with Children() as (pid,):
            read, write = os.pipe()
            os.close(read)
            try:
                ran = snapshot(pid, stdout=write)
            finally:
                os.close(write)
        self.assertEqual((ran.status, ran.err), (0, ''), ran)


class UnreadPipe(TracingTest):
    """A signal ends rsslag although a pipe that nobody reads takes nothing more."""

    def setUp(self):
        self.read_end, self.write_end = os.pipe()
        self.addCleanup(os.close, self.read_end)
        self.addCleanup(os.close, self.write_end)

    def is_full(self):
        return not select.select([], [self.write_end], [], 0)[1]

    def ended_by(self, number, *args):
        with begun([contract.binary, *args], stdin=subprocess.DEVNULL, stdout=self.write_end, stderr=subprocess.PIPE,
                   env=environment()) as process:
            contract.wait_until(self.is_full)
            process.send_signal(number)
            _, err = process.communicate(timeout=TIMEOUT)
        while select.select([self.read_end], [], [], 0)[0] and os.read(self.read_end, 1 << 20):
            pass
        return contract.Ran(args, process.returncode, b'', err)

    def test_of_a_recording(self):
        for number, *args in ((signal.SIGINT, 'replay', '--events', '--format', 'lines'), (signal.SIGHUP, 'export')):
            ran = self.ended_by(number, *args, RECORDING)
            self.assertEqual((ran.status, ran.err), (0, ''), ran)

    def test_of_a_fifo(self):
        with tempfile.TemporaryDirectory(prefix='rsslag-contract-') as directory:
            fifo = os.path.join(directory, 'fifo')
            os.mkfifo(fifo)
            reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
            self.addCleanup(os.close, reader)
            writer = os.open(fifo, os.O_WRONLY)
            os.dup2(writer, self.write_end)
            os.close(writer)
            ran = self.ended_by(signal.SIGTERM, 'export', '-o', fifo, RECORDING)
            self.assertEqual((ran.status, ran.err), (0, f'rsslag: {fifo} was not written: a signal stopped rsslag\n'), ran)

    def test_of_processes_again_and_again(self):
        with Children() as (pid,):
            for args in (('snapshot', '--repeat', '100000', '--json'), ('maps', '--watch', '--interval', '10ms', '--json')):
                ran = self.ended_by(signal.SIGTERM, *args, pid)
                self.assertEqual((ran.status, ran.err), (0, ''), ran)


if __name__ == '__main__':
    contract.main()
