# SPDX-License-Identifier: BSD-2-Clause
"""Shared by the contract tests: running the binary, target processes, and checks that every document must pass."""
import contextlib
import ctypes
import functools
import importlib.util
import json
import mmap
import os
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NOBODY = 65534
TIMEOUT = 240  # seconds; high, since test machines are small and busy
LIMIT = 300  # seconds for a test of the gate. A test that hangs fails, and the next one starts
LONG = bool(os.environ.get('RSSLAG_TEST_LONG'))
HAS_JSONSCHEMA = importlib.util.find_spec('jsonschema') is not None


def runs(usual, gate=None):
    """How many times a test repeats a thing, or how large a target is: in the gate half of the usual number, or `gate`."""
    if LONG:
        return usual
    return usual // 2 if gate is None else gate


# Characters that a terminal executes or hides. Newlines, which end lines of the output, are checked separately.
CONTROL = re.compile('[\x00-\x09\x0b-\x1f\x7f-\x9f]')
BIDI = re.compile('[\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]')

binary = None


class Ran:
    """How a run of rsslag ended."""

    def __init__(self, args, status, out, err):
        self.args, self.status, self.raw_out, self.raw_err = args, status, out, err

    @property
    def out(self):
        return self.raw_out.decode()

    @property
    def err(self):
        return self.raw_err.decode()

    @property
    def lines(self):
        return self.out.splitlines()

    def documents(self):
        if self.out and not self.out.endswith('\n'):
            raise AssertionError(f'the last line is cut: {self.out[-80:]!r}')
        return [json.loads(line) for line in self.out.split('\n')[:-1]]

    def document(self):
        (only,) = self.documents()
        return only

    def __repr__(self):
        return f'{self.args} -> {self.status}\nstdout: {self.raw_out!r}\nstderr: {self.raw_err!r}'


def environment(**changes):
    """A plain UTF-8 environment, without the variables that sudo, doas and pkexec set."""
    env = {key: os.environ[key] for key in ('PATH', 'HOME', 'TMPDIR', 'ASAN_OPTIONS', 'UBSAN_OPTIONS')
           if key in os.environ}
    env['LC_ALL'] = 'C.UTF-8'
    env.update(changes)
    return env


def rsslag(*args, env=None, prefix=(), executable=None, stdin=subprocess.DEVNULL, **more):
    argv = [*prefix, executable or binary, *args]
    if 'stdout' not in more:
        more['stdout'] = subprocess.PIPE
    done = subprocess.run(argv, stdin=stdin, stderr=subprocess.PIPE, env=env or environment(), timeout=TIMEOUT,
                          check=False, **more)
    return Ran(args, done.returncode, done.stdout or b'', done.stderr)


def snapshot(*args, **more):
    return rsslag('snapshot', *(str(arg) for arg in args), **more)


@contextlib.contextmanager
def begun(words, **more):
    """A process until the end of the with block. Unlike Popen's own block, it does not wait for a process that still runs."""
    with subprocess.Popen([str(word) for word in words], **more) as process:
        try:
            yield process
        finally:
            process.kill()


def snapshot_of_command(script, *options, env=None, executable=None, prefix=(), **more):
    """Runs `rsslag snapshot --json -- sh -c SCRIPT`, where SCRIPT waits in "read x" until rsslag has read it, however long
    that takes. Returns how the run ended, the lines that SCRIPT wrote, and the document."""
    argv = [*prefix, executable or binary, 'snapshot', '--json', *options, '--', 'sh', '-c', script]
    told = []
    with begun(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0,
               env=env or environment(), **more) as process:
        for line in iter(process.stdout.readline, b''):
            told.append(line)
            if line.startswith(b'{'):
                break
        rest, err = process.communicate(timeout=TIMEOUT)  # closes SCRIPT's stdin
    ran = Ran(argv, process.returncode, b''.join(told) + rest, err)
    said = [line for line in ran.lines if not line.startswith('{')]
    documents = [json.loads(line) for line in ran.lines if line.startswith('{')]
    if len(documents) != 1:
        raise AssertionError(ran)
    return ran, said, documents[0]


@functools.lru_cache(maxsize=None)
def why_no_tracing():
    """None if snapshots work here, else doctor's message."""
    ran = rsslag('doctor', '--json')
    if ran.status == 0:
        return None
    problems = [problem['what'] for problem in ran.document()['problems'] if problem['fatal']]
    return 'rsslag doctor: ' + '; '.join(problems)


class TracingTest(unittest.TestCase):
    """Tests that require a machine and a user that allow a snapshot."""

    @classmethod
    def setUpClass(cls):
        reason = why_no_tracing()
        if reason:
            raise unittest.SkipTest(reason)


@functools.lru_cache(maxsize=None)
def has_tracer():
    return 'no tracer' not in rsslag('--version').out


def long_only(reason):
    """Marks a test or a class that the gate leaves out, with the reason: it takes minutes, or a clock, the machine's load or a
    terminal can make it fail by chance. scripts/test --long runs it."""
    return unittest.skipUnless(LONG, f'scripts/test --long: {reason}')


def needs_root(test):
    return unittest.skipUnless(os.geteuid() == 0, 'needs root')(test)


def needs_overcommit(test):
    """A test that reserves far more memory than the machine has."""
    strict = Path('/proc/sys/vm/overcommit_memory').read_text().strip() == '2'
    return unittest.skipIf(strict, 'vm.overcommit_memory is 2: memory cannot be overcommitted')(test)


@functools.lru_cache(maxsize=None)
def emulated():
    """Whether the CPUs are emulated: "rsslag.slow" is on the kernel's command line of such virtual machines."""
    return 'rsslag.slow' in Path('/proc/cmdline').read_text()


def only_from_below(peak):
    """Emulated CPUs sometimes lose a record, or deliver it later than rsslag waits for; then a peak may be higher."""
    return emulated() and peak['lossy']


def wide_peaks():
    """On the `thread` scheme, with huge pages in addition to flushes, the range of a peak is thousands of pages wide."""
    return emulated() and rsslag('doctor', '--json').document()['scheme'] == 'thread'


# Targets


def stat_fields(pid):
    """The fields of /proc/PID/stat from the state on."""
    with open(f'/proc/{pid}/stat', 'rb') as stat:
        return stat.read().rpartition(b') ')[2].decode().split()


def task_state(pid):
    return stat_fields(pid)[0]


def thread_states(pid):
    states = set()
    for tid in os.listdir(f'/proc/{pid}/task'):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # the process has ended in the meantime
            states.add(task_state(f'{pid}/task/{tid}'))
    return states


def stop(pid):
    """Stops a process. When this returns, none of its threads runs."""
    os.kill(pid, signal.SIGSTOP)
    wait_until(lambda: thread_states(pid) <= {'T', 'Z'})


def minor_faults(pid):
    return int(stat_fields(pid)[7])


def is_pending(pid, number):
    """Whether the signal is pending for the process."""
    (pending,) = re.findall(r'(?m)^ShdPnd:\t([0-9a-f]+)$', Path(f'/proc/{pid}/status').read_text())
    return int(pending, 16) >> (number - 1) & 1 == 1


def open_paths(pid):
    """The paths of the process's open descriptors."""
    paths = set()
    for descriptor in os.listdir(f'/proc/{pid}/fd'):
        with contextlib.suppress(FileNotFoundError):  # closed in the meantime
            paths.add(os.readlink(f'/proc/{pid}/fd/{descriptor}'))
    return paths


def is_gone(pid):
    """Whether the process has ended. A zombie has ended."""
    try:
        return task_state(pid) in 'ZX'
    except (FileNotFoundError, ProcessLookupError):
        return True


def small_disk(test, directory, size):
    """Mounts a small file system until the test ends. Skips the test if it cannot be mounted."""
    disk = os.path.join(directory, 'disk')
    os.mkdir(disk)
    mounted = subprocess.run(['mount', '-t', 'tmpfs', '-o', f'size={size}', 'none', disk], capture_output=True, check=False)
    if mounted.returncode != 0:
        test.skipTest('cannot mount a tmpfs')
    test.addCleanup(subprocess.run, ['umount', '-l', disk], check=False)
    return disk


# The workloads of `rsslag demo`.
DEMOS = ('classic', 'few-pages', 'per-cpu', 'single', 'many-threads', 'busy', 'storm')


def workload_program():
    """The program that holds any workload, those that only tests use as well. It is part of a build with tests."""
    program = os.path.join(os.path.dirname(binary), 'tests/workload/workload')
    if not os.path.exists(program):
        raise RuntimeError(f'{program} is not built: build the target workload')
    return program


class Held:
    """`rsslag demo NAME --hold`, or the test program with a workload that demo does not have, from its "ready" to the end of the
    with block."""

    def __init__(self, name, *args, program=None):
        assert program is None or name in DEMOS
        command = [program or binary, 'demo'] if name in DEMOS else [workload_program()]
        self.process = subprocess.Popen([*command, name, '--hold', *args], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment())
        first = self.process.stdout.readline().decode().split()
        if len(first) != 2 or first[0] != 'ready':
            raise AssertionError(f'{name} --hold: {first} {self.process.communicate(timeout=TIMEOUT)}')
        self.pid = int(first[1])
        # The workload writes all facts together with the first line.
        os.set_blocking(self.process.stdout.fileno(), False)
        self.facts = [line.split(None, 1) for line in (self.process.stdout.read() or b'').decode().splitlines()]
        try:
            # Before it waits, it may have to read a page of its program from the disk. Some workloads end their main thread.
            wait_until(lambda: task_state(self.pid) in 'SZ')
        except BaseException:
            self.__exit__()
            raise

    def fact(self, key):
        return next(value for name, value in self.facts if name == key)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.send_signal(signal.SIGCONT)  # a stopped process handles no other signal
        try:
            self.status = self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.status = self.process.wait(TIMEOUT)
        self.process.stdout.close()
        self.process.stderr.close()


def set_comm(name):
    if ctypes.CDLL(None, use_errno=True).prctl(15, ctypes.c_char_p(name), 0, 0, 0) != 0:  # PR_SET_NAME
        raise OSError(ctypes.get_errno(), 'prctl(PR_SET_NAME)')


class Children:
    """Processes that do nothing, each with the given name, until the end of the with block."""

    def __init__(self, names=(b'idle',), uid=None):
        self.names, self.uid, self.pids = names, uid, []

    def __enter__(self):
        for name in self.names:
            ready, done = os.pipe()
            pid = os.fork()
            if pid == 0:
                self._idle(name, ready, done)
            os.close(done)
            self.pids.append(pid)
            told = os.read(ready, 1)
            os.close(ready)
            if told != b'1':
                self.__exit__()
                raise AssertionError(f'no child with the name {name!r}')
        wait_until(lambda: all(task_state(pid) == 'S' for pid in self.pids))
        return self.pids

    def _idle(self, name, ready, done):
        try:
            os.close(ready)
            ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)  # PR_SET_PDEATHSIG
            if self.uid is not None:
                os.setgroups([])
                os.setresgid(self.uid, self.uid, self.uid)
                os.setresuid(self.uid, self.uid, self.uid)
            set_comm(name)
            os.write(done, b'1')
            os.close(done)
            while True:
                signal.pause()
        finally:
            os._exit(1)

    def __exit__(self, *_):
        for pid in self.pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            try:
                os.waitpid(pid, 0)
            except ChildProcessError:
                pass


@contextlib.contextmanager
def child_with(prepare):
    """A fork of this interpreter that has run `prepare` and waits."""
    ready, done = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(ready)
            ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)  # PR_SET_PDEATHSIG
            prepare()
            os.write(done, b'1')
            os.close(done)
            while True:
                signal.pause()
        finally:
            os._exit(1)
    os.close(done)
    told = os.read(ready, 1)
    os.close(ready)
    try:
        if told != b'1':
            raise AssertionError('the child did not start')
        wait_until(lambda: task_state(pid) == 'S')
        yield pid
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def reserved(size):
    """Address of that much reserved private writable memory, as sanitizers map their shadow."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    no_reserve = 0x4000
    at = libc.mmap(None, size, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | no_reserve, -1, 0)
    if at in (None, ctypes.c_void_p(-1).value):
        raise OSError(ctypes.get_errno(), 'mmap')
    return at


def tiny_program(path, pages):
    """A static x86-64 ELF that writes to `pages` pages, prints a line and pauses. No other program shares its
    pages, so its Pss depends only on processes of the same program."""
    code_at, data_at = 0x400000, 0x600000
    head = 64 + 2 * 56
    code = (b'\x48\xc7\xc7' + struct.pack('<I', data_at) +    # mov rdi, data
            b'\xb9' + struct.pack('<I', pages) +               # mov ecx, pages
            b'\xc6\x07\x01\x48\x81\xc7\x00\x10\x00\x00\xff\xc9\x75\xf2' +  # touch each
            b'\xb8\x01\x00\x00\x00\xbf\x01\x00\x00\x00\xbe')   # write(1,
    code += struct.pack('<I', code_at + head + len(code) + 4 + 7 + 9) + b'\xba\x01\x00\x00\x00\x0f\x05'
    code += b'\xb8\x22\x00\x00\x00\x0f\x05\xeb\xf7' + b'\n'      # pause() forever; then the line
    size = head + len(code)
    elf = b'\x7fELF\x02\x01\x01' + bytes(9) + struct.pack('<HHIQQQIHHHHHH', 2, 62, 1, code_at + head, 64, 0, 0, 64, 56, 2,
                                                        0, 0, 0)
    elf += struct.pack('<IIQQQQQQ', 1, 5, 0, code_at, code_at, size, size, 4096)
    elf += struct.pack('<IIQQQQQQ', 1, 6, 0, data_at, data_at, 0, pages * 4096, 4096)
    with open(path, 'wb') as file:
        file.write(elf + code)
    os.chmod(path, 0o755)


@contextlib.contextmanager
def programs_for_all(name, *uids):
    """Processes of these users (None: the present one) that run a program with this name, which every user can read."""
    with tempfile.TemporaryDirectory(prefix='rsslag-contract-') as directory, contextlib.ExitStack() as stack:
        os.chmod(directory, 0o755)
        program = shutil.copy('/bin/sleep', os.path.join(directory, name))
        yield [stack.enter_context(begun([program, '300'], user=uid, group=uid)).pid for uid in uids]


class Crowd:
    """As Children, but runs a tiny program under each name: forking Python hundreds of times takes minutes."""

    def __init__(self, directory, names):
        self.directory, self.names, self.pids = tempfile.mkdtemp(prefix='crowd-', dir=directory), names, []

    def __enter__(self):
        program = os.path.join(self.directory, '.program')
        tiny_program(program, 2)
        ready, done = os.pipe()
        for name in self.names:
            path = os.path.join(os.fsencode(self.directory), name)
            if not os.path.lexists(path):
                os.symlink('.program', path)
            # Its name is the last part of the path, truncated (fs/exec.c begin_new_exec).
            self.pids.append(os.posix_spawn(path, [name], {}, file_actions=[(os.POSIX_SPAWN_DUP2, done, 1)]))
        os.close(done)
        left = len(self.names)
        while left and (told := os.read(ready, left)):
            left -= len(told)
        os.close(ready)
        if left:
            self.__exit__()
            raise AssertionError(f'{left} of {len(self.names)} did not start')
        return self.pids

    def __exit__(self, *_):
        for pid in self.pids:
            os.kill(pid, signal.SIGKILL)
        for pid in self.pids:
            os.waitpid(pid, 0)
        shutil.rmtree(self.directory)


def interpreter():
    """The Python interpreter that runs this test, by its own path, not by that of a wrapper."""
    return os.path.realpath(sys.executable)


def no_such_pid():
    """A PID that no process has: the kernel only uses PIDs below pid_max."""
    return int(Path('/proc/sys/kernel/pid_max').read_text())


@functools.lru_cache(maxsize=None)
def binary_for_all():
    """A copy of rsslag in a directory that every user can enter."""
    directory = tempfile.mkdtemp(prefix='rsslag-contract-')
    os.chmod(directory, 0o755)
    copy = os.path.join(directory, 'rsslag')
    shutil.copy(binary, copy)
    os.chmod(copy, 0o755)
    unittest.addModuleCleanup(shutil.rmtree, directory)
    return copy


def as_nobody(*args, **more):
    """Runs rsslag as a user without capabilities."""
    return rsslag(*args, executable=binary_for_all(), user=NOBODY, group=NOBODY, extra_groups=[], cwd='/', **more)


# Checks


@functools.lru_cache(maxsize=None)
def validator(name):
    import jsonschema  # takes longer than all other imports together, and most themes do not need it
    schema = json.loads((ROOT / 'docs' / 'schema' / f'{name}.schema.json').read_text())
    kind = jsonschema.validators.validator_for(schema)
    kind.check_schema(schema)
    return kind(schema)


def needs_schema(test):
    return unittest.skipUnless(HAS_JSONSCHEMA, 'python3-jsonschema is missing')(test)


def assert_valid(test, name, document):
    """Validates against docs/schema. Does nothing without python3-jsonschema; the schema tests then skip and say so."""
    if not HAS_JSONSCHEMA:
        return
    errors = [f'{error.json_path}: {error.message}' for error in validator(name).iter_errors(document)]
    test.assertEqual(errors, [])


RSS = ('file', 'anon', 'shmem')
MEMBERS = ('file', 'anon', 'shmem', 'swap', 'rss')


def assert_reading(test, document, process):
    """Checks what must hold for each process in each document."""
    flushed, cached, exact = process['flushed'], process['cached'], process['exact']
    for members in (flushed, cached, exact, *process['cached_by']):
        test.assertEqual(members['rss'], members['file'] + members['anon'] + members['shmem'], process)
    for member in MEMBERS:
        test.assertEqual(exact[member], flushed[member] + cached[member], process)
        test.assertEqual(cached[member], sum(row[member] for row in process['cached_by']), process)
    page_kb = document['page_size'] // 1024
    stat = process['readers']['stat']['rss_kb']
    test.assertEqual(process['lag'], exact['rss'] - sum(max(0, flushed[member]) for member in RSS), process)
    test.assertEqual(process['behind'], None if stat is None else exact['rss'] - stat // page_kb, process)
    window = process['window']
    test.assertLessEqual(window['min'], exact['rss'], process)
    test.assertLessEqual(exact['rss'], window['max'], process)
    test.assertIn(process['pid'], process['mm']['pids'], process)
    if process['walk'] != 'done':
        test.assertIsNone(process['walked'], process)
        test.assertIsNone(process['residual'], process)
        test.assertIn(process['verdict'], ('unwalked', 'moving'), process)
        return
    test.assertEqual(process['residual'], sum(cause['pages'] for cause in process['residual_causes']), process)
    walked = process['walked']['rss_kb'] // page_kb
    if process['verdict'] == 'moving':
        nearest = min(max(walked, window['min']), window['max'])
        test.assertEqual(process['residual'], walked - nearest, process)
    else:
        test.assertEqual(process['residual'], walked - exact['rss'], process)
    if process['verdict'] == 'agrees':
        test.assertEqual((process['residual'], window['min'], window['max']), (0, exact['rss'], exact['rss']), process)


def assert_snapshot(test, document):
    assert_valid(test, 'snapshot', document)
    for process in document['processes']:
        assert_reading(test, document, process)


def assert_one_error_line(test, ran, status):
    test.assertEqual(ran.status, status, ran)
    test.assertEqual(ran.raw_out, b'', ran)
    test.assertTrue(ran.err.startswith('rsslag: '), ran)
    test.assertEqual(ran.err.count('\n'), 1, ran)
    test.assertTrue(ran.err.endswith('\n'), ran)
    test.assertIsNone(CONTROL.search(ran.err), ran)


WRITE, POLL = {'x86_64': ('1', '7'), 'aarch64': ('64', '73')}.get(os.uname().machine, (None, None))


def waits_for_reader(pid):
    """Whether it sleeps in a write to stdout or in the poll(2) before one, by the system call's number and arguments
    (proc_pid_syscall(5))."""
    try:
        number, first, *_ = Path(f'/proc/{pid}/syscall').read_text().split() + [None]
        if number != POLL:
            return number == WRITE and first == '0x1'
        with open(f'/proc/{pid}/mem', 'rb', 0) as memory:
            memory.seek(int(first, 16))
            fd, events = struct.unpack('ihxx', memory.read(8))
        return fd == 1 and bool(events & select.POLLOUT)
    except OSError:  # it has ended
        return False


def wait_until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError('the awaited condition did not occur')
        time.sleep(0.01)


class Result(unittest.TextTestResult):
    """Counts the tests that passed and records the duration of each, which unittest itself does not."""
    passed = 0

    def __init__(self, *args, **more):
        super().__init__(*args, **more)
        self.begun, self.seconds = 0, {}

    def startTest(self, test):
        self.begun = time.monotonic()
        if not LONG and not emulated():
            signal.setitimer(signal.ITIMER_REAL, LIMIT, 60)  # and again after 60 s, if the cleanup hangs
        super().startTest(test)

    def stopTest(self, test):
        signal.setitimer(signal.ITIMER_REAL, 0)
        self.seconds[test.id().removeprefix('__main__.')] = time.monotonic() - self.begun
        super().stopTest(test)

    def addSuccess(self, test):
        super().addSuccess(test)
        self.passed += 1


def takes_too_long(*_):
    raise AssertionError(f'the process has not ended within {LIMIT} s')


def main():
    """Runs unittest on the calling file. Prints the reason of each skip; exits with 77 if every test was skipped."""
    global binary
    if len(sys.argv) < 2:
        sys.exit('usage: NAME_test.py path/to/rsslag [unittest arguments]')
    binary = os.path.abspath(sys.argv.pop(1))
    signal.signal(signal.SIGALRM, takes_too_long)
    # A shell starts jobs in the background with some of these ignored. rsslag and CMD would ignore them, too.
    for number, default in ((signal.SIGHUP, signal.SIG_DFL), (signal.SIGINT, signal.default_int_handler), (signal.SIGQUIT, signal.SIG_DFL)):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, default)
    runner = unittest.TextTestRunner(verbosity=2, resultclass=Result)
    ran = unittest.main(module='__main__', testRunner=runner, exit=False).result
    for test, reason in ran.skipped:
        print(f'skipped: {test}: {reason}')
    for test, seconds in sorted(ran.seconds.items(), key=lambda each: -each[1])[:5]:
        if seconds > 5:
            print(f'slow: {test}: {seconds:.1f} s')
    sys.exit(1 if not ran.wasSuccessful() else 77 if ran.skipped and not ran.passed else 0)
