# SPDX-License-Identifier: BSD-2-Clause
"""rsslag mount: files that show any user the exact RSS, without a daemon, and what umount leaves."""
import contextlib
import ctypes
import grp
import itertools
import json
import mmap
import os
import re
import shutil
import stat
import struct
import subprocess
import tempfile
import threading
import unittest
from pathlib import Path

import contract
from contract import (LONG, NOBODY, Children, Crowd, Held, TracingTest, as_nobody, assert_one_error_line, child_with,
                      emulated, environment, interpreter, long_only, needs_root, rsslag, set_comm, wait_until)

PAGE_KB = os.sysconf('SC_PAGESIZE') // 1024
FILES = ('rss', 'rss.prom', 'self')
RESIDENT = 'rsslag_process_resident_memory_bytes'
PRELOADED = {'maps.debug', 'progs.debug'}  # files of the kernel module bpf_preload: in every bpffs, readable by root alone
HEADER = 'pid uid file anon shmem swap rss cached lag threads comm'
WORKLOADS = ('classic', 'few-pages', 'per-cpu', 'single', 'half-gone', 'leader-gone', 'shared-anon', 'memfd', 'sysv',
             'file-private', 'file-private-write', 'file-shared', 'populate', 'mlock', 'thp', 'hugetlb', 'zero-page',
             'dontneed', 'free', 'mremap', 'ksm', 'swap', 'fork-cow', 'after-exec', 'clone-vm', 'remote-write')


def rsslag_mount(directory, *args, **more):
    return rsslag('mount', *args, str(directory), **more)


def rsslag_umount(directory, **more):
    return rsslag('umount', str(directory), **more)


def mount_points():
    """{path: type of file system}."""
    lines = [line.split(' - ') for line in Path('/proc/self/mountinfo').read_text().splitlines()]
    return {left.split()[4]: right.split()[0] for left, right in lines}


class Row:
    """A line of `rss`, in kB, with its marks in a separate field."""

    def __init__(self, line):
        *numbers, threads, self.comm = line.split(' ', 10)
        self.pid, self.uid, self.file, self.anon, self.shmem, self.swap, self.rss, self.cached, self.lag = map(int, numbers)
        self.threads = int(threads.rstrip('+~'))
        self.marks = threads.lstrip('0123456789')

    def __repr__(self):
        return str(vars(self))


def rows_of(text):
    """The lines of `rss` by PID. No line may be truncated or appear twice."""
    header, *lines = text.split('\n')
    if header != HEADER or lines.pop() != '':
        raise AssertionError(f'not the text of rss: {text[:80]!r} to {text[-80:]!r}')
    rows = [Row(line) for line in lines]
    by_pid = {row.pid: row for row in rows}
    if len(by_pid) != len(rows):
        raise AssertionError('a process occurs twice')
    return by_pid


SAMPLE = re.compile(r'(rsslag_\w+)\{((?:\w+="(?:[^"\\\n]|\\["\\n])*",?)+)\} (-?\d+)')
LABEL = re.compile(r'(\w+)="((?:[^"\\\n]|\\["\\n])*)"')


def unescaped(value):
    return re.sub(r'\\(.)', lambda found: {'n': '\n'}.get(found[1], found[1]), value)


def samples_of(text):
    """(metric, labels) to value, of Prometheus text 0.0.4: each metric's lines together, after its help and type."""
    samples, seen, current = {}, [], None
    if not text.endswith('\n'):
        raise AssertionError(f'cut: {text[-80:]!r}')
    for line in filter(None, text.split('\n')):
        if line.startswith('# HELP '):
            current = line.split()[2]
            if current in seen:
                raise AssertionError(f'{current} occurs twice')
            seen.append(current)
            continue
        if line.startswith('# TYPE '):
            if line != f'# TYPE {current} gauge':
                raise AssertionError(line)
            continue
        found = SAMPLE.fullmatch(line)
        if not found or found[1] != current:
            raise AssertionError(f'{line!r} under {current}')
        key = found[1], frozenset((name, unescaped(value)) for name, value in LABEL.findall(found[2]))
        if key in samples:
            raise AssertionError(f'{line!r} occurs twice')
        samples[key] = int(found[3])
    return samples


def value(samples, metric, **labels):
    """The sum of the samples with these labels."""
    return sum(number for (name, has), number in samples.items() if name == metric and set(labels.items()) <= has)


def resident_kb(samples, comm):
    return value(samples, RESIDENT, comm=comm) // 1024


def rollup_kb(pid):
    """From a thread that still runs, as the main thread may have ended."""
    tid = max(os.listdir(f'/proc/{pid}/task'), key=int)
    text = Path(f'/proc/{pid}/task/{tid}/smaps_rollup').read_text()
    return int(re.search(r'(?m)^Rss: +(\d+) kB', text)[1])


def stat_kb(pid):
    return int(Path(f'/proc/{pid}/stat').read_text().rpartition(') ')[2].split()[21]) * PAGE_KB


def holding(name, kept, page_out=False):
    """Gives a child a unique name, and private pages, which `kept` keeps."""
    set_comm(name)
    kept.append(mmap.mmap(-1, 16 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))
    for at in range(0, len(kept[0]), mmap.PAGESIZE):
        kept[0][at] = 1
    if page_out:
        kept[0].madvise(21)  # MADV_PAGEOUT


def pids_of(workload):
    return [workload.pid] + [int(pid) for key, pid in workload.facts if key == 'child']


class MountTest(TracingTest):
    """Each test has its own mount, below a directory that every user may enter."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if os.geteuid() != 0:
            raise unittest.SkipTest('needs root')
        cls.parent = Path(tempfile.mkdtemp(prefix='rsslag-mount-'))
        cls.addClassCleanup(shutil.rmtree, cls.parent, True)
        cls.addClassCleanup(cls.unmount_all)
        cls.parent.chmod(0o755)
        tried = rsslag_mount(cls.parent / 'tried')
        if tried.status == 3:
            raise unittest.SkipTest(tried.err.strip())
        if tried.status != 0:
            raise AssertionError(tried)
        rsslag_umount(cls.parent / 'tried')

    @classmethod
    def unmount_all(cls):
        """Removes the mounts that a failed test has left."""
        for line in Path('/proc/self/mountinfo').read_text().splitlines():  # a path occurs twice if mounts are stacked
            if line.split()[4].startswith(f'{cls.parent}/'):
                subprocess.run(['umount', '-l', line.split()[4]], check=False)

    def setUp(self):
        self.directory = self.parent / 'files'
        self.mount()

    def mount(self, *args):
        ran = rsslag_mount(self.directory, *args)
        self.assertEqual((ran.status, ran.out, ran.err), (0, '', ''), ran)
        self.addCleanup(rsslag_umount, self.directory)

    def text(self, name):
        return (self.directory / name).read_text()

    def rows(self):
        return rows_of(self.text('rss'))

    def samples(self):
        return samples_of(self.text('rss.prom'))

    def program(self, name):
        """The id of the BPF program behind a file."""
        bpftool = shutil.which('bpftool', path=os.environ['PATH'] + ':/usr/sbin:/sbin')
        if not bpftool:
            self.skipTest('bpftool is missing')
        shown = subprocess.run([bpftool, '-j', 'link', 'show', 'pinned', self.directory / name], capture_output=True,
                               check=True).stdout
        return json.loads(shown)['prog_id']

    @staticmethod
    def programs():
        bpftool = shutil.which('bpftool', path=os.environ['PATH'] + ':/usr/sbin:/sbin')
        listed = subprocess.run([bpftool, '-j', 'prog'], capture_output=True, check=True).stdout
        return {program['id'] for program in json.loads(listed)}


class Truth(MountTest):
    def check(self, name, pid, row):
        walked = rollup_kb(pid)
        self.assertEqual(row.rss, row.file + row.anon + row.shmem, row)
        if '+' in row.marks:  # a thread of another process caches a part
            self.assertEqual(name, 'clone-vm')
            self.assertLessEqual(row.rss, walked, row)
            return
        self.assertEqual((row.rss, row.marks), (walked, ''), row)
        if name != 'leader-gone':  # its stat has no memory
            self.assertEqual(row.rss - row.lag, stat_kb(pid), row)
        comm = Path(f'/proc/{pid}/comm').read_text().rstrip('\n')
        self.assertEqual((row.uid, row.comm), (0, comm))

    def test_every_quiescent_process_holds_what_a_walk_finds(self):
        for name in WORKLOADS:
            with self.subTest(name=name):
                try:
                    workload = Held(name)
                except AssertionError as lacks:  # what the machine lacks, the demo names
                    self.skipTest(str(lacks)[:200])
                with workload:
                    done = subprocess.run(['cat', self.directory / 'rss'], user=NOBODY, group=NOBODY, extra_groups=[],
                                          capture_output=True, check=False)
                    self.assertEqual((done.returncode, done.stderr), (0, b''))
                    rows = rows_of(done.stdout.decode())
                    for pid in pids_of(workload):
                        self.check(name, pid, rows[pid])

    def test_it_equals_snapshot(self):
        with Held('few-pages') as workload:
            document = contract.snapshot('--json', workload.pid).document()
            row = self.rows()[workload.pid]
        exact, (process,) = document['processes'][0]['exact'], document['processes']
        for member in ('file', 'anon', 'shmem', 'swap', 'rss'):
            self.assertEqual(getattr(row, member), exact[member] * PAGE_KB, member)
        self.assertEqual(row.cached, process['cached']['rss'] * PAGE_KB)
        self.assertEqual((row.lag, row.threads), (process['lag'] * PAGE_KB, process['threads_count']))

    def test_the_sum_over_a_name_is_that_of_its_processes(self):
        kept = []
        with Children([b'rsslag-sum'] * 7) as pids, child_with(lambda: holding(b'rsslag-holds', kept)) as child:
            rows, samples = self.rows(), self.samples()
            walked = rollup_kb(child)
        self.assertEqual(resident_kb(samples, 'rsslag-sum'), sum(rows[pid].rss for pid in pids))
        self.assertEqual(value(samples, 'rsslag_processes', comm='rsslag-sum'), 7)
        self.assertEqual(value(samples, 'rsslag_processes_inexact', comm='rsslag-sum'), 0)
        self.assertEqual((resident_kb(samples, 'rsslag-holds'), rows[child].rss), (walked, walked))
        self.assertEqual(value(samples, 'rsslag_threads', comm='rsslag-sum'), 7)

    def test_swap_is_a_metric_of_its_own(self):
        kept = []
        with child_with(lambda: holding(b'rsslag-swap', kept, page_out=True)) as child:
            row, samples = self.rows()[child], self.samples()
        if row.swap == 0:
            self.skipTest('this machine swaps nothing out')
        self.assertEqual(value(samples, 'rsslag_process_swap_bytes', comm=row.comm) // 1024, row.swap)

    def test_kernel_threads_and_zombies_are_left_out(self):
        with Children([b'rsslag-zombie']) as (pid,):
            self.assertIn(pid, self.rows())
            os.kill(pid, 9)
            wait_until(lambda: contract.task_state(pid) == 'Z')
            rows = self.rows()
        self.assertNotIn(pid, rows)
        self.assertEqual(set(rows) & self.kernel_threads(), set())

    @staticmethod
    def kernel_threads():
        found = set()
        for name in filter(str.isdigit, os.listdir('/proc')):
            with contextlib.suppress(OSError):
                fields = Path('/proc', name, 'stat').read_text().rpartition(') ')[2].split()
                found |= {int(name)} if int(fields[6]) & 0x200000 else set()  # PF_KTHREAD
        return found

    def test_many_threads(self):
        count = 10000 if LONG else 500
        with Held('many-threads', '--threads', str(count)) as workload:
            row = self.rows()[workload.pid]
            self.assertEqual((row.rss, row.marks), (rollup_kb(workload.pid), ''))
            self.assertEqual(row.threads, count + 1)

    def test_a_process_that_moves_is_marked_or_within_reason(self):
        with Held('busy', '--threads', '4') as workload:
            for _ in range(50):
                row = self.rows()[workload.pid]
                self.assertEqual(row.rss, row.file + row.anon + row.shmem)
                self.assertIn(row.marks, ('', '~', '+', '+~'))


SELF = r'''
import ctypes, os, re, sys, threading
nobody = int(sys.argv[2])
os.setgroups([])
os.setresgid(nobody, nobody, nobody)
os.setresuid(nobody, nobody, nobody)
ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # PR_SET_DUMPABLE: to read its own smaps_rollup
def read(path):
    fd = os.open(path, os.O_RDONLY)
    data = b''
    while True:
        part = os.read(fd, 65536)
        if not part: break
        data += part
    os.close(fd)
    return data.decode()
gate = threading.Event()
threads = [threading.Thread(target=gate.wait, daemon=True) for _ in range(8)]
[thread.start() for thread in threads]
for _ in range(200):
    own = dict(line.split(' ', 1) for line in read(sys.argv[1]).splitlines())
    walked = re.search(r'(?m)^Rss: +(\d+)', read('/proc/self/smaps_rollup'))[1]
    if own['rss'] == walked and own['moved'] == '0': break
print(own['rss'], walked, own['pid'], os.getpid(), own['uid'], own['threads'], own['foreign'], own['moved'], *own)
'''


# 60 processes with a name each, of which 45 end after the first byte has been read.
ENDING = r'''
import ctypes, os, signal, sys
ready, done = os.pipe()
pids = []
names, survivors = map(int, sys.argv[2:])
for number in range(names):
    pids.append(os.fork())
    if pids[-1] == 0:
        ctypes.CDLL(None).prctl(15, b'rsslag-q%d' % number)
        os.write(done, b'1')
        while True: signal.pause()
left = len(pids)
while left: left -= len(os.read(ready, left))
with open(sys.argv[1], 'rb', buffering=0) as file:
    text = file.read(1)
    for pid in pids[survivors:]:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    text += file.read()
    if os.fork() == 0:
        while True: signal.pause()
    sys.stdout.write((text + file.read()).decode())
'''

# Keeps more files open, each after one byte, than there are slots. Prints what one more reader and the last of them get, and what a
# reader gets after all are closed.
CROWDED = r'''
import ctypes, os, signal, sys
ready, done = os.pipe()
names, files = map(int, sys.argv[2:])
for number in range(names):
    if os.fork() == 0:
        ctypes.CDLL(None).prctl(15, b'rsslag-q%d' % number)
        os.write(done, b'1')
        while True: signal.pause()
left = names
while left: left -= len(os.read(ready, left))
opened = [open(sys.argv[1], 'rb', buffering=0) for _ in range(files)]
begun = [file.read(1) for file in opened]
texts = [open(sys.argv[1], 'rb', buffering=0).read(), begun[-1] + opened[-1].read()]
for file in opened: file.close()
texts.append(open(sys.argv[1], 'rb', buffering=0).read())
sys.stdout.write('end\n'.join(text.decode() for text in texts))
'''


class Slots:
    """The slots of the readers of rss.prom (bpf/sessions.bpf.h). Within a with block all of them are taken."""

    STATE = 24  # the offset of session.state
    IDLE, FILLING = 0, 1

    def __init__(self, program):
        try:
            self.libbpf = ctypes.CDLL('libbpf.so.1', use_errno=True)
        except OSError as lacks:
            raise unittest.SkipTest(str(lacks))
        self.map, = (shown for shown in map(self.shown, self.bpftool('prog', 'id', program)['map_ids'])
                     if shown['name'] == 'sessions')
        self.fd = self.libbpf.bpf_map_get_fd_by_id(self.map['id'])
        assert self.fd >= 0, os.strerror(ctypes.get_errno())

    @staticmethod
    def bpftool(kind, *which):
        bpftool = shutil.which('bpftool', path=os.environ['PATH'] + ':/usr/sbin:/sbin')
        return json.loads(subprocess.run([bpftool, '-j', kind, 'show', *map(str, which)], capture_output=True, check=True).stdout)

    def shown(self, number):
        return self.bpftool('map', 'id', number)

    def set(self, state):
        session = ctypes.create_string_buffer(self.map['bytes_value'])
        for number in range(self.map['max_entries']):
            key = ctypes.byref(ctypes.c_uint32(number))
            assert self.libbpf.bpf_map_lookup_elem(self.fd, key, session) == 0, os.strerror(ctypes.get_errno())
            struct.pack_into('=I', session, self.STATE, state)
            assert self.libbpf.bpf_map_update_elem(self.fd, key, session, ctypes.c_uint64(0)) == 0, os.strerror(ctypes.get_errno())

    def __enter__(self):
        self.set(self.FILLING)

    def __exit__(self, *_):
        self.set(self.IDLE)
        os.close(self.fd)


# Two processes that share an mm, and a reader for each line of stdin.
ASKED = r'''
"$3" clone-vm --hold >"$2" & demo=$!
until grep -q ^child "$2"; do kill -0 $demo || exit; sleep 0.1; done
while read line; do cat "$1"; echo end; done
kill $demo
'''


class Self(MountTest):
    KEYS = HEADER.split()[:-1] + ['foreign', 'moved', 'comm']

    def test_a_process_without_capabilities_asks_about_itself(self):
        done = subprocess.run([interpreter(), '-c', SELF, self.directory / 'self', str(NOBODY)],
                              capture_output=True, check=False, env=environment())
        self.assertEqual((done.returncode, done.stderr), (0, b''), done)
        rss, walked, pid, own_pid, uid, threads, foreign, moved, *keys = done.stdout.decode().split()
        self.assertEqual(rss, walked)
        self.assertEqual((pid, uid, threads, foreign, moved), (own_pid, str(NOBODY), '9', '0', '0'))
        self.assertEqual(keys, self.KEYS)

    def test_a_thread_asks_about_its_process(self):
        texts = []
        thread = threading.Thread(target=lambda: texts.append(self.text('self')))
        thread.start()
        thread.join()
        self.assertTrue(texts[0].startswith(f'pid {os.getpid()}\n'), texts)


class Readers(MountTest):
    def test_a_user_without_any_capability(self):
        for name in FILES:
            done = subprocess.run(['sh', '-c', 'grep CapEff /proc/self/status; cat "$1"', 'sh', self.directory / name],
                                  user=NOBODY, group=NOBODY, extra_groups=[], capture_output=True, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, b''))
            capabilities, text = done.stdout.decode().split('\n', 1)
            self.assertEqual(int(capabilities.split()[1], 16), 0)
            self.assertGreater(len(text), 50)
        with Children(uid=NOBODY) as (pid,):
            self.assertEqual(self.rows()[pid].uid, NOBODY)

    def test_in_a_pid_namespace_its_own_alone(self):
        script = '''sleep 300 & n=$!; until read name </proc/$n/comm && [ "$name" = sleep ]; do :; done
                    cd "$1"; echo $n; cat rss; echo end; cat self; echo end; cat rss.prom; kill $n'''
        done = subprocess.run(['unshare', '-pf', '--kill-child', '--mount-proc', 'sh', '-c', script, 'sh', self.directory],
                              capture_output=True, check=False, text=True, env=environment(), timeout=contract.TIMEOUT)
        if 'unshare failed' in done.stderr:
            self.skipTest(done.stderr)
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        inner, text = done.stdout.split('\n', 1)
        rss, own, prometheus = text.split('end\n')
        rows = rows_of(rss)
        self.assertEqual(sorted(row.comm for row in rows.values()), ['cat', 'sh', 'sleep'])
        self.assertEqual((rows[1].comm, rows[int(inner)].comm), ('sh', 'sleep'))
        self.assertLess(max(rows), 50)
        own = dict(line.split(' ', 1) for line in own.splitlines())
        self.assertEqual((own['comm'], int(own['pid']) < 50), ('cat', True))
        samples = samples_of(prometheus)
        self.assertEqual({comm for _, labels in samples for name, comm in labels if name == 'comm'}, {'cat', 'sh', 'sleep'})
        self.assertEqual(value(samples, 'rsslag_processes'), 3)

    def in_parallel(self, readers, name):
        """What each reader reads; all readers start concurrently."""
        texts, barrier = [None] * readers, threading.Barrier(readers)

        def read(number):
            barrier.wait()
            texts[number] = self.text(name)

        threads = [threading.Thread(target=read, args=(number,)) for number in range(readers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return texts

    def test_a_hundred_in_parallel_agree(self):
        names = [b'rsslag-p%d' % (number % 50) for number in range(100)]
        with Children(names) as pids, Held('few-pages') as workload:
            told = {str([vars(rows_of(text)[pid]) for pid in (*pids, workload.pid)]) for text in self.in_parallel(100, 'rss')}
            sums = {str([(resident_kb(samples, f'rsslag-p{number}'),
                          value(samples, 'rsslag_processes', comm=f'rsslag-p{number}')) for number in range(50)])
                    for samples in map(samples_of, self.in_parallel(100, 'rss.prom'))}
        self.assertEqual(len(told), 1)
        self.assertEqual(len(sums), 1, sums)

    def test_hostile_names(self):
        names = {b'a\nb': r'a\x0ab', b'q"u\\o': r'q"u\\o', b'\x1b[31m\xff': r'\x1b[31m\xff', b'caf\xc3\xa9': r'caf\xc3\xa9',
                 b' two  blanks ': ' two  blanks ', b'\x01' * 15: r'\x01' * 15, b'\\' * 15: '\\' * 30, b'"' * 15: '"' * 15,
                 b'rss} 1': 'rss} 1', b'': ''}
        with Children(list(names)) as pids:
            rows, samples = self.rows(), self.samples()
            for pid, name in zip(pids, names.values()):
                self.assertEqual(rows[pid].comm, name)
                self.assertEqual(resident_kb(samples, name), rows[pid].rss, name)

    def test_reading_by_the_byte(self):
        with Children([b'rsslag-byte'] * 3) as pids:
            for name, parse in (('rss', rows_of), ('rss.prom', samples_of), ('self', str.splitlines)):
                with open(self.directory / name, 'rb', buffering=0) as file:
                    parts = list(iter(lambda: file.read(1), b''))
                told = parse(b''.join(parts).decode())
                self.assertEqual({len(part) for part in parts}, {1})
                if name == 'rss':
                    self.assertTrue(set(pids) <= set(told))
                if name == 'rss.prom':
                    self.assertEqual(value(told, 'rsslag_processes', comm='rsslag-byte'), 3)

    def begin(self, name):
        file = open(self.directory / name, 'rb', buffering=0)
        self.assertEqual(len(file.read(1)), 1)
        return file

    def test_a_thousand_that_give_up_midway(self):
        with Children([b'rsslag-after']) as (pid,):
            for number in range(1000 if LONG else 400):
                self.begin(FILES[number % 3]).close()
            self.assertIn(pid, self.rows())
            for text in self.in_parallel(20, 'rss.prom'):
                self.assertEqual(value(samples_of(text), 'rsslag_processes', comm='rsslag-after'), 1)

    def apart(self, program, *arguments):
        """In a PID namespace, where no kernel threads and no other processes are visited. Returns the output."""
        done = subprocess.run(['unshare', '-pf', '--kill-child', '--mount-proc', interpreter(), '-c', program, self.directory / 'rss.prom',
                                 *map(str, arguments)], capture_output=True, check=False, text=True, env=environment(), timeout=contract.TIMEOUT)
        if done.stderr.startswith('unshare: '):
            self.skipTest(done.stderr)
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        return done.stdout

    def read_while_tasks_end(self, names, survivors):
        return samples_of(self.apart(ENDING, names, survivors))

    def test_tasks_that_end_while_a_reader_waits(self):
        samples = self.read_while_tasks_end(60, 15)
        for number in range(60):
            self.assertEqual(value(samples, 'rsslag_processes', comm=f'rsslag-q{number}'), 1)

    def test_groups_that_too_few_tasks_are_left_to_print_are_in_other(self):
        names = 100
        samples = self.read_while_tasks_end(names, 0)
        for metric in ('rsslag_processes', 'rsslag_threads'):
            self.assertEqual(value(samples, metric), names + 1, metric)
            self.assertGreater(value(samples, metric, comm='other'), 0)
        shown = [number for number in range(names) if resident_kb(samples, f'rsslag-q{number}')]
        self.assertLess(len(shown), names)
        of_one = max(resident_kb(samples, f'rsslag-q{number}') for number in shown)
        self.assertAlmostEqual(resident_kb(samples, 'other') / (names + 1 - len(shown)), of_one, delta=of_one / 4)

    def test_an_idle_reader_keeps_its_text_while_many_others_read(self):
        with Children([b'rsslag-slow%d' % number for number in range(60)]), self.begin('rss.prom') as idle:
            begun = [self.begin('rss.prom') for _ in range(200)]
            for _ in range(100):
                self.text('rss.prom')
            samples = samples_of('#' + idle.read(1 << 20).decode() + self.rest(idle))
            for file in begun:
                file.close()
        for number in range(60):
            self.assertEqual(value(samples, 'rsslag_processes', comm=f'rsslag-slow{number}'), 1)

    def test_more_idle_readers_than_slots(self):
        """Those without a slot get a text that fits into one read."""
        names = 60
        texts = self.apart(CROWDED, names, 130).split('end\n')
        one_more, last, after = map(samples_of, texts)
        for number in range(names):
            self.assertEqual(value(after, 'rsslag_processes', comm=f'rsslag-q{number}'), 1)
        for samples, text in ((one_more, texts[0]), (last, texts[1])):
            self.assertLess(len(text), 1 << 15)
            for metric in ('rsslag_processes', 'rsslag_threads'):
                self.assertEqual(value(samples, metric), names + 1, metric)
                self.assertGreater(value(samples, metric, comm='other'), 0)
            self.assertTrue(any(resident_kb(samples, f'rsslag-q{number}') for number in range(names)))
            grown = value(samples, RESIDENT) - value(after, RESIDENT)  # by what the reader itself took
            self.assertLess(abs(grown), resident_kb(after, 'rsslag-q0') * 512)

    def test_a_reader_for_which_no_slot_is_left_gets_the_sum_of_all(self):
        """As if readers that are preempted within a call had taken all of them. To wait for those could take forever."""
        with contextlib.ExitStack() as stack:
            said = stack.enter_context(tempfile.NamedTemporaryFile())
            shell = stack.enter_context(subprocess.Popen(
                ['unshare', '-pf', '--kill-child', '--mount-proc', 'sh', '-c', ASKED, 'sh', self.directory / 'rss.prom', said.name,
                 contract.workload_program()], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                env=environment()))
            stack.callback(shell.stdin.close)

            def asked():
                with contextlib.suppress(BrokenPipeError):
                    print('go', file=shell.stdin, flush=True)
                lines = list(itertools.takewhile(lambda line: line != 'end\n', shell.stdout))
                if not lines:
                    shell.stdin.close()
                    raise AssertionError(shell.stderr.read())
                return samples_of(''.join(lines))

            before = asked()
            with Slots(self.program('rss.prom')):
                crowded = asked()
            after = asked()
        self.assertEqual({comm for _, labels in crowded for name, comm in labels if name == 'comm'}, {'other'})
        self.assertEqual({metric for metric, _ in crowded}, {metric for metric, _ in after})
        for metric in ('rsslag_processes', 'rsslag_threads'):
            self.assertEqual(value(crowded, metric), value(after, metric), metric)
        self.assertEqual(value(before, 'rsslag_processes'), value(after, 'rsslag_processes'))
        self.assertEqual(value(crowded, 'rsslag_processes_inexact'), 2)
        self.assertIn(value(after, 'rsslag_processes_inexact'), (0, 2))  # 2 on the `thread` scheme, where others may cache
        # The reader itself takes some pages more or less each time. Those of the shared mm count once.
        self.assertLess(abs(value(crowded, RESIDENT) - value(after, RESIDENT)), 256 << 10)

    def test_completed_readings_take_no_slot_of_others(self):
        with Children([b'rsslag-slow%d' % number for number in range(60)]), self.begin('rss.prom') as patient:
            for _ in range(300):
                self.text('rss.prom')
            samples = samples_of('#' + patient.read(1 << 20).decode() + self.rest(patient))
            for number in range(60):
                self.assertEqual(value(samples, 'rsslag_processes', comm=f'rsslag-slow{number}'), 1)

    def test_a_task_that_begins_at_the_end_is_no_error(self):
        for name in FILES:
            with self.begin(name) as file:
                self.rest(file)
                with Children([b'rsslag-late']):
                    self.rest(file)

    @staticmethod
    def rest(file):
        return b''.join(iter(lambda: file.read(1 << 16), b'')).decode()


class Many(MountTest):
    @long_only('10,000 threads')
    def test_tasks_after_the_end_of_the_text_leave_no_read_without_output(self):
        """The kernel fails a read that a million tasks leave without output."""
        with Held('many-threads', '--threads', '10000'):
            text = self.text('rss.prom')
        self.assertRegex(text, r'[^\n]\n\n+\Z')
        if shutil.which('promtool'):
            checked = subprocess.run(['promtool', 'check', 'metrics'], input=text, capture_output=True, text=True, check=False)
            self.assertEqual((checked.returncode, checked.stdout + checked.stderr), (0, ''))

    def skip_among_many_names(self):
        if len({row.comm for row in self.rows().values()}) > 200:
            self.skipTest('the processes running here have more names than there is space for')

    def test_three_thousand_processes(self):
        count = 3000 if LONG else 300
        with Crowd(self.parent, [b'rsslag-tiny'] * count) as pids:
            rows, samples = self.rows(), self.samples()
            for pid in pids[::100]:
                self.assertEqual(rows[pid].rss, rollup_kb(pid))
            self.assertEqual(set(pids) - set(rows), set())
            self.assertEqual(value(samples, 'rsslag_processes', comm='rsslag-tiny'), count)
            self.assertEqual(resident_kb(samples, 'rsslag-tiny'), sum(rows[pid].rss for pid in pids))

    def test_three_hundred_names(self):
        self.skip_among_many_names()
        with Crowd(self.parent, [b'rsslag-n%d' % number for number in range(300)]) as pids:
            rows, samples = self.rows(), self.samples()
            for number, pid in enumerate(pids):
                comm = f'rsslag-n{number}'
                self.assertEqual(resident_kb(samples, comm), rows[pid].rss)
                self.assertEqual(value(samples, 'rsslag_processes', comm=comm), 1)
        self.assertEqual(value(samples, 'rsslag_processes', comm='other'), 0)

    def test_three_thousand_processes_of_three_hundred_names(self):
        self.skip_among_many_names()
        count = 3000 if LONG else 600
        with Crowd(self.parent, [b'rsslag-m%d' % (number % 300) for number in range(count)]) as pids:
            rows, samples = self.rows(), self.samples()
            for number in range(300):
                comm = f'rsslag-m{number}'
                self.assertEqual(value(samples, 'rsslag_processes', comm=comm), count // 300)
                self.assertEqual(resident_kb(samples, comm), sum(rows[pid].rss for pid in pids[number::300]), comm)
        self.assertEqual(value(samples, 'rsslag_processes', comm='other'), 0)

    def test_names_beyond_the_limit_count_as_other(self):
        with Crowd(self.parent, [b'rsslag-n%d' % number for number in range(600)] + [b'other']) as pids:
            rows, samples = self.rows(), self.samples()
            names = {comm for _, labels in samples for name, comm in labels if name == 'comm'}
            self.assertEqual(len(names), 513)
            kept = {pid for number, pid in enumerate(pids[:-1]) if f'rsslag-n{number}' in names}
            self.assertGreater(len(kept), 100)
            self.assertGreaterEqual(value(samples, 'rsslag_processes', comm='other'), len(pids) - len(kept))
            self.assertGreaterEqual(resident_kb(samples, 'other'),
                                    sum(rows[pid].rss for pid in pids if pid not in kept))


@needs_root
class Directories(MountTest):
    def setUp(self):
        self.directory = self.parent / 'here'

    def test_what_is_mounted(self):
        self.mount()
        self.assertEqual(set(os.listdir(self.directory)) - PRELOADED, set(FILES))
        self.assertEqual(mount_points()[str(self.directory)], 'bpf')
        self.assertEqual(stat.S_IMODE(self.directory.stat().st_mode), 0o755)
        for name in FILES:
            self.assertEqual(stat.S_IMODE((self.directory / name).stat().st_mode), 0o444)

    def test_umount_undoes_all(self):
        self.mount()
        programs = {self.program(name) for name in FILES}
        self.assertTrue(programs <= self.programs())
        ran = rsslag_umount(self.directory)
        self.assertEqual((ran.status, ran.out, ran.err), (0, '', ''), ran)
        self.assertFalse(self.directory.exists())
        self.assertNotIn(str(self.directory), mount_points())
        wait_until(lambda: not programs & self.programs())
        assert_one_error_line(self, rsslag_umount(self.directory), 2)

    def test_a_directory_that_was_there_stays(self):
        self.directory.mkdir()
        self.addCleanup(self.directory.rmdir)
        self.mount()
        self.assertEqual(rsslag_umount(self.directory).status, 0)
        self.assertEqual(os.listdir(self.directory), [])

    def test_twice(self):
        self.mount()
        assert_one_error_line(self, rsslag_mount(self.directory), 2)
        self.assertIn(os.getpid(), self.rows())
        self.assertEqual(rsslag_umount(self.directory).status, 0)
        self.assertFalse(self.directory.exists())

    def mounts_here(self):
        lines = Path('/proc/self/mountinfo').read_text().splitlines()
        return sum(line.split()[4] == str(self.directory) for line in lines)

    def at_once(self, command, number):
        """Their exit statuses, and what they printed."""
        started = [subprocess.Popen([contract.binary, command, str(self.directory)], stdin=subprocess.DEVNULL,
                                    stderr=subprocess.PIPE, env=environment()) for _ in range(number)]
        errors = [process.communicate(timeout=contract.TIMEOUT)[1] for process in started]
        return sorted(process.returncode for process in started), errors

    def test_many_at_once(self):
        for exists in (True, False):
            with self.subTest(exists=exists):
                if exists:
                    self.directory.mkdir()
                self.addCleanup(rsslag_umount, self.directory)
                statuses, errors = self.at_once('mount', 4)
                self.assertEqual(statuses, [0, 2, 2, 2], errors)
                self.assertEqual(self.mounts_here(), 1)
                self.assertIn(os.getpid(), self.rows())
                self.assertEqual(rsslag_umount(self.directory).status, 0)
                self.assertEqual(self.mounts_here(), 0)
                if self.directory.exists():  # also if one of the others created it
                    self.directory.rmdir()

    def on_a_tmpfs(self):
        """A mount of rsslag on one of another kind, which no umount of rsslag may remove."""
        self.directory.mkdir()
        self.addCleanup(self.directory.rmdir)
        subprocess.run(['mount', '-t', 'tmpfs', 'theirs', self.directory], check=True)
        self.addCleanup(subprocess.run, ['umount', self.directory], check=False)
        self.mount()

    def test_umounts_at_once(self):
        self.on_a_tmpfs()
        for _ in range(5):
            statuses, errors = self.at_once('umount', 3)
            self.assertEqual(statuses[0], 0, errors)
            self.assertLessEqual(set(statuses), {0, 2}, errors)
            self.assertEqual(mount_points().get(str(self.directory)), 'tmpfs')
            self.mount()

    @unittest.skipUnless(shutil.which('strace'), 'strace is missing')
    def test_an_umount_that_comes_late_unmounts_nothing_else(self):
        self.on_a_tmpfs()
        # The delay is long enough for the other umount to come first. If it does not, the test still passes.
        with subprocess.Popen(['strace', '-qq', '-o', '/dev/null', '-e', 'trace=umount2', '-e', 'inject=umount2:delay_enter=500000',
                               contract.binary, 'umount', self.directory], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE) as late:
            wait_until(lambda: not os.path.exists(self.directory / 'self'))
            self.assertIn(rsslag_umount(self.directory).status, (0, 2))
            self.assertEqual((late.wait(contract.TIMEOUT), late.stderr.read()), (0, b''))
        self.assertEqual(mount_points().get(str(self.directory)), 'tmpfs')

    def test_umount_of_a_mount_above_another(self):
        self.mount()
        subprocess.run(['mount', '--bind', self.directory, self.directory], check=True)
        self.assertGreater(self.mounts_here(), 1)
        ran = rsslag_umount(self.directory)
        self.assertEqual((ran.status, ran.out, ran.err), (0, '', ''), ran)
        self.assertEqual(self.mounts_here(), 0)
        self.assertFalse(self.directory.exists())

    def test_umount_of_the_working_directory(self):
        self.mount()
        ran = rsslag('umount', '.', cwd=self.directory)
        self.assertEqual((ran.status, ran.out, ran.err), (0, '', ''), ran)
        self.assertFalse(self.directory.exists())

    def test_where_nothing_can_be_mounted(self):
        file = self.parent / 'file'
        file.write_text('x')
        full = self.parent / 'full'
        full.mkdir()
        (full / 'x').write_text('x')
        for where in (file, full, file / 'below', self.parent / 'no' / 'such', ''):
            with self.subTest(where=where):
                assert_one_error_line(self, rsslag_mount(where), 2)
        self.assertEqual((os.listdir(full), file.read_text()), (['x'], 'x'))

    def test_what_is_not_ours_is_not_unmounted(self):
        other = self.parent / 'other'
        other.mkdir()
        subprocess.run(['mount', '-t', 'bpf', 'bpf', other], check=True)
        self.addCleanup(subprocess.run, ['umount', other], check=False)
        (other / 'rss').mkdir()
        for where in (other, '/proc', '/', self.parent, self.parent / 'nowhere'):
            assert_one_error_line(self, rsslag_umount(where), 2)
        self.assertTrue((other / 'rss').is_dir())
        assert_one_error_line(self, rsslag_mount(other), 2)

    def readable(self, name, group):
        done = subprocess.run(['cat', self.directory / name], user=NOBODY, group=group, extra_groups=[], capture_output=True,
                              check=False)
        return done.returncode == 0

    def test_mode_and_group(self):
        other = next((found for found in grp.getgrall() if found.gr_gid not in (0, NOBODY)), None)
        if other is None:
            self.skipTest('this machine has no other group')
        for args, mode, theirs, anyones in ((['--mode', '0400'], 0o400, False, False),
                                            (['--group', other.gr_name], 0o440, True, False),
                                            (['--group', str(other.gr_gid)], 0o440, True, False),
                                            (['--group', other.gr_name, '--mode', '444'], 0o444, True, True)):
            with self.subTest(args=args):
                self.mount(*args)
                for name in FILES:
                    self.assertEqual(stat.S_IMODE((self.directory / name).stat().st_mode), mode)
                    self.assertEqual(self.readable(name, other.gr_gid), theirs)
                    self.assertEqual(self.readable(name, NOBODY), anyones)
                self.assertEqual(rsslag_umount(self.directory).status, 0)
        for args in (['--mode', '0666'], ['--mode', '0555'], ['--mode', '9'], ['--mode', '04444'], ['--mode', '0'], ['--mode', '0404'], ['--mode', ''],
                     ['--group', 'no-such-group'], ['--group', '']):
            assert_one_error_line(self, rsslag_mount(self.directory, *args), 2)
        self.assertFalse(self.directory.exists())

    def test_a_user_without_rights_gets_the_remedy(self):
        theirs = self.parent / 'theirs'
        theirs.mkdir()
        os.chown(theirs, NOBODY, NOBODY)
        for where in (theirs / 'new', theirs, self.parent / 'not-theirs'):
            ran = as_nobody('mount', str(where))
            assert_one_error_line(self, ran, 3)
            self.assertIn('root', ran.err)
        self.assertEqual(os.listdir(theirs), [])
        self.mount()
        assert_one_error_line(self, as_nobody('umount', str(self.directory)), 3)
        self.assertIn(os.getpid(), self.rows())


class Endings(MountTest):
    def setUp(self):
        self.directory = self.parent / 'here'

    def test_readers_go_on_after_umount(self):
        """900 lines take several reads. All of them except the first follow the umount."""
        self.mount()
        programs = {name: self.program(name) for name in FILES}
        with Crowd(self.parent, [b'rsslag-end-%04d' % number for number in range(900)]) as pids:
            files = {name: open(self.directory / name, 'rb', buffering=0) for name in ('rss', 'rss.prom')}
            first = {name: file.read(1) for name, file in files.items()}
            self.assertEqual(rsslag_umount(self.directory).status, 0)
            self.assertFalse(self.directory.exists())
            self.assertTrue({programs['rss'], programs['rss.prom']} <= self.programs())
            wait_until(lambda: programs['self'] not in self.programs())
            texts = {name: (first[name] + b''.join(iter(lambda: file.read(1 << 16), b''))).decode()
                     for name, file in files.items()}
            self.assertTrue(set(pids) <= set(rows_of(texts['rss'])))
            self.assertGreater(len(texts['rss']), 32768)
            self.assertGreater(value(samples_of(texts['rss.prom']), 'rsslag_processes'), 900)
            for file in files.values():
                file.close()
        wait_until(lambda: not set(programs.values()) & self.programs())

    def killed_at(self, command, call):
        done = subprocess.run(['strace', '-qq', '-o', '/dev/null', '-e', 'trace=' + call.partition(':')[0], '-e',
                               f'inject={call}:signal=KILL', contract.binary, command, self.directory],
                              stdin=subprocess.DEVNULL, capture_output=True, check=False)
        return done.returncode != 0

    @long_only('each system call fails once, under strace, which takes a minute')
    @unittest.skipUnless(shutil.which('strace'), 'strace is missing')
    def test_mount_that_is_killed_leaves_all_or_nothing(self):
        killed = 0
        for call in ('mkdir', 'fsopen', 'fsconfig:when=1', 'fsconfig:when=2', 'fsmount', 'fchdir', 'fchmodat:when=1',
                     'fchmodat:when=2', 'fchmodat:when=4', 'fchmodat:when=5', 'move_mount'):
            with self.subTest(call=call):
                killed += self.killed_at('mount', call)
                if str(self.directory) in mount_points():
                    self.assertTrue(set(FILES) <= set(os.listdir(self.directory)))
                    self.assertEqual(stat.S_IMODE((self.directory / 'self').stat().st_mode), 0o444)
                    self.assertEqual(rsslag_umount(self.directory).status, 0)
                elif self.directory.exists():
                    self.assertEqual(os.listdir(self.directory), [])
                self.mount()
                self.assertIn(os.getpid(), self.rows())
                self.assertEqual(rsslag_umount(self.directory).status, 0)
                if self.directory.exists():
                    self.directory.rmdir()
        self.assertGreater(killed, 8)

    @long_only('each system call fails once, under strace, which takes a minute')
    @unittest.skipUnless(shutil.which('strace'), 'strace is missing')
    def test_umount_that_is_killed_is_finished_by_the_next(self):
        for call in ('unlinkat:when=1', 'unlinkat:when=2', 'umount2'):
            with self.subTest(call=call):
                self.mount()
                programs = {self.program(name) for name in FILES}
                self.assertTrue(self.killed_at('umount', call))
                if str(self.directory) in mount_points():
                    ran = rsslag_umount(self.directory)
                    self.assertEqual(ran.status, 0, ran)
                self.assertNotIn(str(self.directory), mount_points())
                wait_until(lambda gone=programs: not gone & self.programs())
                if self.directory.exists():
                    self.directory.rmdir()


@long_only('each system call fails once, under strace, which takes minutes')
@unittest.skipUnless(shutil.which('strace'), 'strace is missing')
class Failures(MountTest):
    """System calls that are refused, one at a time."""

    def setUp(self):
        self.directory = self.parent / 'here'

    def refuse(self, command, what):
        """How the command ended, and whether a system call was refused."""
        log = self.parent / 'log'
        ran = rsslag(command, str(self.directory),
                     prefix=['strace', '-qq', '-o', log, '-e', 'trace=' + what.partition(':')[0], '-e', 'inject=' + what])
        return ran, 'INJECTED' in log.read_text()

    def check_mount(self, what):
        ran, injected = self.refuse('mount', what)
        if ran.status == 0:  # the command did not need the refused call
            self.assertIn(os.getpid(), self.rows())
            self.assertEqual(rsslag_umount(self.directory).status, 0)
        else:
            assert_one_error_line(self, ran, ran.status)
            self.assertIn(ran.status, (1, 3), ran)
        self.assertNotIn(str(self.directory), mount_points())
        self.assertFalse(self.directory.exists(), ran)
        return injected, ran.status

    def test_mount_is_whole_or_undone(self):
        for what in ('fsopen:error=ENODEV', 'fsopen:error=EPERM', 'fsconfig:error=EINVAL:when=1', 'fsconfig:error=EPERM:when=2',
                     'fsmount:error=EPERM', 'fchdir:error=EACCES:when=1', 'fchmodat:error=EPERM:when=1',
                     'fchmodat:error=EPERM:when=3', 'fchmodat:error=EPERM:when=5', 'fchownat:error=EPERM:when=2',
                     'move_mount:error=EPERM', 'move_mount:error=EBUSY', 'mkdir:error=EROFS', 'mkdir:error=ENOSPC'):
            with self.subTest(what=what):
                injected, status = self.check_mount(what)
                self.assertTrue(injected)
                self.assertNotEqual(status, 0)

    def test_any_call_of_bpf(self):
        number, injected = 0, True
        while injected:
            number += 3 if emulated() else 1
            with self.subTest(number=number):
                injected, _ = self.check_mount(f'bpf:error=EPERM:when={number}')
        self.assertGreater(number, 20)

    def test_umount_reports_what_is_left(self):
        for what in ('unlinkat:error=EPERM:when=1', 'unlinkat:error=EBUSY:when=3', 'umount2:error=EPERM', 'rmdir:error=EBUSY'):
            with self.subTest(what=what):
                self.mount()
                ran, injected = self.refuse('umount', what)
                self.assertTrue(injected)
                assert_one_error_line(self, ran, 3 if 'EPERM' in what else 1)
                if str(self.directory) in mount_points():
                    self.assertEqual(rsslag_umount(self.directory).status, 0)
                if self.directory.exists():
                    self.directory.rmdir()


class Example(MountTest):
    """examples/exact_rss.bpf.c, which uses only one header of rsslag."""

    def test_a_program_of_another_project_reads_the_same(self):
        built = Path(contract.binary).parent / 'examples' / 'exact_rss.bpf.o'
        bpftool = shutil.which('bpftool', path=os.environ['PATH'] + ':/usr/sbin:/sbin')
        if not bpftool or not built.exists():
            self.skipTest('bpftool is missing, or the example is not built')
        directory = self.parent / 'bpffs'
        directory.mkdir()
        subprocess.run(['mount', '-t', 'bpf', 'bpf', directory], check=True)
        self.addCleanup(subprocess.run, ['umount', '-l', directory], check=False)
        subprocess.run([bpftool, 'iter', 'pin', built, directory / 'example'], check=True)
        with Held('few-pages') as workload:
            lines = {int(line.split()[0]): line for line in (directory / 'example').read_text().splitlines()}
            row, walked = self.rows()[workload.pid], rollup_kb(workload.pid) // PAGE_KB
        flushed = walked - row.cached // PAGE_KB
        self.assertEqual(lines[workload.pid],
                         f'{workload.pid} flushed {flushed} cached {row.cached // PAGE_KB} exact {walked} ')


@needs_root
class Refused(TracingTest):
    def test_an_older_kernel_is_refused_with_the_reason(self):
        with tempfile.TemporaryDirectory() as parent:
            directory = Path(parent, 'here')
            ran = rsslag_mount(directory)
            if ran.status == 0:
                self.assertEqual(rsslag_umount(directory).status, 0)
                self.skipTest('this kernel supports it')
            assert_one_error_line(self, ran, 3)
            self.assertIn("lacks", ran.err)
            self.assertFalse(directory.exists())
            self.assertNotIn(str(directory), mount_points())


if __name__ == '__main__':
    contract.main()
