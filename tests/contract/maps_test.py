# SPDX-License-Identifier: BSD-2-Clause
"""rsslag maps: the figures of top and pmap, corrected; the quadrants compared with the exact counters."""
import contextlib
import ctypes
import mmap
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import contract
from contract import (BIDI, CONTROL, Held, TracingTest, as_nobody, assert_one_error_line, assert_valid, child_with,
                      environment, long_only, needs_overcommit, needs_root, needs_schema, no_such_pid, reserved, rsslag, runs, task_state,
                      wait_until)
from panes import Pane, needs_tmux


def maps(*args, **more):
    return rsslag('maps', *(str(arg) for arg in args), **more)


def only(ran):
    (process,) = ran.document()['processes']
    return process


def quadrant(process, name):
    return next(row for row in process['quadrants'] if row['quadrant'] == name)


def column(process, name):
    return next(row for row in process['top'] if row['column'] == name)


def beside(ours, theirs):
    """The results of both tools for one moment: `theirs` was the same before and after `ours`. Sharing and writeback of pages
    change also while a process is stopped."""
    before = theirs()
    for _ in range(20):
        said, after = ours(), theirs()
        if after == before:
            break
        before = after
    return said, after


def tool(*words, **changes):
    """The output of another tool for the same process."""
    return subprocess.run(words, capture_output=True, env=environment(**changes), timeout=contract.TIMEOUT,
                          check=True).stdout


@contextlib.contextmanager
def stopped(pid):
    contract.stop(pid)
    try:
        yield pid
    finally:
        os.kill(pid, signal.SIGCONT)


@contextlib.contextmanager
def program(*words, **more):
    """Any program that writes one line when it is ready."""
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment(), **more) as process:
        try:
            line = process.stdout.readline()
            yield process, line
        finally:
            process.kill()


def assert_adds_up(test, document):
    assert_valid(test, 'maps', document)
    page_kb = document['page_size'] // 1024
    for process in document['processes']:
        rows = {row['quadrant']: row for row in process['quadrants']}
        total = rows.pop('sum')
        for key in ('mappings', 'virtual_kb', 'resident_kb', 'anon_kb', 'file_kb', 'shmem_kb', 'unplaced_kb'):
            test.assertEqual(total[key], sum(row[key] for row in rows.values()), key)
        for row in process['quadrants']:
            test.assertEqual(row['resident_kb'],
                             row['anon_kb'] + row['file_kb'] + row['shmem_kb'] + row['unplaced_kb'], row)
        sums = process['sums']
        test.assertEqual(sums['rss_kb'], total['resident_kb'])
        test.assertEqual(sums['rss_kb'], sums['shared_kb'] + sums['private_clean_kb'] + sums['private_dirty_kb'])
        test.assertEqual(total['unplaced_kb'], sum(row['resident_kb'] for row in process['unplaced']))
        for row in process['members'] or ():
            test.assertEqual(row['walked'], total[row['member'] + '_kb'] // page_kb)
            test.assertEqual(row['difference'], row['walked'] - row['exact'])
            test.assertEqual(row['exact'], process['exact'][row['member']])


class Quadrants(TracingTest):
    def of(self, name, *args):
        try:
            held = Held(name, *args)
        except AssertionError as lacks:  # what the machine lacks, the demo names
            self.skipTest(str(lacks)[:200])
        with held:
            document = maps('--json', held.pid).document()
            facts = dict(held.facts)
        assert_adds_up(self, document)
        (process,) = document['processes']
        self.assertEqual(process['verdict'], 'agrees', process)
        for row in process['members']:
            self.assertEqual(row['difference'], 0, (name, row, process['unplaced']))
        self.assertEqual(process['unplaced'], [])
        return process, int(facts.get('touched_kb', 0))

    def test_shared_anonymous_memory_is_shmem(self):
        process, touched = self.of('shared-anon')
        self.assertEqual(touched, 50 * 1024)
        self.assertEqual(quadrant(process, 'shared_anonymous')['resident_kb'], touched)
        self.assertEqual(quadrant(process, 'shared_anonymous')['shmem_kb'], touched)
        self.assertGreaterEqual(column(process, 'SHR')['exact_kb'], touched)
        self.assertIn('51,200 kB of it is shared anonymous memory', column(process, 'SHR')['note'])

    def test_memfd_and_system_v_are_shmem(self):
        for name in ('memfd', 'sysv'):
            process, touched = self.of(name)
            self.assertEqual(quadrant(process, 'shared_anonymous')['shmem_kb'], touched, name)

    def test_written_pages_of_a_private_file_are_anonymous(self):
        process, touched = self.of('file-private-write')
        plain, _ = self.of('file-private')
        row = quadrant(process, 'private_file')
        self.assertGreaterEqual(row['anon_kb'], touched // 2)
        self.assertLess(quadrant(plain, 'private_file')['anon_kb'], row['anon_kb'])

    def test_a_shared_file(self):
        process, touched = self.of('file-shared')
        row = quadrant(process, 'shared_file')
        self.assertGreaterEqual(row['file_kb'] + row['shmem_kb'], touched)
        self.assertEqual(row['anon_kb'], 0)

    def test_huge_merged_zero_and_private_memory_is_anonymous(self):
        for name in ('thp', 'ksm', 'single', 'fork-cow', 'mremap'):
            with self.subTest(name):
                process, touched = self.of(name)
                self.assertGreaterEqual(quadrant(process, 'private_anonymous')['anon_kb'], touched // 4)

    def test_the_zero_page_is_not_resident(self):
        process, _ = self.of('zero-page')
        self.assertLess(quadrant(process, 'private_anonymous')['resident_kb'], 4096)

    def test_hugetlb_is_apart(self):
        process, _ = self.of('hugetlb')
        row = quadrant(process, 'hugetlb')
        self.assertEqual(row['resident_kb'], 0)
        self.assertGreaterEqual(row['hugetlb_kb'], 2 * 2048)
        self.assertEqual(row['hugetlb_kb'], process['sums']['hugetlb_kb'])

    def test_swapped_pages(self):
        process, _ = self.of('swap')
        self.assertGreater(process['sums']['swap_kb'], 0)
        self.assertGreater(column(process, 'SWAP')['exact_kb'], 0)

    def test_threads_that_cache(self):
        process, _ = self.of('few-pages')
        self.assertEqual(column(process, 'RES')['exact_kb'], process['sums']['rss_kb'])


class Documents(unittest.TestCase):
    @needs_schema
    def test_every_process_of_the_machine_is_valid(self):
        ran = maps('--json', '--each', '-u', 'root' if os.geteuid() == 0 else os.geteuid())
        self.assertIn(ran.status, (0, 3), ran.err)
        assert_adds_up(self, ran.document())

    @needs_schema
    def test_the_schema_is_strict(self):
        document = maps('--json', '--each', os.getpid()).document()
        validator = contract.validator('maps')
        self.assertTrue(validator.is_valid(document))
        process = document['processes'][0]
        for change in (lambda: document.update(more=1), lambda: process.pop('sums'),
                       lambda: process['groups'][0].pop('kind'), lambda: process['mappings'][0].update(rss_kb='1')):
            change()
            self.assertFalse(validator.is_valid(document))
            document = maps('--json', '--each', os.getpid()).document()
            process = document['processes'][0]

    def test_groups_and_mappings_are_the_same_memory(self):
        process = only(maps('--json', '--each', os.getpid()))
        rows = [row for row in process['mappings'] if row['name'] != '[vsyscall]']
        for key in ('size_kb', 'rss_kb', 'pss_kb', 'swap_kb'):
            self.assertEqual(sum(group[key] for group in process['groups']), sum(row[key] for row in rows), key)
        kinds = [group['kind'] for group in process['groups']]
        self.assertEqual(kinds, sorted(kinds), 'private groups must come first')
        for kind in ('private', 'shared'):
            rss = [group['rss_kb'] for group in process['groups'] if group['kind'] == kind]
            self.assertEqual(rss, sorted(rss, reverse=True))
        for group in process['groups']:
            self.assertEqual(group['rss_kb'], group['clean_kb'] + group['dirty_kb'], group)

    def test_a_library_and_its_written_pages_are_separate(self):
        process = only(maps('--json', os.getpid()))
        libc = [group for group in process['groups'] if re.search(r'/libc[.-]', group['name'])]
        written = [group for group in libc if group['writable_file']]
        self.assertEqual(len(written), 1, libc)
        self.assertGreater(written[0]['dirty_kb'], 0)
        self.assertEqual(len(libc), 2)
        (line,) = [line for line in maps('--all', os.getpid()).lines
                   if line.endswith(written[0]['name']) and ' W ' in line]
        self.assertIn('rw-p', line)

    def test_without_tracing_it_works_from_proc(self):
        if os.geteuid() != 0:
            self.skipTest('needs root, to become nobody')
        with contextlib.ExitStack() as stack:
            process, _ = stack.enter_context(program('sh', '-c', 'echo; read x', user=contract.NOBODY,
                                                          group=contract.NOBODY, extra_groups=[]))
            ran = as_nobody('maps', '--json', str(process.pid))
            text = as_nobody('maps', str(process.pid))
        self.assertEqual((ran.status, ran.err), (0, ''), ran)
        assert_adds_up(self, ran.document())
        process = only(ran)
        self.assertIn('CAP_BPF' if contract.has_tracer() else 'without the tracer', process['why_not_exact'])
        self.assertEqual((process['exact'], process['verdict'], process['members']), (None, None, None))
        walked = quadrant(process, 'sum')
        for name, kb in (('RES', walked['resident_kb']), ('SHR', walked['resident_kb'] - walked['anon_kb'])):
            self.assertEqual(column(process, name)['exact_kb'], kb)
            self.assertIn('EXACT by smaps', column(process, name)['note'])
        self.assertTrue(text.lines[1].startswith('Cannot read the exact counters: '), text)

    @needs_overcommit
    def test_reserved_memory_is_distinguished_from_resident_memory(self):
        def reserve():
            at = reserved(16 << 40)
            ctypes.memset(at, 1, 4096)

        with child_with(reserve) as pid:
            process = only(maps('--json', pid))
            text = maps(pid)
        data = column(process, 'DATA')
        self.assertGreaterEqual(data['says_kb'], 16 << 30)
        self.assertLess(process['sums']['data_rss_kb'], 1 << 20)
        self.assertIn('reserved, hardly touched', data['note'])
        self.assertEqual(sum('reserved, hardly touched' in line for line in text.lines), 1)


class Rows(unittest.TestCase):
    def test_columns_sort_and_filter(self):
        ran = maps('--columns', 'Rss,pss_dirty,VmFlags,KernelPageSize', '--sort', 'rss', '--filter', '*libc*', os.getpid())
        self.assertEqual(ran.status, 0, ran)
        rows = ran.lines[next(i for i, line in enumerate(ran.lines) if line.startswith('EACH')):]
        self.assertEqual(rows[0].split()[3:], ['MODE', 'Rss', 'Pss_Dirty', 'VmFlags', 'KernelPageSize', 'NAME'])
        self.assertTrue(all('libc' in row for row in rows[1:]), rows)
        rss = [int(row.split()[2].replace(',', '')) for row in rows[1:]]
        self.assertEqual(rss, sorted(rss, reverse=True))
        self.assertGreater(len(rss), 2)

    def test_each_field_of_smaps_can_be_a_column(self):
        with open('/proc/self/smaps') as smaps:
            fields = dict.fromkeys(re.findall(r'(?m)^(\w+):', smaps.read()))
        ran = maps('--columns', ','.join(fields), os.getpid())
        self.assertEqual((ran.status, ran.err), (0, ''), ran)
        (head,) = [line for line in ran.lines if line.startswith('EACH')]
        self.assertEqual(head.split()[4:-1], list(fields))
        for field in list(fields)[:contract.runs(len(fields), 1)]:
            self.assertEqual(maps('--columns', field, os.getpid()).status, 0, field)

    def test_what_is_no_field_is_refused(self):
        assert_one_error_line(self, maps('--columns', 'Rsss', os.getpid()), 2)
        assert_one_error_line(self, maps('--sort', 'Rsss', os.getpid()), 2)
        assert_one_error_line(self, maps(), 2)
        assert_one_error_line(self, maps('-x', '-X', os.getpid()), 2)


class Endings(unittest.TestCase):
    def test_no_such_process(self):
        ran = maps(no_such_pid())
        self.assertEqual(ran.status, 3, ran)
        self.assertEqual(ran.err.count('\n'), 1, ran)

    @needs_root
    def test_no_permission(self):
        ran = as_nobody('maps', '--json', '--each', '1')
        self.assertEqual(ran.status, 3, ran)
        self.assertIn('CAP_SYS_PTRACE', ran.err)
        self.assertEqual(ran.document()['processes'], [])
        self.assertEqual([failed['pid'] for failed in ran.document()['failed']], [1])

    @needs_root
    def test_no_assertion_holds_for_a_process_that_cannot_be_read(self):
        with contract.programs_for_all('rslgtest-unread', None, contract.NOBODY) as (other, own):
            readable = as_nobody('maps', '--assert', 'rss<1GiB', str(own))
            checked = as_nobody('maps', '--comm', 'rslgtest-unread', '--assert', 'rss<1GiB')
            listed = as_nobody('maps', '--comm', 'rslgtest-unread', '--each')
        self.assertEqual((readable.status, readable.err), (0, ''), readable)
        for ran, status in ((checked, 1), (listed, 0)):
            self.assertEqual(ran.status, status, ran)
            self.assertRegex(ran.err, rf'^rsslag: cannot read /proc/{other}/smaps: .*\n$')

    def test_a_target_that_comes_and_goes(self):
        """Equal numbers, or status 3 with the reason: never a crash, never half a document."""
        seen = set()
        for _ in range(10 if contract.emulated() else runs(40, 10)):
            with subprocess.Popen(['true'], env=environment()) as process:
                ran = maps('--json', process.pid)
            seen.add(ran.status)
            self.assertIn(ran.status, (0, 3), ran)
            assert_adds_up(self, ran.document())
            if ran.status == 3:
                self.assertEqual(len(ran.document()['failed']), 1)
        self.assertTrue(seen)

    @long_only('a target that is always busy: what is read varies, and it uses all CPUs')
    def test_mappings_that_vanish_while_they_are_read(self):
        with Held('busy', '--threads', '4') as held:
            for _ in range(10):
                document = maps('--json', held.pid).document()
                assert_adds_up(self, document)
                (process,) = document['processes']
                if process['verdict'] == 'agrees':
                    self.assertEqual([row['difference'] for row in process['members']], [0, 0, 0])


class Speed(unittest.TestCase):
    def cost(self, pid):
        """CPU seconds of one run, in user space and the kernel."""
        process = subprocess.Popen([contract.binary, 'maps', str(pid)], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, env=environment())
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, 0)
        return usage.ru_utime + usage.ru_stime

    @staticmethod
    def reading(pid):
        begin = time.process_time()
        with open(f'/proc/{pid}/smaps', 'rb', buffering=0) as smaps:
            while smaps.read(65536):
                pass
        return time.process_time() - begin

    @long_only('it measures the cost of reading')
    @unittest.skipIf(contract.emulated(), 'emulated CPUs are too slow for a time limit')
    def test_ten_thousand_mappings_take_at_most_twice_their_reading(self):
        if not contract.has_tracer():
            self.skipTest('a build without the tracer is a debug build, which is too slow for a time limit')

        def split():
            libc = ctypes.CDLL(None)
            libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
            at = reserved(10000 * mmap.PAGESIZE)
            for page in range(0, 10000, 2):
                ctypes.memset(at + page * mmap.PAGESIZE, 1, 1)
                libc.mprotect(at + page * mmap.PAGESIZE, mmap.PAGESIZE, mmap.PROT_READ)

        with child_with(split) as pid, Held('single') as small:
            self.assertGreaterEqual(only(maps('--json', pid))['sums']['mappings'], 10000)
            # In one round, as other load slows all three; the round with the least disturbance counts.
            rounds = [(self.reading(pid), self.cost(pid), self.cost(small.pid)) for _ in range(9)]
        read, whole, start = min(rounds, key=lambda each: (each[1] - each[2]) / each[0])
        print(f'maps of 10,000 mappings: {whole * 1e3:.0f} ms of CPU, of it {start * 1e3:.0f} to start; '
              f'reading its smaps {read * 1e3:.0f} ms')
        self.assertLessEqual(whole - start, 2 * read)


NAMES = ['two\nlines', 'gone (deleted)', '\x1b[31mred', 'a\u202eb', 'back\\slash', 'sp ace', 'x' * 200]


class HostileNames(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.mkdtemp(prefix='rsslag-contract-')
        cls.addClassCleanup(shutil.rmtree, cls.directory)

    def paths(self):
        deep = self.directory
        while len(deep) < 3700:  # with the kernel's escapes still shorter than the page that it has for a name
            deep = os.path.join(deep, 'd' * 200)
        return [os.path.join(self.directory, name) for name in NAMES] + [os.path.join(deep, 'deep')]

    def map_all(self):
        self.kept = []
        for path in self.paths():
            if len(path) > 1000:
                # The path is longer than one chdir(2) accepts: step by step.
                os.chdir(self.directory)
                for part in os.path.relpath(path, self.directory).split('/')[:-1]:
                    os.makedirs(part, exist_ok=True)
                    os.chdir(part)
                path = os.path.basename(path)
            with open(path, 'w+b') as file:
                file.write(b'x' * 4096)
                file.flush()
                self.kept.append(mmap.mmap(file.fileno(), 4096))
        os.chdir('/')

    def test_no_byte_of_a_name_is_printed_raw(self):
        with child_with(self.map_all) as pid:
            runs = [maps(*options, pid) for options in (['--all'], ['--json'], ['--each'], ['-x'], ['-X'])]
            plain = maps('--all', pid, env=environment(LC_ALL='C'))
        for ran in [*runs, plain]:
            self.assertEqual(ran.status, 0, ran.err)
            self.assertIsNone(CONTROL.search(ran.out), CONTROL.search(ran.out))
            self.assertIsNone(BIDI.search(ran.out), BIDI.search(ran.out))
        self.assertTrue(plain.raw_out.isascii())
        document = runs[1].document()
        assert_adds_up(self, document)
        names = [group['name'] for group in document['processes'][0]['groups']]
        for end in (r'two\012lines', 'gone (deleted)', r'\x1b[31mred', r'back\slash', 'sp ace', 'x' * 200, '/deep'):
            self.assertEqual(sum(name.endswith(end) for name in names), 1, (end, names))
        self.assertTrue(any(len(name) > 3700 for name in names))


@unittest.skipUnless(shutil.which('pmap'), 'pmap (procps) is missing')
class Pmap(unittest.TestCase):
    @long_only('2 s of CPU; the gate compares the details with pmap')
    def test_x_is_what_pmap_prints_of_ten_processes(self):
        with contextlib.ExitStack() as stack:
            pids = [stack.enter_context(Held(name)).pid
                    for name in ('shared-anon', 'sysv', 'memfd', 'file-private-write', 'file-shared', 'classic', 'single')]
            for words in (['cat', '/dev/zero'], ['sleep', '1000'], ['python3', '-c', 'input()'], ['sh', '-c', 'read x; :']):
                process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment())
                stack.callback(process.wait)
                stack.callback(process.kill)
                wait_until(lambda: task_state(process.pid) == 'S')
                pids.append(process.pid)
            self.assertGreaterEqual(len(pids), 10)
            for pid in pids:
                with stopped(pid):
                    ours, theirs = beside(lambda pid=pid: maps('-x', pid), lambda pid=pid: tool('pmap', '-x', str(pid)))
                self.assertEqual((ours.status, ours.err), (0, ''), ours)
                self.assertEqual(ours.out.splitlines(), theirs.decode().splitlines(), pid)

    def test_details_have_the_layout_of_pmap(self):
        """Pss depends on the other processes that map these pages now, such as pmap. Columns are as wide as their content."""
        with Held('shared-anon') as held, stopped(held.pid):
            ours, theirs = beside(lambda: maps('-X', held.pid).out, lambda: tool('pmap', '-X', str(held.pid)).decode())
        ours, theirs = ours.splitlines(), theirs.splitlines()
        self.assertEqual(len(ours), len(theirs))
        self.assertEqual(ours[0], theirs[0])
        self.assertEqual(ours[1].split(), theirs[1].split())
        self.assertEqual([line.split()[:7] for line in ours[2:-2]], [line.split()[:7] for line in theirs[2:-2]])
        if [len(cell) for cell in ours[-1].split()] == [len(cell) for cell in theirs[-1].split()]:
            self.assertEqual([len(line) for line in ours], [len(line) for line in theirs])


@unittest.skipUnless(shutil.which('top'), 'top (procps) is missing')
class Top(TracingTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.statm = contract.snapshot('--json', os.getpid()).document()['calibration']['statm']

    def home_of_a_top_with_more_columns(self):
        """A home directory with settings of top that also show SWAP, CODE and DATA: shown fields are odd, hidden ones even."""
        home = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, home)
        with Pane(120, 36, HOME=home) as pane:
            pane.run('top')
            pane.until('load average')
            pane.type('W')
            pane.until('Wrote configuration')
            pane.type('q')
        file = os.path.join(home, '.config/procps/toprc')
        if not os.path.exists(file):
            self.skipTest('this top keeps its settings in another place')
        with open(file, encoding='utf-8') as toprc:
            lines = toprc.read()
        for hidden in (120, 124, 126):
            lines = lines.replace(f' {hidden} ', f' {hidden + 1} ', 1)
        with open(file, 'w', encoding='utf-8') as toprc:
            toprc.write(lines)
        return home

    def top_says(self, pid, **changes):
        """VIRT, RES, SHR in kB and %MEM on the first screen of top; further columns according to its settings."""
        lines = tool('top', '-b', '-n', '1', '-w', '200', '-E', 'k', '-e', 'k', '-p', str(pid), **changes)
        lines = lines.decode().splitlines()
        at = next(i for i, line in enumerate(lines) if line.split()[:1] == ['PID'])
        return dict(zip(lines[at].split(), lines[at + 1].split()))

    def test_the_columns_are_those_of_top_and_differ_by_what_is_cached(self):
        for name in ('classic', 'shared-anon', 'few-pages', 'per-cpu')[:runs(4)]:
            with Held(name) as held, stopped(held.pid):
                document = maps('--json', held.pid).document()
                top = self.top_says(held.pid)
            (process,) = document['processes']
            self.assertEqual(process['verdict'], 'agrees', process)
            for key in ('VIRT', 'RES', 'SHR'):
                self.assertEqual(column(process, key)['says_kb'], int(top[key]), (name, key))
            self.assertAlmostEqual(column(process, '%MEM')['says_percent'], float(top['%MEM']), delta=0.0501)
            page_kb = document['page_size'] // 1024
            cached = process['cached'] if self.statm == 'flushed' else dict.fromkeys(contract.MEMBERS, 0)
            self.assertEqual(column(process, 'RES')['exact_kb'] - int(top['RES']), cached['rss'] * page_kb, name)
            self.assertEqual(column(process, 'SHR')['exact_kb'] - int(top['SHR']),
                             (cached['file'] + cached['shmem']) * page_kb, name)

    @long_only('it reads a screen through tmux')
    @needs_tmux
    def test_code_data_and_swap_are_those_of_top(self):
        home = self.home_of_a_top_with_more_columns()
        for name in ('classic', 'shared-anon', 'file-private-write'):
            with Held(name) as held, stopped(held.pid):
                process = only(maps('--json', held.pid))
                top = self.top_says(held.pid, HOME=home)
            for key in ('CODE', 'DATA', 'SWAP'):
                self.assertEqual(column(process, key)['says_kb'], int(top[key]), (name, key))

    def test_each_column_names_its_file(self):
        with Held('single') as held, stopped(held.pid):
            process = only(maps('--json', held.pid))
            with open(f'/proc/{held.pid}/statm') as statm:
                fields = [int(word) for word in statm.read().split()]
            with open(f'/proc/{held.pid}/status') as status:
                swap = int(re.search(r'VmSwap:\s+(\d+) kB', status.read()).group(1))
        page_kb = os.sysconf('SC_PAGESIZE') // 1024
        for key, value in (('VIRT', fields[0]), ('RES', fields[1]), ('SHR', fields[2]), ('CODE', fields[3]),
                           ('DATA', fields[5])):
            self.assertEqual(column(process, key)['says_kb'], value * page_kb, key)
        self.assertEqual(column(process, 'SWAP')['says_kb'], swap)


if __name__ == '__main__':
    contract.main()
