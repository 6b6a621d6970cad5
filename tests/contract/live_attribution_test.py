# SPDX-License-Identifier: BSD-2-Clause
"""`rsslag live`: which process and thread each page is attributed to, while processes and threads start and end."""
import collections
import ctypes
import json
import os
import platform
import signal
import subprocess
import tempfile
import threading
import unittest
from pathlib import Path

import contract
from contract import LONG, TIMEOUT, Held, TracingTest, long_only, needs_schema
from live import ROOMY, Live, assert_attributed, assert_trace, live

JSONL = ('--format', 'jsonl', '--threads', 'all')
MADV_PAGEOUT = 21
PIDFD_OPEN, PROCESS_MADVISE = 434, 440
COUNT = 40 if contract.emulated() else 1000 if LONG else 50
# CMD's output could interrupt a line of rsslag, so it goes to a file, whose name is the first argument.
INTO_FILE = ('sh', '-c', 'exec "$@" >"$0"')


def lifecycle():
    return Path(contract.binary).parent / 'tests/live/lifecycle'


def running(document):
    return document.get('state') == 'running'


def moved(members):
    return any(members[member] for member in ('file', 'anon', 'shmem', 'swap'))


def blamed(tick):
    """Foreign tasks that changed the process's counters, without kernel threads like khugepaged, which may do so at any time."""
    return {other['tid'] for other in tick['others'] if moved(other['net']) and other['comm'] in ('lifecycle', '')}


@needs_schema
class Lives(TracingTest):
    """COUNT lives of each kind, one after another."""
    mode = 'events'

    def setUp(self):
        if not lifecycle().exists():
            self.skipTest('tests/live/lifecycle is not built')

    def trace(self, what):
        ran = live(*JSONL, *ROOMY, '--mode', self.mode, '--follow', '--interval', '100ms', '--no-walk', '--', lifecycle(), what,
                   COUNT)
        ticks, summary = assert_trace(self, ran)
        # An emulated CPU may be taken away for longer than rsslag waits for a record, which is reported as a disagreement.
        for key in ('lost', *(() if contract.emulated() else ('disagreements', 'resyncs')), 'ended_not_at_zero'):
            self.assertEqual(summary[key], 0, key)
        self.assertEqual({tick['comm'] for tick in ticks}, {'lifecycle'})
        for tick in ticks:
            if tick['state'] != 'running':
                self.assertEqual(tick['exact']['rss'], 0, tick)
        return ticks, summary

    def test_forks(self):
        ticks, summary = self.trace('forks')
        self.assertEqual(summary['ended_mms'], COUNT + 1)
        self.assertEqual(len(summary['processes']), COUNT + 1)
        parent = ticks[-1]['pid']
        for tick in ticks:
            self.assertLessEqual(blamed(tick), {parent} if tick['pid'] != parent else set(),
                                 'only the parent may have changed the counters of a child')

    def test_execs_after_a_search(self):
        ticks, summary = self.trace('execs')
        self.assertEqual(collections.Counter(tick['state'] for tick in ticks if tick['state'] != 'running'),
                         {'exec': COUNT, 'exited': 1})
        self.assertGreaterEqual(summary['ended_mms'], COUNT + 1)
        self.assertEqual(len({tick['pid'] for tick in ticks}), 1)
        self.assertEqual(set().union(*map(blamed, ticks)), set())

    def test_execs_by_another_thread_than_the_leader(self):
        ticks, _ = self.trace('thread-execs')
        self.assertEqual(collections.Counter(tick['state'] for tick in ticks if tick['state'] != 'running'),
                         {'exec': COUNT, 'exited': 1})
        self.assertEqual(len({tick['pid'] for tick in ticks}), 1)
        self.assertEqual(set().union(*map(blamed, ticks)), set())

    def test_vforks_that_exec(self):
        ticks, summary = self.trace('spawns')
        self.assertEqual(len(summary['processes']), COUNT + 1)
        parent = ticks[-1]['pid']
        for tick in ticks:
            if tick['pid'] != parent:
                self.assertEqual(blamed(tick), set(), tick)

    def test_threads(self):
        ticks, _ = self.trace('threads')
        self.assertEqual(ticks[-1]['exited']['threads'], COUNT + 1)
        self.assertEqual(blamed(ticks[-1]), set())


@long_only('the tests of the events mode with the other mode, 4 s of CPU; the steps completeness-counts and known-truth have it in the gate')
class LivesSummedUp(Lives):
    mode = 'counts'


@needs_schema
class KnownPages(TracingTest):
    """Each thread touches a known number of pages of each member."""
    threads, anon, shmem, file = 12, 150, 70, 45

    def trace(self, *options):
        with tempfile.TemporaryDirectory() as directory:
            told = Path(directory, 'told')
            words = (*INTO_FILE, told, lifecycle(), 'touch', f'{directory}/pages', self.threads, self.anon, self.shmem,
                     self.file)
            with Live(*JSONL, *options, '--interval', '50ms', '--', *words, stdin=subprocess.PIPE) as trace:
                contract.wait_until(lambda: told.exists() and told.read_text() == 'ready\n')
                tick = trace.later(2, lambda one: running(one) and len(one['threads']) == self.threads + 1)
                trace.process.stdin.close()
                trace.finish()
        return tick

    def check(self, tick):
        assert_attributed(self, tick)
        rows = [thread for thread in tick['threads'] if thread['tid'] != tick['pid']]
        self.assertEqual(len(rows), self.threads)
        on_tmpfs = all(row['net']['file'] < self.file for row in rows)  # whose pages count as shmem
        for row in rows:
            # The uncertain amount depends on how the CPUs interleaved. The truth is within it.
            width = row['uncertain']
            if contract.LONG:
                self.assertEqual(width, 0, row)
            shmem = self.shmem + (self.file if on_tmpfs else 0)
            self.assertLessEqual(abs(row['net']['shmem'] - shmem), width, row)
            # Its stack, and the pages of the C library that it was the first to touch.
            self.assertIn(row['net']['anon'] - self.anon, range(-width, 6 + width), row)
            if not on_tmpfs:
                self.assertIn(row['net']['file'] - self.file, range(-width, 64 + width), row)

    def test_with_every_update(self):
        self.check(self.trace())

    def test_summed_up(self):
        self.check(self.trace('--mode', 'counts'))


class Causes(TracingTest):
    """A change gets the cause of a fault only if it happens in that fault."""
    count = 8

    @unittest.skipUnless(platform.machine() == 'x86_64', 'kernels of other architectures do not report faults that they cause themselves')
    def test_of_one_system_call_instruction(self):
        with tempfile.TemporaryDirectory() as directory:
            told = Path(directory, 'told')
            ran = live('--format', 'jsonl', '--events', *ROOMY, '--no-walk', '--interval', '1h', '--', *INTO_FILE, told,
                       lifecycle(), 'one-site', self.count)
            places = json.loads(told.read_text())
        self.assertEqual((ran.status, ran.err), (0, ''), ran.err)
        documents = ran.documents()
        begin = max(index for index, each in enumerate(documents) if each.get('type') == 'exec')
        updates = [each for each in documents[begin:] if each.get('type') in ('update', 'flush', 'fold')]
        scheme = documents[-1]['scheme']
        by_kernel = collections.defaultdict(list)
        for update in updates:
            if update['fault'] == 'kernel':
                self.assertGreater(update['pages'] or 1, 0, f'a fault cannot unmap pages: {update}')
                by_kernel[int(update['address'], 16) & ~4095].append(update)
        self.assertEqual(by_kernel[places['none']], [], 'a failed fault causes no update')
        for page in range(self.count):
            caused = by_kernel[places['fresh'] + 4096 * page]
            if scheme == 'cpu':
                self.assertEqual(len(caused), 1, caused)
            else:  # most changes are cached; at most the flush at its start, for each member
                self.assertLessEqual(len(caused), 3, caused)
        if scheme == 'cpu':
            without = [update for update in updates if update['member'] == 'anon' and not update['fault']]
            self.assertGreaterEqual(len(without), 2 * self.count * 300, 'the pages mapped in one system call have no fault')

    def test_faults_do_not_fall_as_a_process_ends(self):
        """Faults of an ended task are counted for it until its end is reported."""
        with Live(*JSONL, *ROOMY, '--no-walk', '--interval', '10ms', '--', lifecycle(), 'threads', COUNT) as trace:
            ticks, summary = assert_trace(self, trace.finish())
        most = collections.defaultdict(int)
        for tick in ticks:
            self.assertGreaterEqual(tick['faults'], most[tick['mm']['id']], tick)
            most[tick['mm']['id']] = tick['faults']
            for thread in tick['threads']:
                if thread['updates'] > 0:
                    self.assertGreater(thread['faults'], 0, 'the first update of a thread comes from a fault')
        self.assertEqual(summary['faults'], sum(most.values()))
        self.assertGreater(summary['faults'], 0)


@needs_schema
class Matching(TracingTest):
    """Processes that start to match are found at their exec, not at the next tick."""

    def check(self, *words):
        with tempfile.TemporaryDirectory() as directory, Live(*JSONL, '--events', '--interval', '1h', *words) as trace:
            self.assertIn('no process matches yet', trace.complaint())
            with subprocess.Popen([lifecycle(), 'touch', f'{directory}/pages', '1', '10', '10', '10'], stdin=subprocess.PIPE,
                                  stdout=subprocess.DEVNULL) as process:
                # The line is written after its counters have been read.
                trace.document(lambda one: one.get('type') == 'exec' and one['pid'] == process.pid)
                process.stdin.close()
                over = trace.document(lambda tick: tick.get('state') == 'exited' and tick['pid'] == process.pid)
            trace.signal(signal.SIGINT)
            summary = trace.finish().documents()[-1]
        self.assertEqual((over['comm'], over['exact']['rss']), ('lifecycle', 0))
        self.assertGreater(over['baseline']['rss'], 0, 'the baseline must include what it held at its exec')
        self.assertFalse(over['peak']['lossy'])
        self.assertEqual((summary['processes_read_late'], summary['processes_unread'], summary['at_least']), (0, 0, False))

    def test_by_name(self):
        self.check('--comm', '[k-m]?fe*')

    def test_processes_that_end_at_once(self):
        count = 20
        with tempfile.TemporaryDirectory() as directory, \
                Live(*JSONL, *ROOMY, '--interval', '1h', '--comm', 'lifecycle-brief') as trace:
            brief = Path(directory, 'lifecycle-brief')
            brief.symlink_to(lifecycle())
            self.assertIn('no process matches yet', trace.complaint())
            pids = []
            for _ in range(count):
                with subprocess.Popen([brief, 'touch', f'{directory}/pages', '1', '10', '10', '10'], stdin=subprocess.DEVNULL,
                                      stdout=subprocess.DEVNULL) as process:
                    self.assertEqual(process.wait(TIMEOUT), 0)
                    pids.append(process.pid)
            ticks = [trace.document(lambda tick: tick.get('state') == 'exited') for _ in pids]
            trace.signal(signal.SIGINT)
            summary = trace.finish().documents()[-1]
        self.assertEqual([tick['pid'] for tick in ticks], pids)
        for tick in ticks:
            self.assertEqual((tick['exact']['rss'], tick['peak']['lossy']), (0, False), tick)
            self.assertGreater(tick['peak']['peak_max'], tick['baseline']['rss'] + 30)
        self.assertEqual((summary['ended_mms'], summary['ended_not_at_zero'], summary['lost']), (count, 0, 0))
        self.assertEqual((summary['processes_read_late'], summary['processes_unread'], summary['at_least']), (0, 0, False))

    def test_none_that_is_called_otherwise(self):
        with Live(*JSONL, '--interval', '1h', '--comm', '?ifecycl') as trace:
            trace.complaint()
            with subprocess.Popen([lifecycle(), 'forks', str(COUNT)], stdin=subprocess.DEVNULL) as process:
                self.assertEqual(process.wait(TIMEOUT), 0)
            trace.signal(signal.SIGINT)
            self.assertEqual([document['schema'] for document in trace.finish().documents()], ['rsslag.summary/2'])


@needs_schema
class Others(TracingTest):
    def test_reclaim_blames_who_reclaims(self):
        syscall = ctypes.CDLL(None, use_errno=True).syscall
        with Held('file-private') as held:
            begin, end = (int(part, 16) for part in held.fact('mapping').split('-'))
            with Live(*JSONL, '--interval', '50ms', held.pid) as trace:
                before = trace.document(running)
                pidfd = syscall(PIDFD_OPEN, held.pid, 0)
                self.assertGreaterEqual(pidfd, 0)
                pages = (ctypes.c_size_t * 2)(begin, end - begin)
                done = syscall(PROCESS_MADVISE, pidfd, pages, ctypes.c_size_t(1), MADV_PAGEOUT, 0)
                os.close(pidfd)
                if done < 0:
                    self.skipTest(f'process_madvise: {os.strerror(ctypes.get_errno())}')
                after = trace.later(2, running)
                trace.signal(signal.SIGINT)
                ticks, summary = assert_trace(self, trace.finish())
        given_up = before['exact']['file'] - after['exact']['file']
        if given_up == 0:
            self.skipTest('this file system does not give up its pages')
        # Kernel threads (kswapd, kdamond) may reclaim pages, too.
        by_tid = {other['tid']: other['net']['file'] for other in after['others']}
        self.assertEqual(sum(by_tid.values()), -given_up, after['others'])
        self.assertLess(by_tid.get(threading.get_native_id(), 0), 0, after['others'])
        for thread in ticks[-1]['threads']:
            self.assertFalse(moved(thread['net']), thread)
        self.assertEqual(summary['disagreements'], 0)

    @long_only('it is a race, tried up to ten times with 1 GiB each')
    def test_a_reader_that_drops_the_last_reference(self):
        """A task that walks smaps of a process holds its mm. If the process is killed then, that task tears the mm down."""
        for _ in range(10):
            with Held('single', '--kb', '1048576') as held:
                with Live(*JSONL, '--no-walk', '--interval', '1h', held.pid) as trace:
                    trace.document(running)
                    reading, over = threading.Event(), threading.Event()
                    reader = threading.Thread(target=self.read_until, args=(held.pid, reading, over))
                    reader.start()
                    self.assertTrue(reading.wait(TIMEOUT))
                    os.kill(held.pid, signal.SIGKILL)
                    ticks, summary = assert_trace(self, trace.finish())
                    over.set()
                    reader.join(TIMEOUT)
            last = ticks[-1]
            self.assertEqual((last['state'], last['exact']['rss'], summary['ended_not_at_zero']), ('exited', 0, 0))
            by_reader = [other for other in last['others'] if other['net']['anon'] <= -200_000]
            if not by_reader:
                continue
            self.assertEqual({other['tid'] for other in by_reader}, {reader.native_id})
            self.assertGreater(last['exited']['net']['rss'], -1000, 'its own thread has released no pages')
            return
        self.skipTest('the reader never held the last reference to the mm')

    @staticmethod
    def read_until(pid, reading, over):
        try:
            with open(f'/proc/{pid}/smaps_rollup', 'rb', buffering=0) as rollup:
                while not over.is_set():
                    os.pread(rollup.fileno(), 4096, 0)
                    reading.set()
        except ProcessLookupError:
            return


if __name__ == '__main__':
    contract.main()
