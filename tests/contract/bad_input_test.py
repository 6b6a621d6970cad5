# SPDX-License-Identifier: BSD-2-Clause
"""Invalid input: one line on stderr with the error and the remedy, nothing on stdout, the right status."""
import os
import signal
import subprocess
import tempfile
import threading
import unittest
from pathlib import Path

import contract
from contract import (BIDI, CONTROL, Children, TracingTest, as_nobody, assert_one_error_line, environment, needs_root,
                      no_such_pid, rsslag, snapshot, wait_until)


class Words(unittest.TestCase):
    """Arguments that are refused before anything else is done, for every user and on every kernel."""

    def refused(self, *args, says=(), **more):
        ran = rsslag(*args, **more)
        assert_one_error_line(self, ran, 2)
        for word in says:
            self.assertIn(word, ran.err)
        return ran

    def test_words_that_are_no_pid(self):
        words = ('0', '-1', 'abc', '1x', ' 1', '+1', str(2 ** 31), '9' * 400, '', '1,,2', '-0', '0x10', '1 ', '1.0', str(2 ** 40), str(2 ** 64), ',',
                 '1,', ',1', '1;2', '１')
        for word in words[:contract.runs(len(words))]:
            self.refused('snapshot', word)
        for word in words[:contract.runs(len(words), 3)]:
            self.refused('snapshot', '-p', word)

    def test_one_bad_word_spoils_all(self):
        self.refused('snapshot', str(os.getpid()), 'abc', says=["'abc'"])

    def test_a_thread_is_distinguished_from_its_process(self):
        done = threading.Event()
        thread = threading.Thread(target=done.wait)
        thread.start()
        try:
            for args in ((str(thread.native_id),), ('-p', str(thread.native_id))):
                self.refused('snapshot', *args,
                             says=[f'{thread.native_id} is a thread of {os.getpid()}; use -p {os.getpid()}'])
        finally:
            done.set()
            thread.join()

    def test_unknown_flags(self):
        self.refused('--nonsense', says=['--nonsense'])
        self.refused('snapshot', '--nonsense', '1', says=['--nonsense'])
        self.refused('snapshot', '-Z', '1', says=['-Z'])
        self.refused('doctor', '--nonsense', says=['--nonsense'])
        self.refused('demo', '--nonsense', says=['--nonsense'])

    def test_an_option_that_is_given_twice(self):
        self.refused('serve', '--listen', '127.0.0.1:1', '--listen', '127.0.0.1:2', says=['--listen can be given only once'])

    def test_an_empty_directory_name(self):
        for command in ('mount', 'umount'):
            self.refused(command, '', says=["'' is not a path"])

    def test_an_unknown_command_is_named(self):
        self.refused('frobnicate', says=['frobnicate'])

    def test_no_command(self):
        self.refused()

    def test_no_target(self):
        self.refused('snapshot', says=['-p', '--comm'])
        self.refused('snapshot', '--json')

    def test_nothing_after_the_dashes(self):
        for command in ([], ['snapshot'], ['live'], ['doctor'], ['demo']):
            self.refused(*command, '--')

    def test_commands_that_take_no_command(self):
        self.refused('doctor', '--', 'true')
        self.refused('demo', '--', 'true')

    def test_targets_and_a_command_exclude_each_other(self):
        ran = rsslag('snapshot', '1', '--', 'true')
        self.assertIn(ran.status, (2, 125), ran)
        self.assertEqual(ran.raw_out, b'', ran)
        self.assertEqual(ran.err.count('\n'), 1, ran)

    def test_units(self):
        for unit in ('', 'kb', 'MB', 'KiB', 'bytes', 'kB,MiB'):
            self.refused('snapshot', '--unit', unit, '1', says=['kB', 'MiB', 'GiB', 'pages'])
            self.refused('--unit', unit, 'demo', 'single', says=['kB', 'MiB', 'GiB', 'pages'])

    def test_options_without_their_value(self):
        for option in ('-p', '--comm', '--cgroup', '-u', '--repeat', '--interval', '--delay', '--unit'):
            self.refused('snapshot', option, says=[option])

    def test_intervals(self):
        own = str(os.getpid())
        for interval in ('1ms', '9ms', '0', '0s', '0.001', '-1', '-1s', 'abc', '1x', '1 s', '', 'nan', 'inf', '1e400',
                         's', '1e18'):
            self.refused('snapshot', '--repeat', '2', '--interval=' + interval, own)

    def test_repeats(self):
        for count in ('0', '-1', 'abc', '1.5', '', '99999999999999999999'):
            self.refused('snapshot', '--repeat=' + count, str(os.getpid()))

    def test_modes(self):
        self.refused('live', '--mode', 'sums', '1', says=['--mode'])
        self.refused('live', '--mode', 'counts', '--events', '1', says=['--events'])

    def test_two_formats(self):
        for command, other in ((['live', '1'], 'csv'), (['replay', 'x'], 'csv'), (['top', '--once'], 'text')):
            self.refused(*command, '--json', '--format', other, says=['--json', '--format'])

    def test_users_and_demos_that_do_not_exist(self):
        self.refused('snapshot', '-u', 'no-such-user-here', says=["'no-such-user-here'"])
        self.refused('snapshot', '-u', '', says=["''"])
        self.refused('snapshot', '-u', '-5')
        self.refused('snapshot', '-u', '4294967296')
        self.refused('demo', 'no-such-demo', says=["'no-such-demo'", '--list'])
        self.refused('demo', '--threads', '-1', 'classic', '--hold')
        self.refused('demo', '--kb', 'x', 'classic', '--hold')
        self.refused('demo', '--for', 'x')
        self.refused('demo', '--over', '-1s')
        self.refused('demo', 'single', '--over', '1s', '--for', '0', says=['--over'])

    def test_cgroups_that_do_not_exist(self):
        ran = rsslag('snapshot', '--cgroup', '/no/such/cgroup')
        self.assertIn(ran.status, (2, 3), ran)  # 3: no cgroup v2 is mounted here
        assert_one_error_line(self, ran, ran.status)

    def test_what_was_typed_comes_back_harmless(self):
        nasty = '\x1b[2J\u202ex\n\r\x07y\u2066'
        for args in (['snapshot', nasty], ['snapshot', '-p', nasty], ['snapshot', '-u', nasty], ['demo', nasty],
                     ['snapshot', '--cgroup', nasty], ['snapshot', '--unit', nasty, '1'],
                     ['snapshot', '--interval', nasty, '1'], ['--' + nasty], ['snapshot', '--' + nasty], [nasty],
                     ['snapshot', '--repeat', nasty, '1'], ['snapshot', '--delay', nasty, '--', 'true'],
                     ['--log-file', '/proc/1/' + nasty, 'snapshot', '1'], ['demo', '--kb', nasty],
                     ['snapshot', '--', '/no/such/' + nasty]):
            ran = rsslag(*args)
            self.assertNotEqual(ran.status, 0, ran)
            self.assertEqual(ran.raw_out, b'', ran)
            self.assertIsNone(CONTROL.search(ran.err), ran)
            self.assertIsNone(BIDI.search(ran.err), ran)
            self.assertEqual(ran.err.count('\n'), 1, ran)

    def test_without_utf8_errors_are_ascii(self):
        plain = environment(LC_ALL='C')
        for args in (['snapshot', '--'], ['snapshot', 'ä'], ['snapshot', '-u', 'ä'], ['snapshot', '--ä'], ['ä'],
                     ['demo', 'ä'], ['snapshot'], []):
            ran = rsslag(*args, env=plain)
            self.assertEqual(ran.status, 2, ran)
            self.assertTrue(ran.raw_err.isascii(), ran)


class Targets(TracingTest):
    """Valid arguments that name no readable process: status 3."""

    def test_no_such_process(self):
        assert_one_error_line(self, snapshot(no_such_pid()), 3)
        self.assertIn(str(no_such_pid()), snapshot(no_such_pid()).err)

    def test_one_that_has_ended(self):
        with subprocess.Popen(['/bin/true']) as child:
            child.wait()
            assert_one_error_line(self, snapshot(child.pid), 3)

    def test_a_kernel_thread(self):
        if Path('/proc/2/comm').exists() and Path('/proc/2/comm').read_text() == 'kthreadd\n':
            ran = snapshot(2)
            assert_one_error_line(self, ran, 3)
            self.assertIn('kernel thread', ran.err)
        else:
            self.skipTest('this PID namespace shows no kernel threads')

    def test_a_zombie(self):
        pid = os.fork()
        if pid == 0:
            os._exit(0)
        try:
            wait_until(lambda: ') Z ' in Path(f'/proc/{pid}/stat').read_text())
            ran = snapshot(pid)
            assert_one_error_line(self, ran, 3)
            self.assertIn('zombie', ran.err)
        finally:
            os.waitpid(pid, 0)

    def test_a_pattern_that_matches_nothing(self):
        for args in (['--comm', 'no-such-name-?'], ['--comm', '/no/such/path'], ['--comm', ''],
                     ['-u', '0', '--comm', 'no-such-name'], ['-u', '3999999999'], ['--comm', 'kthreadd']):
            assert_one_error_line(self, snapshot(*args), 3)

    def test_a_pattern_that_matches_nothing_in_json(self):
        ran = snapshot('--json', '--comm', 'no-such-name')
        assert_one_error_line(self, ran, 3)

    def test_a_stopped_process_is_none_of_these(self):
        with Children() as (pid,):
            os.kill(pid, signal.SIGSTOP)
            ran = snapshot(pid)
            self.assertEqual((ran.status, ran.err), (0, ''), ran)


class Refused(unittest.TestCase):
    """A user without capabilities."""

    def setUp(self):
        if not contract.has_tracer():
            self.skipTest('this rsslag was built without the tracer')

    @needs_root
    def test_what_takes_bpf_alone(self):
        """unprivileged_test.py covers the readings that need /proc alone."""
        with tempfile.TemporaryDirectory() as directory:
            os.chmod(directory, 0o777)
            for words in (('live', '--events', '1'), ('record', '-o', f'{directory}/x', '1'),
                          ('live', '--record', f'{directory}/x', '1'), ('live', '--assert', 'peak_rss<1GiB', '1'), ('serve',)):
                ran = as_nobody(*words)
                assert_one_error_line(self, ran, 3)
                self.assertIn('setcap', ran.err)

    @needs_root
    def test_bad_words_come_first(self):
        assert_one_error_line(self, as_nobody('snapshot', 'abc'), 2)
        assert_one_error_line(self, as_nobody('snapshot', '--unit', 'x', '1'), 2)

    @needs_root
    def test_a_log_file_that_cannot_be_opened(self):
        with tempfile.TemporaryDirectory() as directory:
            os.chmod(directory, 0o755)
            ran = as_nobody('--log-file', directory + '/log', 'snapshot', '1')
        self.assertIn(ran.status, (1, 2, 3), ran)
        assert_one_error_line(self, ran, ran.status)


if __name__ == '__main__':
    contract.main()
