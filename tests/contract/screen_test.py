#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The live screen in a real terminal: its content, its keys, and that no size and no name breaks it."""
import os
import random
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import unicodedata
from pathlib import Path

import contract
from contract import NOBODY, Held, TracingTest, environment, long_only, rsslag, set_comm, wait_until
from live import live
from panes import Pane, masked, needs_tmux

GOLDEN = Path(__file__).resolve().parent / 'golden'
SIZES = ((120, 36), (80, 24))


def kb(pages, tick):
    return f"{pages * tick['page_size'] // 1024:,} kB".replace('-', '−')


def same_from_run_to_run(text, columns):
    """Masks the text. The numbers decide where the head of a narrow screen breaks; another test covers it."""
    lines = text.split('\n')
    return masked('\n'.join(lines if columns >= 100 else lines[:1] + lines[3:]))


@long_only('it reads a screen through tmux')
@needs_tmux
class ScreenTest(TracingTest):
    def assert_golden(self, pane, columns, name):
        path = GOLDEN / name
        wanted = path.read_text(encoding='utf-8') if path.exists() else ''
        try:  # the frame may have been captured while it was drawn
            text = pane.until(lambda text: same_from_run_to_run(text, columns) == wanted, 20 if wanted else 0)
        except AssertionError:
            text = pane.text()
        actual = same_from_run_to_run(text, columns)
        if 'RSSLAG_GOLDEN_DIR' in os.environ:  # writes new goldens
            Path(os.environ['RSSLAG_GOLDEN_DIR'], name).write_text(actual, encoding='utf-8')
        self.assertEqual(actual.split('\n'), wanted.split('\n'), f'{path}\n{text}')

    def start(self, pane, held, *options):
        pane.rsslag('live', '-p', held.pid, *options)
        return pane.until(lambda text: 'AGREES' in text and 'q quit' in text and 'smaps_rollup' in text)

    def test_a_session(self):
        """Goldens of start, sort, filter, threads and CPUs, one thread, pause, walk, help and quit."""
        with Held('classic') as held:
            tick = live('-p', held.pid, '--format', 'jsonl', '--duration', '100ms').documents()[0]
            for columns, rows in SIZES:
                with self.subTest(columns=columns), Pane(columns, rows) as pane:
                    def golden(step, *reached):
                        for each in reached:
                            pane.until(each)
                        self.assert_golden(pane, columns, f"screen_{tick['scheme']}_{columns}x{rows}_{step}.txt")

                    self.start(pane, held)
                    golden('start')
                    pane.type('t')
                    golden('threads', 'THREADS 1')
                    pane.type('ssss')
                    golden('sort', 'sorted by number' if tick['scheme'] == 'cpu' else 'sorted by last flush')
                    pane.type('/worker-1')
                    golden('filtering', 'filter by name or TID: worker-1_')
                    pane.key('Enter')
                    golden('filter', lambda text: '10 of 101' in text and 'filter by' not in text)
                    pane.key('Down', 'Enter')
                    golden('one', 'over time')
                    pane.key('Escape')
                    pane.until(lambda text: 'over time' not in text)
                    pane.key('Escape')
                    pane.until(lambda text: '10 of 101' not in text)
                    pane.type('c')
                    golden('cpus', 'CPUS' if tick['scheme'] == 'cpu' else 'not CPUs')
                    pane.type(' ')
                    golden('pause', 'PAUSED')
                    pane.type(' ')
                    pane.until(lambda text: 'PAUSED' not in text)
                    pane.type('mw')
                    golden('walk', ' ANON ')
                    pane.type('mmmm?')
                    golden('help', ' Marks ')
                    pane.type('q')
                    text = pane.until(lambda text: 'traced ' in text and 'rsslag: CPU' in text)
                    self.assertIn('lost 0 of ', text)
                    self.assertEqual(pane.state(), '0 1')

    def assert_replays(self, file):
        self.assertEqual(os.stat(file).st_mode & 0o7777, 0o600)
        ran = rsslag('replay', file, '--format', 'jsonl')
        self.assertEqual((ran.status, ran.err), (0, ''), ran.raw_err)
        *ticks, summary = ran.documents()
        self.assertGreater(len(ticks), 0)
        self.assertGreater(summary['records'], 0)
        self.assertEqual((summary['emitted'], summary['lost'], summary['disagreements']), (summary['records'], 0, 0))
        # The recording counts from its start.
        self.assertLess(ticks[0]['updates'], summary['updates'])
        self.assertEqual(ticks[0]['seq'], 0)

    def test_r_records_from_here_and_ends_it(self):
        directory = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, directory)
        with Held('busy') as held, Pane(120, 36) as pane:
            pane.run('cd', directory)
            pane.rsslag('live', '-p', held.pid, '--interval', '100ms')
            pane.until('r record')

            def begun(*said, keys='rr'):
                pane.type(keys)
                text = pane.until(lambda text: all(each in text for each in said or ('recording from here',)) and 'REC  live' in text)
                name = re.search(r'rsslag-\d+-\d{8}T\d{6}\.rsslag', text)[0]
                self.assertTrue(name.startswith(f'rsslag-{held.pid}-'))
                file = os.path.join(directory, name)
                wait_until(lambda: os.path.getsize(file) > 100_000)
                return file

            first = begun()
            pane.type('r')
            text = pane.until(f'B in {os.path.basename(first)}')
            self.assertRegex(text, r'[1-9]\d* events, (\d+ kB|\d+\.\d MiB) in ')
            pane.until(lambda text: 'REC' not in text)
            self.assert_replays(first)
            if os.geteuid() == 0:  # without its capabilities root is an ordinary user
                os.chown(directory, NOBODY, NOBODY)
                pane.type('rr')
                pane.until(lambda text: re.search(r'cannot create \S+: Permission denied', text))
                os.chown(directory, 0, 0)
            wait_until(lambda: time.strftime('%Y%m%dT%H%M%S') not in first)
            second = begun('which begins', ' s before', keys='rl')
            pane.type('q')
            pane.until(f'B in {os.path.basename(second)}')
            self.assert_replays(second)
            self.assertEqual(len(os.listdir(directory)), 2)

    def test_r_leaves_alone_what_records_from_the_begin(self):
        with Held('classic') as held, tempfile.TemporaryDirectory() as directory, Pane(120, 36) as pane:
            file = os.path.join(directory, 'trace')
            pane.rsslag('live', '-p', held.pid, '--record', file)
            pane.until('REC  live')
            pane.type('r')
            pane.until('the whole trace is being recorded')
            pane.until('REC  live')
            pane.type('q')
            pane.until('traced ')
            wait_until(lambda: rsslag('replay', file).err == '')
            self.assertEqual(os.listdir(directory), ['trace'])

    def test_f1_and_h_help_and_y_copies_the_selected_row(self):
        with Held('classic') as held, Pane(120, 36) as pane:
            pane.tmux('set', '-s', 'set-clipboard', 'on')
            self.start(pane, held)
            pane.key('F1')
            pane.until('y  copy the row')
            pane.type('h')
            pane.until(lambda text: 'y  copy the row' not in text)
            pane.type('ty')
            text = pane.until('sent to the clipboard')
            copied = pane.tmux('show-buffer').rstrip('\n')
            self.assertRegex(copied, r'^\d+ ')
            self.assertIn(' '.join(copied.split()[:2]), ' '.join(text.split()))

    def test_the_mouse(self):
        with Held('classic') as held, Pane(90, 36) as pane:
            self.start(pane, held)
            self.assertTrue(pane.takes_clicks())
            pane.type('t')
            pane.until('THREADS 1')
            pane.click('FAULTS')
            pane.until('sorted by faults')
            pane.click('worker-')
            selected = pane.until(lambda text: re.search(r'▶ +\d+ worker-', text))
            pane.mouse(65, 20, 20)
            pane.until(lambda text: '▶' in text and selected.split('▶')[1][:20] not in text.split('▶')[1])
            pane.click('▶')
            pane.until('over time')
            pane.click('Esc back')
            pane.until(lambda text: 'over time' not in text)
            pane.click('quit')
            pane.until('traced ')
            self.assertFalse(pane.takes_clicks())
            pane.rsslag('live', '-p', held.pid, '--no-mouse')
            pane.until('q quit')
            self.assertFalse(pane.takes_clicks())
            pane.type('q')

    def test_a_signal_that_kills_it_ends_the_reports_of_clicks(self):
        with Held('few-pages') as held, Pane(90, 30) as pane:
            self.start(pane, held)
            self.assertTrue(pane.takes_clicks())
            os.kill(pane.rsslag_pid(), signal.SIGSEGV)
            pane.until(lambda text: 'q quit' not in text)
            self.assertFalse(pane.takes_clicks())

    def test_three_lines_show_the_values_of_the_tick(self):
        with Held('classic') as held:
            tick = live('-p', held.pid, '--format', 'jsonl', '--duration', '100ms').documents()[0]
            said = f"{tick['readers']['stat']['rss_kb']:,} kB"
            count = len([row for row in (tick['threads'] if tick['scheme'] == 'thread' else tick['cpus'])
                         if any(row['cached'][member] for member in ('file', 'anon', 'shmem'))])
            where = f"{count} {'thread' if tick['scheme'] == 'thread' else 'CPU'}{'' if count == 1 else 's'}"
            for columns, rows in SIZES + ((60, 15), (200, 60)):
                with self.subTest(columns=columns), Pane(columns, rows) as pane:
                    pane.rsslag('live', '-p', held.pid)
                    three = '\n'.join(pane.until('AGREES').split('\n')[:3])
                    for each in (said, kb(tick['exact']['rss'], tick), kb(tick['lag'], tick), where,
                                 tick['verdict'].upper(), f"lost {tick['lost']}"):
                        self.assertIn(each, three)
                    pane.type('q')

    def test_any_size(self):
        with Held('few-pages') as held, Pane() as pane:
            self.start(pane, held)
            fresh = masked(pane.until('No update for'))  # wait until the first frames have settled
            dice = random.Random(4)
            for columns, rows in [(1, 1), (20, 5), (40, 10), (80, 24), (300, 100), (500, 200)] + [
                    (dice.randint(1, 300), dice.randint(1, 100)) for _ in range(100)]:
                pane.resize(columns, rows)
            pane.resize(120, 36)
            try:
                pane.until(lambda text: masked(text) == fresh)
            except AssertionError:
                self.assertEqual(masked(pane.text()), fresh)  # for the message, which shows the difference
            for columns, rows in ((20, 5), (40, 10), (300, 100), (500, 200)):
                pane.resize(columns, rows)
                pane.until('lost 0' if columns >= 40 else 'rsslag')
            pane.type('q')
            pane.until('traced ')

    def test_no_screen_where_there_is_no_terminal_that_can_be_drawn_on(self):
        with Held('few-pages') as held, Pane() as pane:
            for prefix, suffix in (('TERM=nonsense', ''), ('TERM=dumb', ''), ('', '</dev/null'), ('', '| cat'), ('', '--format lines')):
                pane.run('clear')
                pane.run(prefix, contract.binary, 'live', '--duration', '300ms', '-p', str(held.pid), suffix)
                text = pane.until('rsslag: CPU')
                self.assertIn('VERDICT', text)
                self.assertNotIn('q quit', text)

    def test_hostile_names(self):
        """Only printable characters of names reach the terminal, and no name shifts the columns to its right."""
        names = [b'\x1b[31mred', b'\x1b]0;title\x07', '\u202etfel'.encode(), b'\xff\xfe\xfd', '日本語名'.encode(), b'two\nlines',
                 b'tab\tbed', b'\x9b2J', 'e\u0301\u0301\u0301'.encode(), '\u200bzero'.encode(), '😀😀😀'.encode(), b'\\', b'\x7f\x08\x08',
                 '\u2066iso\u2069'.encode(), b'\x0e\x0f', b'\r\r\r', '한국어이름'.encode(), b'%s%n', b'a' * 15, b'\x1bc']
        done, ready = threading.Event(), threading.Barrier(len(names) + 1)

        def idle(name):
            set_comm(name)
            bytes(bytearray(64 * 4096))
            ready.wait()
            done.wait()

        threads = [threading.Thread(target=idle, args=(name,)) for name in names]
        for thread in threads:
            thread.start()
        ready.wait()
        try:
            with Pane(120, 36) as pane:
                pane.rsslag('live', '-p', os.getpid())
                pane.until('lost 0')
                pane.type('t/')
                for key in 'a', 'Enter', 'Escape', 'End':
                    pane.key(key)
                rows = pane.until('FOLDS 0' if 'scheme cpu' in pane.text() else 'FLUSHES').split('\n')
                ruled = [row for row in rows if '│ ' in row[60:] or row.endswith('│')]
                self.assertGreater(len(ruled), 5)
                self.assertEqual({self.width(row[:row.rindex('│')]) for row in ruled}, {76}, '\n'.join(rows))
                pane.type('q')
            for term in ('xterm-256color', 'tmux-256color', 'linux'):
                with tempfile.NamedTemporaryFile() as record:
                    line = f'stty rows 36 cols 120; {contract.binary} live --duration 700ms -p {os.getpid()}'
                    subprocess.run(['script', '-qfc', line, record.name], env=environment(TERM=term, SHELL='/bin/sh'),
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, timeout=contract.TIMEOUT, check=True)
                    self.assert_harmless(record.read())
        finally:
            done.set()
            for thread in threads:
                thread.join()

    @staticmethod
    def width(text):
        return sum(2 if unicodedata.east_asian_width(c) in 'WF' else 1 for c in text)

    def assert_harmless(self, recorded):
        body = recorded.decode(errors='surrogateescape').split('\n', 1)[1]
        self.assertIn('q quit', body)
        # Sequences of the terminal itself: CSI, character sets, keypad modes, cursor movements.
        rest = re.sub(r'\x1b\[[0-9;?>]*[A-Za-z]|\x1b[()][A-Z0-9]|\x1b[=>78MHDE]|[\r\n\b\x0e\x0f]', '', body)
        self.assertIsNone(contract.CONTROL.search(rest), repr(contract.CONTROL.search(rest)))
        self.assertIsNone(contract.BIDI.search(rest))
        self.assertNotIn('\ufffd', rest)
        for osc in ('\x1b]', '\x1bc', '\x1b[31mred'):
            self.assertNotIn(osc, body)


@long_only('it reads a screen through tmux')
@needs_tmux
class ListTest(TracingTest):
    """The list of several processes."""

    def test_shows_what_two_processes_hold_together(self):
        with Held('classic') as one, Held('few-pages') as other, Pane(160, 36) as pane:
            ticks = live('-p', one.pid, '-p', other.pid, '--format', 'jsonl', '--duration', '100ms').documents()[:2]
            exact = {tick['pid']: tick['exact']['rss'] for tick in ticks}
            self.assertEqual(set(exact), {one.pid, other.pid})
            pane.rsslag('live', '-p', one.pid, '-p', other.pid)
            text = pane.until(lambda text: 'demo few-pages --hold' in text and '2 AGREES' in text)
            self.assertIn(f'They hold {kb(sum(exact.values()), ticks[0])} together', text)
            for pid, name in ((one.pid, 'demo classic --hold'), (other.pid, 'few-pages --hold')):
                row = next(line for line in text.split('\n') if f' {pid} ' in line)
                self.assertIn(kb(exact[pid], ticks[0]).removesuffix(' kB'), row)
                self.assertIn(name, row)
                self.assertIn('AGREES', row)
            self.assertLess(text.index('demo classic'), text.index('few-pages'), 'the largest comes first')
            pane.type('S')
            pane.until(lambda text: 'by exact, reversed' in text and text.index('few-pages') < text.index('demo classic'))
            pane.key('Down', 'Enter')
            text = pane.until(lambda text: f'[{one.pid}]' in text and 'smaps_rollup' in text)
            self.assertIn(f'It holds {kb(exact[one.pid], ticks[0])}.', text)
            pane.key('Escape')
            pane.until('They hold')
            other.process.terminate()
            text = pane.until('1 ended')
            self.assertIn('; the highest peak ', text)
            pane.type('q')
            pane.until('tree peak')

    def test_shows_children_below_their_parent_and_keeps_that_in_a_replay(self):
        script = 'sh -c "sleep 100; true" & sleep 100 & echo started; wait'
        directory = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, directory)
        file = os.path.join(directory, 'tree.rsslag')

        def is_tree(text, commands):
            found = re.findall(r' (?:AGREES|MOVING|UNWALKED|EXPLAINED) +\S+ +\d+ (\S.*?)\s*$', text, re.M)
            return len(found) == 4 and all(re.fullmatch(one, two) for one, two in zip(commands, found))

        with Pane(160, 36) as pane:
            pane.rsslag('live', '--follow', '--interval', '200ms', '--', 'sh', '-c', f"'{script}'")
            pane.until('PROCESSES, by exact')
            pane.type('vssssssss')
            pane.until('by PID, as a tree')
            command = ('sh -c sh -c .*', '├ sh -c sleep 100; true', '│ └ sleep 100', '└ sleep 100')
            pane.until(lambda text: is_tree(text, command))
            pane.type('qq')
            pane.until('tree peak')
            brief = script.replace('100', '3')
            recorded = rsslag('record', '--follow', '--interval', '200ms', '-o', file, '--', 'sh', '-c', brief)
            self.assertEqual(recorded.status, 0, recorded.raw_err)
            pane.run('clear')
            pane.rsslag('replay', file)
            pane.until('PROCESSES, by exact')
            pane.type('vssssssss')
            pane.until(lambda text: is_tree(text, ('sh', '├ sh', '│ └ sleep', '└ sleep')))
            pane.type('q')

    def test_shows_each_of_very_many(self):
        """They all have their first tick at the same moment. None of them grows."""
        count = 600
        directory = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, directory)
        program = os.path.join(directory, 'crowd')
        shutil.copy(shutil.which('sleep'), program)
        crowd = [subprocess.Popen([program, '1000']) for _ in range(count)]
        self.addCleanup(lambda: [each.wait() for each in crowd])
        self.addCleanup(lambda: [each.kill() for each in crowd])
        with Pane(160, 36) as pane:
            pane.rsslag('live', '--comm', 'crowd')
            text = pane.until(lambda text: f' {count} processes' in text and 'not read yet' not in text and 'grew by' in text)
            self.assertIn('grew by 0 kB', text)
            self.assertIn('lost 0', text)
            pane.type('q')
            pane.until('tree peak')

    def test_groups_by_cgroup_and_draws_the_sum_from_records(self):
        with Held('few-pages') as one, Held('few-pages') as other, Pane(160, 36) as pane:
            ticks = live('-p', one.pid, '-p', other.pid, '--format', 'jsonl', '--duration', '100ms').documents()[:2]
            both = sum(tick['exact']['rss'] for tick in ticks)
            pane.rsslag('live', '-p', one.pid, '-p', other.pid)
            pane.until(lambda text: '2 AGREES' in text and 'RSS of all' in text and 'lowest to highest' in text)
            pane.type('vv')
            text = pane.until(', by cgroup')
            rows = text.split('\n')
            (group,) = [i for i, row in enumerate(rows) if '2 processes' in row and i > 3]
            self.assertIn(kb(both, ticks[0]).removesuffix(' kB'), rows[group])
            for pid in (one.pid, other.pid):
                self.assertIn(f' {pid} ', rows[group + 1] + rows[group + 2])
            pane.type('q')


GROWS = """import mmap, sys
pieces = []
print('started', flush=True)
for line in sys.stdin:
    pieces.append(mmap.mmap(-1, 4 << 20))
    for at in range(0, 4 << 20, 4096):
        pieces[-1][at] = 1
    print('grown', flush=True)
"""


@long_only('it reads a screen through tmux')
@needs_tmux
class PastTest(TracingTest):
    def test_an_earlier_moment_shows_what_was_held_then(self):
        grower = subprocess.Popen(['python3', '-c', GROWS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(grower.wait)
        self.addCleanup(grower.kill)
        self.addCleanup(grower.stdout.close)
        self.addCleanup(grower.stdin.close)

        def held():
            tick = live('-p', grower.pid, '--format', 'jsonl', '--duration', '100ms').documents()[0]
            return f"It holds {kb(tick['exact']['rss'], tick)}."

        self.assertEqual(grower.stdout.readline(), 'started\n')
        before = held()
        with Pane(120, 36) as pane:
            pane.rsslag('live', '-p', grower.pid)
            pane.until(before)
            print(file=grower.stdin, flush=True)
            self.assertEqual(grower.stdout.readline(), 'grown\n')
            after = held()
            self.assertNotEqual(before, after)
            pane.until(after)
            pane.type('{' * 40)  # to the first moment
            pane.until(lambda text: ' PAST ' in text and before in text)
            pane.key('End')
            pane.until(lambda text: ' PAST ' not in text and after in text)
            pane.type('q')


if __name__ == '__main__':
    contract.main()
