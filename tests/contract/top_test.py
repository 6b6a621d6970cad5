#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""`rsslag top`: all processes by lag, as text, as JSON and on the screen."""
import os

import contract
from contract import MEMBERS, Children, Held, TracingTest, assert_one_error_line, long_only, needs_schema, rsslag, snapshot
from panes import Pane, needs_tmux


def top(*args, **more):
    return rsslag('top', *(str(arg) for arg in args), **more)


def row_of(document, pid):
    (row,) = [process for process in document['processes'] if process['pid'] == pid]
    return row


class TopTest(TracingTest):
    def document(self, *args):
        ran = top('--once', '--json', *args)
        self.assertEqual((ran.status, ran.err), (0, ''), ran)
        return ran.document()

    @needs_schema
    def test_the_schema(self):
        contract.assert_valid(self, 'top', self.document())

    def test_what_always_holds(self):
        document = self.document()
        for process in document['processes']:
            for member in MEMBERS:
                self.assertEqual(process['exact'][member], process['flushed'][member] + process['cached'][member], process)
            said = sum(max(process['flushed'][member], 0) for member in ('file', 'anon', 'shmem'))
            self.assertEqual(process['lag'], process['exact']['rss'] - said, process)
        self.assertEqual(document['sort'], 'lag')
        lags = [process['lag'] for process in document['processes']]
        self.assertEqual(lags, sorted(lags, reverse=True))

    def test_it_agrees_with_snapshot_on_quiet_processes(self):
        with Held('few-pages') as few, Held('per-cpu') as per_cpu, Held('classic') as classic:
            pids = [held.pid for held in (few, per_cpu, classic)]
            document = self.document()
            for process in snapshot('--json', '--no-walk', *pids).document()['processes']:
                row = row_of(document, process['pid'])
                for key in ('host_pid', 'comm', 'flushed', 'cached', 'exact', 'lag'):
                    self.assertEqual(row[key], process[key], key)
                self.assertEqual(row['tasks'], process['threads_count'])
                self.assertEqual(row['cachers'], len([each for each in process['cached_by'] if each['file'] or each['anon'] or each['shmem']]))
                self.assertFalse(row['moving'])

    def test_processes_that_share_memory_carry_one_id(self):
        with Held('clone-vm') as held:
            document = self.document()
            mine = row_of(document, held.pid)
            sharing = [process for process in document['processes'] if process['mm']['id'] == mine['mm']['id']]
            self.assertEqual(len(sharing), 2)
            self.assertEqual(sharing[0]['exact'], sharing[1]['exact'])
            exact = snapshot('--json', '--no-walk', held.pid).document()['processes'][0]['exact']
            self.assertEqual(mine['exact'], exact)
            pids = sorted(process['pid'] for process in sharing)
            self.assertIn(f'{pids[0]} and {pids[1]} share one memory: each row shows all of it', top('--once').lines)

    def test_orders_and_rows(self):
        for sort, key in (('exact', lambda p: -p['exact']['rss']), ('cached', lambda p: -p['cached']['rss'])):
            keys = [key(process) for process in self.document('--sort', sort)['processes']]
            self.assertEqual(keys, sorted(keys))
        self.assertEqual(len(self.document('--rows', 3)['processes']), 3)
        ran = top('--once', '--rows', 2)
        rows = [line for line in ran.lines if 'share one memory' not in line]  # a vfork child and its parent share one mm
        self.assertEqual((ran.status, len(rows)), (0, 3), ran)
        self.assertIn('LAG kB', ran.lines[0])

    def test_hostile_names_in_text(self):
        with Children([b'\x1b[31mred', '\u202etfel'.encode(), b'two\nlines', b'\xff\xfe']):
            ran = top('--once')
            self.assertEqual(ran.status, 0)
            self.assertIsNone(contract.CONTROL.search(ran.out))
            self.assertIsNone(contract.BIDI.search(ran.out))
            self.assertEqual(len(ran.lines), 1 + sum(line.strip() != '' for line in ran.lines[1:]))

    def test_a_closed_pipe_and_no_terminal(self):
        read, write = os.pipe()
        os.close(read)
        ran = top('--interval', '10ms', stdout=write)
        os.close(write)
        self.assertEqual((ran.status, ran.err), (0, ''), ran)

    def test_bad_words(self):
        for words in (['--sort', 'size'], ['--interval', '1x'], ['--', 'true'], ['4711']):
            assert_one_error_line(self, top(*words), 2)

    @long_only('it reads a screen through tmux')
    @needs_tmux
    def test_the_screen(self):
        with Held('few-pages') as held, Pane(120, 36) as pane:
            pane.run(contract.binary)  # without arguments rsslag is rsslag top
            pane.until('rsslag top')
            pane.type(f'/{held.pid}')  # other processes of this name may run
            pane.key('Enter')
            pane.until(lambda text: f'{held.pid} few-pages' in text and f'filter "{held.pid}"' in text)
            pane.type('w')
            pane.until('AGREES, smaps shows')
            pane.key('Enter')
            pane.until(lambda text: f'few-pages [{held.pid}]' in text and 'AGREES with smaps' in text)
            pane.key('Escape')
            pane.until('rsslag top')
            pane.type('s')
            pane.until('by exact')
            pane.key('Escape')  # deletes the filter
            pane.type('v')
            pane.until(lambda text: 'by exact, as a tree' in text and any(
                f'{held.pid} few-pages' in line and '\u2514 ' in line for line in text.splitlines()))
            for columns, rows in ((1, 1), (20, 5), (300, 100), (120, 36)):
                pane.resize(columns, rows)
            pane.until(lambda text: 'rsslag top' in text and 'q quit' in text)
            pane.type('q')
            pane.until(lambda text: 'q quit' not in text)
            self.assertEqual(pane.state(), '0 1')


if __name__ == '__main__':
    contract.main()
