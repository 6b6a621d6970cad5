#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The live screen restores the terminal, however it ends or stops; and the behaviour of `-- CMD` under it."""
import os
import re
import signal
import tempfile
import time
from pathlib import Path

import contract
from contract import ROOT, Held, TracingTest, long_only, wait_until
from panes import Pane, needs_tmux

RECORDING = ROOT / 'docs' / 'recordings' / 'quiet-6.1.rsslag'


@long_only('it reads a screen through tmux')
@needs_tmux
class ScreenEndingsTest(TracingTest):
    def start(self, pane, *words):
        pane.rsslag('live', *words)
        pane.until('q quit')
        self.assertEqual(pane.state(), '1 0')
        return pane.rsslag_pid()

    def test_signals_and_crashes_give_the_terminal_back(self):
        with Held('few-pages') as held, Pane() as pane:
            modes = pane.modes()
            for number, said in ((signal.SIGTERM, 'traced '), (signal.SIGINT, 'traced '), (signal.SIGHUP, 'traced '),
                                 (signal.SIGSEGV, 'egmentation'), (signal.SIGABRT, 'bort')):
                with self.subTest(signal=number):
                    pid = self.start(pane, '-p', held.pid)
                    os.kill(pid, number)
                    pane.until(lambda text, said=said: said in text and 'q quit' not in text)
                    wait_until(lambda pid=pid: not Path(f'/proc/{pid}').exists())
                    wait_until(lambda: pane.modes() == modes)
                    self.assertEqual(pane.state(), '0 1')
                    pane.run('clear')
                    pane.until(lambda text: text.strip() == '$')

    def test_whatever_signal_ends_it_the_terminal_is_given_back(self):
        """All signals that end a process by default and can be caught; other tests cover those that stop a process."""
        spared = {signal.SIGKILL, signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU, signal.SIGCONT,
                  signal.SIGCHLD, signal.SIGURG, signal.SIGWINCH, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE}
        numbers = {int(number) for number in signal.valid_signals()} - {int(number) for number in spared}
        numbers -= set(range(signal.SIGRTMIN + 2, signal.SIGRTMAX))
        with Pane() as pane:
            pane.run('ulimit -c 0')
            modes = pane.modes()
            for number in sorted(numbers):
                with self.subTest(signal=number):
                    self.die(pane, modes, lambda pid, number=number: os.kill(pid, number), 128 + number)

    def die(self, pane, modes, kill, status):
        pane.rsslag('replay', RECORDING)
        pane.until('q quit')
        self.assertEqual(pane.state(), '1 0')
        pid = pane.rsslag_pid()
        kill(pid)
        wait_until(lambda: not Path(f'/proc/{pid}').exists())
        wait_until(lambda: (pane.state(), pane.modes()) == ('0 1', modes))
        pane.run('echo "<$?>"')
        pane.until(f'<{status}>')
        pane.run('clear')
        pane.until(lambda text: text.strip() == '$')

    def test_no_empty_file_stays_behind(self):
        """The command's output is kept in a file. Without output there is no file, however rsslag ended."""
        with tempfile.TemporaryDirectory() as directory, Pane() as pane:
            pane.run(f'export TMPDIR={directory}; ulimit -c 0')
            for words, kept in ((('sleep', '1000'), []), (('sh', '-c', '"echo said; exec sleep 1000"'), ['said'])):
                pid = self.start(pane, '--', *words)
                if kept:
                    pane.until('said')
                os.kill(pid, signal.SIGUSR1)
                wait_until(lambda pid=pid: not Path(f'/proc/{pid}').exists())
                self.assertEqual([file.read_text().strip() for file in Path(directory).iterdir()], kept)
                pane.run('clear')

    def test_ctrl_backslash(self):
        with Held('few-pages') as held, Pane() as pane:
            modes = pane.modes()
            pane.run('ulimit -c 0')
            for words in (('-p', held.pid), ('--', 'sleep', '1000')):
                with self.subTest(words=words):
                    pid = self.start(pane, *words)
                    pane.key('C-\\')
                    wait_until(lambda pid=pid: not Path(f'/proc/{pid}').exists())
                    wait_until(lambda: (pane.state(), pane.modes()) == ('0 1', modes))
                    pane.run('echo "<$?>"')
                    pane.until('<131>')
                    pane.run('clear')
                    pane.until(lambda text: text.strip() == '$')

    def test_a_stopped_terminal_is_given_back_too(self):
        with Pane() as pane:
            modes = pane.modes()
            pane.run('ulimit -c 0')
            pane.rsslag('replay', RECORDING)
            pane.until('q quit')
            pid = pane.rsslag_pid()
            pane.key('C-s')
            pane.resize(100, 30)
            os.kill(pid, signal.SIGQUIT)
            wait_until(lambda: not Path(f'/proc/{pid}').exists())
            wait_until(lambda: (pane.state(), pane.modes()) == ('0 1', modes))

    def test_it_still_leaves_a_core(self):
        """Under the same conditions as another program: the shell reports the core, or not."""
        with tempfile.TemporaryDirectory() as directory, Pane() as pane:
            pane.run(f'cd {directory}; ulimit -c unlimited; clear; echo ready')
            pane.until(lambda text: re.search('(?m)^ready$', text))  # what is typed earlier is not on its own line
            pane.run("sh -c 'kill -QUIT $$'")
            told = lambda text: re.search('(?m)^Quit.*$', text)  # noqa: E731
            other = told(pane.until(told)).group()
            pane.run('clear')
            pane.until(lambda text: text.strip() == '$')
            pane.rsslag('replay', RECORDING)
            pane.until('q quit')
            os.kill(pane.rsslag_pid(), signal.SIGQUIT)
            self.assertEqual(told(pane.until(told)).group(), other)

    def test_ctrl_z_and_fg(self):
        with Held('few-pages') as held, Pane() as pane:
            modes = pane.modes()
            self.start(pane, '-p', held.pid)
            for _ in range(2):
                pane.key('C-z')
                pane.until('Stopped')
                self.assertEqual((pane.state(), pane.modes()), ('0 1', modes))
                pane.run('fg')
                pane.until(lambda text: 'q quit' in text and 'AGREES' in text)
                self.assertEqual(pane.state(), '1 0')
            pid = pane.rsslag_pid()
            os.kill(pid, signal.SIGSTOP)
            pane.until(lambda text: 'Stopped' in text.replace('\n', ''))  # the shell prints it where the cursor is
            pane.type('fg')
            pane.key('C-j')  # the terminal is in rsslag's mode, in which Return is not a newline
            pane.until(lambda text: 'q quit' in text and 'AGREES' in text and 'Stopped' not in text)
            pane.type('q')
            pane.until('traced ')
            self.assertEqual((pane.state(), pane.modes()), ('0 1', modes))

    def test_a_stopped_terminal_loses_nothing_and_is_reported(self):
        with Held('storm', '--threads', '1') as held, Pane() as pane:
            self.start(pane, '-p', held.pid, '--interval', '100ms', '--ring', '8M')
            pane.until(lambda text: re.search(r'[1-9][\d,]* seen', text))
            pane.key('C-s')
            before = pane.text()
            end = time.monotonic() + 3  # it must not change for a while, so there is no condition to wait for
            while time.monotonic() < end:
                self.assertLessEqual(len(pane.text()), len(before) * 4)
                time.sleep(0.2)
            pane.key('C-q')
            told = re.search(r'took no output for ([\d.]+) s: (\d+) events were lost', pane.until('took no output for'))
            self.assertGreater(float(told.group(1)), 1)
            self.assertEqual(told.group(2), '0')
            pane.type('q')
            pane.until('lost 0 of')

    def test_a_stopped_terminal_does_not_keep_it_from_ending(self):
        with Held('few-pages') as held, Pane() as pane:
            pid = self.start(pane, '-p', held.pid, '--interval', '100ms')
            pane.key('C-s')
            frame = pane.text()
            wait_until(lambda: pane.text() == frame)
            os.kill(pid, signal.SIGTERM)
            wait_until(lambda: not Path(f'/proc/{pid}').exists())
            pane.until('traced ')
            self.assertEqual(pane.state(), '0 1')

    def test_a_command_under_the_screen(self):
        with Pane() as pane:
            modes = pane.modes()
            pane.rsslag('--', 'sh', '-c', "'test -t 0 && echo terminal; stty size; read x; echo got $x; printf \"\\033[2Jbye\\n\"; exit 7'")
            text = pane.until(lambda text: 'OUTPUT' in text and ' terminal' in text)
            output = re.search(r'complete in (\S+)', text).group(1)
            pane.type('i')
            pane.until('keys go to the command')
            pane.type('some words')
            pane.key('Enter')
            told = ('EXITED, status 7', 'got some words', 'bye', 'ended with status 7')
            pane.until(lambda text: all(each in text for each in told))
            pane.type('q')
            pane.until('rsslag: what the command wrote is in')
            self.assertEqual((pane.state(), pane.modes()), ('0 1', modes))
            written = Path(output).read_bytes()
            self.assertIn(b'\x1b[2Jbye', written)
            self.assertEqual(Path(output).stat().st_mode & 0o777, 0o600)
            os.unlink(output)

    def test_the_status_of_a_command_is_rsslags(self):
        with Pane() as pane:
            for words, status in (("'echo x; exit 7'", 7), ("'echo x; kill -9 $$'", 137), ("'echo x; exit 0'", 0)):
                pane.rsslag('--', 'sh', '-c', words)
                pane.until('EXITED' if status != 0 else 'ended with status 0')
                pane.type('q')
                output = re.search(r'wrote is in (\S+)', pane.until('what the command wrote is in')).group(1)
                pane.run('echo "<$?>"')
                pane.until(f'<{status}>')
                os.unlink(output)
                pane.run('clear')
                pane.until(lambda text: 'wrote' not in text)

    def test_a_command_that_has_ended_before_it_is_read_held_something(self):
        with Pane() as pane:
            for argv in (('true',), ('ls', '/')):
                pane.rsslag('--', *argv)
                text = pane.until(lambda text: 'EXITED' in text and ('It holds ' in text or 'It held ' in text))
                self.assertNotRegex(text, r'It (holds|held) [~!]?0 kB', text)
                self.assertRegex(text, r'It (holds|held) [~!]?[\d,]+ kB', text)
                pane.type('q')
                pane.until('address space ended')
                pane.run('clear')
                pane.until(lambda text: 'traced' not in text)

    def test_leaving_a_command_that_runs(self):
        with Pane() as pane:
            pane.rsslag('--', 'sh', '-c', "'echo x; exec sleep 1000'")
            pane.until('type to the command')
            pane.type('q')
            pane.until('the command is still running')
            pane.type('q')
            output = re.search(r'wrote is in (\S+)', pane.until('what the command wrote is in')).group(1)
            pane.run('echo "<$?>"')
            pane.until('<129>')
            os.unlink(output)

    def test_a_command_that_wrote_nothing_leaves_no_file(self):
        with tempfile.TemporaryDirectory() as directory:
            for words in (('--', 'true'), ('--', 'no-such-command'), ('--record', '/no/such/file', '--', 'true')):
                with self.subTest(words=words), Pane(TMPDIR=directory) as pane:
                    pane.rsslag('live', *words)
                    if words == ('--', 'true'):
                        pane.until('EXITED, status 0')
                        pane.type('q')
                        pane.until('address space ended')
                    pane.run('echo "<$?>"')
                    text = pane.until(re.compile(r'<\d+>').search)
                    self.assertNotIn('what the command wrote', text)
                    self.assertEqual(os.listdir(directory), [])

    def test_ctrl_c_is_the_commands_first(self):
        with Pane() as pane:
            pane.rsslag('--', 'sh', '-c', "'trap \"echo caught\" INT; echo set; while :; do sleep 0.1; done'")
            pane.until(lambda text: 'OUTPUT' in text and ' set' in text)
            pane.key('C-c')
            pane.until('^Ccaught')
            self.assertIn('q quit', pane.text())
            pane.key('C-c')
            os.unlink(re.search(r'wrote is in (\S+)', pane.until('what the command wrote is in')).group(1))


if __name__ == '__main__':
    contract.main()
