# SPDX-License-Identifier: BSD-2-Clause
"""How `rsslag live` starts and ends: invalid arguments, targets that do not exist yet or any longer, signals, pipes, statuses."""
import os
import signal
import stat
import subprocess
import tempfile
import threading
import time
import unittest
from pathlib import Path

import contract
from contract import NOBODY, Children, Held, TracingTest, as_nobody, assert_one_error_line, needs_root, no_such_pid, rsslag
from live import Live, Told, assert_trace, live

STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Words(unittest.TestCase):
    """Arguments that are refused before anything else is done, for every user, kernel and build."""

    def refused(self, *args, says=()):
        ran = live(*args)
        assert_one_error_line(self, ran, 2)
        for word in says:
            self.assertIn(word, ran.err)

    def test_options(self):
        own = str(os.getpid())
        for interval in ('9ms', '0', 'abc', '-1', '', '1 s', 'nan', '1e400')[:contract.runs(8, 3)]:
            self.refused('--interval=' + interval, own)
        for duration in ('-1', 'abc', '1x', 'inf', '1e18'):
            self.refused('--duration=' + duration, own)
        for ring in ('0', '4k', '2G', '-1', 'abc', '1K', '1025M', '99999999999999999999', '4096B')[:contract.runs(9, 3)]:
            self.refused('--ring=' + ring, own, says=['--ring'])
        for form in ('', 'xml', 'JSONL', 'lines,csv'):
            self.refused('--format=' + form, own, says=['--format', 'lines', 'csv', 'jsonl'])
        for threads in ('some', 'top:', 'top:0', 'top', 'top:-1', 'top:x', 'top:1x', 'ALL')[:contract.runs(8, 3)]:
            self.refused('--threads=' + threads, own, says=['top:N'])
        self.refused('--nonsense', own, says=['--nonsense'])
        self.refused('--unit', 'kb', own, says=['MiB'])

    def test_no_target(self):
        self.refused(says=['PID', '--comm', '-- CMD'])
        self.refused('--format', 'jsonl')
        self.refused('--')

    def test_targets_and_a_command_exclude_each_other(self):
        self.refused(os.getpid(), '--', 'true')

    def test_a_thread_is_distinguished_from_its_process(self):
        done = threading.Event()
        thread = threading.Thread(target=done.wait)
        thread.start()
        try:
            self.refused(thread.native_id, says=[f'use -p {os.getpid()}'])
            self.refused('-p', f'{os.getpid()},{thread.native_id}')
        finally:
            done.set()
            thread.join()

    def test_words_that_are_no_pid(self):
        for word in ('0', '-1', '1x', '1,,2', str(2 ** 31), '', '\x1b[2J'):
            self.refused('-p', word)


class Short(TracingTest):
    """`rsslag PID` and `rsslag -- CMD` are `live`."""

    def test_a_pid(self):
        with Children() as (pid,):
            for args in (['--duration', '0', str(pid)], [str(pid), '--duration', '0'], ['--duration=0', '-p', str(pid)],
                         ['--unit', 'pages', f'{pid},{pid}'.split(',', maxsplit=1)[0], '--duration', '0']):
                ran = rsslag(*args)
                self.assertEqual((ran.status, ran.err), (0, ''), ran)
                self.assertTrue(ran.out.startswith('TIME '), ran)
                self.assertIn(f' [{pid}] ', ran.out)

    def test_a_command(self):
        for args in ([], ['--unit', 'MiB'], ['--interval', '50ms'], ['-q']):
            ran = rsslag(*args, '--', 'sh', '-c', 'exit 7')
            self.assertEqual((ran.status, ran.err), (7, ''), ran)
            self.assertIn(' EXITED', ran.out)

    def test_what_is_neither(self):
        for args in ([], ['-v'], ['--'], ['frobnicate'], ['frobnicate', '1'], ['1x'], ['0'], ['--unit', '1']):
            ran = rsslag(*args)
            self.assertEqual((ran.status, ran.raw_out, ran.err.count('\n')), (2, b'', 1), ran)
        self.assertIn('frobnicate', rsslag('frobnicate').err)


class Absent(TracingTest):
    def test_one_that_is_not_there(self):
        pid = no_such_pid()
        assert_one_error_line(self, live(pid), 3)
        self.assertIn(str(pid), live(pid).err)
        with Children() as (child,):
            assert_one_error_line(self, live(child, pid), 3)

    def test_one_that_has_ended(self):
        with subprocess.Popen(['true']) as child:
            child.wait()
            assert_one_error_line(self, live(child.pid), 3)

    def test_a_zombie(self):
        pid = os.fork()
        if pid == 0:
            os._exit(0)
        try:
            os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
            ran = live(pid)
            assert_one_error_line(self, ran, 3)
            self.assertIn(f'process {pid} has no memory: it is a zombie', ran.err)
        finally:
            os.waitpid(pid, 0)

    def test_a_pattern_that_matches_nothing_with_no_wait(self):
        for pattern in ('no-such-name-?', '/no/such/path'):
            assert_one_error_line(self, live('--no-wait', '--comm', pattern), 3)

    def test_a_pattern_that_matches_nothing_yet(self):
        with Live('--format', 'jsonl', '--threads', 'all', '--interval', '50ms', '--comm', 'rslg-later-*') as trace:
            said = trace.complaint()
            self.assertRegex(said, r'^rsslag: .*waiting')
            with Children([b'rslg-later-1']) as (pid,):
                trace.document(lambda tick: tick['pid'] == pid)
            said += trace.complaint(1)
            trace.signal(signal.SIGINT)
            ticks, _ = assert_trace(self, trace.finish(), said=said)
        self.assertEqual({tick['pid'] for tick in ticks}, {pid})
        self.assertEqual(ticks[-1]['state'], 'exited')

    def test_a_pattern_takes_later_ones_as_well(self):
        with Live('--format', 'jsonl', '--interval', '50ms', '--comm', 'rslg-more-*') as trace:
            said = trace.complaint()
            with Children([b'rslg-more-1']) as (first,):
                trace.document(lambda tick: tick['pid'] == first)
                with Children([b'rslg-more-2']) as (second,):
                    trace.document(lambda tick: tick['pid'] == second)
            said += trace.complaint(1)
            trace.signal(signal.SIGINT)
            ticks, _ = assert_trace(self, trace.finish(), attributed=False, said=said)
        self.assertEqual({tick['pid'] for tick in ticks if tick['state'] == 'exited'}, {first, second})

    def test_a_pattern_goes_on_after_the_last_has_ended(self):
        with Live('--format', 'jsonl', '--interval', '50ms', '--comm', 'rslg-again-*') as trace:
            said = trace.complaint()
            pids = []
            for round_ in range(3):
                with Children([f'rslg-again-{round_}'.encode()]) as (pid,):
                    trace.document(lambda tick, pid=pid: tick['pid'] == pid)
                pids.append(pid)
                said += trace.complaint(1 + round_)
                self.assertRegex(said.splitlines()[-1], 'waiting for the next one$')
            trace.signal(signal.SIGINT)
            ticks, summary = assert_trace(self, trace.finish(), attributed=False, said=said)
        self.assertEqual([tick['pid'] for tick in ticks if tick['state'] == 'exited'], pids)
        self.assertEqual([each['pid'] for each in summary['processes']], pids)

    def test_with_no_wait_a_pattern_ends_with_the_last(self):
        with Children([b'rslg-once-1']) as (pid,), Live('--format', 'jsonl', '--interval', '50ms', '--no-wait', '--comm', 'rslg-once-*') as trace:
            trace.document()
            os.kill(pid, signal.SIGKILL)
            ticks, _ = assert_trace(self, trace.finish(), attributed=False)
        self.assertEqual((ticks[-1]['pid'], ticks[-1]['state']), (pid, 'exited'))

    def test_record_goes_on_as_well(self):
        with tempfile.TemporaryDirectory() as directory:
            file = f'{directory}/again.rsslag'
            with contract.begun([contract.binary, 'record', '-o', file, '--interval', '50ms', '--comm', 'rslg-rec-*'],
                                stderr=subprocess.PIPE, text=True, env=contract.environment()) as record:
                def said(words):
                    while words not in record.stderr.readline():  # among lines about the progress of the recording
                        self.assertIsNone(record.poll())

                def recorded():  # the PIDs in the file; its header may not be there yet
                    return [each['pid'] for report in rsslag('report', '--json', file).documents() for each in report['processes']]

                said('waiting')
                pids = []
                for name in (b'rslg-rec-1', b'rslg-rec-2'):
                    with Children([name]) as (pid,):
                        contract.wait_until(lambda pid=pid: pid in recorded())
                        pids.append(pid)
                    said('waiting for the next')
                record.send_signal(signal.SIGINT)
                record.communicate(timeout=contract.TIMEOUT)
                self.assertEqual(record.returncode, 0)
            report = rsslag('report', '--json', file).document()
            self.assertEqual([each['pid'] for each in report['processes']], pids)

    def test_one_that_waits_can_be_ended(self):
        for args in (['--duration', '300ms'], []):
            with Live('--format', 'jsonl', '--comm', 'no-such-name-?', *args) as trace:
                said = trace.complaint()
                if not args:
                    trace.signal(signal.SIGINT)
                status, nobody = (3, 'rsslag: no process matched\n') if args else (0, '')
                ticks, summary = assert_trace(self, trace.finish(), said=said + nobody, status=status)
            self.assertEqual((ticks, summary['processes']), ([], []))


class Signals(TracingTest):
    def test_they_end_it_with_a_last_tick_and_the_summary(self):
        with Held('few-pages') as held:
            for number in STOPS:
                with Live('--format', 'jsonl', '--threads', 'all', '--interval', '1h', held.pid) as trace:
                    trace.document()
                    trace.signal(number)
                    ticks, _ = assert_trace(self, trace.finish())
                self.assertEqual([tick['state'] for tick in ticks], ['running'] * 2, number)

    def test_lines_and_csv_are_whole(self):
        # An emulated rsslag cannot process the records of a busy process as fast as they come.
        with Held('few-pages' if contract.emulated() else 'busy') as held:
            for form, ending in (('lines', '\n'), ('csv', '\r\n')):
                with Live('--format', form, '--events', '--interval', '20ms', held.pid) as trace:
                    trace.line()
                    trace.line()
                    trace.signal(signal.SIGTERM)
                    ran = trace.finish()
                self.assertEqual((ran.status, ran.err), (0, ''), form)
                self.assertTrue(ran.out.endswith(ending), form)
                self.assertEqual('\ntraced ' in ran.out, form == 'lines')

    def test_the_first_int_is_the_commands(self):
        script = 'trap "exit 9" INT; echo up; while :; do sleep 0.05; done'
        with Live('--interval', '1h', '--', 'sh', '-c', script) as trace:
            while trace.line() != 'up\n':
                pass
            os.killpg(trace.process.pid, signal.SIGINT)
            ran = trace.finish()
        self.assertEqual(ran.status, 9, ran)
        self.assertIn(' EXITED', ran.out)

    def test_a_second_int_ends_rsslag(self):
        with Live('--format', 'jsonl', '--interval', '50ms', '--', 'sh', '-c', 'trap "" INT; exec sleep 300') as trace:
            command = trace.document(lambda tick: tick['state'] == 'running' and tick['comm'] == 'sleep')['pid']
            trace.signal(signal.SIGINT)
            # Two signals that are pending concurrently are merged into one.
            contract.wait_until(lambda: not contract.is_pending(trace.process.pid, signal.SIGINT))
            trace.later(1)  # rsslag still runs
            trace.signal(signal.SIGINT)
            trace.process.wait(contract.TIMEOUT)
            os.kill(command, signal.SIGKILL)  # CMD still holds the pipe
            ran = trace.finish()
        self.assertEqual((ran.status, ran.err), (0, ''), ran)
        self.assertIn('rsslag.summary/2', ran.lines[-1])


class Output(TracingTest):
    def test_a_closed_pipe_ends_it_quietly(self):
        with Held('busy') as held:
            for options in (['--format', 'jsonl'], ['--format', 'csv'], [], ['--events']):
                with Live(*options, '--interval', '20ms', held.pid) as trace:
                    trace.line()
                    trace.process.stdout.close()
                    trace.process.wait(contract.TIMEOUT)
                    trace.process.stdout = open(os.devnull, 'rb')
                    ran = trace.finish()
                self.assertEqual((ran.status, ran.err), (0, ''), options)

    def test_a_closed_pipe_ends_a_recording_whole(self):
        """rsslag ends immediately, even if it has nothing to write for a minute."""
        with tempfile.TemporaryDirectory() as directory, Children() as (pid,):
            for form in ('jsonl', 'csv', 'lines')[:contract.runs(3)]:
                recording = os.path.join(directory, form)
                with Live('--format', form, '--interval', '60s', '--record', recording, pid) as trace:
                    trace.line()
                    trace.process.stdout.close()
                    trace.process.wait(30)
                    trace.process.stdout = open(os.devnull, 'rb')
                    ran = trace.finish()
                self.assertEqual((ran.status, ran.err), (0, ''), ran)
                report = contract.rsslag('report', '--json', recording).document()
                self.assertEqual((report['complete'], report['missing']), (True, []))

    def test_a_closed_pipe_does_not_end_a_command(self):
        with tempfile.TemporaryDirectory() as directory:
            for form in ('jsonl', 'csv', 'lines')[:contract.runs(3)]:
                recording = os.path.join(directory, form)
                with Live('--format', form, '--interval', '10ms', '--record', recording, '--', 'sh', '-c',
                          'for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.1; done; exit 7') as trace:
                    trace.line()
                    trace.process.stdout.close()
                    trace.process.wait(contract.TIMEOUT)
                    trace.process.stdout = open(os.devnull, 'rb')
                    ran = trace.finish()
                self.assertEqual((ran.status, ran.err), (7, ''), ran)
                report = contract.rsslag('report', '--json', recording).document()
                self.assertEqual((report['complete'], report['processes'][0]['comm']), (True, 'sh'))
                self.assertGreater(report['duration_ns'], 1_000_000_000)

    def test_a_full_disk(self):
        with Children() as (pid,), open('/dev/full', 'wb') as full:
            for form in ('jsonl', 'csv', 'lines'):
                assert_one_error_line(self, live('--format', form, '--duration', '1s', pid, stdout=full), 1)


class Status(TracingTest):
    def test_it_is_the_commands_own(self):
        for status in (0, 7, 255, 1, 2, 3, 125)[:contract.runs(7)]:
            ran = live('--', 'sh', '-c', f'exit {status}')
            self.assertEqual((ran.status, ran.err), (status, ''), ran)

    def test_it_is_the_commands_own_for_a_caller_that_ignores_its_children(self):
        ran = live('--', 'sh', '-c', 'exit 7', preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
        self.assertEqual((ran.status, ran.err), (7, ''), ran)

    def test_a_signal_is_128_and_its_number(self):
        for name, number in (('TERM', 15), ('KILL', 9), ('INT', 2), ('SEGV', 11)):
            ran = live('--', 'sh', '-c', f'ulimit -c 0; kill -{name} $$')
            self.assertEqual((ran.status, ran.err), (128 + number, ''), ran)
            self.assertIn(' EXITED', ran.out)

    def test_what_cannot_be_started(self):
        with tempfile.TemporaryDirectory() as directory:
            plain = Path(directory, 'plain')
            plain.write_text('data')
            self.assertFalse(plain.stat().st_mode & stat.S_IXUSR)
            for command, status in (('/no/such/command', 127), ('no-such-command-here', 127), (plain, 126),
                                    (directory, 126)):
                for form in ('lines', 'csv', 'jsonl') if contract.LONG or command == 'no-such-command-here' else ('lines',):
                    assert_one_error_line(self, live('--format', form, '--', command), status)

    def test_a_duration_ends_it_in_time(self):
        with Children() as (pid,):
            begin = time.monotonic()
            ran = live('--interval', '1h', '--duration', '300ms', '--format', 'jsonl', '--threads', 'all', pid)
            took = time.monotonic() - begin
        ticks, summary = assert_trace(self, ran)
        self.assertEqual(len(ticks), 2, 'there must be one tick at the start and one at the end')
        self.assertGreaterEqual(summary['duration_ns'], 300_000_000)
        self.assertLess(took, 60)

    def test_nothing_is_left_open_in_the_command(self):
        ran = live('--format', 'csv', '--', 'sh', '-c', 'ls /proc/self/fd >&2')
        self.assertEqual(ran.err.split(), ['0', '1', '2', '3'])  # 3 is the directory that ls reads


@needs_root
class Refused(unittest.TestCase):
    def setUp(self):
        if not contract.has_tracer():
            self.skipTest('this rsslag was built without the tracer')

    def test_a_user_without_capabilities(self):
        with Children(uid=NOBODY) as (pid,):
            for args in ([str(pid)], ['-p', '1'], ['--comm', '*']):
                ran = as_nobody('live', '--events', *args)
                assert_one_error_line(self, ran, 3)
                self.assertIn('setcap', ran.err)

    def test_a_command_never_runs(self):
        with tempfile.TemporaryDirectory() as directory:
            os.chmod(directory, 0o777)
            file = Path(directory, 'ran')
            assert_one_error_line(self, as_nobody('live', '--events', '--', 'touch', str(file)), 125)
            self.assertFalse(file.exists())


class NoTracer(unittest.TestCase):
    def test_a_build_without_the_tracer_reports_this(self):
        if contract.has_tracer():
            self.skipTest('this rsslag was built with the tracer')
        with Told() as told:
            ran = live('--events', told.pid)
            assert_one_error_line(self, ran, 3)
            self.assertIn('without the tracer', ran.err)
            assert_one_error_line(self, live('--events', '--', 'true'), 125)


if __name__ == '__main__':
    contract.main()
