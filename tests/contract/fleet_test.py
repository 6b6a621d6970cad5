#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Recordings of many machines in one table: the loads and queries of docs/fleet.md, run by the database engines."""
import collections
import concurrent.futures
import csv
import io
import json
import os
import re
import shutil
import sqlite3
import statistics
import subprocess
import tempfile
import unittest
from pathlib import Path

import contract
from contract import ROOT, TIMEOUT, TracingTest, environment, rsslag

DUCKDB = '@duckdb/node-api@1.5.6-r.1'
# A cache directory, as its content can be downloaded again.
CACHE = Path(os.environ.get('XDG_CACHE_HOME') or Path.home() / '.cache') / 'rsslag-tests' / 'duckdb'
RECORDINGS = 200
HOSTS = 25
# Prints the result of each statement as a line of JSON, with exact numbers.
NODE = """
import { DuckDBInstance } from '@duckdb/node-api';
const connection = await (await DuckDBInstance.create(':memory:')).connect();
let input = '';
for await (const piece of process.stdin) input += piece;
for (const statement of JSON.parse(input)) {
    const reader = await connection.runAndReadAll(statement);
    console.log(JSON.stringify(reader.getRowObjectsJson()));
}
"""


def blocks(kind):
    """{name: text} of the ```sql blocks of this kind in docs/fleet.md."""
    text = (ROOT / 'docs' / 'fleet.md').read_text()
    return dict(re.findall(rf'^```sql {kind} ([^\n]+)\n(.*?)^```', text, re.M | re.S))


def shell_block(heading):
    text = (ROOT / 'docs' / 'fleet.md').read_text().split(f'\n### {heading}\n')[1]
    return re.search(r'^```sh\n(.*?)^```', text, re.M | re.S)[1]


def table():
    return (ROOT / 'share' / 'sql' / 'rows.sql').read_text()


class Table(unittest.TestCase):
    def test_it_has_the_columns_of_an_export(self):
        ran = rsslag('export', '--format', 'csv', str(ROOT / 'docs' / 'recordings' / 'quiet-6.1.rsslag'))
        self.assertEqual(re.findall(r'^    "(\w+)" \w+', table(), re.M), next(csv.reader(io.StringIO(ran.out))))

    def test_its_types_are_those_of_the_schema(self):
        schema = json.loads((ROOT / 'docs' / 'schema' / 'record.schema.json').read_text())
        types = dict(re.findall(r'^    "(\w+)" (\w+)', table(), re.M))
        for each in schema['oneOf'][1:]:
            for name, what in each['properties'].items():
                while '$ref' in what:
                    what = schema['$defs'][what['$ref'].rpartition('/')[2]]
                kinds = {what.get('type', 'string')} if isinstance(what.get('type', ''), str) else set(what['type'])
                for kind in kinds - {'null'}:
                    self.assertEqual(types[name], {'integer': 'BIGINT', 'boolean': 'BOOLEAN', 'string': 'STRING'}[kind], name)

    def test_the_pages_queries_are_five(self):
        self.assertEqual(set(blocks('query')), {'worst lag', 'peak by release', 'who grows', 'losses', 'regressions'})


class DuckDb:
    """DuckDB for Node.js. `missing` is the reason why it is not available, else None."""

    def __init__(self):
        self.missing = None
        if not shutil.which('npm') or not shutil.which('node'):
            self.missing = 'there is no npm'
        elif not (CACHE / 'node_modules' / '@duckdb' / 'node-api').is_dir():
            CACHE.mkdir(parents=True, exist_ok=True)
            done = subprocess.run(['npm', 'install', '--no-audit', '--no-fund', '--prefix', CACHE, DUCKDB], capture_output=True,
                                  text=True, check=False, timeout=300)
            if done.returncode != 0:
                self.missing = f'npm cannot install DuckDB: {done.stderr.strip().splitlines()[-1:]}'

    def ask(self, *statements):
        script = CACHE / 'ask.mjs'
        script.write_text(NODE)
        done = subprocess.run(['node', script], input=json.dumps(statements), capture_output=True, text=True, check=False,
                              timeout=TIMEOUT)
        if done.returncode != 0:
            raise AssertionError(done.stderr)
        return [json.loads(line) for line in done.stdout.splitlines()]


# Allocates the given number of kilobytes and holds them for at least two ticks.
PROGRAM = """
import mmap, sys, time
held = mmap.mmap(-1, 1024 * int(sys.argv[1]))
step = max(len(held) // 4, 4096)
for begin in range(0, len(held), step):
    held[begin:begin + step] = b'x' * len(held[begin:begin + step])
    time.sleep(0.03)
"""


@contract.long_only('200 recordings')
class Fleet(TracingTest):
    """Recordings of HOSTS machines with different names. The second release of a program holds twice as much as the first."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if os.geteuid() != 0:
            raise unittest.SkipTest('needs root')
        cls.directory = Path(tempfile.mkdtemp(prefix='rsslag-fleet-'))
        cls.addClassCleanup(shutil.rmtree, cls.directory)
        (cls.directory / 'fleet').mkdir()
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            cls.reports = list(pool.map(cls.one, range(RECORDINGS)))
        cls.releases = {report['header']['trace_id']: f'1.{number // (RECORDINGS // 2)}'
                        for number, report in enumerate(cls.reports)}

    @classmethod
    def one(cls, number):
        """Makes a recording, exports it in each format, and returns its report."""
        path = str(cls.directory / f'{number}.rsslag')
        size = str(4096 * (1 + number // (RECORDINGS // 2)) + 16 * (number % 7))
        done = subprocess.run(
            ['unshare', '-u', 'sh', '-c', 'hostname "$0" && exec "$@"', f'host-{number % HOSTS}', contract.binary, 'record', '-o',
             path, '--interval', '20ms', '--ring', '64K' if number % 10 == 0 else '2M', '--', contract.interpreter(), '-c', PROGRAM,
             size], capture_output=True, text=True, check=False, env=environment(), timeout=TIMEOUT)
        if done.returncode != 0:
            raise AssertionError(done.stderr)
        if number % 20 == 0:  # a recording without its end
            with open(path, 'r+b') as file:
                file.truncate(os.path.getsize(path) - 40)
        for form, suffix, *more in (('csv', 'csv'), ('jsonl', 'jsonl', '--rows-only'), ('sqlite', 'db')):
            out = str(cls.directory / 'fleet' / f'{number}.{suffix}')
            ran = rsslag('export', '--format', form, *more, '-o', out, path)
            if ran.status != 0:
                raise AssertionError(ran)
        return rsslag('report', '--json', path).document()

    def expected_rows(self):
        rows = collections.Counter()
        for report in self.reports:
            rows.update({kind: count for kind, count in report['rows'].items() if count})
            rows['missing'] += len(report['missing'])
        return dict(rows)

    def processes(self):
        """(report, release, process) of each process."""
        for report in self.reports:
            for process in report['processes']:
                yield report, self.releases[report['header']['trace_id']], process

    def check_worst_lag(self, answer):
        (row,) = answer
        self.assertEqual(int(row['recordings']), RECORDINGS)
        self.assertEqual(int(row['worst_lag_bytes']),
                         max(process['peak_lag']['pages'] * report['header']['page_size'] for report, _, process in self.processes()))

    def check_peak(self, answer):
        peaks = collections.defaultdict(lambda: [0, 0])
        for report, release, process in self.processes():
            page, peak = report['header']['page_size'], process['peak']
            least_most = peaks[process['comm'], release]
            least_most[0] = max(least_most[0], peak['peak_min'] * page)
            least_most[1] = max(least_most[1], peak['peak_max'] * page)
        told = {(row['comm'], row['release']): [int(row['least_bytes']), int(row['most_bytes'])] for row in answer}
        for key, peak in peaks.items():
            self.assertEqual(told[key], peak, key)

    def check_grows(self, answer):
        first, last = {}, {}
        for report in self.reports:
            trace = report['header']['trace_id']
            for row in self.ticks_of(trace):
                key = trace, row['pid'], row['mm']
                first.setdefault(key, row)
                last[key] = row
        expected = sorted(((last[key]['exact_rss'] - row['exact_rss']) * 4096 for key, row in first.items() if last[key] is not row),
                          reverse=True)
        self.assertEqual([int(row['grew_bytes']) for row in answer], expected)
        self.assertGreater(expected[0], 2 << 20)

    def ticks_of(self, trace):
        if not hasattr(self, 'ticks'):
            self.ticks = collections.defaultdict(list)
            for path in (self.directory / 'fleet').glob('*.jsonl'):
                for line in path.read_text().splitlines():
                    if '"type":"tick"' in line:
                        row = json.loads(line)
                        if row['state'] == 'running':
                            self.ticks[row['trace_id']].append(row)
        return self.ticks[trace]

    def check_losses(self, answer):
        told = collections.Counter()
        for row in answer:
            if row['type'] == 'loss' and row['cause'] != 'mappings':  # these are not records of the stream
                told[row['cause']] += int(row['records'] or 0)
        expected = collections.Counter()
        for report in self.reports:
            expected.update({cause: count for cause, count in report['lost_by'].items() if count and cause != 'recording'})
        self.assertEqual(+told, +expected)
        self.assertEqual({row['trace_id'] for row in answer if row['type'] == 'missing'},
                         {report['header']['trace_id'] for report in self.reports if report['missing']})
        self.assertEqual(sum(1 for report in self.reports if report['missing']), RECORDINGS // 20)

    def check_regressions(self, answer):
        (row,) = [row for row in answer if row['comm'] == self.comm()]
        peaks = collections.defaultdict(list)
        for report, release, process in self.processes():
            if process['comm'] == self.comm():
                peaks[release].append(process['peak']['peak_min'] * report['header']['page_size'])
        self.assertEqual((row['before'], row['release']), ('1.0', '1.1'))
        self.assertEqual(float(row['bytes_before']), statistics.median(peaks['1.0']))
        self.assertEqual(float(row['bytes']), statistics.median(peaks['1.1']))

    def comm(self):
        return os.path.basename(os.path.realpath(contract.interpreter()))[:15]

    def check(self, answers):
        rows, hosts, worst, peak, grows, losses, regressions = answers
        self.assertEqual({row['type']: int(row['n']) for row in rows}, self.expected_rows())
        self.assertEqual({row['host']: int(row['n']) for row in hosts},
                         dict(collections.Counter(report['header']['host'] for report in self.reports)))
        self.check_worst_lag(worst)
        self.check_peak(peak)
        self.check_grows(grows)
        self.check_losses(losses)
        self.check_regressions(regressions)

    def test_duckdb(self):
        duckdb = DuckDb()
        if duckdb.missing:
            self.skipTest(duckdb.missing)
        releases = ', '.join(f"('{trace}', '{release}')" for trace, release in self.releases.items())
        for form, load in blocks('load').items():
            with self.subTest(form=form):
                load = load.replace("'fleet/", f"'{self.directory}/fleet/")
                queries = blocks('query')
                _, _, _, _, _, *answers = duckdb.ask(
                    table(), load, *blocks('view').values(), 'CREATE TABLE releases (trace_id STRING, release STRING)',
                    f'INSERT INTO releases VALUES {releases}',
                    'SELECT type, count(*) AS n FROM "rows" GROUP BY type',
                    'SELECT host, count(DISTINCT trace_id) AS n FROM "rows" GROUP BY host',
                    *(queries[name] for name in ('worst lag', 'peak by release', 'who grows', 'losses', 'regressions')))
                self.check(answers)

    def test_duckdb_reads_names_that_only_a_later_file_quotes(self):
        duckdb = DuckDb()
        if duckdb.missing:
            self.skipTest(duckdb.missing)
        names = {'plain', 'a,b', 'a"b'}
        with tempfile.TemporaryDirectory(prefix='rsslag-fleet-') as directory:
            for number, name in enumerate(sorted(names, reverse=True)):
                script = f'import ctypes; ctypes.CDLL(None).prctl(15, {name.encode()!r}); memory = bytearray(1 << 20)'
                path, out = f'{directory}/{number}.rsslag', f'{directory}/{number}.csv'
                for words in (('record', '-o', path, '--', contract.interpreter(), '-S', '-E', '-c', script),
                              ('export', '--format', 'csv', '-o', out, path)):
                    self.assertEqual(rsslag(*words).status, 0)
            load = blocks('load')['csv'].replace("'fleet/", f"'{directory}/")
            *_, answer = duckdb.ask(table(), load, 'SELECT DISTINCT comm FROM "rows" WHERE comm IS NOT NULL')
        self.assertLessEqual(names, {row['comm'] for row in answer})

    @unittest.skipUnless(shutil.which('sqlite3'), 'there is no sqlite3')
    def test_sqlite(self):
        done = subprocess.run(['sh', '-c', shell_block('SQLite')], cwd=self.directory, capture_output=True, text=True, check=False,
                              timeout=TIMEOUT)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, '', ''))
        database = sqlite3.connect(self.directory / 'fleet.db')
        self.addCleanup(database.close)
        (ticks, traces, lag), = database.execute('SELECT count(*), count(DISTINCT trace_id), max(peak_lag) FROM ticks')
        self.assertEqual(ticks, self.expected_rows()['tick'])
        self.assertEqual(traces, RECORDINGS)
        self.assertEqual(lag, max(process['peak_lag']['pages'] for _, _, process in self.processes()))
        self.assertEqual({comm for comm, in database.execute('SELECT DISTINCT comm FROM ticks')},
                         {process['comm'] for _, _, process in self.processes()})


if __name__ == '__main__':
    contract.main()
