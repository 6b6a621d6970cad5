# SPDX-License-Identifier: BSD-2-Clause
"""`rsslag export` and `rsslag report`: queries of a recording, in formats that other programs read."""
import collections
import contextlib
import csv
import io
import json
import os
import re
import shutil
import sqlite3
import stat
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

import contract
from contract import (BIDI, CONTROL, MEMBERS, NOBODY, ROOT, TIMEOUT, TracingTest, assert_one_error_line, assert_valid,
                      environment, needs_root, rsslag)
from live import ROOMY, Live

UPDATES = {'update', 'flush', 'fold'}
NO_RECORDS = {'reading', 'walk', 'loss', 'tick', 'mapped', 'moved', 'named', 'listed'}

# Threads that start and end, files and memory that are mapped and unmapped, and a hostile name.
SCRIPT = r'''
import ctypes, mmap, sys, threading
def work():
    ctypes.CDLL(None).prctl(15, ctypes.c_char_p(b'a,"\x1b[2J\n'))
    for _ in range(4):
        with mmap.mmap(-1, 1 << 20) as memory:
            for at in range(0, 1 << 20, 4096):
                memory[at] = 1
threads = [threading.Thread(target=work) for _ in range(3)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
sys.stdin.read()
'''


class Recorded(TracingTest):
    """A recording of a command from its exec to its end, and the output of `live` for it."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.directory = tempfile.mkdtemp(prefix='rsslag-contract-')
        cls.addClassCleanup(shutil.rmtree, cls.directory)
        cls.file = os.path.join(cls.directory, 'trace.rsslag')
        with Live('--format', 'jsonl', *ROOMY, '--interval', '10ms', '--record', cls.file, '--', sys.executable, '-c', SCRIPT,
                  stdin=subprocess.PIPE) as trace:
            trace.later(3)
            trace.process.stdin.close()
            ran = trace.finish()
        if ran.status != 0:
            raise AssertionError(ran)
        *cls.ticks, cls.summary = ran.documents()

    def exported(self, *args, status=0, **more):
        ran = rsslag('export', *args, self.file, **more)
        self.assertEqual(ran.status, status, ran.err)
        return ran

    def rows(self):
        header, *rows = self.exported().documents()
        self.assertEqual(header['schema'], 'rsslag.record/2')
        return header, rows

    def report(self, *args):
        ran = rsslag('report', '--json', *args, self.file)
        self.assertEqual((ran.status, ran.err), (0, ''), ran)
        return ran.document()


class Complete(Recorded):
    def test_rows_are_the_records_that_the_probe_sent(self):
        _, rows = self.rows()
        report = self.report()
        counts = collections.Counter(row['type'] for row in rows)
        self.assertEqual(dict(counts), report['rows'])
        records = sum(count for kind, count in counts.items() if kind not in NO_RECORDS)
        self.assertEqual(records, report['records'])
        self.assertEqual(records, self.summary['records'])
        self.assertEqual(records, self.summary['emitted'] - self.summary['lost'])
        self.assertTrue(report['complete'])

    def test_csv_has_the_same_rows(self):
        _, rows = self.rows()
        ran = self.exported('--format', 'csv')
        self.assertEqual(ran.raw_out.count(b'\n'), ran.raw_out.count(b'\r\n'))
        flat = list(csv.DictReader(io.StringIO(ran.out, newline=''), strict=True))
        self.assertEqual(len(flat), len(rows))
        for row, line in zip(rows, flat):
            for key, value in row.items():
                expected = '' if value is None else str(value).lower() if isinstance(value, bool) else str(value)
                self.assertEqual(line[key], expected, (key, row))

    def test_sqlite_has_the_same_rows(self):
        path = os.path.join(self.directory, 'rows.db')
        self.exported('--format', 'sqlite', '-o', path)
        _, rows = self.rows()
        counts = collections.Counter(row['type'] for row in rows)
        database = sqlite3.connect(path)
        self.addCleanup(database.close)
        events = dict(database.execute('SELECT type, count(*) FROM events GROUP BY type'))
        self.assertEqual(events, {kind: count for kind, count in counts.items() if kind not in NO_RECORDS})
        for table, kind in (('readings', 'reading'), ('walks', 'walk'), ('losses', 'loss'), ('ticks', 'tick')):
            self.assertEqual(database.execute(f'SELECT count(*) FROM {table}').fetchone()[0], counts[kind], table)
        mappings = dict(database.execute('SELECT type, count(*) FROM mappings GROUP BY type'))
        kinds = ('mapped', 'moved', 'named', 'listed')
        self.assertEqual(mappings, {kind: counts[kind] for kind in kinds if counts[kind]})
        self.assertGreater(mappings['mapped'], 0)
        self.assertEqual(database.execute('PRAGMA foreign_key_check').fetchall(), [])
        told = [row['pages'] for row in rows if row['type'] in UPDATES]
        stored = [pages for (pages,) in database.execute(
            "SELECT pages FROM events WHERE type IN ('update', 'flush', 'fold') ORDER BY id")]
        self.assertEqual(stored, told)

    def test_updates_add_up_to_the_change_of_exact(self):
        header, rows = self.rows()
        last = [row for row in rows if row['type'] == 'tick'][-1]
        self.assertEqual(last['state'], 'exited')
        process = self.report()['processes'][-1]
        for member in ('file', 'anon', 'shmem', 'swap'):
            pages = [row['pages'] for row in rows if row['type'] in UPDATES and row['mm'] == last['mm'] and row['known']
                     and row['member'] == member]
            if header['scheme'] == 'thread':
                self.assertNotIn(None, pages)
            if None not in pages:
                self.assertEqual(process['baseline'][member] + sum(pages), last[f'exact_{member}'], member)

    def test_rows_are_in_the_order_of_time(self):
        times = [row['t_ns'] for row in self.rows()[1]]
        self.assertEqual(times, sorted(times))

    def test_rows_know_who_and_whose(self):
        _, rows = self.rows()
        tick = [row for row in rows if row['type'] == 'tick'][-1]
        own = [row for row in rows if row['type'] in UPDATES and not row['newborn'] and not row['by_other']
               and row['known']]
        self.assertTrue(own)
        self.assertEqual({row['pid'] for row in own}, {tick['pid']})
        self.assertEqual({row['mm'] for row in own}, {tick['mm']})
        self.assertGreaterEqual(len({row['tid'] for row in own}), 4)

    @contract.needs_schema
    def test_rows_have_their_schema(self):
        header, rows = self.rows()
        assert_valid(self, 'record', header)
        seen = collections.Counter()
        for row in rows:
            seen[row['type']] += 1
            if seen[row['type']] <= 20:
                assert_valid(self, 'record', row)

    def test_names_are_harmless(self):
        for form in ('jsonl', 'csv'):
            text = self.exported('--format', form).out.replace('\r\n', '\n')
            self.assertIsNone(CONTROL.search(text))
            self.assertIsNone(BIDI.search(text))
            self.assertIn('x1b[2J', text)


# A thread that is not the leader names itself, touches 1 MiB and execs.
EXECS = """
import os, threading
def work():
    open(f'/proc/self/task/{threading.get_native_id()}/comm', 'w').write('execer')
    kept.append(bytearray(1 << 20))
    os.execv('/bin/true', ['true'])
kept = []
open(f'/proc/self/task/{os.getpid()}/comm', 'w').write('leader')
threading.Thread(target=work).start()
"""


class ExecByAThread(TracingTest):
    def test_what_it_frees_is_not_told_as_its_leaders(self):
        with tempfile.TemporaryDirectory() as directory:
            file = os.path.join(directory, 'trace.rsslag')
            self.assertEqual(rsslag('record', *ROOMY, '-o', file, '--', sys.executable, '-S', '-E', '-c', EXECS).status, 0)
            rows = rsslag('export', file).documents()[1:]
            threads = rsslag('report', '--json', '--all', file).document()['processes'][0]['threads']
        pid = next(row['pid'] for row in rows if row['type'] == 'exec')
        ended = next(row['t_ns'] for row in rows if row['type'] == 'thread_end' and row['tid'] == pid)
        execed = [row['t_ns'] for row in rows if row['type'] == 'exec'][-1]
        between = [row for row in rows if row['type'] in UPDATES and row['pid'] == pid and ended < row['t_ns'] < execed]
        self.assertTrue(between)
        self.assertIn('execer', {row['comm'] for row in between})
        self.assertNotIn('leader', {row['comm'] for row in between})
        counted = collections.Counter(row['tid'] for row in rows if row['type'] in UPDATES and row['comm'] == 'execer')
        execer = next(thread for thread in threads if thread['comm'] == 'execer')
        self.assertEqual(set(counted), {execer['tid']})


class Files(Recorded):
    def output(self, name):
        return os.path.join(self.directory, name)

    def test_belong_to_their_owner_alone_and_hold_what_stdout_has(self):
        for form in ('jsonl', 'csv', 'perfetto'):
            path = self.output(f'out.{form}')
            self.assertEqual(self.exported('--format', form, '-o', path).raw_out, b'')
            self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
            with open(path, 'rb') as file:
                self.assertEqual(file.read(), self.exported('--format', form).raw_out)

    def test_are_not_replaced_unless_that_is_asked_for(self):
        for form in ('jsonl', 'sqlite'):
            path = self.output(f'old.{form}')
            with open(path, 'w') as file:
                file.write('old')
            assert_one_error_line(self, self.exported('--format', form, '-o', path, status=2), 2)
            with open(path) as file:
                self.assertEqual(file.read(), 'old')
            self.exported('--force', '--format', form, '-o', path)
            self.assertGreater(os.path.getsize(path), 1000)
        self.assertEqual([name for name in os.listdir(self.directory) if re.search(r'\.\w{6}$', name)
                          and not name.endswith('.rsslag') and not name.endswith('.sqlite')], [])

    def test_that_cannot_be(self):
        with open(self.file, 'rb') as file:
            before = file.read()
        for path, status in ((self.directory, 2), (self.file, 2), ('', 2), ('/no/such/directory/x', 1)):
            ran = rsslag('export', '--force', '-o', path, self.file)
            assert_one_error_line(self, ran, status)
        with open(self.file, 'rb') as file:
            self.assertEqual(file.read(), before)
        assert_one_error_line(self, rsslag('export', '-o', '/dev/full', self.file), 1)
        assert_one_error_line(self, rsslag('export', '--format', 'sqlite', self.file), 2)
        assert_one_error_line(self, rsslag('export', '--format', 'sqlite', '-o', '/dev/null', self.file), 2)
        assert_one_error_line(self, rsslag('export', '--format', 'xml', self.file), 2)

    def test_a_full_disk_leaves_nothing_behind(self):
        with open('/dev/full', 'wb') as full:
            ran = rsslag('export', self.file, stdout=full)
        self.assertEqual(ran.status, 1, ran)
        self.assertEqual(ran.err.count('\n'), 1, ran)

    def test_a_closed_pipe_ends_quietly(self):
        line = f'{contract.binary} export {self.file} | head -n 1'
        done = subprocess.run(['bash', '-o', 'pipefail', '-c', line], capture_output=True, env=environment(),
                              timeout=TIMEOUT, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, b''))
        self.assertEqual(done.stdout.count(b'\n'), 1)

    def test_no_recordings(self):
        junk, empty = self.output('junk'), self.output('empty')
        with open(junk, 'w') as file:
            file.write('no recording' * 100)
        open(empty, 'w').close()
        for command in ('report', 'export'):
            for path in (junk, empty, self.directory, '/no/such/file'):
                ran = rsslag(command, path)
                self.assertIn(ran.status, (1, 2, 3), ran)
                assert_one_error_line(self, ran, ran.status)
            self.assertEqual(rsslag(command, junk).status, 2)
            assert_one_error_line(self, rsslag(command), 2)
            assert_one_error_line(self, rsslag(command, self.file, '--', 'true'), 2)

    @needs_root
    def test_need_no_capability(self):
        copy = self.output('nobody.rsslag')
        shutil.copy(self.file, copy)
        os.chown(copy, NOBODY, NOBODY)
        os.chmod(copy, 0o600)
        os.chmod(self.directory, 0o755)
        ran = contract.as_nobody('export', copy)
        self.assertEqual((ran.status, ran.err), (0, ''), ran)
        self.assertEqual(ran.raw_out, self.exported().raw_out)
        self.assertEqual(contract.as_nobody('report', copy).status, 0)

    @needs_root
    def test_under_sudo_they_belong_to_who_called(self):
        place = self.output('theirs')
        os.mkdir(place)
        os.chown(place, NOBODY, NOBODY)
        os.chmod(self.directory, 0o755)
        copy, out = os.path.join(place, 'in.rsslag'), os.path.join(place, 'out')
        shutil.copy(self.file, copy)
        os.chown(copy, NOBODY, NOBODY)
        os.chmod(copy, 0o600)
        sudo = environment(SUDO_UID=str(NOBODY), SUDO_GID=str(NOBODY), SUDO_USER='nobody')
        for form in ('jsonl', 'sqlite'):
            ran = rsslag('export', '--force', '--format', form, '-o', out, copy, env=sudo)
            self.assertEqual((ran.status, ran.err), (0, ''), ran)
            self.assertEqual((os.stat(out).st_uid, os.stat(out).st_gid), (NOBODY, NOBODY))


class Perfetto(Recorded):
    def setUp(self):
        if not shutil.which('protoc'):
            self.skipTest('protoc is missing')

    def decoded(self, *args):
        done = subprocess.run(['protoc', *args], input=self.exported('--format', 'perfetto').raw_out,
                              capture_output=True, timeout=TIMEOUT, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, b''))
        return done.stdout.decode()

    def test_decodes_without_a_schema(self):
        self.assertTrue(self.decoded('--decode_raw').startswith('1 {'))

    def test_counters_are_those_of_the_report(self):
        here = ROOT / 'tests' / 'contract'
        text = self.decoded('--decode=rsslag.test.Trace', f'--proto_path={here}', 'perfetto.proto')
        # protoc prints a field that the schema lacks by its number.
        self.assertIsNone(re.search(r'^ *\d+[:{ ]', text, re.M), 'the schema lacks a field')
        packets = text.split('packet {')[1:]
        names, values = {}, collections.defaultdict(list)
        for packet in packets:
            uuid = re.search(r'\buuid: (\d+)', packet)
            if 'track_descriptor' in packet:
                parent = re.search(r'parent_uuid: (\d+)', packet)
                names[uuid[1]] = (re.search(r'name: "(.*)"', packet)[1], parent and parent[1])
            elif 'TYPE_COUNTER' in packet:
                track = re.search(r'track_uuid: (\d+)', packet)[1]
                values[track].append((int(re.search(r'timestamp: (\d+)', packet)[1]),
                                      int(re.search(r'counter_value: (-?\d+)', packet)[1])))
        report = self.report()
        page = report['header']['page_size']
        (process,) = report['processes']
        key = f"{process['comm']} [{process['pid']}]"
        counters = {}
        for track, (name, parent) in names.items():
            if parent and names[parent] == (key, None):
                counters.setdefault(name, values[track])
        for counter, field in (('exact', 'exact'), ('cached', 'cached'), ('reported (stat)', 'reported')):
            expected = [(point['t_ns'], point[field] * page) for point in process['lag'] if point[field] is not None]
            self.assertEqual(counters[counter], expected, counter)


class Report(Recorded):
    def test_agrees_with_the_summary_of_the_trace(self):
        report = self.report()
        assert_valid(self, 'report', report)
        for key in ('records', 'updates', 'updates_by_others', 'faults', 'flushes', 'emitted', 'lost', 'lost_by',
                    'flush_reasons', 'resyncs', 'disagreements'):
            self.assertEqual(report[key], self.summary[key], key)
        (ours,), (theirs,) = report['processes'], self.summary['processes']
        for key in ('pid', 'comm', 'state', 'baseline', 'final'):
            self.assertEqual(ours[key], theirs[key], key)
        self.assertEqual(ours['peak_lag']['pages'], theirs['peak_lag']['pages'])
        self.assertEqual(ours['peak_lag']['t_ns'], theirs['peak_lag']['t_ns'])
        told = collections.Counter(tick['verdict'] for tick in self.ticks if tick['state'] == 'running')
        self.assertEqual({verdict: count for verdict, count in ours['verdicts'].items() if count}, told)
        self.assertEqual(report['peak_lag'], ours['peak_lag'])
        self.assertGreaterEqual(ours['peak']['peak_max'], max(point['exact'] for point in ours['lag']))
        for member in MEMBERS:
            self.assertIsInstance(ours['exited']['net'][member], int)

    def test_text(self):
        ran = rsslag('report', self.file)
        self.assertEqual((ran.status, ran.err), (0, ''), ran)
        for words in (' records: ', 'peak lag ', 'lag over time', 'the recording is complete', 'residual '):
            self.assertIn(words, ran.out)
        self.assertIsNone(CONTROL.search(ran.out))
        ascii_only = rsslag('report', '--all', self.file, env=environment(LC_ALL='C'))
        self.assertTrue(ascii_only.raw_out.isascii(), ascii_only)

    def test_assertions(self):
        for text, status in (('peak_lag<1GiB', 0), ('records>0 and lost==0 and missing==0', 0), ('peak_lag<0', 1),
                             ('records>0 and duration>1h', 1)):
            ran = rsslag('report', '--assert', text, self.file)
            self.assertEqual(ran.status, status, ran)
            self.assertEqual('does not hold' in ran.err, status == 1, ran)
        both = rsslag('report', '--assert', 'records>0', '--assert', 'records==0', self.file)
        self.assertEqual(both.status, 1, both)
        for text, position in (('peak_lag<1', 11), ('lag<1kB', 1), ('lost==0 and', 12), ('peak_lag=1kB', 9), ('', 1)):
            ran = rsslag('report', '--assert', text, self.file)
            assert_one_error_line(self, ran, 2)
            self.assertIn(f'position {position}:', ran.err)

    def test_svg(self):
        path = os.path.join(self.directory, 'lag.svg')
        self.assertEqual(rsslag('report', '--svg', path, self.file).status, 0)
        root = xml.etree.ElementTree.parse(path).getroot()
        self.assertEqual(root.tag, '{http://www.w3.org/2000/svg}svg')
        drawn = {child.get('class') for child in root if child.get('d', '').startswith('M')}
        self.assertTrue({'exact', 'reported', 'cached'} <= drawn, drawn)
        assert_one_error_line(self, rsslag('report', '--svg', path, self.file), 2)
        self.assertEqual(rsslag('report', '--force', '--svg', path, self.file).status, 0)
        for other in (path, os.path.join(self.directory, '.', 'lag.svg')):
            twice = rsslag('report', '--force', '--svg', path, '--html', other, self.file)
            assert_one_error_line(self, twice, 2)
            self.assertIn('named twice', twice.err)
        self.assertEqual(os.listdir(self.directory).count('lag.svg'), 1)
        older = os.path.join(self.directory, 'older')
        shutil.copy(self.file, older)
        ran = rsslag('report', '--force', '--diff', older, '--flame', older, self.file)
        assert_one_error_line(self, ran, 2)
        self.assertIn('the recording itself', ran.err)

    def test_difference(self):
        ran = rsslag('report', '--json', '--diff', self.file, self.file)
        self.assertEqual((ran.status, ran.err), (0, ''), ran)
        document = ran.document()
        assert_valid(self, 'report-diff', document)
        self.assertEqual({value for value in document['change'].values() if value is not None}, {0})
        self.assertEqual(document['after']['records'], self.report()['records'])
        text = rsslag('report', '--diff', self.file, self.file)
        self.assertRegex(text.out, r'(?m)^peak_lag +[\d,]+ kB +[\d,]+ kB +0 kB$')


class Manual(unittest.TestCase):
    def test_names_every_figure(self):
        page = (ROOT / 'docs' / 'man' / 'rsslag-report.1').read_text()
        ran = rsslag('report', '--assert', 'nothing<1', '/no/such/file')
        names = re.search(r'the figures are ([a-z_.%, ]+);', ran.err)[1].split(', ')
        self.assertGreater(len(names), 10)
        for name in names:
            self.assertRegex(page, rf'(?<![\w.]){re.escape(name)}(?![\w.])')


class Damaged(unittest.TestCase):
    """Every format names the missing parts of a recording. The other parts are exported, with status 0."""

    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.mkdtemp(prefix='rsslag-contract-')
        cls.addClassCleanup(shutil.rmtree, cls.directory)
        data = (ROOT / 'docs' / 'recordings' / 'classic-6.1.rsslag').read_bytes()
        chunks = [match.start() for match in re.finditer(re.escape(b'\x89rslchk\n'), data)]
        middle = chunks[len(chunks) // 2]
        cls.files = {}
        for name, bytes_ in (('cut', data[:middle + 100]), ('damaged', data[:middle + 80] + b'damage' + data[middle + 86:]),
                             ('header alone', data[:chunks[2]]), ('no end', data[:chunks[-2]])):
            cls.files[name] = os.path.join(cls.directory, name)
            with open(cls.files[name], 'wb') as file:
                file.write(bytes_)

    def missing(self, file):
        missing = rsslag('report', '--json', file).document()['missing']
        self.assertTrue(missing)
        return missing

    def test_jsonl(self):
        for name, file in list(self.files.items())[:contract.runs(4)]:
            with self.subTest(name):
                ran = rsslag('export', file)
                self.assertEqual((ran.status, ran.err), (0, ''), ran.err)
                documents = ran.documents()
                rows = [row for row in documents if row.get('type') == 'missing']
                for row in rows:
                    assert_valid(self, 'record', row)
                self.assertEqual(rows, documents[-len(rows):])
                self.assertEqual([{'reason': row['reason'], 'from_ns': row['t_ns'], 'to_ns': row['to_ns'], 'records': row['records']}
                                  for row in rows], self.missing(file))

    def assert_on_stderr(self, ran, files):
        self.assertEqual(ran.status, 0, ran.err)
        lines = ran.err.splitlines()
        missing = [(file, each) for file in files for each in self.missing(file)]
        self.assertEqual(len(lines), len(missing), ran.err)
        for line, (file, each) in zip(lines, missing):
            of_file = f'{file}: ' if len(files) > 1 else ''
            self.assertTrue(line.startswith(f'rsslag: {of_file}the recording is incomplete: ' + each['reason']), line)

    def test_csv_and_perfetto(self):
        for name, file in self.files.items():
            with self.subTest(name):
                self.assert_on_stderr(rsslag('export', '--format', 'csv', file), [file])
                path = os.path.join(self.directory, name + '.perfetto')
                self.assert_on_stderr(rsslag('export', '--format', 'perfetto', '-o', path, file), [file])

    def test_a_comparison(self):
        files = [self.files['cut'], self.files['damaged']]
        for options in (), ('--json',):
            self.assert_on_stderr(rsslag('report', *options, '--diff', *files), files)

    def test_sqlite(self):
        for name, file in list(self.files.items())[:contract.runs(4)]:
            with self.subTest(name):
                path = os.path.join(self.directory, name + '.db')
                ran = rsslag('export', '--format', 'sqlite', '-o', path, file)
                self.assertEqual((ran.status, ran.err), (0, ''), ran.err)
                with contextlib.closing(sqlite3.connect(path)) as base:
                    self.assertIn(self.missing(file)[0]['reason'], '\n'.join(base.iterdump()))

    def test_no_more_is_lost_than_there_was(self):
        for name, file in self.files.items():
            with self.subTest(name):
                summary = rsslag('replay', '--json', file).documents()[-1]
                self.assertGreaterEqual(summary['emitted'], summary['records'] + summary['lost'])
                lost, of = re.search(r'lost ([\d,]+) of ([\d,]+)', rsslag('report', file).out).groups()
                self.assertLessEqual(int(lost.replace(',', '')), int(of.replace(',', '')))

    @unittest.skipUnless(shutil.which('strace'), 'strace is missing')
    def test_a_disk_that_cannot_be_read(self):
        """A read error is not reported as the end of the file, and the rest is read."""
        classic = str(ROOT / 'docs' / 'recordings' / 'classic-6.1.rsslag')
        whole = rsslag('export', classic).out.count('\n')
        strace = ['strace', '-qq', '-o', '/dev/null', '-P', classic, '-e', 'trace=pread64', '-e']
        if rsslag('--version', prefix=strace[:4]).status != 0:
            self.skipTest('strace is not permitted here')
        for at in ('9..12', '9', '15+')[:contract.runs(3)]:
            with self.subTest(at):
                ran = rsslag('export', classic, prefix=[*strace, 'inject=pread64:error=EIO:when=' + at])
                self.assertEqual(ran.status, 0, ran.err)
                rows = ran.lines
                self.assertLess(len(rows), whole)
                missing = [json.loads(row)['reason'] for row in rows if '"missing"' in row]
                self.assertTrue(any('it cannot be read: Input/output error' in reason for reason in missing), missing)
        ran = rsslag('export', classic, prefix=[*strace, 'inject=pread64:error=EIO'])
        assert_one_error_line(self, ran, 1)
        self.assertIn('Input/output error', ran.err)


if __name__ == '__main__':
    contract.main()
