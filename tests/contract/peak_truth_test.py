# SPDX-License-Identifier: BSD-2-Clause
"""Peaks compared with independent values: walks of programs that stop at their own peak, touch counts, VmHWM."""
import collections
import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import unittest
from pathlib import Path

import contract
from contract import (LONG, TIMEOUT, TracingTest, assert_valid, begun, emulated, environment, interpreter, long_only, rsslag,
                      task_state, tiny_program, wait_until)
from live import ROOMY, assert_lines_hold

PAGE = os.sysconf('SC_PAGESIZE')
MIB = 1 << 20
NARROW = 64  # pages: the range of a peak is narrower on this kernel
# A huge page is one step. If its CPU, or the CPU that drops another huge page, has sent no record for a while, the times do
# not show which of the two steps came first.
HUGE_STEP = 512

# Each program pauses at its peak and prints what each process holds by its page tables.
HEAD = f"""
import ctypes, mmap, os, sys, threading
libc = ctypes.CDLL(None)
def region(size, how=mmap.MAP_PRIVATE):
    memory = mmap.mmap(-1, size, how | mmap.MAP_ANONYMOUS)
    return memory, ctypes.addressof(ctypes.c_char.from_buffer(memory))
def touch(at, size):
    libc.memset(ctypes.c_void_p(at), 1, ctypes.c_size_t(size))  # threads go on meanwhile
def drop(at, size):
    libc.madvise(ctypes.c_void_p(at), ctypes.c_size_t(size), 4)  # MADV_DONTNEED
libc.memset.restype = ctypes.c_void_p
def held(pids=('self',)):
    return [open(f'/proc/{{pid}}/smaps_rollup', 'rb', buffering=0).read() for pid in pids]
def said(walks):
    pages = [int(line.split()[1]) * 1024 // {PAGE} for walk in walks for line in walk.splitlines() if line.startswith(b'Rss:')]
    return (' '.join(map(str, pages)) + chr(10)).encode()
def tell(walks):
    os.write(1, said(walks))
said(held())  # its code and memory are there
"""
# Holds 300 MiB for 3 ms, and only waits between the walk and the end.
SPIKE = HEAD + f"""
import time
memory, at = region({300 * MIB})
touch(at, {300 * MIB})
walks = held()
time.sleep(0.003)
drop(at, {300 * MIB})
tell(walks)
"""
# Never gives memory back: the kernel updates its high-water mark when memory is freed.
KEPT = HEAD + f"""
memory, at = region({32 * MIB})
touch(at, {32 * MIB})
tell(held())
os._exit(0)
"""
# Eight threads, each of which grows to 8 MiB and ends before the next one starts.
IN_TURN = HEAD + f"""
walks = []
memory, at = region({64 * MIB})
def rise_and_fall(number):
    global walks
    touch(at + number * {8 * MIB}, {8 * MIB})
    if number == 4:
        touch(at + 5 * {8 * MIB}, {4 * MIB})  # it has most
        walks = held()
        drop(at + 5 * {8 * MIB}, {4 * MIB})
    drop(at + number * {8 * MIB}, {8 * MIB})
for number in range(8):
    thread = threading.Thread(target=rise_and_fall, args=(number,))
    thread.start()
    thread.join()
tell(walks)
"""
# Eight threads that grow and shrink concurrently and repeatedly. All pause when each holds the most.
AT_ONCE = HEAD + f"""
memory, at = region({64 * MIB})
walks = []
def look():
    global walks
    walks = held()
up, down = threading.Barrier(8, action=look), threading.Barrier(8)
def rise_and_fall(number):
    for _ in range(TIMES):
        touch(at + number * {8 * MIB}, {8 * MIB})
        up.wait()
        drop(at + number * {8 * MIB}, {8 * MIB})
        down.wait()
threads = [threading.Thread(target=rise_and_fall, args=(number,)) for number in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
tell(walks)
"""
# A parent and two children, with copied and shared pages.
TREE = HEAD + f"""
private, at = region({32 * MIB})
shared, common = region({16 * MIB}, mmap.MAP_SHARED)
touch(at, {32 * MIB})
touch(common, {4 * MIB})
done, go = os.pipe(), os.pipe()
children = []
for number in range(2):
    pid = os.fork()
    if pid == 0:
        touch(at, {16 * MIB})  # copied: it holds no more than before
        touch(common + number * {4 * MIB}, {8 * MIB})
        os.write(done[1], b'1')
        os.read(go[0], 1)
        os._exit(0)
    children.append(pid)
for _ in children: os.read(done[0], 1)
walks = held(['self', *children])
for _ in children: os.write(go[1], b'1')
for pid in children: os.waitpid(pid, 0)
tell(walks)
os.write(1, (' '.join(map(str, [os.getpid(), *children])) + chr(10)).encode())
"""


# Behaves like a test run: many allocations, some of them large, over some tenths of a second.
JSON_TESTS = """
import json, unittest
class Json(unittest.TestCase):
    def test_round_trips(self):
        for size in range(1, 40):
            document = {str(key): list(range(size)) for key in range(size * 10)}
            self.assertEqual(json.loads(json.dumps(document)), document)
"""


def run_by(program):
    return interpreter(), '-S', '-E', '-c', program


def walked(pid):
    try:
        text = Path(f'/proc/{pid}/smaps_rollup').read_text()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return None
    return next((int(line.split()[1]) * 1024 // PAGE for line in text.splitlines() if line.startswith('Rss:')), None)


def descendants(pid):
    """The children of each readable task of the process, and their descendants. Processes may end in the meantime."""
    found = []
    with contextlib.suppress(OSError):
        for task in os.listdir(f'/proc/{pid}/task'):
            with contextlib.suppress(OSError):
                for child in map(int, Path(f'/proc/{pid}/task/{task}/children').read_text().split()):
                    found += [child, *descendants(child)]
    return found


def parent_and_name(pid):
    with contextlib.suppress(OSError):
        before, _, after = Path(f'/proc/{pid}/stat').read_text().rpartition(')')
        return int(after.split()[1]), before.partition('(')[2]
    return None


class Walks:
    """Walks all processes of rsslag's command as often as possible. Keeps the highest value of each, by PID and parent."""

    def __init__(self, *args):
        self.most, self.over = {}, threading.Event()
        self.process = subprocess.Popen([contract.binary, *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, env=environment())

    def __enter__(self):
        self.thread = threading.Thread(target=self._walk)
        self.thread.start()
        return self

    def _walk(self):
        while not self.over.is_set():
            for pid in descendants(self.process.pid):
                before, pages = parent_and_name(pid), walked(pid)
                if pages is not None and before is not None and before == parent_and_name(pid):
                    self.most[pid, before] = max(self.most.get((pid, before), 0), pages)
            time.sleep(0.001)

    def __exit__(self, *_):
        self.out, self.err = (raw.decode() for raw in self.process.communicate(timeout=TIMEOUT))
        self.over.set()
        self.thread.join()


class PeakTruth(TracingTest):
    def assert_peak(self, peak, held, slack=0, width=NARROW):
        """`held`: the pages that the program found; `slack`: how many more it may have held before or after its walk."""
        told = (peak['peak_min'], peak['peak_max'], held)
        self.assertLessEqual(peak['peak_min'], held + slack, told)
        if contract.only_from_below(peak):
            return
        self.assertFalse(peak['lossy'])
        self.assertGreaterEqual(peak['peak_max'], held, told)
        # The width of the range depends on when the CPUs run. --long checks it, on an otherwise idle machine.
        if LONG and not emulated():
            self.assertLess(peak['peak_max'] - peak['peak_min'], width, told)
        elif not contract.wide_peaks():
            self.assertLess(peak['peak_max'] - peak['peak_min'], width * 16, told)

    def told_everywhere(self, argv, interval, *options):
        """The peaks of the process that ended last, which all commands report alike, and its output."""
        with tempfile.TemporaryDirectory() as directory:
            file = f'{directory}/trace.rsslag'
            live = rsslag('live', '--format', 'jsonl', '--follow', '--interval', interval, *ROOMY, '--record', file,
                          *options, '--', *argv)
            said = [line for line in live.lines if not line.startswith('{')]
            documents = [json.loads(line) for line in live.lines if line.startswith('{')]
            own = documents[-1]['processes'][-1]
            peak = own['peak']
            self.assertTrue(emulated() or not peak['lossy'])
            (tick,) = [tick for tick in documents[:-1] if tick['pid'] == own['pid'] and tick['state'] == 'exited']
            self.assertEqual(tick['peak'], peak)
            replayed = json.loads(rsslag('replay', file, '--format', 'jsonl').lines[-1])['processes'][-1]
            self.assertEqual(replayed['peak'], peak)
            self.assertEqual(rsslag('report', '--json', file).document()['processes'][-1]['peak'], peak)
            rows = [json.loads(line) for line in rsslag('export', '--format', 'jsonl', file).lines]
            row = [row for row in rows if row.get('type') == 'tick' and row['pid'] == own['pid']][-1]
            self.assertEqual([row[f'peak_{key}'] for key in ('min', 'max', 't_ns', 'tid')],
                             [peak[f'peak_{key}' if key in ('min', 'max') else key] for key in ('min', 'max', 't_ns', 'tid')])
            return peak, said, documents[-1]

    def told_by_peak(self, argv):
        ran = rsslag('peak', '--json', *ROOMY, '--', *argv)
        document = json.loads(ran.err.splitlines()[-1])
        assert_valid(self, 'peak', document)
        if not emulated():
            self.assertEqual((document['lost'], document['ended_not_at_zero']), (0, 0))
        return document, ran.out

    def assert_found(self, program, slack, width=NARROW):
        for interval in ('10ms', '10s') if LONG else ('10ms',):
            with self.subTest(interval=interval):
                peak, said, _ = self.told_everywhere(run_by(program), interval)
                self.assert_peak(peak, int(said[0]), slack, width)
        document, said = self.told_by_peak(run_by(program))
        own = document['processes'][-1]
        self.assert_peak(own, int(said), slack, width)
        self.assert_high_water(document, own)

    def assert_high_water(self, document, process):
        """The kernel samples its high-water mark, from counters that lag."""
        if process['hwm_kb'] is None:
            return
        page_kb = document['page_size'] // 1024
        self.assertLessEqual(process['hwm_kb'], process['peak_max'] * page_kb + self.bound_kb())
        self.assertGreaterEqual(process['hwm_kb'], process['peak_min'] * page_kb - self.bound_kb())

    def test_the_kernels_high_water_mark_of_what_is_never_given_back(self):
        document, said = self.told_by_peak(run_by(KEPT))
        own = document['processes'][-1]
        self.assert_peak(own, int(said), slack=NARROW)
        self.assert_high_water(document, own)

    def bound_kb(self):
        snapshot = rsslag('snapshot', '--json', '--no-walk', str(os.getpid())).document()
        return snapshot['processes'][0]['bound']['rss'] * PAGE // 1024

    def test_300_mib_for_3_ms(self):
        self.assert_found(SPIKE, slack=16)

    def test_eight_threads_in_turn(self):
        self.assert_found(IN_TURN, slack=16)

    @long_only('the width of the range depends on the timing of eight concurrent threads')
    def test_eight_threads_at_once(self):
        self.assert_found(AT_ONCE.replace('TIMES', '1'), slack=16, width=NARROW + HUGE_STEP)

    @long_only('the width of the range depends on the timing of eight concurrent threads')
    def test_eight_threads_at_once_in_pages_of_one_size(self):
        """Without huge pages, which widen the range."""
        small = f'libc.madvise(ctypes.c_void_p(at), ctypes.c_size_t({64 * MIB}), 15)\nwalks = []'  # MADV_NOHUGEPAGE
        program = AT_ONCE.replace('walks = []', small)
        self.assert_found(program.replace('TIMES', '1'), slack=16)
        peak, said, _ = self.told_everywhere(run_by(program.replace('TIMES', '4')), '10s')
        self.assert_peak(peak, int(said[0]), slack=16)

    @long_only('the width of the range depends on the timing of eight concurrent threads')
    def test_eight_threads_at_once_again_and_again(self):
        peak, said, _ = self.told_everywhere(run_by(AT_ONCE.replace('TIMES', '4')), '10s')
        self.assert_peak(peak, int(said[0]), slack=16, width=NARROW + HUGE_STEP)

    def stands_still(self, tracer):
        """Waits until the program has done all its work. Returns its PID."""
        for pid in descendants(tracer.pid):
            with contextlib.suppress(OSError):
                if Path(f'/proc/{pid}/comm').read_text() == 'tiny\n' and (walked(pid) or 0) >= 5000 and \
                        task_state(pid) == 'S':
                    return pid
        return None

    @unittest.skipUnless(os.uname().machine == 'x86_64', 'the program is for x86-64')
    def test_a_process_killed_at_its_peak_to_the_page(self):
        with tempfile.TemporaryDirectory() as directory:
            program = f'{directory}/tiny'
            tiny_program(program, 5000)
            for interval in ('10ms', '10s'):
                with self.subTest(interval=interval):
                    with begun([contract.binary, 'live', '--format', 'jsonl', '--interval', interval, *ROOMY, '--', program],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()) as live:
                        wait_until(lambda live=live: self.stands_still(live))
                        pid = self.stands_still(live)
                        held = walked(pid)
                        os.kill(pid, signal.SIGKILL)
                        out, _ = live.communicate(timeout=TIMEOUT)
                    peak = json.loads(out.splitlines()[-1])['processes'][-1]['peak']
                    # One page on the CPU that it left, or moved to, may be uncertain.
                    self.assert_peak(peak, held, slack=0, width=3)

    def test_a_tree_that_shares_and_copies(self):
        document, said = self.told_by_peak(run_by(TREE))
        held, pids = ([int(word) for word in line.split()] for line in said.splitlines())
        self.assertEqual(len(held), 3)
        self.assertEqual(document['tree']['processes'], 3, document)
        self.assert_peak(document['tree'], sum(held), slack=3 * NARROW, width=3 * NARROW)
        by_pid = {process['pid']: process for process in document['processes']}
        for pid, pages in zip(pids, held):
            self.assert_peak(by_pid[pid], pages, slack=2 * NARROW)  # the interpreter frees arenas

    def test_an_exec_starts_again(self):
        first = HEAD + f'memory, at = region({48 * MIB})\ntouch(at, {48 * MIB})\n'
        second = HEAD + f'memory, at = region({16 * MIB})\ntouch(at, {16 * MIB})\ntell(held())\n'
        argv = run_by(first + f'os.execv({interpreter()!r}, [{interpreter()!r}, "-S", "-E", "-c", {second!r}])')
        document, _ = self.told_by_peak(argv)
        own = document['processes'][-1]
        self.assertEqual(own['image'], 1, 'the first program has the higher peak')
        self.assertGreater(own['peak_min'] * PAGE, 48 * MIB)
        self.assertIsNone(own['hwm_kb'], 'VmHWM is that of the second program')
        document, said = self.told_by_peak(run_by(f'import os; os.execv({interpreter()!r}, [{interpreter()!r}, "-S", "-E", "-c", {second!r}])'))
        own = document['processes'][-1]
        self.assertEqual(own['image'], 2)
        self.assert_peak(own, int(said), slack=2 * NARROW)
        self.assert_high_water(document, own)

    def assert_no_walk_is_more(self, *argv, at_least):
        if emulated():
            self.skipTest('emulated CPUs are too slow for real programs')
        with Walks('peak', '--tree', '--json', '--', *argv) as ran:
            pass
        document = json.loads(ran.err.splitlines()[-1])
        self.assertEqual(document['status'], 0, ran.err)
        rows, names = collections.defaultdict(int), {}
        for process in document['processes']:
            rows[process['pid']] = max(rows[process['pid']], process['peak_max'])
            names[process['pid']] = process['comm']
        compared = 0
        for (pid, (parent, name)), pages in ran.most.items():
            if pid not in rows:  # the walk was before its exec
                continue
            # After a vfork(2) its mm is the parent's.
            borrowed = rows[parent] if names.get(parent) == name else 0
            self.assertGreaterEqual(max(rows[pid], borrowed), pages, (pid, name))
            compared += 1
        self.assertGreaterEqual(compared, at_least, (ran.most, rows))

    @long_only('it samples real programs as often as possible')
    def test_gcc(self):
        if shutil.which('gcc') is None:
            self.skipTest('gcc is missing')
        with tempfile.TemporaryDirectory() as directory:
            source = Path(directory, 'one.c')
            source.write_text('#include <stdio.h>\n' + ''.join(f'int f{i}(int x) {{ return x * {i} + f{i - 1}(x); }}\n' if i
                                                               else 'int f0(int x) { return x; }\n' for i in range(1500)))
            self.assert_no_walk_is_more('gcc', '-O2', '-c', str(source), '-o', f'{directory}/one.o', at_least=2)

    @long_only('it samples real programs as often as possible')
    def test_a_run_of_python_tests(self):
        with tempfile.TemporaryDirectory() as directory:
            Path(directory, 'test_json.py').write_text(JSON_TESTS)
            self.assert_no_walk_is_more(interpreter(), '-m', 'unittest', 'discover', '-s', directory, '-q', at_least=1)

    @long_only('it samples real programs as often as possible')
    def test_java(self):
        if shutil.which('java') is None or subprocess.run(['java', '-version'], capture_output=True, check=False).returncode:
            self.skipTest('java is missing')
        self.assert_no_walk_is_more('java', '-Xshare:auto', '-version', at_least=1)

    @long_only('it runs 1,000 commands')
    @unittest.skipIf(emulated(), 'emulated CPUs are too slow for that many')
    def test_no_short_command_of_a_thousand_holds_nothing(self):
        for number in range(1000):
            argv = (('ls', '/'), ('true',), ('sh', '-c', ':'))[number % 3]
            if number % 2 == 0:
                assert_lines_hold(self, rsslag('live', '--format', 'lines', '--', *argv).out)
                continue
            summary = json.loads(rsslag('live', '--format', 'jsonl', '--', *argv).lines[-1])
            self.assertGreater(summary['processes'][-1]['peak']['peak_min'], 0, (number, argv))


if __name__ == '__main__':
    contract.main()
