#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Capabilities of every thread of a running rsslag, as each thread has its own."""
import fcntl
import functools
import operator
import os
import re
import shutil
import signal
import subprocess
import tempfile
import unittest
from contextlib import suppress
from pathlib import Path

import contract
from contract import (NOBODY, ROOT, TIMEOUT, WRITE, Children, Held, TracingTest, environment, long_only, needs_root, rsslag,
                      wait_until, waits_for_reader)
from live import Live
from panes import Pane, needs_tmux

RECORDING = ROOT / 'docs' / 'recordings' / 'quiet-6.1.rsslag'

SYS_ADMIN, SYS_PTRACE, DAC_READ_SEARCH, PERFMON, BPF = (1 << bit for bit in (21, 19, 2, 38, 39))
NONE = 0
TRACING = BPF | PERFMON | SYS_PTRACE | DAC_READ_SEARCH


def allowed(capabilities):
    """On a machine with poisoned pages rsslag keeps what it takes to read frame numbers."""
    poisoned = re.search(r'HardwareCorrupted:\s+(\d+)', Path('/proc/meminfo').read_text())
    return capabilities | (SYS_ADMIN | DAC_READ_SEARCH if capabilities and poisoned and int(poisoned.group(1)) else 0)


def held(pid):
    """For each thread, the capabilities that are effective or could be made effective."""
    of = {}
    for task in Path(f'/proc/{pid}/task').iterdir():
        status = (task / 'status').read_text()
        values = re.findall(r'(?m)^Cap(?:Inh|Prm|Eff|Amb):\t([0-9a-f]+)$', status)
        of[f'{task.name} {status.split(None, 2)[1]}'] = functools.reduce(operator.or_, (int(value, 16) for value in values))
    return of


class AtItsOutput:
    """rsslag, blocked in its first write to stdout, which is a full pipe, or in poll(2) before that."""

    def __init__(self, *args):
        reader, writer = os.pipe()
        fcntl.fcntl(writer, fcntl.F_SETFL, os.O_NONBLOCK)
        for size in (65536, 1):
            try:
                while True:
                    os.write(writer, bytes(size))
            except BlockingIOError:
                pass
        fcntl.fcntl(writer, fcntl.F_SETFL, 0)
        self.reader = reader
        self.process = subprocess.Popen([contract.binary, *(str(arg) for arg in args)], stdin=subprocess.DEVNULL, stdout=writer,
                                        stderr=subprocess.PIPE, env=environment(), start_new_session=True)
        os.close(writer)
        self.pid = self.process.pid
        try:
            wait_until(lambda: self.process.poll() is not None or waits_for_reader(self.pid))
        except AssertionError:
            self.__exit__()
            raise
        if self.process.poll() is not None:
            said = self.process.stderr.read()
            self.__exit__()
            raise AssertionError(f'{args} ended: {self.process.returncode} {said}')

    def __enter__(self):
        return self

    def __exit__(self, *_):
        """Closes the pipe, so that rsslag ends by itself, together with the workload that it started."""
        os.close(self.reader)
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(20)
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self.process.wait(TIMEOUT)
        self.process.stderr.close()


class CapabilityTest(unittest.TestCase):
    def assert_held(self, pid, most, threads=1):
        of = held(pid)
        self.assertGreaterEqual(len(of), threads, of)
        told = {thread: hex(capabilities) for thread, capabilities in of.items()}
        for capabilities in of.values():
            self.assertEqual(capabilities & ~allowed(most), 0, told)


@needs_root
@unittest.skipUnless(WRITE, 'the number of write(2) is not known on this architecture')
class OneThread(TracingTest, CapabilityTest):
    def test_snapshot_maps_and_top(self):
        with Children() as (pid,):
            for args in (('snapshot', '--repeat', 2, pid), ('maps', pid), ('maps', '--json', pid)):
                with self.subTest(args=args), AtItsOutput(*args) as ran:
                    self.assert_held(ran.pid, TRACING)
            for args in (('top',), ('top', '--once', '--json')):
                with self.subTest(args=args), AtItsOutput(*args) as ran:
                    self.assert_held(ran.pid, TRACING | SYS_ADMIN)  # SYS_ADMIN: to start a trace on the thread scheme

    def test_mem(self):
        with AtItsOutput('mem') as ran:
            self.assert_held(ran.pid, SYS_PTRACE)

    def test_doctor(self):
        with AtItsOutput('doctor') as ran:
            self.assert_held(ran.pid, NONE)

    def test_demo(self):
        with AtItsOutput('demo', 'few-pages') as ran:
            self.assert_held(ran.pid, TRACING)


@needs_root
class Tracing(TracingTest, CapabilityTest):
    def test_live(self):
        with tempfile.TemporaryDirectory() as directory, Children() as (pid,):
            for more in ((), ('--record', os.path.join(directory, 'file'))):
                with self.subTest(more=more), Live('--format', 'jsonl', '-p', pid, *more) as live:
                    live.document()
                    self.assert_held(live.process.pid, TRACING, 4 + bool(more))

    def test_a_command(self):
        with Live('--format', 'jsonl', '--interval', '100ms', '--', 'sleep', '1000') as live:
            live.document()
            self.assert_held(live.process.pid, TRACING, 3)
            os.kill(live.document()['pid'], signal.SIGKILL)
            self.assertEqual(live.finish().status, 128 + signal.SIGKILL)

    def test_record(self):
        with tempfile.TemporaryDirectory() as directory, Children() as (pid,):
            with subprocess.Popen([contract.binary, 'record', '-o', f'{directory}/file', '-p', str(pid)],
                                  stderr=subprocess.PIPE, env=environment()) as process:
                try:
                    wait_until(lambda: len(os.listdir(f'/proc/{process.pid}/task')) >= 4)
                    self.assert_held(process.pid, TRACING, 4)
                    process.terminate()
                    process.communicate(timeout=TIMEOUT)
                finally:
                    process.kill()


@long_only('it reads a screen through tmux')
@needs_root
@needs_tmux
class OnTheScreen(TracingTest, CapabilityTest):
    def test_live(self):
        with Children() as (pid,), Pane() as pane:
            pane.rsslag('live', '-p', pid)
            pane.until('q quit')
            self.assert_held(pane.rsslag_pid(), TRACING, 3)

    def test_a_command(self):
        with Pane() as pane, tempfile.TemporaryDirectory() as directory:
            pane.rsslag('live', '--record', os.path.join(directory, 'file'), '--', 'sh', '-c', '"echo here; read x"')
            pane.until(lambda text: 'OUTPUT' in text and '\n here' in text)
            self.assert_held(pane.rsslag_pid(), TRACING, 5)
            pane.type('i')
            pane.until('keys go to the command')
            pane.key('Enter')
            pane.until('ended with status 0')
            pane.type('q')
            os.unlink(re.search(r'wrote is in (\S+)', pane.until('what the command wrote is in')).group(1))

    def test_top_and_live_from_there(self):
        with Held('few-pages') as held, Pane() as pane:
            pane.rsslag('top')
            pane.until('q quit')
            self.assert_held(pane.rsslag_pid(), TRACING | SYS_ADMIN, 2)
            pane.type(f'/{held.pid}')
            pane.key('Enter')
            pane.until(lambda text: f'{held.pid} few-pages' in text and f'filter "{held.pid}"' in text)
            for _ in range(2):
                pane.key('Enter')
                pane.until(lambda text: f'few-pages [{held.pid}]' in text and 'AGREES with smaps' in text)
                self.assert_held(pane.rsslag_pid(), TRACING | SYS_ADMIN, 4)
                pane.key('Escape')
                pane.until('rsslag top')
            pane.type('q')

    def test_replay(self):
        with Pane() as pane:
            pane.rsslag('replay', RECORDING)
            pane.until('q quit')
            self.assert_held(pane.rsslag_pid(), NONE, 2)
            pane.type('q')


@needs_root
class FilesOnly(CapabilityTest):
    @unittest.skipUnless(WRITE, 'the number of write(2) is not known on this architecture')
    def test_at_work(self):
        for args in (('replay', '--format', 'lines'), ('report',), ('export',), ('export', '--format', 'csv')):
            with self.subTest(args=args), AtItsOutput(*args, RECORDING) as ran:
                self.assert_held(ran.pid, NONE)

    def test_no_file_is_opened_with_a_capability(self):
        """Root without capabilities cannot open a file that only another user may open."""
        with tempfile.TemporaryDirectory() as directory:
            os.chmod(directory, 0o755)
            theirs, private = Path(directory, 'recording'), Path(directory, 'private')
            shutil.copy(RECORDING, theirs)
            private.mkdir()
            for path, mode in ((theirs, 0o600), (private, 0o700)):
                os.chmod(path, mode)
                os.chown(path, NOBODY, NOBODY)
            for command in ('replay', 'report', 'export'):
                for args, refusal in (((theirs,), f'cannot open {theirs}: '),
                                      ((RECORDING, '--log-file', private / 'log'), f'cannot open {private / "log"}: ')):
                    ran = rsslag(command, *args)
                    self.assertNotEqual(ran.status, 0, ran)
                    self.assertIn(refusal, ran.err, ran)
            for args in (('export', RECORDING, '-o', private / 'rows'), ('report', RECORDING, '--svg', private / 'svg')):
                ran = rsslag(*args)
                self.assertNotEqual(ran.status, 0, ran)
            self.assertEqual(list(private.iterdir()), [])


if __name__ == '__main__':
    contract.main()
