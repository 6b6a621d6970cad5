# SPDX-License-Identifier: BSD-2-Clause
"""Output that cannot be written: a closed stdout, a full disk, a pipe without a reader."""
import collections
import contextlib
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


@unittest.skipUnless(shutil.which('strace'), 'strace is missing')
class ErrorOfClose(TracingTest):
    """Some file systems, such as NFS, report only when a file is closed that what was written is lost."""

    def setUp(self):
        self.directory = self.enterContext(tempfile.TemporaryDirectory(prefix='rsslag-contract-'))
        if rsslag('--version', prefix=('strace', '-qq', '-o', '/dev/null')).status != 0:
            self.skipTest('strace is not permitted here')

    def closed(self, log, marked=''):
        """The calls of close() of a file in `out`: for each its number among those of its thread."""
        counts, found = collections.Counter(), []
        for line in log.read_text(errors='replace').splitlines():
            pid, _, call = line.partition(' ')
            counts[pid] += 'close(' in call
            if f'<{self.directory}/out/' in call and marked in call:
                found.append(counts[pid])
        return found

    def ran(self, args, onto, *options):
        """Runs it with an empty directory `out`, where `onto` may be its stdout or stderr."""
        out, log = Path(self.directory, 'out'), Path(self.directory, 'log')
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir()
        with contextlib.ExitStack() as stack:
            files = {name: stack.enter_context(open(out / name, 'wb')) if name == onto else subprocess.PIPE
                     for name in ('stdout', 'stderr')}
            done = subprocess.run(['strace', '-f', '-y', '-qq', '-o', log, '-e', 'trace=close', *options, contract.binary, *args],
                                  stdin=subprocess.DEVNULL, env=environment(), timeout=TIMEOUT, check=False, **files)
        return log, contract.Ran(args, done.returncode, done.stdout or b'', done.stderr or b'')

    def assert_reported(self, args, status, clean=0, onto=None):
        args = [str(arg).format(out=f'{self.directory}/out') for arg in args]
        log, ran = self.ran(args, onto)
        self.assertEqual(ran.status, clean, ran)
        for _ in range(20):  # the numbers of the calls may differ from run to run
            number = self.closed(log)[-1]
            log, ran = self.ran(args, onto, '-e', f'inject=close:error=EDQUOT:when={number}')
            if self.closed(log, 'INJECTED'):
                self.assertEqual(ran.status, status, ran)
                if onto != 'stderr':
                    self.assertIn('Disk quota exceeded', ran.err)
                return
        self.fail('no close of the file failed')

    def test_of_stdout(self):
        self.assert_reported(['report', '--json', RECORDING], 1, onto='stdout')
        self.assert_reported(['--help'], 1, onto='stdout')

    def test_of_stdout_beside_the_status_of_a_command(self):
        self.assert_reported(['live', '--format', 'jsonl', '--', 'sh', '-c', 'exit 7'], 125, 7, onto='stdout')

    def test_of_stderr(self):
        self.assert_reported(['peak', '--', 'sh', '-c', 'exit 7'], 125, 7, onto='stderr')

    def test_of_files(self):
        self.assert_reported(['export', '-o', '{out}/file', RECORDING], 1)

    @contract.long_only('the same for three more outputs, 3 s of CPU')
    def test_of_other_files(self):
        self.assert_reported(['report', '--json', '--svg', '{out}/file', RECORDING], 1)
        self.assert_reported(['peak', '-o', '{out}/file', '--', 'sh', '-c', 'exit 7'], 125, 7)

    def test_of_a_recording(self):
        with Held('single') as held:
            for more in ([], ['--max-size', '256K'], ['--force'])[:contract.runs(3)]:
                self.assert_reported(['record', '-o', '{out}/file', '--duration', '100ms', *more, '-p', str(held.pid)], 1)


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
