#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The reader of the output stops reading: no record is lost, dropped output is reported in its place, nothing hangs."""
import ctypes
import fcntl
import mmap
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import contract
from contract import LONG, ROOT, TIMEOUT, TracingTest, assert_valid, environment, wait_until
from live import ROOMY

PAGE = mmap.PAGESIZE


def churn(pages, rounds):
    """Maps, touches and unmaps pages for a number of rounds, which makes many updates."""
    for _ in range(rounds):
        with mmap.mmap(-1, pages * PAGE) as memory:
            for at in range(0, len(memory), PAGE):
                memory[at] = 1


class Churning:
    """A child that maps, touches and unmaps pages: a number of rounds on request, or immediately and forever."""

    def __init__(self, pages=256, rounds=None):
        self.pages, self.rounds = pages, rounds

    def __enter__(self):
        go, self.go = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)  # PR_SET_PDEATHSIG
                if self.rounds is not None:
                    os.read(go, 1)
                churn(self.pages, self.rounds or sys.maxsize)
            finally:
                os._exit(1)
        os.close(go)
        return self

    def tell(self):
        os.write(self.go, b'1')

    def __exit__(self, *_):
        os.close(self.go)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


class Unread:
    """`rsslag live` that also records. The test does not read its output at first."""

    def __init__(self, directory, *args):
        self.recording = Path(directory, 'recording')
        self.args = args
        self.process = subprocess.Popen([contract.binary, 'live', '--no-walk', '--record', self.recording, *map(str, args)],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        env=environment())

    def recorded(self, size):
        wait_until(lambda: self.process.poll() is not None or self.size() > size, TIMEOUT)

    def size(self):
        return self.recording.stat().st_size if self.recording.exists() else 0

    def report(self, key):
        """A figure of its recording so far."""
        report = contract.rsslag('report', '--json', self.recording)
        return report.status == 0 and report.document()[key]

    def attached(self):
        return self.report('processes')

    def whole(self):
        """Whether nothing is missing from its recording so far."""
        return self.report('complete')

    def replayed(self):
        return contract.rsslag('replay', '--events', '--format', 'jsonl', self.recording).documents()

    def finish(self):
        out, err = self.process.communicate(timeout=TIMEOUT)
        return contract.Ran(self.args, self.process.returncode, out, err)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(TIMEOUT)
        self.process.stdout.close()
        self.process.stderr.close()


# Bytes of a recording whose lines exceed the limit of waiting output, if each page is unmapped before the next one is touched. The
# `thread` scheme has a line per flush, so of pages that stay mapped only one line per 64.
ENOUGH = 450_000


class StandsStill(TracingTest):
    def unread(self, form):
        """The output, which is only read at the end, and the replay of the recording."""
        with tempfile.TemporaryDirectory() as directory, Churning(pages=1) as child, \
                Unread(directory, '--events', '--interval', '100ms', '--format', form, *ROOMY, '-p', child.pid) as trace:
            trace.recorded(ENOUGH)
            trace.process.send_signal(signal.SIGTERM)
            ran = trace.finish()
            replayed = trace.replayed()
        self.assertEqual((ran.status, ran.err), (0, ''), ran.lines[-1])
        return ran, replayed

    def test_no_record_is_lost_and_each_gap_is_reported(self):
        ran, replayed = self.unread('jsonl')
        documents = ran.documents()
        summary = documents[-1]
        assert_valid(self, 'summary', summary)
        self.assertEqual((summary['lost'], replayed[-1]['lost'], summary['updates']), (0, 0, replayed[-1]['updates']))
        gaps = [document for document in documents if document.get('schema') == 'rsslag.gap/1']
        for gap in gaps:
            assert_valid(self, 'gap', gap)
        self.assertGreater(len(gaps), 0)
        self.assertEqual(sum(gap['lines_dropped'] for gap in gaps), summary['lines_dropped'])
        # Each line is either printed or counted in a gap.
        self.assertEqual(len(documents) - len(gaps) + summary['lines_dropped'], len(replayed))
        before = documents.index(gaps[0])
        self.assertEqual(documents[:before], replayed[:before])

    def test_text_reports_how_many_lines_are_missing(self):
        ran, _ = self.unread('lines')
        here, dropped = ([int(number.replace(',', '')) for number in re.findall(f'(?m)^! .*?([\\d,]+) lines {what}', ran.out)]
                         for what in ('are missing here', 'of this output were dropped'))
        self.assertGreater(len(here), 0)
        self.assertEqual([sum(here)], dropped)

    def test_a_reader_that_goes_on_finds_all_that_waited(self):
        """The trace has ended and its recording is complete. The rest of the output waits for the reader."""
        # More than a pipe holds, and less than the limit of waiting output.
        with tempfile.TemporaryDirectory() as directory, Churning(pages=64, rounds=100) as child, \
                Unread(directory, '--events', '--format', 'jsonl', '-p', child.pid) as trace:
            wait_until(trace.attached)
            child.tell()
            wait_until(trace.whole)
            self.assertIsNone(trace.process.poll())
            ran = trace.finish()
            self.assertEqual((ran.status, ran.err), (0, ''))
            *_, summary = ran.documents()
            self.assertEqual((summary['schema'], summary['lines_dropped']), ('rsslag.summary/2', 0))

    def test_a_signal_ends_it_without_a_reader(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(number), tempfile.TemporaryDirectory() as directory, Churning() as child, \
                    Unread(directory, '--events', '--format', 'lines', '-p', child.pid) as trace:
                trace.recorded(20_000)
                begin = time.monotonic()
                trace.process.send_signal(number)
                trace.process.wait(TIMEOUT)
                if LONG:
                    self.assertLess(time.monotonic() - begin, 8)
                ran = trace.finish()
                self.assertEqual(ran.status, 1)
                self.assertRegex(ran.err, r'^rsslag: cannot write the last [0-9,]+ lines: the reader stopped reading\n$')
                self.assertTrue(trace.whole())


class Recorded(unittest.TestCase):
    """Commands that read a recording wait for their reader. Only a live trace drops output."""
    FILE = ROOT / 'docs' / 'recordings' / 'quiet-6.1.rsslag'

    def unread(self, *args):
        """The output. Three times, waits until rsslag is blocked in write(2) before it reads; then reads the rest."""
        reader, writer = os.pipe()
        fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
        with subprocess.Popen([contract.binary, *map(str, args)], stdin=subprocess.DEVNULL, stdout=writer, stderr=subprocess.PIPE,
                              env=environment()) as process, open(reader, 'rb', buffering=0) as out:
            os.close(writer)
            text, stood = b'', 0
            for _ in range(3):
                wait_until(lambda: process.poll() is not None or contract.waits_for_reader(process.pid))
                stood += process.poll() is None
                text += out.read(4096)
            fcntl.fcntl(out, fcntl.F_SETPIPE_SZ, 1 << 20)
            while more := out.read(1 << 16):
                text += more
            return contract.Ran(args, process.wait(TIMEOUT), text, process.stderr.read()), stood

    def test_no_line_is_lost(self):
        for args in (('replay', '--format', 'jsonl', '--events'), ('replay', '--format', 'lines', '--events'), ('replay', '--format', 'csv'),
                     ('report', '--json'), ('report',), ('export',), ('export', '--format', 'csv')):
            with self.subTest(args):
                at_once = contract.rsslag(*args, self.FILE)
                self.assertEqual((at_once.status, at_once.err), (0, ''))
                ran, stood = self.unread(*args, self.FILE)
                self.assertEqual((ran.status, ran.err), (0, ''))
                self.assertGreaterEqual(stood, min(3, len(at_once.raw_out) // 4096 - 1))
                self.assertTrue(ran.raw_out == at_once.raw_out,
                                f'{len(ran.raw_out)} of {len(at_once.raw_out)} bytes, or the content differs')


class Progress(TracingTest):
    def test_record_does_not_wait_for_who_reads_its_progress(self):
        with tempfile.TemporaryDirectory() as directory, Churning() as child:
            reader, writer = os.pipe()
            os.set_blocking(writer, False)
            try:
                while True:
                    os.write(writer, bytes(4096))
            except BlockingIOError:
                os.set_blocking(writer, True)
            recording = Path(directory, 'file')
            with subprocess.Popen([contract.binary, 'record', '-o', recording, '-p', str(child.pid), '--duration', '300ms'],
                                  stdin=subprocess.DEVNULL, stderr=writer, env=environment()) as process:
                wait_until(lambda: contract.rsslag('report', '--json', recording).out.find('"complete":true') >= 0)
                self.assertEqual(process.wait(TIMEOUT), 0)
            os.close(reader)
            os.close(writer)


if __name__ == '__main__':
    contract.main()
