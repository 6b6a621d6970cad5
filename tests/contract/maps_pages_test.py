# SPDX-License-Identifier: BSD-2-Clause
"""rsslag maps --pages: each page compared with smaps, and what is available without root."""
import contextlib
import ctypes
import mmap
import os
import platform
import re
import shutil
import signal
import struct
import subprocess
import tempfile
import unittest
from pathlib import Path

import contract
from contract import (NOBODY, Held, as_nobody, assert_one_error_line, assert_valid, begun, child_with, environment,
                      long_only, needs_overcommit, needs_root, reserved, rsslag, task_state, wait_until)

PAGE_KB = mmap.PAGESIZE // 1024
PAGES = 50


def pages(*args, **more):
    return rsslag('maps', '--pages', '--json', *(str(arg) for arg in args), **more)


def assert_adds_up(test, report):
    for row in report['rows'] + [report['total']]:
        test.assertEqual(row['present'], row['exclusive'] + row['shared'], row)
        if row['histogram'] is not None:
            test.assertEqual(sum(bucket['pages'] for bucket in row['histogram']), row['shared'], row)
            test.assertTrue(all(bucket['mapped'] > 1 for bucket in row['histogram']), row)
    for key in ('present', 'exclusive', 'shared', 'swapped', 'apart'):
        test.assertEqual(report['total'][key], sum(row[key] for row in report['rows']), key)


def of(test, pid, *args):
    ran = pages(*args, pid)
    test.assertEqual((ran.status, ran.err), (0, ''), ran)
    assert_valid(test, 'maps', ran.document())
    (process,) = ran.document()['processes']
    assert_adds_up(test, process['pages'])
    return process['pages']


def address(memory):
    return ctypes.addressof(ctypes.c_char.from_buffer(memory))


def row_at(report, mapping):
    start = mapping.split('-')[0].lstrip('0')
    return next(row for row in report['rows'] if row['start'] == start)


@needs_root
class Frames(unittest.TestCase):
    def assert_agrees(self, report):
        self.assertTrue(report['frames'], report['why_no_frames'])
        self.assertEqual(report['omitted'], [])
        for row in report['rows']:
            self.assertEqual(row['present'] * PAGE_KB, row['rss_kb'], row)
            self.assertTrue(row['agrees'], row)

    @contextlib.contextmanager
    def programs(self, count):
        """Stopped processes that share no page with other processes."""
        with contextlib.ExitStack() as stack:
            directory = tempfile.mkdtemp(prefix='rsslag-contract-')
            stack.callback(shutil.rmtree, directory)
            path = os.path.join(directory, 'tiny')
            contract.tiny_program(path, PAGES)
            pids = []
            for _ in range(count):
                process = subprocess.Popen([path], stdout=subprocess.PIPE, env=environment())
                stack.callback(process.wait)
                stack.callback(process.stdout.close)
                stack.callback(process.kill)
                self.assertEqual(process.stdout.read(1), b'\n')
                process.send_signal(signal.SIGSTOP)
                wait_until(lambda pid=process.pid: task_state(pid) == 'T')
                pids.append(process.pid)
            yield path, pids

    @unittest.skipUnless(platform.machine() == 'x86_64', 'needs x86-64 for its small programs')
    def test_pss_is_that_of_smaps_to_the_page(self):
        with self.programs(3) as (path, pids):
            for pid in pids:
                report = of(self, pid)
                self.assert_agrees(report)
                for row in report['rows']:
                    self.assertEqual(row['pss_exact_kb'], row['pss_kb'], row)
                (code,) = [row for row in report['rows'] if row['name'] == path]
                self.assertEqual((code['exclusive'], code['histogram']), (0, [{'mapped': 3, 'pages': 1}]))
                written = next(row for row in report['rows'] if row['exclusive'] >= PAGES)
                self.assertEqual((written['present'], written['shared']), (PAGES, 0))

    def test_three_processes_that_share_a_mapping(self):
        shared = mmap.mmap(-1, 64 * mmap.PAGESIZE)  # MAP_SHARED

        def touch():  # fork does not copy page-table entries of shared memory
            for page in range(64):
                shared[page * mmap.PAGESIZE] = 1

        touch()
        with child_with(touch) as one, child_with(touch) as two:
            for pid in (one, two):
                report = of(self, pid)
                (row,) = [row for row in report['rows'] if row['histogram'] == [{'mapped': 3, 'pages': 64}]
                          and row['name'].startswith('/dev/zero')]
                self.assertEqual((row['exclusive'], row['shared']), (0, 64))
                self.assertEqual(row['pss_exact_kb'], 64 * PAGE_KB // 3)
        shared.close()

    def test_pages_of_every_kind(self):
        for name, key, least in (('thp', 'huge', 512), ('ksm', 'ksm', 100), ('zero-page', 'zero', 100),
                                 ('hugetlb', 'apart', 1)):
            with self.subTest(name):
                try:
                    held = Held(name)
                except AssertionError as lacks:  # what the machine lacks, the demo names
                    self.skipTest(str(lacks)[:200])
                with held:
                    report = of(self, held.pid)
                row = row_at(report, held.fact('mapping')) if name != 'thp' else max(
                    report['rows'], key=lambda row: row['huge'])
                self.assertGreaterEqual(row[key], least, row)
                self.assertEqual(row['present'] * PAGE_KB, row['rss_kb'], row)
                self.assertTrue(row['agrees'], row)

    def test_swapped_pages(self):
        try:
            held = Held('swap')
        except AssertionError as lacks:
            self.skipTest(str(lacks)[:200])
        with held:
            report = of(self, held.pid)
        self.assertGreater(report['total']['swapped'], 0)

    def test_a_mebibyte_that_one_wrote(self):
        with Held('single') as held:
            report = of(self, held.pid)
        self.assertGreaterEqual(report['total']['exclusive'], 256)
        self.assertEqual(report['total']['present'] * PAGE_KB, report['total']['rss_kb'])

    @long_only('it is a race with its target')
    def test_moving_targets_are_named_or_equal(self):
        with Held('busy', '--threads', '4') as held:
            for _ in range(5):
                ran = pages(held.pid)
                self.assertIn(ran.status, (0, 3), ran)
                for process in ran.document()['processes']:
                    report = process['pages']
                    assert_adds_up(self, report)
                    named = {omission['start'] for omission in report['omitted']}
                    for row in report['rows']:
                        if row['present'] * PAGE_KB != row['rss_kb'] and not row['agrees']:
                            self.assertIn(row['start'], named, row)
                    self.assertTrue(all(omission['reason'] for omission in report['omitted']))

    def test_the_limit_is_kept_and_reported(self):
        with Held('single', '--kb', '4096') as held:
            report = of(self, held.pid, '--limit', 100)
            text = rsslag('maps', '--pages', '--limit', '100', str(held.pid))
        self.assertLessEqual(report['entries_read'], 100)
        self.assertTrue(any('limit' in omission['reason'] for omission in report['omitted']))
        self.assertTrue(any(line.startswith('omitted: ') and 'limit' in line for line in text.lines), text)

    @needs_overcommit
    def test_sixteen_tebibytes_reserved_are_no_long_walk(self):
        """The kernel skips absent pages, or else the limit ends the walk."""
        def reserve():
            at = reserved(16 << 40)
            ctypes.memset(at + (8 << 40), 1, mmap.PAGESIZE)

        with child_with(reserve) as pid:
            report = of(self, pid, '--limit', 1 << 20)
        if report['source'] == 'pagemap_scan':
            self.assertEqual(report['omitted'], [])
            self.assertLess(report['entries_read'], 1 << 20)
        else:
            self.assertTrue(any('limit' in omission['reason'] for omission in report['omitted']))

    @long_only('it measures pages per second')
    def test_speed(self):
        gib = 0.125 if contract.emulated() else 1
        with Held('single', '--kb', str(int(gib * 1024 * 1024))) as held:
            # The quickest of several: other processes use the CPUs, too.
            report = min((of(self, held.pid) for _ in range(1 if contract.emulated() else 5)), key=lambda each: each['took_us'])
        rate = report['total']['present'] * mmap.PAGESIZE / 2**30 / (report['took_us'] / 1e6)
        print(f'--pages: {rate:.2f} GiB of resident memory a second')
        self.assertGreater(rate, 0.02 if contract.emulated() else 1)


PMD_MAPPED = ('AnonHugePages', 'ShmemPmdMapped', 'FilePmdMapped')


def smaps_of(pid, start, keys):
    """The sum of these lines of smaps for the mapping that starts at `start`."""
    with open(f'/proc/{pid}/smaps', encoding='utf-8', errors='replace') as smaps:
        for line in smaps:
            if re.match('[0-9a-f]+-', line):
                at = int(line.split('-')[0], 16)
            elif at == start and line.split(':')[0] in keys:
                keys = [key for key in keys if key != line.split(':')[0]]
                yield int(line.split()[1])


class Huge(unittest.TestCase):
    """HUGE is the memory mapped by huge entries, for root and for other users: the sum of smaps."""

    def as_nobody_with(self, prepare):
        def become_nobody():
            os.setgroups([])
            os.setresgid(NOBODY, NOBODY, NOBODY)
            os.setresuid(NOBODY, NOBODY, NOBODY)
            ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # PR_SET_DUMPABLE
            os.write(self.told, struct.pack('Q', prepare()))

        told, self.told = os.pipe()
        self.addCleanup(os.close, told)
        self.addCleanup(os.close, self.told)
        return told, child_with(become_nobody)

    def assert_huge(self, pid, start):
        for _ in range(20):  # khugepaged may make a huge page in the meantime
            huge = sum(smaps_of(pid, start, PMD_MAPPED)) // PAGE_KB
            root = of(self, pid)
            ran = as_nobody('maps', '--pages', '--json', str(pid))
            self.assertEqual(ran.status, 0, ran)
            user = ran.document()['processes'][0]['pages']
            if sum(smaps_of(pid, start, PMD_MAPPED)) // PAGE_KB == huge:
                break
        for report in (root, user):
            (row,) = [row for row in report['rows'] if row['start'] == f'{start:x}']
            self.assertEqual(row['huge'], huge, row)
            self.assertTrue(row['agrees'], row)
        self.assertEqual(root['total']['huge'], user['total']['huge'])
        self.assertIsNone(user['total']['large'])
        self.assertGreaterEqual(root['total']['large'], root['total']['huge'])
        return huge

    @needs_root
    def test_large_folios_of_a_file_are_not_huge(self):
        size = 4 << 20
        for where in (tempfile.gettempdir(), '/dev/shm'):
            if not os.path.isdir(where):
                continue
            with self.subTest(where), tempfile.NamedTemporaryFile(dir=where) as file:
                for _ in range(size // 65536):
                    os.write(file.fileno(), b'x' * 65536)
                os.fsync(file.fileno())
                self.kept = mmap.mmap(file.fileno(), size)  # a fork has the mapping at the same address

                def prepare():
                    for at in range(0, size, mmap.PAGESIZE):
                        self.kept[at]
                    return address(self.kept)

                told, child = self.as_nobody_with(prepare)
                with child as pid:
                    (start,) = struct.unpack('Q', os.read(told, 8))
                    self.assert_huge(pid, start)

    @needs_root
    def test_huge_pages_of_anonymous_memory_are(self):
        enabled = '/sys/kernel/mm/transparent_hugepage/enabled'
        if not os.path.exists(enabled) or '[never]' in Path(enabled).read_text():
            self.skipTest('transparent huge pages are off')

        def prepare():
            size = int(Path('/sys/kernel/mm/transparent_hugepage/hpage_pmd_size').read_text())
            at = -(-reserved(4 * size) // size) * size
            libc = ctypes.CDLL(None)
            libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
            libc.madvise(at, 2 * size, 14)  # MADV_HUGEPAGE: a mapping of its own
            ctypes.memset(at, 1, 2 * size)
            return at

        told, child = self.as_nobody_with(prepare)
        with child as pid:
            (start,) = struct.unpack('Q', os.read(told, 8))
            if self.assert_huge(pid, start) == 0:
                self.skipTest('no huge page is available')


class WithoutRoot(unittest.TestCase):
    @needs_root
    def test_what_is_known_and_what_is_not(self):
        with begun([contract.binary_for_all(), 'demo', 'single', '--hold'], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                   env=environment(), cwd='/', user=NOBODY, group=NOBODY, extra_groups=[]) as process:
            process.stdout.readline()
            wait_until(lambda: task_state(process.pid) == 'S')
            ran = as_nobody('maps', '--pages', '--json', str(process.pid))
            text = as_nobody('maps', '--pages', str(process.pid))
        self.assertEqual((ran.status, ran.err), (0, ''), ran)
        assert_valid(self, 'maps', ran.document())
        report = ran.document()['processes'][0]['pages']
        assert_adds_up(self, report)
        self.assertFalse(report['frames'])
        self.assertTrue(report['why_no_frames'])
        self.assertEqual((report['total']['ksm'], report['total']['pss_exact_kb']), (None, None))
        self.assertGreaterEqual(report['total']['exclusive'], 256)
        self.assertTrue(any(line.startswith('Not known here: how often pages are shared') for line in text.lines), text)

    def test_of_another_user(self):
        if os.geteuid() != 0:
            self.skipTest('needs root, to become nobody')
        with Held('single') as held:
            ran = as_nobody('maps', '--pages', str(held.pid))
        assert_one_error_line(self, ran, 3)


if __name__ == '__main__':
    contract.main()
