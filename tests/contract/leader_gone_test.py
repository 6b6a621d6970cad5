# SPDX-License-Identifier: BSD-2-Clause
"""A process whose main thread has ended while others run: its own files of /proc show no memory, those of a thread do."""
import contextlib
import csv
import ctypes
import io
import mmap
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import unittest
from pathlib import Path

import contract
import library_test
from contract import (NOBODY, Held, TracingTest, as_nobody, assert_snapshot, assert_valid, child_with, is_gone, needs_root, rsslag,
                      set_comm, snapshot, task_state, wait_until)
from live import Live

NAME = 'headless-prog'
KB = 20_000
PAGE_KB = mmap.PAGESIZE // 1024
SYS_EXIT = {'x86_64': 60, 'aarch64': 93}
UID = 64_123  # a UID that no other process has


def become(uid):
    """Becomes another user, but stays dumpable, so that its files of /proc belong to that user and not to root."""
    libc = ctypes.CDLL(None)
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    libc.prctl(4, 1, 0, 0, 0)  # PR_SET_DUMPABLE
    libc.prctl(1, signal.SIGKILL, 0, 0, 0)  # PR_SET_PDEATHSIG, which the change of the UID has cleared


def leave_a_thread():
    """Touches private pages, starts a thread that outlives the main thread, and gives the main thread another name."""
    libc = ctypes.CDLL(None)
    libc.prctl(41, 1, 0, 0, 0)  # PR_SET_THP_DISABLE: khugepaged must not add pages
    leave_a_thread.memory = mmap.mmap(-1, KB * 1024, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    for at in range(0, KB * 1024, mmap.PAGESIZE):
        leave_a_thread.memory[at] = 1
    begun = threading.Event()

    def go_on():
        set_comm(b'goes-on')
        begun.set()
        libc.pause()

    threading.Thread(target=go_on, daemon=True).start()
    begun.wait()
    set_comm(NAME.encode())


@contextlib.contextmanager
def headless(first=lambda: None):
    """The PID of a process without its main thread, and the TID of its other thread. The process calls `first` at its start."""
    number = SYS_EXIT.get(os.uname().machine)
    if number is None:
        raise unittest.SkipTest('the number of exit(2) is not known on this architecture')
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)  # PR_SET_PDEATHSIG
            first()
            leave_a_thread()
            os.write(write, b'1')
            ctypes.CDLL(None).syscall(number, 0)  # exit(2) of the main thread alone: Python's exit would wait for the other thread
        finally:
            os._exit(1)
    os.close(write)
    try:
        if os.read(read, 1) != b'1':
            raise AssertionError('the child did not start')
        wait_until(lambda: task_state(pid) == 'Z')
        (tid,) = [int(tid) for tid in os.listdir(f'/proc/{pid}/task') if int(tid) != pid]
        wait_until(lambda: task_state(f'{pid}/task/{tid}') == 'S')
        yield pid, tid
    finally:
        os.close(read)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def remove(directory):
    """Removes a cgroup after its last task has been released."""
    with contextlib.suppress(OSError):
        os.rmdir(directory)
    return not os.path.exists(directory)


def file_of(pid, tid, name):
    return Path(f'/proc/{pid}/task/{tid}/{name}').read_text()


def walked_kb(pid, tid):
    return int(re.search(r'(?m)^Rss: +(\d+)', file_of(pid, tid, 'smaps_rollup'))[1])


def beside(pid, tid, ours):
    """Repeats until the page tables are the same before and after: file pages can change although a process sleeps."""
    before = walked_kb(pid, tid)
    for _ in range(20):
        said, after = ours(), walked_kb(pid, tid)
        if after == before:
            break
        before = after
    return said, after


class Headless(TracingTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.held = headless()
        cls.pid, cls.tid = cls.held.__enter__()
        cls.addClassCleanup(cls.held.__exit__, None, None, None)

    def pids(self, *args):
        ran = snapshot('--json', *args)
        self.assertEqual(ran.status, 0, ran)
        assert_snapshot(self, ran.document())
        return [process['pid'] for process in ran.document()['processes']]

    def test_its_own_files_show_no_memory(self):
        self.assertEqual(contract.stat_fields(self.pid)[21], '0')
        self.assertEqual(set(Path(f'/proc/{self.pid}/statm').read_text().split()), {'0'})
        self.assertNotIn('VmRSS', Path(f'/proc/{self.pid}/status').read_text())

    def test_what_ps_and_top_show_is_reported(self):
        said = {}
        if shutil.which('ps'):
            said['ps'] = subprocess.run(['ps', '-o', 'rss=', '-p', str(self.pid)], capture_output=True, text=True, check=True).stdout
        if shutil.which('top'):
            lines = subprocess.run(['top', '-b', '-n1', '-p', str(self.pid)], capture_output=True, text=True, check=True,
                                   env=contract.environment(TERM='dumb')).stdout.splitlines()
            said['top'] = lines[-1].split()[5]
        if not said:
            self.skipTest('there is neither ps nor top')
        self.assertEqual({int(kb) for kb in said.values()}, {0}, said)
        sentence = snapshot(self.pid).lines[0]
        self.assertRegex(sentence, rf'^/proc/{self.pid}/stat says 0 kB, and so do ps, top and htop; this process holds '
                         r'[\d,]+ kB: its main thread has ended, so that its files show no memory')

    def test_it_is_found_by_its_name_its_program_and_its_executable(self):
        self.assertIn(self.pid, self.pids('--comm', NAME))
        self.assertIn(self.pid, self.pids('--comm', NAME[:-2] + '*'))
        self.assertEqual(self.pids(NAME), [self.pid])
        self.assertIn(self.pid, self.pids('--comm', os.readlink(f'/proc/{self.pid}/task/{self.tid}/exe')))

    @needs_root
    def test_it_is_found_by_its_user(self):
        with headless(lambda: become(UID)) as (pid, _):
            self.assertEqual(self.pids('-u', str(UID)), [pid])
            rows = rsslag('mem', '--json', '-u', str(UID)).document()['rows']
        self.assertEqual([row['pids'] for row in rows], [[pid]])

    @needs_root
    def test_it_is_found_by_its_cgroup(self):
        mount = next((line.split()[1] for line in Path('/proc/self/mounts').read_text().splitlines()
                      if line.split()[2] == 'cgroup2'), None)
        if mount is None:
            self.skipTest('no cgroup v2 is mounted here')
        try:
            directory = tempfile.mkdtemp(prefix='rsslag-headless-', dir=mount)
        except OSError as error:
            self.skipTest(f'cannot create a cgroup: {error}')
        self.addCleanup(wait_until, lambda: remove(directory))

        def enter():
            Path(directory, 'cgroup.procs').write_text('0')

        with child_with(enter) as other, headless(enter) as (pid, _):
            self.assertEqual(sorted(self.pids('--cgroup', directory)), sorted([other, pid]))

    def test_snapshot_to_the_page(self):
        document, walked = beside(self.pid, self.tid, lambda: snapshot('--json', self.pid).document())
        (process,) = document['processes']
        self.assertEqual((process['verdict'], process['residual']), ('agrees', 0), process)
        self.assertEqual(process['exact']['rss'] * PAGE_KB, walked)
        self.assertEqual(process['readers']['stat']['rss_kb'], 0)
        self.assertEqual(process['comm'], NAME)

    def test_top_and_live_and_snapshot_show_one_lag(self):
        (process,) = snapshot('--json', self.pid).document()['processes']
        (row,) = [row for row in rsslag('top', '--once', '--json').document()['processes'] if row['pid'] == self.pid]
        with Live('--format', 'jsonl', '--duration', '60', self.pid) as trace:
            tick = trace.document(lambda tick: tick['schema'] == 'rsslag.tick/2' and tick['verdict'] == 'agrees')
        for each in (row, tick):
            self.assertEqual((each['lag'], each['exact'], each['comm']), (process['lag'], process['exact'], NAME))
        text = next(line for line in rsslag('top', '--once').lines if line.split()[:2] == [str(self.pid), NAME])
        self.assertEqual(text.split()[5], '0', 'what its stat says')

    def test_the_library_has_its_name_and_threads_by_all_ways(self):
        threads = int(re.search(r'(?m)^Threads:\s+(\d+)', Path(f'/proc/{self.pid}/status').read_text())[1])
        for way in (library_test.BPF, library_test.STATUS if library_test.status_is_exact() else library_test.ROLLUP):
            (line,) = [line for line in library_test.ManyProcesses.raw_all(self, way) if line.startswith(b'pid %d ' % self.pid)]
            for found in (library_test.exact(self.pid, way), library_test.reading(line.decode())):
                self.assertEqual((found['comm'], found['threads']), (NAME, threads), found)
        bound = snapshot('--json', self.pid).document()['processes'][0]['bound']['rss']
        self.assertEqual(library_test.exact(self.pid, library_test.BPF)['bound_rss'], bound,
                         'the bound must be that of the tasks that can cache')

    def test_its_name_at_its_end_is_as_it_was(self):
        with tempfile.TemporaryDirectory() as directory, headless() as (pid, _):
            file = os.path.join(directory, 'recording')
            with Live('--format', 'jsonl', '--record', file, pid) as trace:
                trace.document()
                os.kill(pid, signal.SIGKILL)
                ran = trace.finish()
            shown = [*ran.documents(), *rsslag('replay', '--format', 'jsonl', file).documents(),
                     rsslag('report', '--json', file).document()]
            rows = [row for row in rsslag('export', file).documents() if row.get('type') == 'tick']
        self.assertEqual([len(one['processes']) for one in shown if 'processes' in one], [1, 1, 1])
        self.assertEqual([one['state'] for one in shown + rows if one.get('state') == 'exited'], ['exited'] * 3)
        names = [one['comm'] for one in shown + rows if 'comm' in one]
        names += [process['comm'] for one in shown for process in one.get('processes', ())]
        self.assertEqual(set(names), {NAME}, names)

    def test_live_takes_it_by_name(self):
        with Live('--format', 'jsonl', '--duration', '60', '--no-wait', '--comm', NAME) as trace:
            self.assertEqual(trace.document()['pid'], self.pid)

    def test_maps_shows_what_top_reads_and_what_is_right(self):
        ran, walked = beside(self.pid, self.tid, lambda: rsslag('maps', '--json', '--each', str(self.pid)))
        self.assertEqual((ran.status, ran.err), (0, ''), ran)
        assert_valid(self, 'maps', ran.document())
        (process,) = ran.document()['processes']
        rows = {row['column']: row for row in process['top']}
        size, _, _, text, _, data, _ = (int(word) * PAGE_KB for word in file_of(self.pid, self.tid, 'statm').split())
        for column, right in (('VIRT', size), ('CODE', text), ('DATA', data), ('RES', walked)):
            self.assertEqual((rows[column]['says_kb'], rows[column]['exact_kb']), (0, right), column)
        note = rows['RES']['note']
        self.assertTrue(note.startswith('top reads the main thread, which has ended'), note)
        of_thread = int(file_of(self.pid, self.tid, 'statm').split()[1]) * PAGE_KB
        self.assertEqual('cached' in note, of_thread != walked, note)
        self.assertEqual(process['verdict'], 'agrees')
        self.assertEqual(process['exe'], os.readlink(f'/proc/{self.pid}/task/{self.tid}/exe'))
        self.assertEqual(process['sums']['rss_kb'], walked)
        self.assertGreater(len(process['mappings']), 10)
        self.assertEqual(rsslag('maps', '-x', str(self.pid)).status, 0)

    def test_maps_by_page_and_by_section(self):
        ran, walked = beside(self.pid, self.tid, lambda: rsslag('maps', '--json', '--pages', str(self.pid)))
        self.assertEqual((ran.status, ran.err), (0, ''), ran)
        pages = ran.document()['processes'][0]['pages']
        self.assertEqual(pages['total']['present'] * PAGE_KB, walked)
        ran = rsslag('maps', '--json', '--elf', 'libc[.-]*', str(self.pid))
        self.assertEqual((ran.status, ran.err), (0, ''), ran)
        elf = ran.document()['processes'][0]['elf']
        self.assertIsNone(elf['reason'])
        self.assertGreater({section['name']: section['resident'] for section in elf['sections']}['.text'], 0)

    def test_mem_has_it_once_though_another_looks_alike(self):
        with headless() as (other, _):
            document = rsslag('mem', '--json', '--each').document()
            users = [user for user in document['processes'] if self.pid in user['pids'] or other in user['pids']]
            self.assertEqual(sorted(user['pids'] for user in users), sorted([[self.pid], [other]]))
        program = os.readlink(f'/proc/{self.pid}/task/{self.tid}/exe')
        for user in users:
            self.assertEqual((user['comm'], os.path.realpath(user['program'])), (NAME, program))
            self.assertGreaterEqual(user['private_dirty_kb'], KB)

    @needs_root
    def test_without_bpf_it_is_read_as_any_other(self):
        with headless(lambda: become(NOBODY)) as (pid, tid):
            ran, walked = beside(pid, tid, lambda: as_nobody('snapshot', '--json', str(pid)))
            self.assertEqual(ran.status, 0, ran)
            document = ran.document()
            assert_valid(self, 'proc', document)
            (process,) = document['processes']
            self.assertEqual(process['exact_rss'] * PAGE_KB, walked)
            self.assertEqual(process['readers']['stat']['rss_kb'], 0)
            if document['calibration']['stat'] == 'flushed':
                flushed = int(file_of(pid, tid, 'stat').rpartition(') ')[2].split()[21])
                self.assertEqual(process['lag'], process['exact_rss'] - flushed)
            if document['calibration']['status'] == 'exact':
                self.assertEqual(process['from'], 'status')
            self.assertIn('its main thread has ended', as_nobody('snapshot', str(pid)).lines[0])
            table = as_nobody('top', '--once', '--json').document()
            (row,) = [row for row in table['processes'] if row['pid'] == pid]
            self.assertEqual(row['exact_rss'], process['exact_rss'])
            ran = as_nobody('live', '--format', 'csv', '--duration', '10ms', str(pid))
            self.assertEqual(ran.status, 0, ran)
            self.assertEqual({row['exact_rss'] for row in csv.DictReader(io.StringIO(ran.out))}, {str(process['exact_rss'])})

    def test_completion_offers_it(self):
        self.assertIn(f'{self.pid}\t{NAME}', rsslag('completion', '--', 'snapshot', '').lines)


class NoMemory(TracingTest):
    def test_a_zombie_is_none(self):
        pid = os.fork()
        if pid == 0:
            set_comm(b'rsslag-zombie')
            os._exit(0)
        try:
            wait_until(lambda: is_gone(pid))
            ran = snapshot(pid)
            self.assertEqual((ran.status, ran.out), (3, ''), ran)
            self.assertIn(f'process {pid} has no memory: it is a zombie', ran.err)
            ran = snapshot('--comm', 'rsslag-zombie')
            self.assertEqual((ran.status, ran.err), (3, 'rsslag: no process matches; run rsslag top to list the processes\n'), ran)
        finally:
            os.waitpid(pid, 0)

    @needs_root
    def test_a_kernel_thread_is_none(self):
        if int(contract.stat_fields(2)[6]) & 0x200000 == 0:
            self.skipTest('no kernel thread is visible')
        ran = snapshot(2)
        self.assertEqual((ran.status, ran.out), (3, ''), ran)
        self.assertIn('process 2 has no memory: it is a kernel thread', ran.err)

    def test_the_workload_is_one(self):
        with Held('leader-gone') as held:
            child = int(held.fact('child'))
            self.assertEqual(snapshot('--json', child).document()['processes'][0]['verdict'], 'agrees')


if __name__ == '__main__':
    contract.main()
