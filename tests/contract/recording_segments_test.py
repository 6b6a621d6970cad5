# SPDX-License-Identifier: BSD-2-Clause
"""--max-size keeps the newest data in segments, each of which is a recording of its own."""
import datetime
import glob
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

import contract
from contract import NOBODY, Held, TracingTest, assert_one_error_line, environment, long_only, needs_root, rsslag
from live import Live, assert_trace

LIMIT = 1 << 20


class Steady:
    """About 40,000 updates a second, paced so that the newest segments always cover several seconds."""
    PROGRAM = '''
import mmap, time
pages = mmap.mmap(-1, 1024 * mmap.PAGESIZE)
while True:
    for i in range(0, len(pages), mmap.PAGESIZE):
        pages[i] = 1
    pages.madvise(mmap.MADV_DONTNEED)
    print(flush=True)
    time.sleep(0.02)
'''

    def __enter__(self):
        self.process = subprocess.Popen([sys.executable, '-c', self.PROGRAM], stdout=subprocess.PIPE)
        self.process.stdout.readline()
        return self.process.pid

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()


def milliseconds(tick):
    return round(datetime.datetime.fromisoformat(tick['time'].replace('Z', '+00:00')).timestamp() * 1000)


class Segments(TracingTest):
    def setUp(self):
        self.directory = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.directory)
        self.file = os.path.join(self.directory, 'trace.rsslag')

    def segments(self):
        """The segments, oldest first."""
        return sorted(glob.glob(glob.escape(self.file) + '.*')) + [self.file]

    def size(self):
        return sum(os.path.getsize(name) for name in self.segments())

    def live(self, *args, size='1M'):
        return rsslag('live', '--format', 'jsonl', '--record', self.file, '--max-size', size, *args)

    def live_until_segments(self, count, *args, size='1M'):
        """Waits for `count` segments, without a deadline for a busy machine."""
        last = f'{self.file}.{count - 1:04}'
        with Live('--format', 'jsonl', '--record', self.file, '--max-size', size, *args) as trace:
            trace.document(lambda _: os.path.exists(last))
            trace.signal(signal.SIGINT)
            return trace.finish()

    def assert_same_ticks(self, live, name, apart=0):
        """Checks that the segment has each tick of a running process, and no other. Returns the ticks and the summary. `apart`:
        by how many ms ticks may differ, because of ends that belong to the previous segment."""
        ran = rsslag('replay', name, '--format', 'jsonl')
        # A fork during which a segment started may be recorded in part. Its counters then do not end at 0.
        ticks, summary = assert_trace(self, ran, not_at_zero=1 if apart else 0)
        self.assertEqual((summary['lost'], summary['emitted']), (0, summary['records']), name)
        same = ('flushed', 'cached', 'exact', 'lag', 'readers', 'residual', 'verdict', 'walked', 'comm', 'threads_count')
        # A segment's last tick may have no reading: it shows records after the last reading, which live has later.
        told = [tick for tick in ticks if tick['state'] == 'running' and tick['readers']['stat']['rss_kb'] is not None]
        if name == self.file and not told:
            return ticks, summary  # the segment started just before the end
        self.assertGreater(len(told), 0, name)
        live = {(tick['pid'], tick['readers']['stat']['rss_kb'], milliseconds(tick)): tick for tick in live
                if tick.get('state') == 'running'}
        first, last = milliseconds(told[0]) - apart, milliseconds(told[-1]) + apart
        for tick in told:
            where = (tick['pid'], tick['readers']['stat']['rss_kb'])
            key = min((key for key in live if key[:2] == where), key=lambda key: abs(key[2] - milliseconds(tick)))
            self.assertLessEqual(abs(key[2] - milliseconds(tick)), apart)
            one = live.pop(key)
            self.assertEqual({key: tick[key] for key in same}, {key: one[key] for key in same}, (name, tick['seq']))
        if name != self.file:
            self.assertGreater(summary['records'], 0, name)
        missing = [key for key in live if first + 2 * apart < key[2] < last - 2 * apart]
        self.assertEqual(missing, [], name)
        return ticks, summary

    def assert_segments(self, live, quiet):
        """Checks that each segment replays alone with the numbers of live. Returns their number."""
        agree = 0
        for name in self.segments():
            ticks, summary = self.assert_same_ticks(live, name)
            self.assertEqual((summary['disagreements'], summary['resyncs']), (0, 0), name)
            if name != self.file:
                self.assertGreater(summary['faults'], 0, name)
            # The records of a segment's last 0.1 s or so are analyzed in the next segment. Threads flush every 64 faults.
            faults = 64 if ticks[0]['scheme'] == 'thread' else 2
            self.assertLess(summary['faults'], faults * summary['updates'] + 50000, 'the faults of a segment must count from its start')
            of_quiet = [tick['verdict'] for tick in ticks if tick['pid'] == quiet]
            agree += 'agrees' in of_quiet
            report = rsslag('report', name, '--json')
            self.assertEqual((report.status, report.err), (0, ''), report)
            document = report.document()
            self.assertTrue(document['complete'], name)
            self.assertEqual(document['missing'], [])
            rows = rsslag('export', name, '--format', 'jsonl')
            self.assertEqual((rows.status, rows.err), (0, ''))
        # Not in each segment: after a slow walk, as on a busy machine, rsslag does not walk again immediately.
        self.assertGreater(agree, 0)
        return len(self.segments())

    @long_only('the number of segments depends on the rate of updates, and rsslag must keep up with it')
    def test_a_busy_process_makes_several_with_the_same_content(self):
        with Steady() as busy, Held('classic') as quiet:
            ran = self.live_until_segments(12, '--interval', '100ms', '-p', f'{busy},{quiet.pid}', size='256K')
            self.assertEqual((ran.status, ran.err), (0, ''), ran.raw_err)
            self.assertLessEqual(self.size(), 256 << 10)
            self.assertGreater(self.assert_segments(ran.documents(), quiet.pid), 2)

    @long_only('the number of segments depends on the rate of updates, and rsslag must keep up with it')
    def test_sums_over_segments(self):
        with Held('busy') as busy, Held('classic') as quiet:
            ran = self.live_until_segments(4, '--mode', 'counts', '--interval', '100ms', '-p', f'{busy.pid},{quiet.pid}',
                                           size='256K')
        self.assertEqual((ran.status, ran.err), (0, ''), ran.raw_err)
        self.assertLessEqual(self.size(), 256 << 10)
        self.assertGreater(self.assert_segments(ran.documents(), quiet.pid), 1)

    @long_only('the number of segments depends on the rate of updates, and rsslag must keep up with it')
    def test_forks_and_execs_over_segments(self):
        script = 'for i in $(seq 200); do ls /usr/bin >/dev/null; (sort /etc/services | tail -1) >/dev/null; done'
        ran = self.live('--interval', '50ms', '--follow', '--', 'sh', '-c', script, size='256K')
        self.assertEqual((ran.status, ran.err), (0, ''), ran.raw_err)
        self.assertLessEqual(self.size(), 256 << 10)
        self.assertGreater(len(self.segments()), 1)
        for name in self.segments():
            self.assert_same_ticks(ran.documents(), name, apart=5)

    @long_only('the number of segments depends on the rate of updates, and rsslag must keep up with it')
    def test_record_keeps_the_newest_and_reports_it(self):
        with Steady() as pid:
            ran = rsslag('record', '-o', self.file, '--max-size', '256K', '--duration', '8s', '-p', str(pid))
        self.assertEqual((ran.status, ran.out), (0, ''), ran)
        self.assertLessEqual(self.size(), 256 << 10)
        self.assertNotIn(self.file + '.0000', self.segments())
        self.assertRegex(ran.err, r'^(\d+ events, ([\d.]+ MiB|\d+ kB), 0 lost\n)+$')
        self.assertAlmostEqual(float(ran.err.split()[-4]), self.size() / (1 << 20), delta=0.06)
        for name in self.segments():
            self.assertEqual(os.stat(name).st_mode & 0o7777, 0o600)

    def test_what_is_there_is_refused_unless_forced(self):
        there = self.file + '.0003'
        with open(there, 'w', encoding='ascii') as file:
            file.write('mine')
        ran = rsslag('record', '-o', self.file, '--max-size', '1M', '--', 'true')
        assert_one_error_line(self, ran, 2)
        self.assertIn('--force', ran.err)
        self.assertEqual(os.listdir(self.directory), ['trace.rsslag.0003'])
        self.assertEqual(rsslag('record', '-o', self.file, '--max-size', '1M', '--force', '--', 'true').status, 0)
        with open(there, encoding='ascii') as file:
            self.assertEqual(file.read(), 'mine')  # no segment needed this name

    def test_bad_sizes(self):
        for size in ('0', 'x', '1T', '-1M', '255K', '99999999999G', ''):
            ran = rsslag('record', '-o', self.file, f'--max-size={size}', '--', 'true')
            if size:
                assert_one_error_line(self, ran, 2)
                self.assertEqual(os.listdir(self.directory), [])
        assert_one_error_line(self, rsslag('live', '--format', 'lines', '--max-size', '1M', '--', 'true'), 2)

    @long_only('it expects a number of segments within eight seconds')
    @needs_root
    def test_all_segments_belong_to_the_user_behind_sudo(self):
        """In a directory of that user, to which root without capabilities cannot write."""
        os.chown(self.directory, NOBODY, NOBODY)
        changes = {'SUDO_UID': str(NOBODY), 'SUDO_GID': str(NOBODY), 'SUDO_USER': 'nobody'}
        with Held('busy') as held:
            ran = rsslag('record', '-o', self.file, '--max-size', '1M', '--duration', '8s', '-p', str(held.pid),
                         env=environment(**changes))
        self.assertEqual(ran.status, 0, ran)
        self.assertGreater(len(self.segments()), 1)
        self.assertLessEqual(self.size(), LIMIT)
        for name in self.segments():
            status = os.stat(name)
            self.assertEqual((status.st_uid, status.st_gid, status.st_mode & 0o7777), (NOBODY, NOBODY, 0o600))

    @long_only('it depends on how fast segments fill the disk')
    @needs_root
    def test_a_full_disk_ends_it_with_1_and_takes_nothing(self):
        self.file = os.path.join(contract.small_disk(self, self.directory, '700k'), 'trace.rsslag')
        with Held('busy') as held:
            ran = rsslag('record', '-o', self.file, '--max-size', '1M', '--duration', '60s', '-p', str(held.pid))
        self.assertEqual(ran.status, 1, ran)
        self.assertIn('No space left', ran.err)
        self.assertGreater(len(self.segments()), 1)
        for name in self.segments():
            replayed = rsslag('replay', name, '--format', 'jsonl')
            self.assertEqual(replayed.status, 0, replayed)
            self.assertEqual('incomplete' in replayed.err, name == self.file, (name, replayed.err))


if __name__ == '__main__':
    contract.main()
