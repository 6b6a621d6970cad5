# SPDX-License-Identifier: BSD-2-Clause
"""The droppable, given-up and Rss columns of rsslag maps: no page that reclaim cannot take, and each page once."""
import contextlib
import ctypes
import mmap
import os
import re
import resource
import shutil
import socket
import struct
import subprocess
import tempfile
import unittest

import contract
from contract import Held, assert_valid, child_with, rsslag, runs

MIB = 1 << 20
FILE = runs(16, 8) * MIB
SLACK_KB = 1024  # two forks of one interpreter differ by less than this in the library pages that they have touched
MADV_FREE = 8
PYTHON = '/usr/bin/python3'  # an interpreter in a home directory cannot be read by other users
MAPS_FILES = """
import contextlib, mmap, sys
kept = []
def keep(path, size=0):
    with open(path, 'rb') as file:
        kept.append(mmap.mmap(file.fileno(), size, prot=mmap.PROT_READ))
    with contextlib.suppress(OSError):  # khugepaged (7.x) unmaps the pages of a file that it makes huge
        kept[-1].madvise(mmap.MADV_NOHUGEPAGE)
    for at in range(0, len(kept[-1]), mmap.PAGESIZE):
        kept[-1][at]
keep(sys.argv[1], mmap.PAGESIZE)
for path in sys.argv[2:]:
    keep(path)
print('ready', flush=True)
for line in sys.stdin:
    keep(line.rstrip())
    print('ready', flush=True)
"""

MAPS_HUGE_PAGES = """
import contextlib, mmap, sys
kept = []
for path, offset, advice in ((sys.argv[1], 0, mmap.MADV_HUGEPAGE), (sys.argv[2], mmap.PAGESIZE, mmap.MADV_NOHUGEPAGE)):
    with open(path, 'rb') as file:
        kept.append(mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ, offset=offset))
    with contextlib.suppress(OSError):  # a kernel without huge pages
        kept[-1].madvise(advice)
    for at in range(0, len(kept[-1]), mmap.PAGESIZE):
        kept[-1][at]
print('ready', flush=True)
sys.stdin.read()
"""

DROPS_PAGES = """
import mmap, sys, threading
kept = []
for path in sys.argv[1:]:
    with open(path, 'rb') as file:
        kept.append(mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ))
    kept[-1][::mmap.PAGESIZE]
print('ready', flush=True)
ended = threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), ended.set())).start()
while not ended.is_set():
    kept[-1].madvise(mmap.MADV_DONTNEED)
    kept[-1][::mmap.PAGESIZE]
"""


def sums(test, pid, ran_by=rsslag):
    ran = ran_by('maps', '--json', str(pid))
    test.assertEqual(ran.status, 0, ran)
    assert_valid(test, 'maps', ran.document())
    (process,) = ran.document()['processes']
    told = process['sums']
    test.assertEqual(told['droppable_kb'], told['droppable_file_kb'] + told['droppable_anon_kb'])
    test.assertLessEqual(told['droppable_surely_once_kb'], told['droppable_kb'])
    if told['droppable_each_once']:
        test.assertEqual(told['droppable_surely_once_kb'], told['droppable_kb'])
    test.assertEqual(told['hugetlb_kb'], told['private_hugetlb_kb'] + told['shared_hugetlb_kb'])
    return told


def smaps_sum(pid, key):
    with open(f'/proc/{pid}/smaps', encoding='utf-8', errors='replace') as smaps:
        return sum(int(kb) for kb in re.findall(rf'(?m)^{key}: +(\d+) kB$', smaps.read()))


def touch(memory, size=None):
    with contextlib.suppress(OSError):  # as in MAPS_FILES
        memory.madvise(mmap.MADV_NOHUGEPAGE)
    for at in range(0, size or len(memory), mmap.PAGESIZE):
        memory[at]


class Files(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.mkdtemp(prefix='rsslag-contract-')
        cls.addClassCleanup(shutil.rmtree, cls.directory)
        os.chmod(cls.directory, 0o755)  # for ordinary users
        cls.path = cls.other_path = os.path.join(cls.directory, 'file')
        with open(cls.path, 'wb') as file:
            for _ in range(FILE // 65536):
                file.write(b'x' * 65536)
            os.fsync(file.fileno())
        with cls.child() as pid:
            if cls.backing(pid) != 'file':
                raise unittest.SkipTest(f'{cls.directory} is not on a file system with a page cache')
            cls.usual = sums(unittest.TestCase(), pid)['droppable_file_kb']

    @classmethod
    def backing(cls, pid):
        (process,) = rsslag('maps', '--json', str(pid)).document()['processes']
        return next(group['backing'] for group in process['groups'] if group['name'] == cls.path)

    @classmethod
    @contextlib.contextmanager
    def child(cls, *touched, locked=False, private=False):
        """A child that maps the file once for each number in `touched` and touches that many bytes. It also maps one page of it."""
        def prepare():
            cls.kept = []
            flags = mmap.MAP_PRIVATE if private else mmap.MAP_SHARED
            with open(cls.path, 'rb') as file:
                cls.kept.append(mmap.mmap(file.fileno(), mmap.PAGESIZE, flags=mmap.MAP_SHARED, prot=mmap.PROT_READ))
            for i, size in enumerate(touched):
                with open(cls.other_path if i % 2 else cls.path, 'rb') as file:
                    memory = mmap.mmap(file.fileno(), FILE, flags=flags, prot=mmap.PROT_READ)
                    touch(memory, size)
                    cls.kept.append(memory)
            if locked:
                with open(cls.other_path, 'rb') as file:
                    libc = ctypes.CDLL(None, use_errno=True)
                    libc.mmap.restype = ctypes.c_void_p
                    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
                    at = libc.mmap(None, FILE, mmap.PROT_READ, mmap.MAP_SHARED | 0x2000, file.fileno(), 0)  # MAP_LOCKED
                    if at in (None, ctypes.c_void_p(-1).value):
                        raise OSError(ctypes.get_errno(), 'mmap')
        with child_with(prepare) as pid:
            yield pid

    @contextlib.contextmanager
    def overlay(self, upper=None, options=''):
        """Meanwhile other_path is the path of the file in an overlay, in a layer that can be written if `upper` is a directory.

        The device and inode of the file are others, its pages are the same.
        """
        with tempfile.TemporaryDirectory(prefix='rsslag-contract-') as below, tempfile.TemporaryDirectory(prefix='rsslag-contract-') as place:
            os.chmod(place, 0o755)
            at = os.path.join(place, 'merged')
            os.mkdir(at)
            layers = f'lowerdir={self.directory}:{below}'
            if upper:
                layers += f',upperdir={upper},workdir={upper}.work{options}'
                os.mkdir(f'{upper}.work')
            mounted = subprocess.run(['mount', '-t', 'overlay', 'overlay', '-o', layers, at],
                                     stdin=subprocess.DEVNULL, capture_output=True, text=True)
            if mounted.returncode != 0:
                self.skipTest(f'no overlay can be mounted here: {mounted.stderr.strip()}')
            try:
                type(self).other_path = os.path.join(at, 'file')
                yield
            finally:
                type(self).other_path = self.path
                subprocess.run(['umount', at], stdin=subprocess.DEVNULL, check=True)

    def assert_kb(self, pid, kb):
        self.assertAlmostEqual(sums(self, pid)['droppable_file_kb'] - self.usual, kb, delta=SLACK_KB)

    def test_clean_pages_of_a_file(self):
        for private in (False, True):
            with self.subTest(private=private), self.child(FILE, private=private) as pid:
                self.assert_kb(pid, FILE // 1024)

    def test_a_file_that_is_mapped_twice_counts_once(self):
        with self.child(FILE, FILE, FILE) as pid:
            self.assertGreaterEqual(smaps_sum(pid, 'Rss'), 3 * FILE // 1024)
            self.assert_kb(pid, FILE // 1024)

    def test_half_of_a_file_that_is_mapped_twice_counts_once(self):
        with self.child(FILE // 2, FILE // 2) as pid:
            self.assert_kb(pid, FILE // 2048)

    def test_a_file_that_is_also_mapped_in_an_overlay_counts_once(self):
        with self.overlay(), self.child(FILE, FILE, FILE // 2) as pid:
            self.assertGreaterEqual(smaps_sum(pid, 'Rss'), 5 * FILE // 2048)
            self.assert_kb(pid, FILE // 1024)

    @contextlib.contextmanager
    def mapped_by_nobody(self, *paths, then=None, program=MAPS_FILES):
        """A process of an ordinary user that maps the first page of the file, all of each of `paths`, and the path that then() returns."""
        os.chmod(self.path, 0o644)
        child = subprocess.Popen([PYTHON, '-c', program, self.path, *paths], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                 user=contract.NOBODY, group=contract.NOBODY, extra_groups=[], cwd='/')
        with child:
            try:
                self.assertEqual(child.stdout.readline(), 'ready\n')
                if then:
                    print(then(), file=child.stdin, flush=True)
                    self.assertEqual(child.stdout.readline(), 'ready\n')
                yield child.pid
            finally:
                child.kill()

    @contract.needs_root
    @unittest.skipUnless(os.access(PYTHON, os.X_OK), f'there is no {PYTHON}, which every user may read')
    def test_an_ordinary_user_sees_a_file_once_that_is_also_mapped_in_an_overlay(self):
        with self.overlay(), self.mapped_by_nobody() as pid:
            usual = sums(self, pid, contract.as_nobody)['droppable_file_kb']
        with self.overlay(), self.mapped_by_nobody(self.path, self.other_path, self.other_path) as pid:
            told = sums(self, pid, contract.as_nobody)
            text = contract.as_nobody('maps', str(pid)).out
            self.assertTrue(told['droppable_each_once'])
            self.assertIn('without a write, each page once', text)
            self.assertAlmostEqual(told['droppable_file_kb'] - usual, FILE // 1024, delta=SLACK_KB)
            for directory in (self.directory, os.path.dirname(os.path.dirname(self.other_path))):
                os.chmod(directory, 0o700)  # the user can no longer open the files
                self.addCleanup(lambda at=directory: os.path.exists(at) and os.chmod(at, 0o755))
            told = sums(self, pid, contract.as_nobody)
            text = contract.as_nobody('maps', str(pid)).out
            with open(f'/proc/{pid}/maps', encoding='utf-8', errors='replace') as maps:
                inodes = {tuple(line.split()[3:5]) for line in maps if line.rstrip().endswith('/file')}
        # Up to 6.7 /proc shows the device and the inode of the file below.
        self.assertEqual(told['droppable_each_once'], len(inodes) == 1)
        self.assertEqual('pages that two paths show may be the same' in text, len(inodes) != 1)
        self.assertAlmostEqual(told['droppable_surely_once_kb'] - usual, FILE // 1024, delta=SLACK_KB)

    @contract.needs_root
    @unittest.skipUnless(os.access(PYTHON, os.X_OK), f'there is no {PYTHON}, which every user may read')
    def test_an_ordinary_user_sees_a_file_once_that_one_mapping_has_by_huge_pages(self):
        with self.overlay(), self.mapped_by_nobody() as pid:
            usual = sums(self, pid, contract.as_nobody)['droppable_file_kb']
        with open(self.path, 'rb') as file:  # reads it into huge pages next time, where the file system has them
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        with self.overlay(), self.mapped_by_nobody(self.other_path, program=MAPS_HUGE_PAGES) as pid:
            huge = smaps_sum(pid, 'FilePmdMapped')
            told = sums(self, pid, contract.as_nobody)
        self.assertTrue(told['droppable_each_once'])
        self.assertAlmostEqual(told['droppable_file_kb'] - usual, FILE // 1024, delta=SLACK_KB)
        if huge == 0:
            self.skipTest('this kernel made no huge pages of the file')

    @contract.needs_root
    @unittest.skipUnless(os.access(PYTHON, os.X_OK), f'there is no {PYTHON}, which every user may read')
    def test_a_file_counts_once_or_is_marked_while_a_mapping_of_it_is_dropped(self):
        with self.overlay(), self.mapped_by_nobody() as pid:
            usual = sums(self, pid, contract.as_nobody)['droppable_file_kb']
        with self.overlay(), self.mapped_by_nobody(self.path, self.other_path, program=DROPS_PAGES) as pid:
            for _ in range(runs(30, 3)):
                told = sums(self, pid, contract.as_nobody)
                if told['droppable_each_once']:
                    self.assertLessEqual(told['droppable_file_kb'] - usual, FILE // 1024 + SLACK_KB)

    @contextlib.contextmanager
    def upper(self):
        """A directory for an upper layer, on the file system of the file."""
        with tempfile.TemporaryDirectory(prefix='rsslag-contract-', dir=os.path.dirname(self.directory)) as place:
            os.chmod(place, 0o755)
            upper = os.path.join(place, 'upper')
            os.mkdir(upper)
            yield upper

    @contract.needs_root
    @unittest.skipUnless(os.access(PYTHON, os.X_OK), f'there is no {PYTHON}, which every user may read')
    def test_an_ordinary_user_sees_which_files_have_the_same_pages_after_a_change_in_an_overlay(self):
        def change_mode():
            os.chmod(self.other_path, 0o664)

        def change_mode_of_both():  # within one clock tick, so that all attributes are equal
            os.chmod(self.other_path, 0o664)
            os.chmod(self.path, 0o664)

        def change_times():
            os.utime(self.other_path, (5, 5))

        for change, options, by in ((change_mode, '', 'below'), (change_mode, '', 'above'), (change_mode_of_both, '', 'below'),
                                    (change_times, ',metacopy=on', 'below'), (change_mode, ',metacopy=on', 'above'))[:runs(5)]:
            with self.subTest(change=change.__name__, options=options, by=by):
                self.check_after(change, options, by)

    def check_after(self, change, options, by):
        os.chmod(self.path, 0o644)
        with self.upper() as upper, self.overlay(upper, options):
            change()
            os.sync()  # dirty pages cannot be dropped
            copy = os.path.join(upper, 'file')
            copied = os.stat(copy).st_blocks * 512 >= FILE
            one_file = copied == (by == 'above')
            with self.mapped_by_nobody() as pid:
                usual = sums(self, pid, contract.as_nobody)['droppable_file_kb']
            with self.mapped_by_nobody(copy if by == 'above' else self.path, self.other_path) as pid:
                root, told = sums(self, pid), sums(self, pid, contract.as_nobody)
                if not told['droppable_each_once'] and not os.path.exists(f'/proc/{pid}/numa_maps'):
                    self.skipTest('this kernel has no /proc/PID/numa_maps (CONFIG_NUMA)')
                for path in (self.path, copy, self.other_path):  # the user can no longer open the files
                    os.chmod(path, 0o600)
                unreadable = sums(self, pid, contract.as_nobody)
        self.assertTrue(root['droppable_each_once'])
        self.assertTrue(told['droppable_each_once'])
        self.assertAlmostEqual(told['droppable_file_kb'] - usual, (1 if one_file else 2) * FILE // 1024, delta=SLACK_KB)
        self.assertAlmostEqual(told['droppable_file_kb'], root['droppable_file_kb'], delta=SLACK_KB)
        if unreadable['droppable_each_once']:
            self.assertAlmostEqual(unreadable['droppable_file_kb'], told['droppable_file_kb'], delta=SLACK_KB)
        else:
            self.assertAlmostEqual(unreadable['droppable_surely_once_kb'], told['droppable_file_kb'], delta=SLACK_KB)
            in_doubt = unreadable['droppable_kb'] - unreadable['droppable_surely_once_kb']
            page = mmap.PAGESIZE // 1024  # the child also maps a page of the file by its own path
            self.assertLessEqual(in_doubt, FILE // 1024 + page if one_file else page)

    @contract.needs_root
    @unittest.skipUnless(os.access(PYTHON, os.X_OK), f'there is no {PYTHON}, which every user may read')
    def test_a_file_that_an_overlay_copies_up_between_two_mappings_is_two_files(self):
        with self.upper() as upper, self.overlay(upper):
            with self.mapped_by_nobody() as pid:
                usual = [sums(self, pid, by)['droppable_file_kb'] for by in (rsslag, contract.as_nobody)]
            with self.mapped_by_nobody(self.other_path, then=self.copy_up) as pid:
                with self.mapped_by_nobody(self.other_path):  # a page that only one mapping has would show it, too
                    told = [sums(self, pid, by) for by in (rsslag, contract.as_nobody)]
        for before, after in zip(usual, told):
            self.assertAlmostEqual(after['droppable_file_kb'] - before, 2 * FILE // 1024, delta=SLACK_KB)
        self.assertTrue(told[0]['droppable_each_once'])

    def copy_up(self):
        """The path in the overlay, after it leads to a copy."""
        with open(self.other_path, 'ab'):
            pass
        os.sync()
        return self.other_path

    def test_pages_that_a_mapping_in_an_overlay_locks_do_not_count(self):
        with self.overlay(), self.child(FILE, locked=True) as pid:
            self.assert_kb(pid, 0)

    def test_pages_that_another_mapping_locks_do_not_count(self):
        soft, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
        if os.geteuid() != 0 and soft != resource.RLIM_INFINITY and soft < 2 * FILE:
            self.skipTest('the limit on locked memory is too low')
        with self.child(FILE, locked=True) as pid:
            self.assert_kb(pid, 0)


class NoFiles(unittest.TestCase):
    def test_the_ring_of_a_packet_socket_cannot_be_reclaimed(self):
        packet_rx_ring, sol_packet = 5, 263
        try:
            ring = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        except (OSError, AttributeError) as error:
            self.skipTest(f'cannot create a packet socket: {error}')
        self.addCleanup(ring.close)
        try:
            ring.setsockopt(sol_packet, packet_rx_ring, struct.pack('IIII', 128 * 1024, 64, 2048, 64 * 64))
        except OSError as error:
            self.skipTest(f'cannot map the ring of a packet socket: {error}')

        def prepare():
            self.kept = mmap.mmap(ring.fileno(), 8 * MIB)

        with child_with(lambda: None) as plain, child_with(prepare) as pid:
            self.assertGreaterEqual(smaps_sum(pid, 'Rss'), 8 * 1024)
            self.assertAlmostEqual(sums(self, pid)['droppable_file_kb'], sums(self, plain)['droppable_file_kb'],
                                   delta=SLACK_KB)

    def test_given_up_memory_has_its_own_line(self):
        def prepare():
            self.kept = mmap.mmap(-1, 8 * MIB, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
            with contextlib.suppress(OSError):  # a kernel without huge pages
                self.kept.madvise(mmap.MADV_NOHUGEPAGE)
            for at in range(0, 8 * MIB, mmap.PAGESIZE):
                self.kept[at] = 1
            self.kept.madvise(MADV_FREE)

        with child_with(prepare) as pid:
            for _ in range(20):  # reclaim may take some pages in the meantime
                before = smaps_sum(pid, 'LazyFree')
                told, text = sums(self, pid), rsslag('maps', str(pid))
                if smaps_sum(pid, 'LazyFree') == before:
                    break
        if before < 1024:
            self.skipTest('the kernel has reclaimed the given-up pages immediately')
        self.assertEqual((told['lazy_free_kb'], told['droppable_anon_kb']), (before, before))
        (line,) = [line for line in text.lines if line.startswith('LazyFree ')]
        self.assertEqual(int(line.split()[1].replace(',', '')), before)

    def test_hugetlb_pages_are_shown_in_addition_to_rss(self):
        try:
            held = Held('hugetlb')
        except AssertionError as lacks:  # the demo names what the machine lacks
            self.skipTest(str(lacks)[:200])
        with held:
            told, text = sums(self, held.pid), rsslag('maps', str(held.pid))
            pages = int(held.fact('hugetlb_kb'))
            rss = smaps_sum(held.pid, 'Rss')
        self.assertEqual((told['private_hugetlb_kb'], told['shared_hugetlb_kb']), (pages, 0))
        self.assertEqual(told['rss_kb'], rss)
        (line,) = [line for line in text.lines if line.startswith('hugetlb ') and 'not in Rss' in line]
        self.assertEqual(int(line.split()[1].replace(',', '')), pages)


if __name__ == '__main__':
    contract.main()
