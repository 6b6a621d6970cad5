# SPDX-License-Identifier: BSD-2-Clause
"""librsslag and python3-rsslag, used by programs written from their headers and docs/library.md alone."""
import functools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import contract
from contract import (NOBODY, ROOT, TIMEOUT, Children, Held, TracingTest, emulated, environment, interpreter, needs_root,
                      no_such_pid, rsslag, snapshot)

BPF, FILE, STATUS, ROLLUP = 1, 2, 4, 8
MEMBERS, FLUSHED, CACHED, LAG, BOUND, SWAP, THREADS = (1 << bit for bit in range(7))
OK, ARGUMENT, GONE, NO_MEMORY, DENIED, UNSUPPORTED = range(6)
PYTHON = ROOT / 'python'


def built():
    return Path(contract.binary).parent


@functools.lru_cache(maxsize=None)
def directory():
    """The library, its Python module and a program that uses it, in a directory that every user can enter."""
    if not (built() / 'librsslag.so.0').exists():
        raise unittest.SkipTest('librsslag is not part of this build')
    if not contract.has_tracer():
        raise unittest.SkipTest('built without the tracer')
    compiler = shutil.which('cc') or shutil.which('clang')
    if not compiler:
        raise unittest.SkipTest('there is no C compiler')
    made = Path(tempfile.mkdtemp(prefix='rsslag-library-'))
    unittest.addModuleCleanup(shutil.rmtree, made)
    made.chmod(0o755)
    shutil.copy(built() / 'librsslag.so.0', made)
    shutil.copytree(PYTHON / 'rsslag', made / 'rsslag', ignore=shutil.ignore_patterns('__pycache__'))
    subprocess.run([compiler, '-std=gnu99', '-pedantic', '-Wall', '-Wextra', '-Werror', '-I', ROOT / 'include',
                    Path(__file__).with_name('library_user.c'), '-o', made / 'user', made / 'librsslag.so.0', '-lbpf',
                    '-lpthread', f'-Wl,-rpath,{made}'], check=True)
    return made


def run(argv, **more):
    env = environment(LD_LIBRARY_PATH=str(directory()), PYTHONPATH=str(directory()), PYTHONDONTWRITEBYTECODE='1')
    done = subprocess.run([str(word) for word in argv], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          env=env, timeout=TIMEOUT, cwd='/', check=False, **more)
    if done.stderr:
        raise AssertionError(f'{argv}: {done.stdout}{done.stderr}')
    return done


def user(command, pid=0, ways=0, files='', **more):
    return run([directory() / 'user', command, pid, ways, files], **more).stdout


def python(code, **more):
    if 'user' in more and os.access(interpreter(), os.X_OK) and not interpreter().startswith('/usr/'):
        raise unittest.SkipTest(f'{interpreter()} may not be accessible to other users')
    return run([interpreter(), '-c', code], **more).stdout


class Failed(AssertionError):
    def __init__(self, line):
        super().__init__(line)
        status, text = line.removeprefix('error ').split(' ', 1)
        self.status, (self.what, self.remedy) = int(status), text.split('|')


def reading(line):
    if line.startswith('error '):
        raise Failed(line)
    pairs, comm = line.split(' comm ', 1)
    words = pairs.split(' ')
    found = {key: int(value) if re.fullmatch(r'-?\d+', value) else value for key, value in zip(words[::2], words[1::2])}
    return {**found, 'comm': comm}


def exact(pid=0, ways=0, **more):
    return reading(user('exact', pid, ways, **more).rstrip('\n'))


def rollup_pages(pid):
    text = Path(f'/proc/{pid}/smaps_rollup').read_text()
    return int(re.search(r'(?m)^Rss: +(\d+) kB', text)[1]) * 1024 // os.sysconf('SC_PAGESIZE')


def status_is_exact():
    return snapshot(os.getpid(), '--json').document()['calibration']['status'] == 'exact'


NOT_PRIVILEGED = {'user': NOBODY, 'group': NOBODY, 'extra_groups': []}


class OneProcess(TracingTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.held = Held('classic', '--threads', '100')
        cls.addClassCleanup(cls.held.__exit__)

    def test_bpf_provides_all_fields_and_the_sums_of_smaps_rollup(self):
        found = exact(self.held.pid)
        self.assertEqual((found['way'], found['pid'], found['comm'], found['threads']), ('BPF', self.held.pid, 'classic', 101))
        self.assertEqual(found['rss'], rollup_pages(self.held.pid))
        self.assertEqual(found['known'], 127)
        self.assertEqual(found['marks'] & 3, 0)
        for member in ('file', 'anon', 'shmem', 'swap'):
            self.assertEqual(found[f'exact.{member}'], found[f'flushed.{member}'] + found[f'cached.{member}'])
        self.assertEqual(found['rss'], sum(found[f'exact.{member}'] for member in ('file', 'anon', 'shmem')))
        self.assertLessEqual(abs(found['cached_rss']), found['bound_rss'])

    def test_it_equals_the_command(self):
        process = snapshot(self.held.pid, '--json').document()
        found = exact(self.held.pid)
        self.assertEqual(found['scheme'], process['scheme'])
        process = process['processes'][0]
        self.assertEqual((found['rss'], found['lag'], found['bound_rss']),
                         (process['exact']['rss'], process['lag'], process['bound']['rss']))

    def test_status_where_it_is_exact_and_smaps_rollup_where_not(self):
        known = exact(self.held.pid)
        if status_is_exact():
            found = exact(self.held.pid, STATUS | ROLLUP)
            self.assertEqual((found['way'], found['exact.anon'], found['lag']), ('status', known['exact.anon'], known['lag']))
        else:
            self.assertEqual(exact(self.held.pid, STATUS | ROLLUP)['way'], 'smaps_rollup')
            with self.assertRaises(Failed) as refused:
                exact(self.held.pid, STATUS)
            self.assertEqual(refused.exception.status, UNSUPPORTED)
        found = exact(self.held.pid, ROLLUP)
        self.assertEqual((found['way'], found['rss'], found['lag']), ('smaps_rollup', known['rss'], known['lag']))
        self.assertEqual(found['known'], LAG | BOUND | SWAP | THREADS)

    def test_concurrent_threads_get_the_same_result(self):
        told = set(user('threads', self.held.pid).split())
        self.assertEqual(told, {str(rollup_pages(self.held.pid))})

    @contract.long_only('it measures CPU time')
    def test_a_call_takes_less_than_200_microseconds(self):
        way, took, cpu = user('times', self.held.pid, BPF).split()
        print(f'librsslag: {took} us, {cpu} us of CPU time for a process of 101 threads by {way}, the medians of 1001')
        self.assertEqual(way, 'BPF')
        # CPU time, as other processes use the machine concurrently.
        if not emulated():
            self.assertLess(float(cpu), 200)

    def test_what_a_busy_process_could_not_find_out_it_finds_at_rest(self):
        busy, rests = user('rest', ways=STATUS).splitlines()
        self.assertIn('cannot determine', busy)
        if status_is_exact():
            self.assertEqual(rests, 'exact')
        else:
            self.assertIn('shows only flushed counters', rests)

    def test_a_structure_of_another_version(self):
        self.assertEqual(user('versions', self.held.pid).splitlines(),
                         ['size 1 left 8 ninth 9', f'short {ARGUMENT}', f'null {ARGUMENT} {ARGUMENT}'])

    @needs_root
    def test_without_rights_another_users_process_is_read_by_status_or_refused_with_a_remedy(self):
        expected = rollup_pages(self.held.pid)
        if status_is_exact():
            found = exact(self.held.pid, **NOT_PRIVILEGED)
            self.assertEqual((found['way'], found['rss']), ('status', expected))
        for ways, remedy in ((ROLLUP, 'CAP_SYS_PTRACE'), (BPF, 'CAP_BPF'), (BPF | FILE | ROLLUP, 'rsslag mount')):
            with self.subTest(ways=ways), self.assertRaises(Failed) as refused:
                exact(self.held.pid, ways, **NOT_PRIVILEGED)
            self.assertEqual(refused.exception.status, DENIED)
            self.assertIn(remedy, refused.exception.remedy)
            self.assertEqual('rsslag mount' in refused.exception.remedy, bool(ways & FILE))
            self.assertNotIn('setcap', refused.exception.remedy)

    def test_python_returns_the_same(self):
        told = python(f'import rsslag; r = rsslag.exact({self.held.pid}); '
                      'print(r.rss.pages, r.rss.bytes, r.rss.kib, r.way, r.comm, r.threads, r.exact.anon.pages, r.lag.pages)')
        found = exact(self.held.pid)
        self.assertEqual(told.split(), [str(found['rss']), str(found['rss'] * found['page_size']),
                                        str(found['rss'] * found['page_size'] // 1024), 'BPF', 'classic', '101',
                                        str(found['exact.anon']), str(found['lag'])])

    @needs_root
    def test_python_raises_with_a_remedy(self):
        code = f'''
import rsslag
with rsslag.Handle(ways=rsslag.Way.ROLLUP) as handle:
    try:
        handle.exact({self.held.pid})
    except rsslag.Denied as denied:
        print(denied.remedy)
'''
        self.assertIn('CAP_SYS_PTRACE', python(code, **NOT_PRIVILEGED))


class ManyProcesses(TracingTest):
    def test_all_have_what_each_has(self):
        with Held('single') as held, Children((b'a name \xff',)) as (child,):
            head, *lines = self.raw_all()
            by_pid = {int(line.split(b' ')[1]): line for line in lines}
            self.assertEqual(head, b'count %d unreadable 0' % len(lines))
            self.assertEqual(sorted(by_pid), [int(line.split(b' ')[1]) for line in lines])
            self.assertEqual(reading(by_pid[held.pid].decode())['rss'], rollup_pages(held.pid))
            self.assertTrue(by_pid[child].endswith(b' comm a name \xff'), by_pid[child])
            self.assertNotIn(2, by_pid)

    def raw_all(self, ways=0, files=''):
        """The lines of its output. A name may contain a newline."""
        done = subprocess.run([str(directory() / 'user'), 'all', '0', str(ways), files], capture_output=True,
                              env=environment(), timeout=TIMEOUT, check=True)
        return re.split(rb'\n(?=pid \d+ way )', done.stdout.removesuffix(b'\n'))

    def test_by_proc_alone_they_are_the_same_or_counted(self):
        with Held('single') as held:
            head, *lines = self.raw_all(STATUS | ROLLUP)
            found = {reading(line.decode(errors='replace'))['pid']: line.decode(errors='replace') for line in lines}
            self.assertEqual(reading(found[held.pid])['rss'], rollup_pages(held.pid))
            self.assertIn('unreadable', head.decode())

    @needs_root
    def test_python_returns_how_many_it_may_not_read(self):
        told = python('''
import rsslag
with rsslag.Handle(ways=rsslag.Way.ROLLUP) as handle:
    found = handle.all()
    print(len(found), found.unreadable, repr(found))
''', **NOT_PRIVILEGED)
        count, unreadable, shown = told.strip().split(' ', 2)
        self.assertGreater(int(count), 0)
        self.assertGreater(int(unreadable), 0)
        self.assertEqual(shown, f'<{count} readings, {unreadable} processes unreadable>')

    def test_python_lists_them_and_names_what_is_no_text(self):
        with Children((b'a name \xff',)) as (child,):
            told = python(f'import rsslag, os; print([os.fsencode(r.comm) for r in rsslag.all() if r.pid == {child}])')
        self.assertEqual(told.strip(), r"[b'a name \xff']")


class MountedFiles(TracingTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if os.geteuid() != 0:
            raise unittest.SkipTest('needs root')
        cls.parent = Path(tempfile.mkdtemp(prefix='rsslag-library-mount-'))
        cls.addClassCleanup(shutil.rmtree, cls.parent, True)
        cls.parent.chmod(0o755)
        cls.files = cls.parent / 'files'
        mounted = rsslag('mount', str(cls.files))
        if mounted.status == 3:
            raise unittest.SkipTest(mounted.err.strip())
        assert mounted.status == 0, mounted
        cls.addClassCleanup(rsslag, 'umount', str(cls.files))

    def test_without_rights_the_file_is_the_way(self):
        with Held('classic', '--threads', '20') as held:
            by_bpf = exact(held.pid, BPF)
            found = exact(held.pid, files=self.files, **NOT_PRIVILEGED)
            self.assertEqual((found['way'], found['rss'], found['lag'], found['comm'], found['threads']),
                             ('file', rollup_pages(held.pid), by_bpf['lag'], 'classic', 21))
            self.assertEqual(found['known'], MEMBERS | CACHED | LAG | BOUND | SWAP | THREADS)
            for member in ('file', 'anon', 'shmem', 'swap'):
                self.assertEqual(found[f'exact.{member}'], by_bpf[f'exact.{member}'])

    def test_self_and_all_are_by_the_file_first_and_one_process_by_bpf(self):
        self.assertEqual(exact(0, files=self.files)['way'], 'file')
        self.assertEqual(exact(os.getpid(), files=self.files)['way'], 'BPF')
        self.assertIn(b' way file ', ManyProcesses.raw_all(self, files=str(self.files))[1])

    def test_names_are_as_they_were(self):
        with Children((b'back\\slash \xff',)) as (child,):
            line = next(line for line in ManyProcesses.raw_all(self, FILE, str(self.files))[1:]
                        if line.startswith(b'pid %d ' % child))
        self.assertTrue(line.endswith(b' comm back\\slash \xff'), line)

    def test_what_only_bears_the_name_is_not_believed(self):
        false = self.parent / 'false'
        false.mkdir()
        (false / 'self').write_text('pid 1\nrss 4\n')
        with self.assertRaises(Failed) as refused:
            exact(0, FILE, files=false)
        self.assertEqual(refused.exception.status, UNSUPPORTED)
        self.assertIn('rsslag mount', refused.exception.remedy)


class Errors(TracingTest):
    def failure(self, *args, **more):
        with self.assertRaises(Failed) as failed:
            exact(*args, **more)
        return failed.exception

    def test_a_pid_that_no_process_has(self):
        for ways in (0, STATUS | ROLLUP, ROLLUP):
            failed = self.failure(no_such_pid(), ways)
            self.assertEqual((failed.status, failed.what), (GONE, f'no process {no_such_pid()}'))

    def test_a_process_that_bpf_does_not_find_is_read_by_proc(self):
        """On some virtual machines the task iterator does not show the first process."""
        try:
            self.assertGreater(exact(1)['rss'], 0)
        except Failed as failed:  # status is not exact, and its smaps may not be read
            self.assertIn(failed.status, (DENIED, UNSUPPORTED))

    def test_a_pid_that_is_none(self):
        self.assertEqual(self.failure(-1).status, ARGUMENT)

    def test_a_thread_names_its_process(self):
        with Held('classic', '--threads', '2') as held:
            tid = max(map(int, os.listdir(f'/proc/{held.pid}/task')))
            for ways in (0, BPF, *([STATUS] if status_is_exact() else []), ROLLUP):
                failed = self.failure(tid, ways)
                self.assertEqual((failed.status, failed.what, failed.remedy),
                                 (ARGUMENT, f'{tid} is a thread of {held.pid}', f'use PID {held.pid}'))

    def test_a_zombie_has_no_memory(self):
        child = subprocess.Popen([shutil.which('true')])
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        try:
            for ways in (0, STATUS | ROLLUP, ROLLUP):
                self.assertEqual(self.failure(child.pid, ways).status, NO_MEMORY, ways)
        finally:
            child.wait()

    def test_a_handle_is_not_its_childs(self):
        with self.assertRaises(Failed) as failed:
            reading(user('forked').rstrip('\n'))
        self.assertEqual(failed.exception.status, ARGUMENT)
        self.assertIn('fork', failed.exception.what)

    def test_python_has_a_class_for_each(self):
        code = f'''
import os, rsslag
for pid in ({no_such_pid()}, -1, 2**40):
    try:
        rsslag.exact(pid)
    except rsslag.Error as error:
        print(type(error).__name__, flush=True)
if os.fork() == 0:
    print(rsslag.exact().pid == os.getpid(), flush=True)
    os._exit(0)
os.wait()
'''
        self.assertEqual(python(code).split(), ['NoSuchProcess', 'BadArgument', 'BadArgument', 'True'])


class Manners(unittest.TestCase):
    def test_nothing_of_its_host_is_changed(self):
        for rights in ({}, NOT_PRIVILEGED) if os.geteuid() == 0 else ({},):
            told = user('unchanged', os.getpid(), **rights).splitlines()
            self.assertEqual(told[-3:], ['state same', 'libbpf untouched', 'children none'], told)


class Documented(TracingTest):
    """The installed files and the programs of docs/library.md, without the source tree."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if not shutil.which('cmake') or not shutil.which('pkg-config'):
            raise unittest.SkipTest('cmake or pkg-config is missing')
        cls.root = directory() / 'installed'
        for component in ('library', 'library-dev', 'python'):
            subprocess.run(['cmake', '--install', built(), '--component', component], stdout=subprocess.DEVNULL, check=True,
                           env=environment(DESTDIR=str(cls.root)))
        cls.pages = dict(re.findall(r'```(c|python)\n(.*?)```', (ROOT / 'docs' / 'library.md').read_text(), re.S)[::-1])

    def found(self, name):
        (only,) = self.root.rglob(name)
        return only

    def test_the_c_program_prints_what_a_process_holds(self):
        (self.root / 'holds.c').write_text(self.pages['c'])
        flags = subprocess.run(['pkg-config', '--cflags', '--libs', 'rsslag'], capture_output=True, text=True, check=True,
                               env=environment(PKG_CONFIG_PATH=str(self.found('rsslag.pc').parent),
                                               PKG_CONFIG_SYSROOT_DIR=str(self.root))).stdout.split()
        subprocess.run(['cc', '-Wall', '-Wextra', '-Werror', self.root / 'holds.c', '-o', self.root / 'holds', *flags], check=True)
        with Held('single') as held:
            told = run([self.root / 'holds', held.pid]).stdout
            kb = rollup_pages(held.pid) * os.sysconf('SC_PAGESIZE') // 1024
        self.assertIn(f' holds {kb} kB, read by BPF\n/proc/{held.pid}/stat misses ', told)

    def test_the_python_program_runs(self):
        with Held('single') as held:
            text = self.pages['python'].replace('4711', str(held.pid)).replace('4712', str(no_such_pid()))
            told = python(text)
            self.assertIn(f' {rollup_pages(held.pid)} BPF\n', told)

    def test_pytest_finds_the_plugin_where_it_is_installed(self):
        module = self.found('rsslag-*.dist-info').parent
        code = ("import importlib.metadata as m, sys; sys.path.insert(0, sys.argv[1]); "
                "print([e.value for d in m.distributions() if d.metadata['Name'] == 'rsslag' for e in d.entry_points])")
        self.assertIn('rsslag.pytest_plugin', run([interpreter(), '-c', code, module]).stdout)
        self.assertTrue((module / 'rsslag' / 'pytest_plugin.py').exists())


if __name__ == '__main__':
    contract.main()
