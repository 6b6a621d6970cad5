#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Unusual environments: a seccomp filter, a read-only root, a memory limit, sudo, no locked memory, a clock that jumps; and
targets that are not ordinary processes."""
import ctypes
import mmap
import os
import platform
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

import contract
from contract import (NOBODY, ROOT, Children, Ran, TracingTest, assert_one_error_line, binary_for_all, emulated,
                      environment, long_only, needs_root, rsslag, wait_until)

RECORDING = str(ROOT / 'docs' / 'recordings' / 'quiet-6.1.rsslag')
BPF_CALL = {'x86_64': 321, 'aarch64': 280}.get(platform.machine())
EPERM, ENOSYS = 1, 38


def refuse_bpf(err):
    """In a child: makes bpf(2) fail, as in many containers (linux/seccomp.h, linux/bpf_common.h)."""
    def instruction(code, yes, no, value):
        return struct.pack('HBBI', code, yes, no, value)
    program = ctypes.create_string_buffer(
        instruction(0x20, 0, 0, 0) + instruction(0x15, 0, 1, BPF_CALL) +
        instruction(0x06, 0, 0, 0x00050000 | err) + instruction(0x06, 0, 0, 0x7fff0000))
    fprog = struct.pack('HxxxxxxQ', 4, ctypes.addressof(program))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(22, 2, fprog, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), 'prctl(PR_SET_SECCOMP)')


@needs_root
@unittest.skipUnless(BPF_CALL, 'the number of bpf(2) is not known on this architecture')
class Seccomp(TracingTest):
    def test_commands_that_trace_report_it_and_the_others_work(self):
        with tempfile.TemporaryDirectory() as directory, Children() as (pid,):
            file = os.path.join(directory, 'file')
            for err in (EPERM, ENOSYS):
                def filtered(*args, err=err):
                    return rsslag(*args, preexec_fn=lambda: refuse_bpf(err))
                for args, status in ((('serve',), 3), (('live', '--events', '-p', str(pid)), 3),
                                     (('record', '-o', file, '-p', str(pid)), 3), (('live', '--events', '--', 'touch', file), 125)):
                    ran = filtered(*args)
                    assert_one_error_line(self, ran, status)
                    self.assertIn('seccomp filter', ran.err)
                    self.assertFalse(os.path.exists(file))
                self.assertEqual(filtered('doctor').status, 3)
                for args in (('snapshot', str(pid)), ('top', '--once'), ('live', '--duration', '10ms', '-p', str(pid))):
                    ran = filtered(*args)
                    self.assertEqual(ran.status, 0, ran)
                    self.assertRegex(ran.err, 'values are from /proc: .* seccomp filter')
                for args in (('maps', str(pid)), ('mem',), ('replay', '--format', 'lines', RECORDING)):
                    self.assertEqual(filtered(*args).status, 0, args)


READ_ONLY = 'mount --make-rprivate / && mount -o remount,ro,bind / && cd / && exec "$@"'


@needs_root
class ReadOnlyRoot(TracingTest):
    def run_there(self, *args):
        return rsslag(*args, prefix=['unshare', '-m', 'sh', '-c', READ_ONLY, 'sh'], env=environment(TMPDIR='/'))

    def setUp(self):
        probe = subprocess.run(['unshare', '-m', 'sh', '-c', READ_ONLY, 'sh', 'sh', '-c', '! touch /rsslag-is-read-only'],
                               stderr=subprocess.PIPE, text=True, check=False)
        if probe.returncode != 0:
            self.skipTest('no read-only root here: ' + probe.stderr)

    def test_what_only_reads_works(self):
        with Children() as (pid,):
            for args in (('snapshot', str(pid)), ('top', '--once'), ('maps', str(pid)), ('doctor',),
                         ('live', '--format', 'jsonl', '--duration', '50ms', '-p', str(pid)), ('live', '--format', 'lines', '--', 'true'),
                         ('peak', '--', 'true'), ('replay', '--format', 'lines', RECORDING), ('report', RECORDING)):
                ran = self.run_there(*args)
                self.assertEqual(ran.status, 0, ran)

    def test_commands_that_write_report_where_they_cannot(self):
        for args, status in ((('record', '-o', 'file', '--', 'true'), 2), (('live', '--record', 'file', '--', 'true'), 2),
                             (('live', '--log-file', 'file', '--format', 'lines', '--', 'true'), 125),
                             (('peak', '--log-file', 'file', '--', 'true'), 125), (('demo', '--log-file', 'file', '--list'), 1),
                             (('report', '--svg', 'file', RECORDING), 1),
                             (('export', '--format', 'sqlite', '-o', 'file', RECORDING), 1)):
            ran = self.run_there(*args)
            assert_one_error_line(self, ran, status)
            self.assertRegex(ran.err, r'\bfile\b')


class MemoryGroup:
    """A memory cgroup of version 1 or 2 until the test ends."""
    # Nothing may go to swap. Version 1 limits memory and swap together.
    ROOTS = (('/sys/fs/cgroup/memory', 'memory.limit_in_bytes', 'memory.memsw.limit_in_bytes', 1),
             ('/sys/fs/cgroup', 'memory.max', 'memory.swap.max', 0))

    def __init__(self, test, size):
        for root, limit, swap_limit, share in self.ROOTS:
            self.path = Path(root, f'rsslag-test-{os.getpid()}')
            try:
                self.path.mkdir()
            except OSError:
                continue
            test.addCleanup(wait_until, lambda path=self.path: self.removed(path))  # after its last task has been released
            try:
                (self.path / limit).write_text(str(size))
            except OSError:
                continue
            try:
                (self.path / swap_limit).write_text(str(size * share))
            except OSError:
                if len(Path('/proc/swaps').read_text().splitlines()) > 1:
                    test.skipTest('swap is on, and memory cgroups of this machine cannot limit it')
            return
        test.skipTest('cannot create a memory cgroup')

    @staticmethod
    def removed(path):
        try:
            path.rmdir()
        except OSError:
            return False
        return True

    def run(self, *args):
        return rsslag(*args, preexec_fn=lambda: (self.path / 'cgroup.procs').write_text(str(os.getpid())))


EAT = '''
import mmap
with mmap.mmap(-1, 256 << 20) as memory:
    for at in range(0, len(memory), mmap.PAGESIZE): memory[at] = 1
'''


@needs_root
class MemoryLimit(TracingTest):
    def test_reached_by_a_command_that_is_recorded(self):
        """The kernel kills the largest process, which is CMD. The recording has everything until then."""
        group = MemoryGroup(self, 160 << 20)
        with tempfile.TemporaryDirectory() as directory:
            file = os.path.join(directory, 'file')
            ran = group.run('record', '-o', file, '--', sys.executable, '-c', EAT)
            self.assertEqual(ran.status, 128 + 9, ran)
            ran = rsslag('report', '--json', file)
        self.assertEqual(ran.status, 0, ran)
        report = ran.document()
        self.assertTrue(report['complete'])
        self.assertEqual((report['lost'], report['disagreements']), (0, 0))
        most = max(process['peak']['peak_min'] for process in report['processes'])
        self.assertGreater(most * mmap.PAGESIZE, 64 << 20)

    @long_only('the kernel chooses which process it kills')
    def test_too_small_for_rsslag_itself(self):
        """rsslag fails or is killed. It never prints half a document with status 0."""
        for size in (6 << 20, 12 << 20, 18 << 20, 24 << 20):
            ran = MemoryGroup(self, size).run('live', '--format', 'lines', '--', 'true')
            self.doCleanups()
            self.assertIn(ran.status, (0, 125, -9), ran)
            if ran.status == 125:
                assert_one_error_line(self, ran, 125)
                self.assertNotIn('locked memory', ran.err)
            if ran.status == 0:
                self.assertIn('every counter at 0', ran.out)


@needs_root
class NoLockedMemory(TracingTest):
    def test_counts_up_to_5_10_only(self):
        """Root can raise the limit; file capabilities do not allow it."""
        prefix = ['prlimit', '--memlock=0:0']
        names = '+bpf,+perfmon,+sys_ptrace'
        with_capabilities = [*prefix, 'setpriv', f'--reuid={NOBODY}', f'--regid={NOBODY}', '--clear-groups', '--inh-caps', names,
                             '--ambient-caps', names]
        with Children() as (pid,):
            ran = rsslag('snapshot', str(pid), prefix=prefix)
            self.assertEqual((ran.status, ran.err), (0, ''))
            by_proc = rsslag('snapshot', str(pid), executable=binary_for_all(), prefix=with_capabilities)
            ran = rsslag('live', '--events', '--duration', '10ms', '-p', str(pid), executable=binary_for_all(), prefix=with_capabilities)
        self.assertEqual(by_proc.status, 0, by_proc)
        if tuple(map(int, platform.release().split('.')[:2])) < (5, 11):
            assert_one_error_line(self, ran, 3)
            self.assertIn('the limit on locked memory is 0 kB', ran.err)
            self.assertRegex(by_proc.err, 'values are from /proc: .* the limit on locked memory is 0 kB')
        else:
            self.assertEqual((ran.status, by_proc.err), (0, ''), ran)


SUDOERS = 'mount --make-rprivate / && mount -t tmpfs -o mode=755 none /etc/sudoers.d && ' \
          "echo 'nobody ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/test && chmod 440 /etc/sudoers.d/test && " \
          f'exec setpriv --reuid={NOBODY} --regid={NOBODY} --clear-groups sudo -n "$@"'


@needs_root
@unittest.skipUnless(shutil.which('sudo'), 'sudo is missing')
class Sudo(TracingTest):
    def test_files_and_command_are_the_callers(self):
        with tempfile.TemporaryDirectory() as directory:
            os.chown(directory, NOBODY, NOBODY)
            file = os.path.join(directory, 'file')
            ran = rsslag('record', '-o', file, '--', 'sh', '-c', f'id -u > {directory}/id',
                         executable=binary_for_all(), prefix=['unshare', '-m', 'sh', '-c', SUDOERS, 'sh'])
            self.assertEqual(ran.status, 0, ran)
            self.assertEqual(os.stat(file).st_uid, NOBODY)
            self.assertEqual(Path(directory, 'id').read_text(), f'{NOBODY}\n')


class UnusualTargets(TracingTest):
    def test_the_first_process(self):
        """Process 1 is read like any other process, or rsslag reports why not."""
        for args in (('snapshot', '1'), ('maps', '1'), ('live', '--format', 'lines', '--duration', '50ms', '-p', '1')):
            ran = rsslag(*args)
            if ran.status != 0:
                assert_one_error_line(self, ran, 3)
                self.assertRegex(ran.err, "task iterator|Permission denied")
                self.assertFalse(emulated(), 'process 1 of a guest must be readable')

    def test_a_kernel_thread(self):
        if 'Kthread:\t1' not in Path('/proc/2/status').read_text() and Path('/proc/2/comm').read_text() != 'kthreadd\n':
            self.skipTest('process 2 is not a kernel thread on this machine')
        with tempfile.TemporaryDirectory() as directory:
            for args in (('snapshot', '2'), ('maps', '2'), ('live', '--format', 'lines', '-p', '2'),
                         ('record', '-o', os.path.join(directory, 'file'), '-p', '2')):
                ran = rsslag(*args)
                assert_one_error_line(self, ran, 3)
                self.assertRegex(ran.err, 'kernel thread')


def touch(pages):
    with mmap.mmap(-1, pages * mmap.PAGESIZE) as memory:
        for at in range(0, len(memory), mmap.PAGESIZE):
            memory[at] = 1


@long_only('it sets the clock of the machine for some seconds')
@needs_root
class ClockThatJumps(TracingTest):
    def test_an_hour_ahead_and_back(self):
        if not emulated():
            self.skipTest('the test sets the clock only in a guest')
        with tempfile.TemporaryDirectory() as directory, \
                subprocess.Popen([sys.executable, '-c', 'import time\nwhile True: bytes(1 << 20); time.sleep(0.01)']) as target:
            def jump():
                for step in (3600, -7200, 3600):
                    time.sleep(0.7)
                    time.clock_settime(time.CLOCK_REALTIME, time.time() + step)
            jumps = threading.Thread(target=jump)
            begin = time.monotonic()
            jumps.start()
            try:
                file = os.path.join(directory, 'file')
                ran = rsslag('live', '--format', 'jsonl', '--interval', '100ms', '--duration', '3s', '--record', file, '-p', str(target.pid))
            finally:
                jumps.join()
                target.kill()
            self.assertLess(time.monotonic() - begin, 1800)  # a wait by this clock would take an hour
            self.assertEqual((ran.status, ran.err), (0, ''), ran)
            *ticks, summary = ran.documents()
            self.assertGreater(len(ticks), 5)
            self.assertEqual((summary['lost'], summary['disagreements'], summary['ended_not_at_zero']), (0, 0, 0))
            self.assertLess(summary['duration_ns'], 10e9)
            replayed = rsslag('replay', '--format', 'jsonl', file).documents()
        keys = ('seq', 'exact', 'cached', 'time')
        self.assertEqual([{key: tick[key] for key in keys} for tick in ticks],
                         [{key: tick[key] for key in keys} for tick in replayed[:-1]])


if __name__ == '__main__':
    contract.main()
