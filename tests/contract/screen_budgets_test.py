#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Recordings that cost much to read, on the screen: each is read or clearly refused, in time and memory proportional to its
size; the user can always quit without waiting."""
import os
import re
import shlex
import shutil
import signal
import sys
import tempfile
import time
import unittest
from pathlib import Path

import contract
from contract import long_only, wait_until
from forger import MOST_PAYLOAD, Forger, attach, item, number, reading, signed, task, tick_end
from panes import Pane, needs_tmux
from recording_budgets_test import ADDRESS, ALL, ENOUGH, PID, filled, hostile, made

# The recordings that cost more on a screen than as text: the screen reads them again for the peak, and keeps undrawn ticks.
QUICK = ('faults of more and more tasks', 'ticks', 'time that jumps', 'CPUs of many mms')
# Prints the cost of a run as the last line.
MEASURED = f'''
import os, resource, subprocess, sys
resource.setrlimit(resource.RLIMIT_AS, ({ENOUGH}, {ENOUGH}))
process = subprocess.Popen(sys.argv[1:])
_, status, usage = os.wait4(process.pid, 0)
print('ended', os.waitstatus_to_exitcode(status), round(usage.ru_utime + usage.ru_stime, 2), usage.ru_maxrss)
'''
ENDED = re.compile(r'^ended (-?\d+) ([\d.]+) (\d+) *$', re.MULTILINE)
FOUND = re.compile('peak lag: |nothing lags in this recording')


@long_only('it reads a screen through tmux')
@needs_tmux
class OnTheScreen(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.mkdtemp(prefix='rsslag-contract-')
        cls.addClassCleanup(shutil.rmtree, cls.directory)
        cls.measured = Path(cls.directory, 'measured.py')
        cls.measured.write_text(MEASURED)

    def pane(self, file):
        pane = Pane(120, 30)
        self.addCleanup(pane.__exit__)
        pane.run('clear;', *map(shlex.quote, (sys.executable, str(self.measured), contract.binary, 'replay', str(file))))
        return pane

    def ended(self, pane, seconds=60):
        """Status, CPU seconds, bytes, and output of the run."""
        pane.until(ENDED.search, seconds)
        said = pane.tmux('capture-pane', '-p', '-J')  # joins the lines of an output that is wider than the pane
        status, cpu, kb = ENDED.search(said).groups()
        return int(status), float(cpu), int(kb) << 10, said[:ENDED.search(said).start()].strip()

    def test_hostile(self):
        """Seeks to the end, then to the peak, for which the file is read again."""
        for name, make in hostile(Forger()).items():
            if not ALL and name not in QUICK:
                continue
            with self.subTest(name):
                file = Path(self.directory, name.replace(' ', '-'))
                size = made(file, make)
                seconds, room = 10 + size / 4e6, (256 << 20) + size
                pane = self.pane(file)
                # The elapsed time on a busy machine is longer than the CPU time that is measured.
                if not ENDED.search(pane.until(lambda said: 'q quit' in said or ENDED.search(said), seconds * 8)):
                    pane.key('End', 'p')
                    pane.until(lambda said: FOUND.search(said) or ENDED.search(said), seconds * 16)
                    pane.key('q')
                status, cpu, held, said = self.ended(pane)
                self.assertIn(status, (0, 2), said)
                self.assertLess(held, room)
                self.assertLess(cpu, seconds * 2)
                self.assertEqual(pane.state(), '0 1')
                if status == 2:
                    self.assertRegex(said, r'^rsslag: .* contains far more than its size allows: ')
                file.unlink()

    @unittest.skipUnless(ALL, 'set RSSLAG_TEST_BUDGETS to test a dense recording')
    def test_what_is_far_too_dense_is_refused(self):
        pane = self.pane(self.busy(4, MOST_PAYLOAD - 4096))
        status, _, _, said = self.ended(pane, 240)
        self.assertEqual((status, pane.state()), (2, '0 1'))
        self.assertRegex(said, r'^rsslag: .* contains far more than its size allows: reading it takes too long')

    def busy(self, chunks, room):
        """One tick, then items that take seconds to read and yield no event."""
        begun = attach(PID, ADDRESS) + reading(PID, ADDRESS, task(PID, PID), 1) + tick_end()
        file = Path(self.directory, 'busy')
        made(file, lambda: Forger().recording([begun] + [filled(item(13, signed(0) + number(9) + number(0)), room)] * chunks))
        return file

    def test_while_the_peak_is_looked_for_it_can_be_left(self):
        file = self.busy(1, 24 << 20)
        os.truncate(file, 400 << 20)  # a hole at the end makes the file larger, which allows more time
        for way in ('q', signal.SIGTERM):
            with self.subTest(way):
                pane = self.pane(file)
                pane.until('q quit')
                pane.key('Space', 'p')
                pane.until('looking for the peak lag')
                began = time.monotonic()
                pid = self.replaying(pane)
                if way == 'q':
                    pane.key('q')
                else:
                    os.kill(pid, way)
                wait_until(lambda: not Path(f'/proc/{pid}/exe').exists())
                self.assertLess(time.monotonic() - began, 2)
                self.assertEqual(self.ended(pane)[0], 0)

    @staticmethod
    def replaying(pane):
        wrapper = pane.rsslag_pid()
        return int(Path(f'/proc/{wrapper}/task/{wrapper}/children').read_text().split()[0])


if __name__ == '__main__':
    contract.main()
