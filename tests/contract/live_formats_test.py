# SPDX-License-Identifier: BSD-2-Clause
"""`rsslag live`: lines, CSV, JSON lines, the records of --events, which threads are listed, hostile names."""
import csv
import io
import json
import os
import re
import signal
import sys
import tempfile
import threading
import unittest

import contract
from contract import BIDI, CONTROL, MEMBERS, Children, Held, TracingTest, environment, interpreter, needs_schema, rsslag, set_comm
from hostile_names_test import NAMES, kept, undo
from live import Live, Told, assert_trace, live

NUMBER = re.compile(r'-?\d+(\.\d+)?')


class Csv(TracingTest):
    def rows(self, ran):
        self.assertEqual((ran.status, ran.err), (0, ''), ran)
        self.assertEqual(ran.raw_out.count(b'\n'), ran.raw_out.count(b'\r\n'))
        header, *rows = csv.reader(io.StringIO(ran.out, newline=''), strict=True)
        self.assertEqual(len(set(header)), len(header))
        for row in rows:
            self.assertEqual(len(row), len(header), row)
            self.assertNotEqual(row, header)
        return [dict(zip(header, row)) for row in rows]

    def test_one_row_a_process_and_tick(self):
        with Held('few-pages') as held, Children([b'a,"b",c']) as (child,):
            rows = self.rows(live('--format', 'csv', '--interval', '100ms', '--duration', '350ms', held.pid, child))
        self.assertGreaterEqual(len(rows), 4)
        by_pid = {pid: [row for row in rows if row['pid'] == str(pid)] for pid in (held.pid, child)}
        self.assertEqual(len(by_pid[held.pid]), len(by_pid[child]))
        self.assertEqual({row['comm'] for row in by_pid[child]}, {'a,"b",c'})
        for row in rows:
            for member in MEMBERS:
                self.assertEqual(int(row[f'exact_{member}']),
                                 int(row[f'flushed_{member}']) + int(row[f'cached_{member}']), row)
            words = {'time', 'comm', 'state', 'scheme', 'walk', 'verdict'}
            for key, value in row.items():
                if key not in words and value:
                    self.assertRegex(value, NUMBER, key)

    def test_the_last_row_is_of_the_end(self):
        with Told() as told, Live('--format', 'csv', '--interval', '1h', told.pid) as trace:
            trace.line()
            trace.line()
            told.tell()
            rows = self.rows(trace.finish())
        self.assertEqual([row['state'] for row in rows], ['running', 'exited'])
        self.assertEqual((rows[1]['exact_rss'], rows[1]['stat_rss_kb']), ('0', ''))

    def test_records_are_left_out(self):
        with Held('busy') as held:
            rows = self.rows(live('--format', 'csv', '--events', '--interval', '10ms', '--duration', '50ms', held.pid))
        self.assertEqual({row['pid'] for row in rows}, {str(held.pid)})


class Lines(TracingTest):
    def test_a_line_a_tick_below_a_heading(self):
        with Held('few-pages') as held, Live('--interval', '100ms', held.pid) as trace:
            for _ in range(1 + 3):
                trace.line()
            trace.signal(signal.SIGINT)
            ran = trace.finish()
        self.assertEqual((ran.status, ran.err), (0, ''), ran)
        heading = [index for index, line in enumerate(ran.lines) if line.startswith('TIME ')]
        self.assertEqual(heading, [0], 'once')
        ticks = [line for line in ran.lines if re.match(r'\d\d:\d\d:\d\d ', line)]
        self.assertGreaterEqual(len(ticks), 3)
        self.assertIn(' AGREES', ticks[0])
        self.assertRegex(ran.lines[len(ticks) + 1], r'^traced (\d+\.\d s|\d+:\d\d:\d\d) on Linux ')
        self.assertIn(f'few-pages [{held.pid}] running: ', ran.out)

    def test_below_the_rows_who_shares_one_memory(self):
        with Held('clone-vm') as held:
            pids = sorted([held.pid, int(held.fact('child'))])
            with Live('--interval', '100ms', *pids) as trace:
                said = [trace.line() for _ in range(6)]
        self.assertEqual(said[3], f'{pids[0]} and {pids[1]} share one memory: each row shows all of it\n', said)
        self.assertEqual([line.split()[1] for line in (*said[1:3], *said[4:])], [str(pid) for pid in pids * 2], said)

    def test_what_moves_is_marked(self):
        with Held('busy') as held, Live('--interval', '50ms', held.pid) as trace:
            while ' MOVING' not in trace.line():
                pass
            trace.signal(signal.SIGINT)
            ran = trace.finish()
        self.assertEqual((ran.status, ran.err), (0, ''), ran)
        for line in ran.lines:
            if ' at first, ' not in line and ' UNWALKED' not in line:  # the last tick may have no reading
                self.assertEqual(' MOVING' in line, '~' in line, line)

    def test_units(self):
        with Held('single') as held:
            for unit in ('kB', 'MiB', 'GiB', 'pages'):
                ran = live('--unit', unit, '--duration', '0', held.pid)
                self.assertEqual((ran.status, ran.err), (0, ''), ran)
                self.assertIn(f' {unit} ', ran.lines[0])

    def test_without_utf8_it_is_ascii(self):
        with Held('single') as held:
            ran = live('--duration', '50ms', '--threads', 'all', '--events', held.pid, env=environment(LC_ALL='C'))
            ended = live('--events', '--', 'true', env=environment(LC_ALL='C'))
        for run in (ran, ended):
            self.assertEqual((run.status, run.err), (0, ''), run)
            self.assertTrue(run.raw_out.isascii(), run)

    def test_no_colour_in_a_pipe_unless_asked_for(self):
        with Held('single') as held:
            self.assertNotIn('\x1b', live('--duration', '0', held.pid).out)
            self.assertIn('\x1b', contract.rsslag('--color', 'always', 'live', '--duration', '0', str(held.pid)).out)


class Threads(TracingTest):
    def ticks(self, choice, pid):
        ran = live('--format', 'jsonl', '--threads', choice, '--interval', '50ms', '--duration', '300ms', pid)
        return assert_trace(self, ran, attributed=choice == 'all')[0]

    def test_which_are_listed(self):
        with Held('few-pages') as held:
            for choice, counts in (('all', {33}), ('top:2', {2}), ('top:1000', {33}), ('changed', {0})):
                self.assertEqual({len(tick['threads']) for tick in self.ticks(choice, held.pid)}, counts, choice)
            self.assertEqual({tick['threads'] for tick in self.ticks('none', held.pid)}, {None})

    def test_those_that_changed(self):
        options = ('--format', 'jsonl', '--threads', 'changed', '--interval', '50ms')
        with Held('storm') as held, Live(*options, held.pid) as trace:
            trace.document(lambda tick: tick['seq'] > 0 and tick['threads'])
            trace.signal(signal.SIGINT)
            ticks, _ = assert_trace(self, trace.finish(), attributed=False)
            everyone = len(os.listdir(f'/proc/{held.pid}/task'))
        self.assertTrue(all(len(tick['threads']) < everyone for tick in ticks[1:]), ticks)

    def test_lines_of_threads(self):
        with Held('few-pages') as held:
            ran = live('--threads', 'top:3', '--duration', '0', held.pid)
            plain = live('--duration', '0', held.pid)
        ticks = ran.out.count(' UNWALKED') + ran.out.count(' AGREES')
        # The threads that are not listed share one row.
        self.assertEqual(ran.out.count('\n  '), plain.out.count('\n  ') + 4 * ticks, ran)
        self.assertEqual(ran.out.count(' threads not listed '), ticks, ran)


class Events(TracingTest):
    UPDATES = {'update', 'flush', 'fold'}
    TASKS = {'thread_start', 'thread_end', 'rename', 'exec', 'fork', 'exit', 'seen'}

    def records(self, ran):
        return [document for document in ran.documents() if 'type' in document]

    def test_every_update_is_a_record(self):
        ran = live('--format', 'jsonl', '--events', '--threads', 'all', '--', sys.executable, '-c', 'x = bytes(1 << 20)')
        ticks, summary = assert_trace(self, ran)
        records = self.records(ran)
        updates = [record for record in records if record['type'] in self.UPDATES]
        self.assertEqual(len(updates), summary['updates'] + summary['updates_by_others'])
        self.assertEqual({record['type'] for record in records} - self.UPDATES - self.TASKS, set())
        for record in updates:
            self.assertIn(record['member'], ('file', 'anon', 'shmem', 'swap'))
            self.assertIsInstance(record['tid'], int)
            self.assertIsInstance(record['pages'], (int, type(None)))
            # An mm has no process before the exec and after the exit.
            self.assertIn(record['pid'], (ticks[-1]['pid'], None), record)
        self.assertIn(ticks[-1]['pid'], {record['pid'] for record in updates})
        self.assertEqual([record['t_ns'] for record in records], sorted(record['t_ns'] for record in records))

    def test_known_amounts_lead_from_one_count_to_the_next(self):
        """If no page is uncertain, the records add up to the tick."""
        with Told('sh -c :') as told, Live('--format', 'jsonl', '--events', '--threads', 'all', '--interval', '1h',
                                           told.pid) as trace:
            first = trace.document()
            told.tell()
            ran = trace.finish()
        for member in ('file', 'anon', 'shmem', 'swap'):
            amounts = [record['pages'] for record in self.records(ran) if record.get('member') == member]
            # On the `thread` scheme a record is a flush.
            begin = first['flushed' if first['scheme'] == 'thread' else 'exact'][member]
            if None not in amounts:
                self.assertEqual(begin + sum(amounts), 0, member)

    def test_lives_of_tasks(self):
        script = 'import threading\nt = threading.Thread(target=int)\nt.start()\nt.join()'
        ran = live('--format', 'jsonl', '--events', '--follow', '--', 'sh', '-c', f'{interpreter()} -c "{script}"; :')
        self.assertEqual((ran.status, ran.err), (0, ''), ran)
        kinds = [record['type'] for record in self.records(ran)]
        for kind in ('exec', 'fork', 'thread_start', 'thread_end', 'exit'):
            self.assertIn(kind, kinds)
        for record in self.records(ran):
            self.assertIsInstance(record['pid'], (int, type(None)))

    def test_text(self):
        ran = live('--events', '--follow', '--', 'sh', '-c', 'true & wait')
        self.assertEqual((ran.status, ran.err), (0, ''), ran)
        records = [line for line in ran.lines if re.match(r' +\d+\.\d{6}  ', line)]
        self.assertGreater(len(records), 40)  # a flush is up to 64 faults
        for line in records:
            self.assertRegex(line, r'^ +\d+\.\d{6}  (\d+|\?)/(\d+|\?) ')
        for words in (' exec', ' forked by ', ' process exits after '):
            self.assertIn(words, ran.out)
        if 'scheme thread' not in ran.out:  # there a fault has no record of its own
            self.assertIn('  fault 0x', ran.out)

    def test_the_names_of_columns_stand_above_rows_of_ticks_only(self):
        with tempfile.TemporaryDirectory() as directory:
            file = os.path.join(directory, 'trace.rsslag')
            traced = live('--events', '--follow', '--record', file, '--', 'sh', '-c', 'true & wait')
            for ran in (traced, rsslag('replay', '--events', '--format', 'lines', file)):
                self.assertEqual((ran.status, ran.err), (0, ''), ran)
                kinds = ''.join(map(self.kind_of_line, ran.lines))
                self.assertRegex(kinds, 'er*.*hr')  # (e)vents, then a (h)eading and a (r)ow
                self.assertNotRegex(kinds, 'er|h[^r]|rh|^r', ran.out)

    @staticmethod
    def kind_of_line(line):
        kinds = (('h', 'TIME '), ('r', r'\d\d:\d\d:\d\d '), ('e', r' +\d+\.\d{6}  '))
        return next((kind for kind, start in kinds if re.match(start, line)), 'o')


class Names(TracingTest):
    """Hostile names of processes and threads: no terminal and no parser gets them raw."""

    def harmless(self, text):
        self.assertIsNone(CONTROL.search(text), CONTROL.search(text))
        self.assertIsNone(BIDI.search(text), BIDI.search(text))

    @needs_schema
    def test_of_processes(self):
        with Children(NAMES) as pids:
            runs = {form: live('--format', form, '--duration', '50ms', '--no-walk', *pids)
                    for form in ('jsonl', 'csv', 'lines')}
        for form, ran in runs.items():
            self.assertEqual((ran.status, ran.err), (0, ''), form)
            self.harmless(ran.out.replace('\r\n', '\n') if form == 'csv' else ran.out)
        _, summary = assert_trace(self, runs['jsonl'], attributed=False)
        comms = {process['pid']: process['comm'] for process in summary['processes']}
        rows = list(csv.DictReader(io.StringIO(runs['csv'].out, newline=''), strict=True))
        for pid, name in zip(pids, NAMES):
            self.assertEqual(undo(comms[pid]), kept(name))
            self.assertEqual({row['comm'] for row in rows if row['pid'] == str(pid)}, {comms[pid]})
            self.assertRegex(runs['lines'].out, rf'(?m)^\S+ +{pid} {re.escape(comms[pid])} ')
        table = re.findall(r' running +(\d+) (.*)', runs['lines'].out)
        self.assertEqual(len(table), 10)
        for pid, comm in table:
            self.assertEqual(comm, comms[int(pid)])

    def test_of_threads_that_come_and_go(self):
        """Records contain thread names, too: thread_start, rename, thread_end."""
        for form in ('jsonl', 'csv', 'lines'):
            with Live('--format', form, '--events', '--threads', 'all', '--interval', '20ms', os.getpid()) as trace:
                trace.line()
                for name in NAMES:
                    thread = threading.Thread(target=self.rename_and_touch, args=(name,))
                    thread.start()
                    thread.join()
                trace.signal(signal.SIGINT)
                ran = trace.finish()
            self.assertEqual((ran.status, ran.err), (0, ''), form)
            self.harmless(ran.out.replace('\r\n', '\n') if form == 'csv' else ran.out)
            if form == 'jsonl':
                told = {undo(document['comm']) for document in map(json.loads, ran.lines)
                        if document.get('type') == 'rename'}
                self.assertTrue({kept(name) for name in NAMES} <= told)

    @staticmethod
    def rename_and_touch(name):
        set_comm(name)
        bytearray(64 * 4096)

    def test_of_commands_by_their_path(self):
        ran = live('--', '/no/such/\x1b[2J\u202ex')
        contract.assert_one_error_line(self, ran, 127)
        self.harmless(ran.err)


if __name__ == '__main__':
    contract.main()
