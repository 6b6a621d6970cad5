#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A recording on the screen: it shows the tick of each moment, and keys move from moment to moment."""
import os
import re
import tempfile
import unittest
from pathlib import Path

import contract
from contract import ROOT, TracingTest, interpreter, long_only, rsslag
from live import unseen
from panes import Pane, needs_tmux

RECORDING = str(ROOT / 'docs' / 'recordings' / 'classic-6.1.rsslag')


def documents(*options):
    ran = rsslag('replay', *options, '--format', 'jsonl')
    if ran.status != 0:
        raise AssertionError(ran)
    return ran.documents()


def kb(pages, tick):
    return f"{pages * tick['page_size'] // 1024:,} kB".replace('-', '−')


@long_only('it reads a screen through tmux')
@needs_tmux
class ReplayScreen(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        told = documents(RECORDING)
        cls.ticks = [each for each in told if each['schema'] == 'rsslag.tick/2' and each['state'] == 'running']
        cls.summary = told[-1]

    def assert_shows(self, pane, tick):
        """Checks that the pane shows the tick's exact RSS, hidden amount, losses and time."""
        seconds = f"at {int(tick['t_ns'] // 10**8) / 10:.1f} s of"
        parts = [seconds, kb(tick['exact']['rss'], tick), kb(tick['lag'], tick), f"lost {tick['lost']}"]
        pane.until(lambda text: all(part in '\n'.join(text.split('\n')[:3]) for part in parts))

    def test_it_steps_from_tick_to_tick(self):
        with Pane(120, 36) as pane:
            pane.rsslag('replay', '--speed', '0.0625', RECORDING)
            pane.until('q quit')  # text of the screen; the shell has already echoed the word replay
            pane.type(' ')
            pane.until('PAUSED')
            pane.type('0')
            pane.until('PAUSED at 0.0 s')
            for tick in self.ticks[1:6]:
                pane.type('.')
                self.assert_shows(pane, tick)
            for tick in reversed(self.ticks[1:5]):
                pane.type(',')
                self.assert_shows(pane, tick)
            pane.type('w')
            pane.until('the walks made while recording')
            pane.type('?')
            pane.until('to the peak lag')
            pane.type('q')
            pane.until(lambda text: 'q quit' not in text)
            self.assertEqual(pane.state(), '0 1')

    def test_the_timeline_marks_the_peak_of_a_recording_without_its_end(self):
        with tempfile.NamedTemporaryFile(suffix='.rsslag') as file, Pane(120, 36) as pane:
            whole = Path(RECORDING).read_bytes()
            file.write(whole[:len(whole) * 2 // 3])
            file.flush()
            pane.rsslag('replay', '--speed', '16', file.name)
            text = pane.until('END of')
            (bar,) = [line for line in text.split('\n') if '━' in line]
            self.assertEqual(bar.count('▲'), 1, text)
            pane.type('q')

    def test_a_click_on_the_timeline_goes_there(self):
        last_s = self.ticks[-1]['t_ns'] / 10**9
        with Pane(90, 36) as pane:
            pane.rsslag('replay', '--speed', '0.0625', RECORDING)
            pane.until('q quit')
            pane.type(' 0')
            text = pane.until(lambda text: 'PAUSED at 0.0 s' in text and '●─' in text)
            row, bar = next((i, line) for i, line in enumerate(text.split('\n')) if '●─' in line)
            first, last = bar.index('●'), bar.rindex('─')
            pane.mouse(0, row, first + (last - first) // 2)
            text = pane.until(lambda text: 'PAUSED at 0.0 s' not in text and '━●─' in text)
            at_s = float(re.search(r'PAUSED at ([\d.]+) s', text).group(1))
            self.assertAlmostEqual(at_s, last_s / 2, delta=last_s / 5)
            pane.type('q')

    def test_it_finds_the_peak_flushes_and_losses(self):
        (peak,) = [process['peak_lag']['pages'] for process in self.summary['processes']]
        with Pane(120, 36) as pane:
            pane.rsslag('replay', RECORDING)
            pane.until('q quit')
            pane.type('p')
            pane.until('peak lag: ' + kb(peak, self.ticks[0]))
            pane.type('0')
            pane.until('PAUSED at 0.0 s')
            flushed = next(tick for tick in self.ticks[1:] if sum(tick['flush_reasons'].values()) >
                           sum(self.ticks[0]['flush_reasons'].values()))
            pane.type('f')
            self.assert_shows(pane, flushed)
            pane.type('l')
            pane.until('there is no loss after this')
            self.assert_shows(pane, flushed)
            pane.type('9')
            pane.until('PAUSED at')
            pane.type('++++ ')
            end = pane.until('END of')
            self.assertIn('EXITED', end)
            self.assertIn(kb(self.ticks[-1]['exact']['rss'], self.ticks[-1]), end)
            pane.key('--', *'--------', 'Space')  # from the start again, slowly enough to be seen
            pane.until('replay ')
            pane.type('q')


@long_only('it reads a screen through tmux')
@needs_tmux
class Losses(TracingTest):
    def test_it_shows_what_was_lost(self):
        directory = tempfile.TemporaryDirectory(prefix='rsslag-replay-')
        self.addCleanup(directory.cleanup)
        lossy = os.path.join(directory.name, 'lossy.rsslag')
        work = 'bytearray(64 << 20)\nimport time; time.sleep(1)'
        seen = unseen(work) + 'time.sleep(0.5)\n'  # as long as five ticks take
        ran = rsslag('record', '-o', lossy, '--ring', '4K', '--interval', '100ms', '--', interpreter(), '-c', seen)
        self.assertEqual(ran.status, 0, ran)
        ticks = [each for each in documents(lossy) if each['schema'] == 'rsslag.tick/2']
        # With a single tick the replay is at its END as soon as it is shown, and cannot be paused.
        self.assertGreater(len({each['t_ns'] for each in ticks}), 1)
        lost = [each['lost'] for each in ticks]
        self.assertGreater(lost[-1], 0)
        after = next((number for number in lost if number > lost[0]), None)
        with Pane(120, 36) as pane:
            pane.rsslag('replay', '--from', '0s', '--speed', '0.01', lossy)
            pane.until('q quit')
            pane.type(' 0')
            pane.until('PAUSED at 0.0 s')
            pane.type('l')
            pane.until('there is no loss after this' if after is None else re.compile(f'lost !?{after:,}').search)
            pane.type('q')


class WithoutATerminal(unittest.TestCase):
    def test_it_prints_lines(self):
        ran = rsslag('replay', RECORDING)
        self.assertEqual(ran.status, 0, ran)
        self.assertIn('VERDICT', ran.out)
        self.assertIn('lost 0', ran.out)


if __name__ == '__main__':
    contract.main()
