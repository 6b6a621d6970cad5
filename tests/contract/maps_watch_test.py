# SPDX-License-Identifier: BSD-2-Clause
"""rsslag maps over time: --watch, --baseline, --assert, and --report."""
import contextlib
import json
import mmap
import os
import shutil
import signal
import subprocess
import tempfile
import unittest

import contract
from contract import CONTROL, Held, assert_one_error_line, assert_valid, begun, environment, no_such_pid, rsslag

PAGE_KB = mmap.PAGESIZE // 1024


def maps(*args, **more):
    return rsslag('maps', *(str(arg) for arg in args), **more)


class Growing:
    """A fork that touches 64 more pages on each request."""

    def __enter__(self):
        ask, self.asks = os.pipe()
        self.answers, answer = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.asks)
            memory = mmap.mmap(-1, 4096 * mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
            memory.madvise(mmap.MADV_NOHUGEPAGE)  # a huge page would be there at the first touch
            page = 0
            while os.read(ask, 1):
                for page in range(page + 1, page + 65):
                    memory[page * mmap.PAGESIZE] = 1
                os.write(answer, b'1')
            os._exit(0)
        os.close(ask)
        os.close(answer)
        self.grow()
        return self

    def grow(self):
        os.write(self.asks, b'1')
        if os.read(self.answers, 1) != b'1':
            raise AssertionError('the child has ended')

    def end(self):
        os.close(self.asks)
        os.waitpid(self.pid, 0)

    def __exit__(self, *_):
        os.close(self.answers)
        with contextlib.suppress(OSError):
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)


class Watch(unittest.TestCase):
    def watching(self, *args):
        return begun([contract.binary, 'maps', '--watch', '--interval', '10ms', *args], stdin=subprocess.DEVNULL,
                     stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment())

    def test_what_changed_since_the_last_look(self):
        with Growing() as target, self.watching('--json', str(target.pid)) as ran:
            first = json.loads(ran.stdout.readline())
            self.assertIsNone(first['processes'][0]['changes'])
            target.grow()
            grown = 0
            while grown < 64 * PAGE_KB:
                document = json.loads(ran.stdout.readline())
                assert_valid(self, 'maps', document)
                changes = document['processes'][0]['changes']
                grown += sum(change['rss_grown_kb'] for change in changes if change['kind'] == 'private')
            self.assertLess(grown, 2 * 64 * PAGE_KB)
            # The end of the target ends rsslag with status 0.
            target.end()
            rest = ran.stdout.read().decode().splitlines()
            self.assertEqual(ran.wait(contract.TIMEOUT), 0, ran.stderr.read())
            self.assertEqual([failed['pid'] for failed in json.loads(rest[-1])['failed']], [target.pid])

    def test_text(self):
        with Held('single') as held:
            ran = maps('--watch', '--interval', '10ms', '--repeat', 3, held.pid)
        self.assertEqual((ran.status, ran.err), (0, ''), ran)
        self.assertEqual(sum('VmSize ' in line and 'Rss ' in line for line in ran.lines), 2)

    def test_a_signal_ends_it_well(self):
        with Held('single') as held, self.watching('--json', str(held.pid)) as ran:
            ran.stdout.readline()
            ran.send_signal(signal.SIGINT)
            out, err = ran.communicate(timeout=contract.TIMEOUT)
            self.assertEqual((ran.returncode, err), (0, b''))
            self.assertTrue(out.endswith(b'\n') or not out)

    def test_no_process(self):
        self.assertEqual(maps('--watch', '--interval', '10ms', no_such_pid()).status, 3)


class Baseline(unittest.TestCase):
    def setUp(self):
        directory = tempfile.mkdtemp(prefix='rsslag-contract-')
        self.addCleanup(shutil.rmtree, directory)
        self.old = os.path.join(directory, 'old.json')

    def keep(self, pid):
        ran = maps('--json', pid)
        self.assertEqual(ran.status, 0, ran)
        with open(self.old, 'w') as file:
            file.write(ran.out)
        return ran.document()['processes'][0]['sums']

    def test_growth_is_shown_and_evaluated(self):
        with Growing() as target:
            before = self.keep(target.pid)
            target.grow()
            target.grow()
            exact = 128 * PAGE_KB  # of the mapping; the interpreter itself may touch a few more pages
            holds = maps('--json', '--baseline', self.old, '--assert', f'private_dirty.growth<={2 * exact}kB',
                         '--assert', 'private_dirty.growth<90000%', '--assert', f'private_dirty.growth>={exact}kB',
                         target.pid)
            fails = maps('--json', '--baseline', self.old, '--assert', f'private_dirty.growth<{exact}kB', target.pid)
            text = maps('--baseline', self.old, '--assert', 'rss.growth<1kB', target.pid)
            percent = maps('--json', '--baseline', self.old, '--assert', 'private_dirty.growth<=0.5%', target.pid)
        self.assertEqual((holds.status, fails.status, text.status, percent.status), (0, 1, 1, 1), (holds, fails, text, percent))
        for ran in (holds, fails):
            assert_valid(self, 'maps', ran.document())
        (process,) = holds.document()['processes']
        self.assertEqual([asserted['holds'] for asserted in process['assertions']], [True, True, True])
        self.assertEqual(process['assertions'][0]['value_kb'],
                         process['sums']['private_dirty_kb'] - before['private_dirty_kb'])
        self.assertIn(max(change['rss_grown_kb'] for change in process['changes']), range(exact, 2 * exact))
        self.assertEqual([asserted['holds'] for asserted in fails.document()['processes'][0]['assertions']], [False])
        self.assertRegex(text.err, r'^rsslag: DOES NOT HOLD rss\.growth<1kB: rss\.growth [\d,]+ kB >= 1 kB\n$')
        self.assertRegex(fails.err, r'^rsslag: DOES NOT HOLD private_dirty\.growth<\d+kB: private_dirty\.growth [\d,]+ kB >= \d+ kB\n$')
        self.assertRegex(percent.err, r'^rsslag: DOES NOT HOLD private_dirty\.growth<=0\.5%: private_dirty\.growth [\d.]+ % > 0\.5 %\n$')
        (asserted,) = percent.document()['processes'][0]['assertions']
        self.assertAlmostEqual(asserted['value'], 100 * asserted['value_kb'] / before['private_dirty_kb'])
        self.assertEqual((asserted['limit'], asserted['unit']), (0.5, '%'))
        self.assertNotIn('HOLD', text.out)
        self.assertTrue(any('CHANGED' in line for line in text.lines), text)

    def test_a_still_process_has_not_changed(self):
        with Held('single') as held:
            self.keep(held.pid)
            ran = maps('--json', '--baseline', self.old, '--assert', 'rss.growth==0', '--assert', 'private<1GiB', held.pid)
        self.assertEqual(ran.status, 0, ran)
        (process,) = ran.document()['processes']
        self.assertEqual([change for change in process['changes'] if change['rss_grown_kb'] or change['size_grown_kb']], [])

    def test_assertions_without_a_baseline(self):
        self.assertEqual(maps('--assert', 'rss>1kB', os.getpid()).status, 0)
        self.assertEqual(maps('--assert', 'rss<1kB', os.getpid()).status, 1)

    def test_what_cannot_be_meant(self):
        for word in ('rss', 'rss<', 'rss<1', 'rss<1XB', 'rss<5%', 'colour<1kB', '<1kB', 'rss.growth<1kB', 'rss<>1kB'):
            assert_one_error_line(self, maps('--assert', word, os.getpid()), 2)
        assert_one_error_line(self, maps('--baseline', self.old + '.none', os.getpid()), 2)
        for text in ('', '{', '[]', '{"schema":"rsslag.maps/1"}', '{"schema":"rsslag.tick/2","processes":[]}',
                     '{"schema":"rsslag.maps/1","processes":[{"pid":1}]}'):
            with open(self.old, 'w') as file:
                file.write(text)
            assert_one_error_line(self, maps('--baseline', self.old, os.getpid()), 2)
        assert_one_error_line(self, maps('--watch', '--baseline', self.old, os.getpid()), 2)
        assert_one_error_line(self, maps('--watch', '--interval', '1ms', os.getpid()), 2)


class Report(unittest.TestCase):
    def test_begins_with_the_facts(self):
        with Held('shared-anon') as held:
            ran = rsslag('--color', 'always', 'maps', '--report', str(held.pid))
        self.assertEqual((ran.status, ran.err), (0, ''), ran)
        self.assertTrue(ran.raw_out.isascii())
        self.assertIsNone(CONTROL.search(ran.out))
        facts = dict((line[:22].strip(), line[22:]) for line in ran.lines[1:ran.lines.index('')])
        self.assertEqual(facts['PID'], str(held.pid))
        self.assertTrue(facts['kernel'].startswith(os.uname().release), facts)
        self.assertTrue(facts['program'].startswith('rsslag '), facts)
        self.assertIn('workload shared-anon', facts['command line'])
        for key in ('time', 'page size', 'MemTotal', 'scheme', 'transparent huge pages', 'executable', 'started'):
            self.assertTrue(facts[key], facts)
        for part in ('TOP ', 'QUADRANT', 'SMAPS', 'PRIVATE MAPPINGS', 'SHARED MAPPINGS'):
            self.assertTrue(any(line.startswith(part) for line in ran.lines), part)


if __name__ == '__main__':
    contract.main()
