#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""`rsslag serve` and the mounted rss.prom report the same numbers for the same processes, also with shared memory."""
import os
import signal
import subprocess
import unittest
from pathlib import Path

import contract
from contract import NOBODY, Children, environment, interpreter, needs_root, task_state, thread_states, wait_until
from mount_test import MountTest, rollup_kb
from serve_test import Serving, samples

# The child shares the parent's memory until its exec, which never happens: opening a FIFO without a writer blocks.
SHARING = r'''
import ctypes, os, sys
ctypes.CDLL(None).prctl(15, sys.argv[1].encode())
memory = bytearray(b'x' * (8 << 20))
os.posix_spawn('/bin/true', ['true'], {}, file_actions=[(os.POSIX_SPAWN_OPEN, 0, sys.argv[2], os.O_RDONLY, 0)])
'''

# The main thread ends before the other thread.
ENDED = r'''
import ctypes, os, sys, threading, time
ctypes.CDLL(None).prctl(15, sys.argv[1].encode())
threading.Thread(target=time.sleep, args=(1000,)).start()
ctypes.CDLL(None).syscall({'x86_64': 60, 'aarch64': 93}[os.uname().machine], 0)
'''

METRICS = ('rsslag_process_resident_memory_bytes', 'rsslag_process_swap_bytes', 'rsslag_processes', 'rsslag_threads')


class Doors(MountTest):
    def by_both(self, comm):
        """{(metric, its other labels): value} of the group with this name, from the file and from serve."""
        with Serving('--listen', '127.0.0.1:0', '--top', '10000', '--max-age', '0ms') as serving:
            by_serve = [(name, frozenset(labels.items()), value) for name, labels, value in samples(serving.metrics())]
            by_file = [(name, labels, value) for (name, labels), value in self.samples().items()]
        return [{(name, labels - {('comm', comm)}): value for name, labels, value in door
                 if name in METRICS and ('comm', comm) in labels} for door in (by_file, by_serve)]

    def run_beside(self, code, *args):
        """Runs a program and its children until the test ends."""
        process = subprocess.Popen([interpreter(), '-c', code, *args], env=environment(), stdin=subprocess.DEVNULL,
                                   start_new_session=True)
        self.addCleanup(process.wait)
        self.addCleanup(os.killpg, process.pid, signal.SIGKILL)
        return process.pid

    def resident_kb(self, door):
        return sum(value for (name, _), value in door.items() if name == METRICS[0]) // 1024

    def test_memory_that_two_processes_share_counts_once(self):
        fifo = str(self.parent / 'fifo')
        os.mkfifo(fifo)
        self.addCleanup(os.unlink, fifo)
        pid = self.run_beside(SHARING, 'rsslag-shares', fifo)
        children = Path(f'/proc/{pid}/task/{pid}/children')
        wait_until(lambda: children.read_text().split())
        (child,) = children.read_text().split()
        wait_until(lambda: task_state(child) == 'S' and task_state(pid) == 'D')
        rows = self.rows()
        for row in (rows[pid], rows[int(child)]):  # except what threads of other processes cache
            self.assertTrue(row.rss == rollup_kb(pid) or '+' in row.marks, row)
        by_file, by_serve = self.by_both('rsslag-shares')
        self.assertEqual(by_file, by_serve)
        self.assertEqual((by_file[METRICS[2], frozenset()], by_file[METRICS[3], frozenset()]), (2, 2))
        self.assertEqual(self.resident_kb(by_file), rollup_kb(pid))

    def test_threads_are_counted_as_proc_does(self):
        pid = self.run_beside(ENDED, 'rsslag-ended')
        wait_until(lambda: task_state(pid) == 'Z' and thread_states(pid) == {'Z', 'S'})
        by_file, by_serve = self.by_both('rsslag-ended')
        self.assertEqual(by_file, by_serve)
        self.assertEqual(by_file[METRICS[3], frozenset()], 2)
        self.assertEqual(self.resident_kb(by_file), rollup_kb(pid))

    def test_help_and_type_of_a_metric_are_the_same(self):
        with Serving('--listen', '127.0.0.1:0') as serving:
            by_serve, by_file = ({line for line in text.splitlines() if line.startswith('#')}
                                 for text in (serving.metrics(), self.text('rss.prom')))
        self.assertEqual(len(by_file), 2 * 5)
        self.assertEqual(by_file - by_serve, set())

    def test_names_are_escaped_alike(self):
        with Children((b'doors\xc3\xa9\n"\\',)):
            by_file, by_serve = self.by_both(r'doors\xc3\xa9\x0a"\\')
        self.assertEqual(by_file, by_serve)
        self.assertEqual(by_file[METRICS[2], frozenset()], 1)

    @needs_root
    def test_a_user_is_that_of_the_initial_namespace(self):
        with subprocess.Popen(['unshare', '--user', '--map-root-user', 'sh', '-c', 'id -u; exec sleep 1000'], user=NOBODY, group=NOBODY,
                              extra_groups=[], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()) as process:
            try:
                told = process.stdout.readline()
                if not told:
                    self.skipTest(process.stderr.read().decode().strip())
                self.assertEqual(told, b'0\n')
                row = self.rows()[process.pid]
            finally:
                process.kill()
        self.assertEqual(row.uid, NOBODY)


if __name__ == '__main__':
    contract.main()
