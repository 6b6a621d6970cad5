#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Large numbers of tracers, threads, mappings, processes, and terminals of any size; nothing is left behind, not even in the
kernel after a kill -9."""
import contextlib
import ctypes
import fcntl
import mmap
import os
import platform
import re
import signal
import struct
import subprocess
import tempfile
import termios
import unittest
from pathlib import Path

import contract
from contract import (LONG, ROOT, TIMEOUT, Crowd, Held, TracingTest, assert_snapshot, child_with, environment, long_only,
                      needs_root, reserved, rsslag, snapshot, wait_until)
from live import Live, Told, assert_trace

RECORDING = str(ROOT / 'docs' / 'recordings' / 'quiet-6.1.rsslag')
BPF_CALL = {'x86_64': 321, 'aarch64': 280}.get(platform.machine())
BY_ID = {'prog_id': 13, 'map_id': 14, 'link_id': 30}  # BPF_PROG_GET_FD_BY_ID, BPF_MAP_…, BPF_LINK_… (linux/bpf.h enum bpf_cmd)
BPF_MAP_GET_NEXT_KEY, BPF_OBJ_GET_INFO_BY_FD = 4, 15


class TenTracers(TracingTest):
    def test_each_reports_the_same(self):
        work = 'for i in 1 2 3 4 5 6 7 8 9 10; do /bin/true; : $(echo x); done'
        with Told(work) as told, contextlib.ExitStack() as stack:
            tracers = [stack.enter_context(Live('--format', 'jsonl', '--interval', '10s', '--no-walk', '--follow', '-p', told.pid))
                       for _ in range(10)]
            for tracer in tracers:
                tracer.document()  # attached
            told.tell()
            ends = [assert_trace(self, tracer.finish())[1] for tracer in tracers]
        for summary in ends:
            self.assertEqual((summary['lost'], summary['ended_not_at_zero'], summary['disagreements']), (0, 0, 0))
        counted = [(summary['updates'], summary['faults'], summary['ended_mms']) for summary in ends]
        self.assertEqual(set(counted), {counted[0]})
        self.assertGreater(counted[0][2], 10)


def held_objects(pid):
    """(kind, id) of the BPF objects that the process has descriptors of."""
    found = set()
    for file in Path(f'/proc/{pid}/fdinfo').iterdir():
        with contextlib.suppress(FileNotFoundError):
            found.update((kind, int(number)) for kind, number in re.findall(r'(?m)^(\w+_id):\s*(\d+)$', file.read_text())
                         if kind in BY_ID)
    return found


def bpf(command, attributes):
    """bpf(2): its result, or -1 with ctypes.get_errno()."""
    return ctypes.CDLL(None, use_errno=True).syscall(BPF_CALL, command, attributes, len(attributes))


def is_there(kind, number):
    fd = bpf(BY_ID[kind], ctypes.create_string_buffer(struct.pack('III', number, 0, 0), 128))
    if fd >= 0:
        os.close(fd)
    elif ctypes.get_errno() != 2:  # ENOENT
        raise OSError(ctypes.get_errno(), 'bpf')
    return fd >= 0


@needs_root
@unittest.skipUnless(BPF_CALL, 'the number of bpf(2) is not known on this architecture')
class KilledOutright(TracingTest):
    def left_by(self, *args, ready, **more):
        """Kills rsslag after `ready`, and waits until its BPF objects no longer exist."""
        with subprocess.Popen([contract.binary, *args], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment(), **more) as process:
            try:
                ready(process)
                objects = held_objects(process.pid)
            finally:
                process.kill()
                process.wait(TIMEOUT)
                if process.stdin:
                    process.stdin.close()
        self.assertIn('prog_id', {kind for kind, _ in objects}, args)
        self.assertIn('map_id', {kind for kind, _ in objects}, args)
        # The kernel frees them a while after the last descriptor is closed.
        wait_until(lambda: not [each for each in objects if is_there(*each)])

    def test_no_program_map_or_link_is_left(self):
        def a_line(process):
            self.assertNotEqual(process.stdout.readline(), b'')

        def has_programs(process):
            wait_until(lambda: process.poll() is not None or {kind for kind, _ in held_objects(process.pid)} == set(BY_ID))

        with Told() as told, tempfile.TemporaryDirectory() as directory:
            pid = str(told.pid)
            self.left_by('live', '--format', 'jsonl', '--interval', '50ms', '-p', pid, ready=a_line)
            self.left_by('live', '--mode', 'counts', '--format', 'jsonl', '--interval', '50ms', '-p', pid, ready=a_line)
            self.left_by('record', '-o', f'{directory}/file', '-p', pid, ready=has_programs)
            self.left_by('snapshot', '--json', '--repeat', '1000000', '--interval', '50ms', pid, ready=a_line)
            self.left_by('serve', '--listen', '127.0.0.1:0', ready=a_line)
            # CMD ends with its stdin.
            self.left_by('peak', '--', 'cat', ready=has_programs, stdin=subprocess.PIPE)


@contextlib.contextmanager
def map_of(pid, name):
    """A descriptor of the BPF map with this name that the process has."""
    with contextlib.ExitStack() as stack:
        for kind, number in held_objects(pid):
            if kind != 'map_id':
                continue
            fd = bpf(BY_ID[kind], ctypes.create_string_buffer(struct.pack('III', number, 0, 0), 128))
            if fd < 0:
                raise OSError(ctypes.get_errno(), 'bpf')
            stack.callback(os.close, fd)
            info = ctypes.create_string_buffer(80)  # struct bpf_map_info
            if bpf(BPF_OBJ_GET_INFO_BY_FD, ctypes.create_string_buffer(struct.pack('IIQ', fd, len(info), ctypes.addressof(info)), 128)) != 0:
                raise OSError(ctypes.get_errno(), 'bpf')
            if info.raw[24:40].rstrip(b'\0') == name:
                yield fd
                return
        raise AssertionError(('no such map', name))


def keys_of(fd, size=4):
    """The keys of a BPF map, of `size` bytes. None, if it changes too fast to say."""
    found, key = set(), None
    while True:
        following = ctypes.create_string_buffer(size)
        at = ctypes.addressof(key) if key else 0
        if bpf(BPF_MAP_GET_NEXT_KEY, ctypes.create_string_buffer(struct.pack('IIQQ', fd, 0, at, ctypes.addressof(following)), 128)) != 0:
            return found
        if following.raw in found:
            return None
        found.add(following.raw)
        key = following


@needs_root
@unittest.skipUnless(BPF_CALL, 'the number of bpf(2) is not known on this architecture')
class EndedProcesses(TracingTest):
    """However many processes are traced one after another, the kernel side has room for the next one."""

    def test_no_number_of_one_is_kept(self):
        work = 'for i in 1 2 3 4 5 6 7 8 9 10; do /bin/true; : $(echo x); done'
        with Told(work, count=2) as told:
            with Live('--format', 'jsonl', '--interval', '10s', '--no-walk', '--follow', *(str(pid) for pid in told.pids)) as tracer:
                tracer.document()
                tracer.document()  # both are attached
                with map_of(tracer.process.pid, b'groups') as groups:
                    self.assertEqual(len(keys_of(groups)), 2)
                    told.tell(0)
                    # The kernel frees a task a while after its end.
                    wait_until(lambda: (keys := keys_of(groups)) is not None and len(keys) == 1)
                told.tell(1)
                summary = assert_trace(self, tracer.finish())[1]
        self.assertEqual(summary['lost'], 0)
        self.assertGreater(summary['ended_mms'], 40)

    def test_no_mm_of_one_is_kept(self):
        with Told('for i in $(seq 300); do sleep 0.1 & done; wait', count=2) as told:
            with Live('--format', 'jsonl', '--interval', '1s', '--no-walk', '--follow', *(str(pid) for pid in told.pids)) as tracer:
                tracer.document()
                tracer.document()  # both are attached
                with map_of(tracer.process.pid, b'mms') as mms:
                    told.tell(0)
                    self.assertGreater(len(keys_of(mms, 8) or ()), 50)
                    # The last records of an mm are some seconds old by then.
                    wait_until(lambda: (keys := keys_of(mms, 8)) is not None and len(keys) < 10)
                told.tell(1)
                summary = assert_trace(self, tracer.finish())[1]
        self.assertEqual(summary['lost'], 0)
        self.assertGreater(summary['ended_mms'], 300)


class Processes(TracingTest):
    def test_thousands(self):
        count = 3000 if LONG else 200
        with tempfile.TemporaryDirectory() as directory, Crowd(directory, [b'rsslag-crowd'] * count) as pids:
            top = rsslag('top', '--once', '--json', '--rows', '0').document()
            self.assertEqual(set(pids) - {each['pid'] for each in top['processes']}, set())
            ran = snapshot('--json', '--no-walk', '--comm', 'rsslag-crowd')
            self.assertEqual(ran.status, 0, ran.err)
            document = ran.document()
            self.assertEqual(sorted(each['pid'] for each in document['processes']), sorted(pids))
            ran = rsslag('live', '--format', 'jsonl', '--no-walk', '--duration', '10ms', '--comm', 'rsslag-crowd')
            self.assertEqual((ran.status, ran.err), (0, ''))
            self.assertEqual({each['pid'] for each in ran.documents()[:-1]}, set(pids))
            ran = rsslag('mem', '--json', '--all')
            self.assertEqual(ran.status, 0, ran.err)
            (program,) = [row for row in ran.document()['rows'] if row['name'].endswith('/rsslag-crowd')]
            self.assertEqual(program['processes'], count)


MAPPINGS = 64_000


def many_mappings():
    """Many mappings, which the kernel cannot merge: every second page of a range is read-only."""
    at, libc = reserved((MAPPINGS + 2) * mmap.PAGESIZE), ctypes.CDLL(None, use_errno=True)
    libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    for page in range(1, MAPPINGS, 2):
        ctypes.memset(at + (page - 1) * mmap.PAGESIZE, 1, 1)
        if libc.mprotect(at + page * mmap.PAGESIZE, mmap.PAGESIZE, mmap.PROT_READ) != 0:
            raise OSError(ctypes.get_errno(), 'mprotect')


@long_only('64,000 mappings')
class Mappings(TracingTest):
    def test_64_000(self):
        if int(Path('/proc/sys/vm/max_map_count').read_text()) < 65_000:
            self.skipTest('fewer mappings are allowed here')
        with child_with(many_mappings) as pid:
            lines = len([line for line in Path(f'/proc/{pid}/maps').read_text().splitlines() if not line.endswith('[vsyscall]')])
            self.assertGreaterEqual(lines, MAPPINGS)
            ran = rsslag('maps', '--json', '--each', str(pid))
            self.assertEqual(ran.status, 0, ran.err)
            self.assertEqual(ran.documents()[0]['processes'][0]['sums']['mappings'], lines)
            ran = snapshot('--json', '--check', str(pid))
            self.assertEqual(ran.status, 0, ran.err)
            assert_snapshot(self, ran.document())
            with tempfile.TemporaryDirectory() as directory:
                ran = rsslag('live', '--format', 'jsonl', '--duration', '200ms', '--record', f'{directory}/file', '-p', str(pid))
                ticks, summary = assert_trace(self, ran, attributed=False)
                self.assertGreater(len(ticks), 0)
                self.assertEqual(summary['lost'], 0)
                report = rsslag('report', '--json', f'{directory}/file').document()
                self.assertEqual((report['complete'], report['lost']), (True, 0))


THREADS = 100_000


@long_only('100,000 threads')
@needs_root
class Threads(TracingTest):
    def setUp(self):
        if int(Path('/proc/sys/kernel/threads-max').read_text()) < THREADS * 1.1:
            self.skipTest('fewer threads are allowed here')
        most = Path('/proc/sys/kernel/pid_max')
        before = most.read_text()
        if int(before) < THREADS * 1.5:
            most.write_text(str(THREADS * 2))
            self.addCleanup(most.write_text, before)

    def test_100_000(self):
        with Held('many-threads', '--threads', str(THREADS)) as held:
            ran = snapshot('--json', str(held.pid))
            self.assertEqual(ran.status, 0, ran.err)
            document = ran.document()
            assert_snapshot(self, document)
            (process,) = document['processes']
            self.assertEqual((process['threads_count'], process['verdict']), (THREADS + 1, 'agrees'))
            self.assertEqual(rsslag('top', '--once', '--json').status, 0)
            self.assertEqual(rsslag('maps', '--json', str(held.pid)).status, 0)
            with tempfile.TemporaryDirectory() as directory:
                file = os.path.join(directory, 'file')
                ran = rsslag('live', '--format', 'jsonl', '--duration', '1s', '--record', file, '-p', str(held.pid))
                ticks, summary = assert_trace(self, ran)
                self.assertEqual((ticks[-1]['threads_count'], summary['lost']), (THREADS + 1, 0))
                self.assertEqual(ticks[-1]['exact'], process['exact'])
                ran = rsslag('report', '--json', file)
                self.assertEqual((ran.status, ran.document()['complete']), (0, True), ran.err)


class Terminal:
    """A terminal of any size. Its output is read and discarded."""

    def __init__(self, rows, columns, *args):
        self.master, self.slave = os.openpty()
        self.before = termios.tcgetattr(self.slave)
        self.resize(rows, columns)
        self.process = subprocess.Popen([contract.binary, *args], stdin=self.slave, stdout=self.slave, stderr=self.slave,
                                        env=environment(TERM='xterm'), start_new_session=True,
                                        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.set_blocking(self.master, False)
        self.read = b''

    def resize(self, rows, columns):
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack('HHHH', rows, columns, 0, 0))

    def more(self):
        """Whether there was output since the last call."""
        try:
            self.read += os.read(self.master, 1 << 20)
            return True
        except BlockingIOError:
            return False

    def taken(self):
        """Waits until rsslag has read the signal for the new size and all typed keys."""
        def nothing_waits():
            self.more()
            if self.process.poll() is not None:
                raise AssertionError((self.process.args, self.process.returncode, self.read[-500:]))
            pending = int(re.search(r'(?m)^ShdPnd:\s*(\w+)', Path(f'/proc/{self.process.pid}/status').read_text())[1], 16)
            typed = struct.unpack('i', fcntl.ioctl(self.slave, termios.FIONREAD, bytes(4)))[0]
            return b'\x1b[?1049h' in self.read and not pending & 1 << signal.SIGWINCH - 1 and typed == 0
        wait_until(nothing_waits)

    def leave(self):
        os.write(self.master, b'q')
        wait_until(lambda: (self.more(), self.process.poll())[1] is not None)
        while self.more():  # read the remaining output
            pass
        return self.process.returncode, termios.tcgetattr(self.slave) == self.before, self.read.rfind(b'\x1b[?1049l') > self.read.rfind(b'\x1b[?1049h')

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait(TIMEOUT)
        os.close(self.master)
        os.close(self.slave)


class Terminals(TracingTest):
    SIZES = ((1, 200), (200, 1), (2, 2), (3, 10), (4, 5), (5, 80), (7, 20), (24, 80), (300, 500), (1, 1))

    def test_from_1x1(self):
        with Held('few-pages') as held:
            for args in (('replay', RECORDING), ('live', '--interval', '50ms', '-p', str(held.pid)), ('top', '--interval', '50ms')):
                with self.subTest(args), Terminal(1, 1, *args) as terminal:
                    terminal.taken()
                    for rows, columns in self.SIZES:
                        terminal.resize(rows, columns)
                        terminal.taken()
                        os.write(terminal.master, b'?')  # help, then none
                        terminal.taken()
                    self.assertEqual(terminal.leave(), (0, True, True))


if __name__ == '__main__':
    contract.main()
