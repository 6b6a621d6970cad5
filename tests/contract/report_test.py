# SPDX-License-Identifier: BSD-2-Clause
"""Shares of a process in a report: threads, ended threads and tasks of other processes add up to the process, and each has
its uncertainty."""
import os
import re
import shutil
import tempfile
import unittest

import contract
from contract import MEMBERS, ROOT, TracingTest, assert_valid, interpreter, needs_root, rsslag
from live import ROOMY, unseen

RECORDINGS = sorted([*(ROOT / 'docs' / 'recordings').glob('*.rsslag'),
                     *(ROOT / 'tests' / 'unit' / 'analysis' / 'wrong_runs').glob('*.rsslag')])

# Starts a thread with the given name that touches that many private pages.
THREADS = ('import ctypes, mmap, os, signal, sys, threading\n'
           'libc = ctypes.CDLL(None)\n'
           'def touch(pages, name=b"brief"):\n'
           '    libc.prctl(15, name, 0, 0, 0)\n'
           '    memory = mmap.mmap(-1, pages * 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)\n'
           '    memory.madvise(15)\n'  # MADV_NOHUGEPAGE
           '    for at in range(0, pages * 4096, 4096): memory[at] = 1\n'
           '    return memory\n'
           'kept = []\n'
           'def in_thread(work):\n'
           '    thread = threading.Thread(target=work)\n'
           '    thread.start()\n'
           '    thread.join()\n')


def sums(rows):
    return {member: sum(row[member] for row in rows) for member in MEMBERS}


def assert_adds_up(test, report):
    """Checks the sums of the rows of each mm and of the process."""
    for process in report['processes']:
        for mm in process['mms']:
            threads = [thread for thread in process['threads'] if thread['mm'] == mm['mm']]
            others = [task for task in process['other_tasks'] if task['mm'] == mm['mm']]
            told = sums([mm['baseline'], mm['exited']['net'], mm['others'], mm['remainder'],
                         *(thread['net'] for thread in threads)])
            test.assertEqual(told, {member: mm['final'][member] for member in MEMBERS}, process['comm'])
            rest = mm['ended_others']
            test.assertEqual(sums([rest['net'], *(task['net'] for task in others)]),
                             {member: mm['others'][member] for member in MEMBERS})
            test.assertEqual(sum(thread['updates'] for thread in threads) + mm['exited']['updates'], mm['updates'])
            test.assertEqual(sum(task['updates'] for task in others) + rest['updates'], mm['updates_by_others'])
        test.assertEqual(process['mms'][-1]['final'], process['final'])
        test.assertEqual(sum(thread['updates'] for thread in process['threads']) + process['exited']['updates'],
                         process['updates'])
        test.assertEqual(sum(thread['ended'] for thread in process['threads']) + process['exited']['threads'],
                         process['threads_ended'])
        tids = [(thread['mm'], thread['host_tid']) for thread in process['threads'] if not thread['ended']]
        test.assertEqual(len(tids), len(set(tids)), 'a thread has two rows')


def report_of(test, file, complete=True):
    ran = rsslag('report', '--json', file)
    test.assertEqual(ran.status, 0, ran)
    document = ran.document()
    test.assertEqual(document['complete'], complete)
    assert_valid(test, 'report', document)
    assert_adds_up(test, document)
    return document


class Shipped(unittest.TestCase):
    def test_adds_up(self):
        self.assertGreater(len(RECORDINGS), 5)
        for file in RECORDINGS:
            with self.subTest(file.name):
                report_of(self, str(file))

    def test_peaks_without_the_end_are_lower_bounds(self):
        with tempfile.NamedTemporaryFile() as cut:
            whole = next(file for file in RECORDINGS if file.name == 'classic-6.1.rsslag').read_bytes()
            cut.write(whole[:len(whole) * 2 // 3])
            cut.flush()
            report = report_of(self, cut.name, complete=False)
            *_, summary = rsslag('replay', cut.name, '--format', 'jsonl').documents()
            text = rsslag('replay', cut.name).out
        for document in (report, summary):
            self.assertTrue(document['tree']['lossy'])
            running = [process for process in document['processes'] if process['state'] == 'running']
            self.assertTrue(running)
            self.assertTrue(all(process['peak']['lossy'] for process in running))
        self.assertIn('at least', text)


class Recorded(TracingTest):
    def setUp(self):
        self.directory = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.directory)
        self.file = os.path.join(self.directory, 'trace.rsslag')

    def record(self, program, *options, mode='events', status=0):
        ran = rsslag('record', '--force', '-o', self.file, '--mode', mode, '--interval', '1m', *ROOMY, *options,
                     '--', interpreter(), '-c', THREADS + program)
        self.assertEqual(ran.status, status, ran)
        return report_of(self, self.file)

    def text(self):
        ran = rsslag('report', self.file)
        self.assertEqual(ran.status, 0, ran)
        return ran.out

    def test_a_thread_that_ends_within_a_tick(self):
        for mode in ('events', 'counts'):
            with self.subTest(mode):
                report = self.record('in_thread(lambda: kept.append(touch(1024)))\n', mode=mode)
                process, = report['processes']
                brief, = [thread for thread in process['threads'] if thread['comm'] == 'brief']
                self.assertTrue(brief['ended'])
                # Up to a page table's worth of the interpreter's pages may be included.
                self.assertLessEqual(1024, brief['net']['anon'] + brief['uncertain'])
                self.assertLessEqual(brief['net']['anon'] - brief['uncertain'], 1024 + 256)
                if report['header']['scheme'] == 'cpu':  # on the thread scheme a task flushes every 64 faults
                    self.assertGreaterEqual(brief['updates'], 1024)
                self.assertRegex(self.text(), rf'brief \[{brief["tid"]}\]')

    def test_counts_mode_does_not_show_the_most_that_was_cached(self):
        report = self.record('kept.append(touch(100))\n', mode='counts')
        if report['header']['scheme'] == 'plain':
            self.skipTest('nothing is cached')
        self.assertTrue(report['peak_lag']['approximate'])
        self.assertTrue(report['processes'][0]['extremes_approximate'])
        self.assertRegex(self.text(), r'peak lag ~.*; --mode counts records sums, in which opposite changes cancel')
        for command in (('report', self.file), ('live', '--mode', 'counts', '--', 'true')):
            for figure in ('peak_lag', 'peak_cached'):
                ran = rsslag(command[0], '--assert', f'{figure}<1GiB', *command[1:])
                self.assertEqual(ran.status, 1, ran)
                self.assertRegex(ran.err, rf"'{figure}<1GiB' does not hold: {figure} is ~[\d,]+ kB \(--mode counts records sums")

    def test_many_ended_threads_share_a_row(self):
        report = self.record('for _ in range(200): in_thread(lambda: touch(3))\n')
        process, = report['processes']
        self.assertEqual(process['threads_ended'], 201)
        more = re.search(r'and (\d+) more threads that ended', self.text())
        self.assertEqual(int(more.group(1)), len(process['threads']) + process['exited']['threads'] - 10, self.text())

    def test_an_exec_by_another_thread_than_the_leader(self):
        for mode in ('events', 'counts'):
            with self.subTest(mode):
                report = self.record('kept.append(touch(300, b"leader"))\n'
                                     'def leave():\n'
                                     '    memory = touch(700, b"leaves")\n'
                                     '    os.execv("/bin/true", ["true"])\n'
                                     'in_thread(leave)\n', mode=mode)
                process, = report['processes']
                first = process['mms'][0]['mm']
                threads = [thread for thread in process['threads'] if thread['mm'] == first]
                self.assertEqual(len(threads), 2, threads)
                for pages, thread in zip((700, 300), sorted(threads, key=lambda thread: thread['ended'])):
                    # The leader also has the pages of the interpreter.
                    self.assertLessEqual(pages, thread['net']['anon'] + thread['uncertain'], thread)
                leaves, leader = sorted(threads, key=lambda thread: thread['ended'])
                self.assertLessEqual(leaves['net']['anon'] - leaves['uncertain'], 700 + 256)
                self.assertTrue(leader['ended'])
                self.assertEqual(leader['comm'], 'leader')

    def test_pages_that_another_process_brought(self):
        # A write by another process to untouched memory allocates the pages (mm/gup.c).
        report = self.record('memory = mmap.mmap(-1, 4096 * 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)\n'
                             'memory.madvise(15)\n'
                             'at = ctypes.addressof(ctypes.c_char.from_buffer(memory))\n'
                             'if os.fork() == 0:\n'
                             '    libc.prctl(15, b"giver", 0, 0, 0)\n'
                             '    with open(f"/proc/{os.getppid()}/mem", "r+b", buffering=0) as them:\n'
                             '        for page in range(4096):\n'
                             '            them.seek(at + page * 4096)\n'
                             '            them.write(b"x")\n'
                             '    os._exit(0)\n'
                             'os.wait()\n')
        process, = report['processes']
        giver, = [task for task in process['other_tasks'] if task['comm'] == 'giver']
        self.assertEqual((giver['net']['anon'], giver['uncertain']), (4096, 0))
        self.assertRegex(self.text(), r'16,384 kB .*by another process: giver \[')

    def lossy(self):
        """A report on a process with lost records and no later reading."""
        ran = rsslag('record', '-o', self.file, '--ring', '4K', '--interval', '1m', '--',
                     interpreter(), '-c', THREADS + unseen('kept.append(touch(4096, b"storm"))'))
        self.assertEqual(ran.status, 0, ran)
        report = report_of(self, self.file)
        self.assertGreater(report['lost'], 0)
        return report

    def test_a_loss_is_in_every_figure(self):
        report = self.lossy()
        self.assertTrue(report['at_least'])
        process, = report['processes']
        for thread in process['threads']:
            self.assertGreater(thread['uncertain'], 0, thread)
        storm = max(process['threads'], key=lambda thread: abs(thread['net']['anon']))
        self.assertLessEqual(storm['net']['anon'] - storm['uncertain'], 4096)
        self.assertGreaterEqual(storm['net']['anon'] + storm['uncertain'], 4096)
        self.assertGreater(process['exited']['uncertain'], 0)
        self.assertGreater(process['teardown']['uncertain'], 0)
        # Nothing was lost before the exec was done, and no reading came after the loss.
        self.assertTrue(process['peak']['lossy'] and process['final_approximate'] and process['baseline_approximate'])
        text = self.text()
        self.assertRegex(text, 'UNCERTAIN')
        self.assertRegex(text, r'(\u00b1|\+-)[\d,]+ kB .* removed at its end')
        self.assertRegex(text, 'records were lost: figures marked')
        self.assertRegex(text, r'\d records: at least [\d,]+ updates')

    def test_what_a_loss_hides_is_not_known(self):
        report = self.lossy()
        lost = f'{report["lost"]:,} records were lost'
        for claim in ('updates<30000000', 'records<30000000', 'faults<30000000', 'peak_rss<1GiB', 'growth<1GiB',
                      'growth>=0kB', 'peak_lag<1GiB', 'peak_cached<1GiB', 'lag%<100', 'disagreements==0', 'flushes<1000000',
                      'processes<=100', 'unexplained==0', 'tree.peak_rss<1GiB', 'growth.swap==0kB'):
            with self.subTest(claim):
                ran = rsslag('report', self.file, '--assert', claim)
                self.assertEqual(ran.status, 1, ran)
                self.assertIn('not', ran.err + ran.out)
        ran = rsslag('report', self.file, '--assert', 'updates<30000000')
        self.assertIn(lost, ran.err + ran.out)
        self.assertIn('ring_full', ran.err + ran.out)
        for claim in ('updates>=1', 'lost>0', 'duration<1h', 'missing==0'):
            with self.subTest(claim):
                self.assertEqual(rsslag('report', self.file, '--assert', claim).status, 0)


if __name__ == '__main__':
    contract.main()
