# SPDX-License-Identifier: BSD-2-Clause
"""The recordings in docs/recordings, of the first version of the format: readable for good, without rights or BPF, on any machine.

The content of the records is tested to the page. Results of their analysis may change with a later version if a comment states this."""
import collections
import csv
import fcntl
import io
import json
import os
import select
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import unittest
from pathlib import Path

import contract
from contract import ROOT, TIMEOUT, assert_one_error_line, assert_valid, begun, environment, rsslag
from forger import Forger, tick_end
from live import assert_trace

RECORDINGS = ROOT / 'docs' / 'recordings'
GOLDEN = Path(__file__).resolve().parent / 'golden'
CLASSIC = str(RECORDINGS / 'classic-6.1.rsslag')
QUIET = str(RECORDINGS / 'quiet-6.1.rsslag')

UPDATES = {'update', 'flush', 'fold'}
NO_RECORDS = {'reading', 'walk', 'loss', 'tick', 'mapped', 'moved', 'named', 'listed'}

# A hundred threads and the main thread, quiescent.
EXACT, FLUSHED, CACHED = 26746, 20683, 6063
PEAK_LAG = 6330  # between two ticks


def members(file, anon, shmem):
    return {'file': file, 'anon': anon, 'shmem': shmem, 'swap': 0, 'rss': file + anon + shmem}


def told(test, *args):
    ran = rsslag(*args)
    test.assertEqual((ran.status, ran.err), (0, ''), ran)
    return ran


def told_documents(test, file):
    return told(test, 'replay', '--format', 'jsonl', file).documents()


class Files(unittest.TestCase):
    def test_are_small(self):
        for file, most in ((CLASSIC, 100_000), (QUIET, 10_000)):
            self.assertLess(os.path.getsize(file), most)

    def test_contain_nothing_about_who_made_them(self):
        for file, command in ((CLASSIC, 'rsslag record -o classic-6.1.rsslag --interval 250ms --duration 10s -- '
                                        'rsslag demo --over 2s --for 3s'),
                              (QUIET, 'rsslag record -o quiet-6.1.rsslag --interval 250ms --duration 2s -p 163')):
            header = told(self, 'report', '--json', file).document()['header']
            time = header.pop('time')
            self.assertTrue(time.startswith('2026-'), time)
            self.assertEqual(header, {
                'kernel': '6.1.0-50-amd64', 'arch': 'x86_64', 'host': 'classic', 'boot_id': None, 'trace_id': None, 'segment': 0,
                'command_line': command, 'mode': 'events', 'scheme': 'thread', 'page_size': 4096, 'cpus_online': 4,
                'cpus_possible': 4, 'batch': None,
                'calibration': {'stat': 'flushed', 'statm': 'flushed', 'status': 'flushed'}})


class Replay(unittest.TestCase):
    def test_the_classic_lags_by_24_mb_at_rest_and_the_page_tables_agree(self):
        ticks, summary = assert_trace(self, rsslag('replay', '--format', 'jsonl', CLASSIC))
        self.assertEqual(len(ticks), 39)
        resting = [tick for tick in ticks if tick['threads_count'] == 101 and tick['state'] == 'running'
                   and tick['updates'] == 436]
        self.assertGreaterEqual(len(resting), 10)
        for tick in resting:
            self.assertEqual(tick['scheme'], 'thread')
            self.assertEqual(tick['flushed'], members(478, 19942, 263))
            self.assertEqual(tick['cached'], members(16, 6047, 0))
            self.assertEqual(tick['exact'], members(494, 25989, 263))
            self.assertEqual((tick['flushed']['rss'], tick['cached']['rss'], tick['exact']['rss']),
                             (FLUSHED, CACHED, EXACT))
            self.assertEqual(tick['lag'], CACHED)
            self.assertEqual({reader['rss_kb'] for reader in tick['readers'].values()}, {FLUSHED * 4})
            self.assertEqual(len(tick['threads']), 101)
        walked = [tick for tick in resting if tick['walked'] is not None]
        self.assertGreaterEqual(len(walked), 10)
        for tick in walked:
            self.assertEqual(tick['walked']['rss_kb'], EXACT * 4)
            self.assertEqual((tick['verdict'], tick['residual']), ('agrees', 0))
        self.assertEqual(ticks[-1]['state'], 'exited')
        self.assertEqual(ticks[-1]['exact'], members(0, 0, 0))

    def test_the_summary_of_the_classic(self):
        *ticks, summary = told(self, 'replay', '--format', 'jsonl', CLASSIC).documents()
        expected = {'records': 28521, 'emitted': 28521, 'lost': 0, 'updates': 683, 'updates_by_others': 0, 'faults': 27479,
                    'flushes': 450, 'resyncs': 0, 'disagreements': 0, 'ended_mms': 1, 'ended_not_at_zero': 0,
                    'flush_reasons': {'threshold': 321, 'zap': 28, 'exec': 0, 'exit': 101, 'direct': 203}}
        self.assertEqual({key: summary[key] for key in expected}, expected)
        (process,) = summary['processes']
        self.assertEqual((process['comm'], process['state']), ('classic', 'exited'))
        self.assertEqual(process['peak_lag']['pages'], PEAK_LAG)
        verdicts = collections.Counter(tick['verdict'] for tick in ticks if tick['state'] == 'running')
        self.assertEqual({verdict: count for verdict, count in process['verdicts'].items() if count}, verdicts)

    def test_lines_and_csv_have_the_same_ticks(self):
        ticks = told(self, 'replay', '--format', 'jsonl', CLASSIC).documents()[:-1]
        lines = told(self, 'replay', '--format', 'lines', CLASSIC).lines
        self.assertRegex(lines[len(ticks)], r' EXITED$')
        self.assertRegex(lines[len(ticks) - 1], r' 82,732 +106,984 +24,252 +22\.7 +82,732 +24,252 +436 +0 AGREES')
        rows = list(csv.DictReader(io.StringIO(told(self, 'replay', '--format', 'csv', CLASSIC).out, newline='')))
        self.assertEqual([row['t_ns'] for row in rows], [str(tick['t_ns']) for tick in ticks])
        self.assertEqual([row['exact_rss'] for row in rows], [str(tick['exact']['rss']) for tick in ticks])

    def test_the_quiet_one(self):
        ticks, summary = assert_trace(self, rsslag('replay', '--format', 'jsonl', QUIET))
        self.assertEqual({(tick['lag'], tick['exact']['rss'], tick['verdict']) for tick in ticks}, {(112, 1877, 'agrees')})
        self.assertEqual((len(ticks), summary['records'], summary['lost']), (9, 0, 0))

    def test_all_but_the_last_chunk_of_a_cut_one(self):
        with tempfile.NamedTemporaryFile() as cut:
            with open(CLASSIC, 'rb') as whole:
                cut.write(whole.read()[:60_000])
            cut.flush()
            ran = rsslag('replay', '--format', 'jsonl', cut.name)
            self.assertEqual(ran.status, 0, ran)
            self.assertIn('the recording is incomplete', ran.err)
            self.assertGreater(ran.documents()[-1]['records'], 1000)


def pinned(document):
    """The numbers that no later version may change: times in nanoseconds, memory, losses."""
    if document['schema'] == 'rsslag.summary/2':
        keys = ('time', 'duration_ns', 'ticks', 'records', 'emitted', 'updates', 'updates_by_others', 'faults', 'lost',
                'lost_by', 'resyncs', 'disagreements', 'ended_mms', 'ended_not_at_zero')
    else:
        keys = ('seq', 'time', 't_ns', 'state', 'pid', 'host_pid', 'comm', 'threads_count', 'readers', 'flushed', 'cached',
                'exact', 'baseline', 'verdict', 'residual', 'updates', 'updates_by_others', 'faults', 'lost', 'lost_by',
                'disagreements', 'resyncs', 'own')
    told = {key: document[key] for key in keys}
    if document.get('walked'):
        told['walked_rss_kb'] = document['walked']['rss_kb']
    return told


class Ticks(unittest.TestCase):
    def assert_pinned(self, file, name):
        ticks = [pinned(document) for document in told_documents(self, file)]
        with open(GOLDEN / name, encoding='ascii') as golden:
            expected = [json.loads(line) for line in golden]
        self.assertEqual(len(ticks), len(expected))
        for one, other in zip(ticks, expected):
            self.assertEqual(one, other)

    def test_of_the_classic_are_pinned(self):
        self.assert_pinned(CLASSIC, 'shipped_classic.jsonl')

    def test_of_the_quiet_one_are_pinned(self):
        self.assert_pinned(QUIET, 'shipped_quiet.jsonl')


class Report(unittest.TestCase):
    def test_of_the_classic(self):
        report = told(self, 'report', '--json', CLASSIC).document()
        assert_valid(self, 'report', report)
        self.assertEqual((report['complete'], report['missing'], report['lost'], report['records']), (True, [], 0, 28521))
        self.assertEqual((report['peak_lag']['pages'], report['peak_lag']['comm']), (PEAK_LAG, 'classic'))
        (process,) = report['processes']
        self.assertEqual(len(process['threads']), 101)
        # Threads touch some more pages when they end, several of them concurrently.
        self.assertGreaterEqual(process['peak']['peak_min'], EXACT)
        self.assertLess(process['peak']['peak_max'], EXACT + 3_000)
        self.assertEqual(process['residual'] | {'walks': None}, {'min': 0, 'max': 0, 'nonzero': 0, 'walks': None})
        workers = [thread for thread in process['threads'] if thread['comm'].startswith('worker-')]
        self.assertEqual(len(workers), 100)
        self.assertEqual({thread['net']['rss'] for thread in workers}, {257})

    def test_its_lag_fails_an_assertion_that_the_quiet_one_passes(self):
        ran = rsslag('report', '--assert', 'peak_lag<1MiB', CLASSIC)
        self.assertEqual(ran.status, 1, ran)
        self.assertEqual(ran.err, "rsslag: 'peak_lag<1MiB' does not hold: peak_lag 25,320 kB >= 1 MiB, by 24,296 kB\n")
        self.assertEqual(told(self, 'report', '--assert', 'peak_lag<1MiB', QUIET).err, '')
        self.assertEqual(told(self, 'report', '--assert', 'peak_lag==25320kB and lost==0 and missing==0', CLASSIC).err, '')
        assert_one_error_line(self, rsslag('report', '--assert', 'peak_lag<<1MiB', CLASSIC), 2)

    def test_no_assertion_holds_if_a_signal_ends_the_reading(self):
        def stopped():
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
            os.kill(os.getpid(), signal.SIGTERM)  # is pending when rsslag starts

        for options, status, err in (((), 0, ''), (('--assert', 'lost==0'), 1,
                                                   'rsslag: no condition was checked: a signal stopped rsslag\n')):
            ran = rsslag('report', *options, QUIET, preexec_fn=stopped)
            self.assertEqual((ran.status, ran.out, ran.err), (status, '', err), ran)

    def test_a_signal_ends_what_follows_the_reading(self):
        """A picture that nobody reads keeps rsslag from printing; a pipe that nobody reads keeps it from ending."""
        with tempfile.TemporaryDirectory() as directory:
            fifo = os.path.join(directory, 'fifo')
            os.mkfifo(fifo)
            for options, status, err in ((('--svg', fifo), 0, b''),
                                         (('--svg', fifo, '--assert', 'lost==0'), 1,
                                          b'rsslag: no condition was checked: a signal stopped rsslag\n'),
                                         (('--json', '--all'), 0, b'')):
                with self.subTest(options):
                    pipe = os.open(fifo, os.O_RDWR)
                    self.addCleanup(os.close, pipe)
                    fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, 4096)
                    with begun([contract.binary, 'report', *options, CLASSIC], stdin=subprocess.DEVNULL,
                               stdout=pipe if '--json' in options else subprocess.PIPE, stderr=subprocess.PIPE, env=environment()) as process:
                        select.select([pipe], [], [])
                        process.terminate()
                        printed, said = process.communicate(timeout=TIMEOUT)
                        self.assertEqual((process.returncode, printed or b'', said), (status, b'', err))
                    os.read(pipe, 4096)

    def test_no_assertion_holds_without_a_process(self):
        with tempfile.TemporaryDirectory() as directory:
            file = os.path.join(directory, 'empty')
            with open(file, 'wb') as out:
                out.write(Forger().recording([tick_end()]))
            self.assertEqual(rsslag('report', file).status, 0)
            ran = rsslag('report', '--assert', 'updates<30000 and missing==0', file)
            self.assertEqual((ran.status, ran.err), (3, 'rsslag: the recording contains no process\n'), ran)

    def test_as_text_and_as_a_difference(self):
        text = told(self, 'report', CLASSIC).out
        for words in ('Linux 6.1.0-50-amd64', 'thread scheme', 'the recording is complete', 'peak lag 25,320 kB'):
            self.assertIn(words, text)
        change = told(self, 'report', '--json', '--diff', QUIET, CLASSIC).document()['change']
        self.assertEqual(change['peak_lag'], PEAK_LAG - 112)


class Export(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix='rsslag-contract-')
        self.addCleanup(shutil.rmtree, self.directory)

    def exported(self, form):
        path = os.path.join(self.directory, form)
        told(self, 'export', '--format', form, '-o', path, CLASSIC)
        return path

    def test_updates_add_up_to_the_change_of_exact(self):
        rows = told(self, 'export', '--format', 'jsonl', CLASSIC).documents()[1:]
        last = [row for row in rows if row['type'] == 'tick'][-1]
        updates = [row for row in rows if row['type'] in UPDATES and row['mm'] == last['mm'] and row['known']]
        self.assertNotIn(None, [row['pages'] for row in updates])
        self.assertEqual(collections.Counter(row['reason'] for row in updates)['direct'], 203)
        for member in ('file', 'anon', 'shmem', 'swap'):  # started and ended in the trace
            self.assertEqual(sum(row['pages'] for row in updates if row['member'] == member), 0, member)
        # Up to the quiescent tick, the updates sum up to the flushed pages, as no record reports cached pages yet.
        rest = next(row for row in rows if row['type'] == 'tick' and row['exact_rss'] == EXACT)
        before = [row['pages'] for row in updates if row['t_ns'] <= rest['t_ns'] and row['member'] != 'swap']
        self.assertEqual(sum(before), FLUSHED)

    def test_rows_are_those_that_the_report_counts_in_each_format(self):
        report = told(self, 'report', '--json', CLASSIC).document()
        header, *rows = told(self, 'export', '--format', 'jsonl', CLASSIC).documents()
        self.assertEqual((header['schema'], header['kernel']), ('rsslag.record/2', '6.1.0-50-amd64'))
        self.assertEqual(collections.Counter(row['type'] for row in rows), report['rows'])
        self.assertEqual(sum(row['type'] not in NO_RECORDS for row in rows), report['records'])
        with open(self.exported('csv'), encoding='utf-8', newline='') as file:
            self.assertEqual(collections.Counter(row['type'] for row in csv.DictReader(file)), report['rows'])
        database = sqlite3.connect(self.exported('sqlite'))
        self.addCleanup(database.close)
        counts = dict(database.execute('SELECT type, count(*) FROM events GROUP BY type'))
        for table, kind in (('readings', 'reading'), ('walks', 'walk'), ('losses', 'loss'), ('ticks', 'tick')):
            counts[kind] = database.execute(f'SELECT count(*) FROM {table}').fetchone()[0]
        self.assertEqual({kind: count for kind, count in counts.items() if count}, report['rows'])

    def test_the_last_update_before_the_rest_left_what_is_flushed_then(self):
        _, *rows = told(self, 'export', '--format', 'jsonl', CLASSIC).documents()
        rest = next(row for row in rows if row['type'] == 'tick' and row['exact_rss'] == EXACT)
        left = {row['member']: row['flushed'] for row in rows
                if row['type'] in UPDATES and row['mm'] == rest['mm'] and row['t_ns'] <= rest['t_ns']}
        self.assertEqual(left, {'file': 478, 'anon': 19942, 'shmem': 263})

    def test_perfetto_can_be_decoded(self):
        if not shutil.which('protoc'):
            self.skipTest('protoc is missing')
        with open(self.exported('perfetto'), 'rb') as file:
            done = subprocess.run(['protoc', '--decode=rsslag.test.Trace', f'--proto_path={ROOT}/tests/contract',
                                   'perfetto.proto'], stdin=file, capture_output=True, timeout=TIMEOUT, check=False,
                                  env=environment())
        self.assertEqual((done.returncode, done.stderr), (0, b''))
        self.assertIn(str(EXACT * 4096).encode(), done.stdout)


if __name__ == '__main__':
    contract.main()
