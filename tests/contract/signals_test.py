# SPDX-License-Identifier: BSD-2-Clause
"""INT, TERM and HUP end a repeated snapshot cleanly: status 0, and a complete last line."""
import contextlib
import json
import os
import re
import signal
import subprocess
import time
import unittest
from pathlib import Path

import contract
from contract import TIMEOUT, Children, Held, Ran, TracingTest, assert_snapshot, begun, environment, rsslag, wait_until


class Repeated(TracingTest):
    def ended_by(self, number, *args):
        with begun([contract.binary, 'snapshot', '--repeat', '100000', *args], stdin=subprocess.DEVNULL,
                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(), bufsize=0) as process:
            first = process.stdout.readline()
            process.send_signal(number)
            rest, err = process.communicate(timeout=TIMEOUT)
            return Ran(args, process.returncode, first + rest, err)

    def test_back_to_back(self):
        with Children() as (pid,):
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                ran = self.ended_by(number, '--json', str(pid))
                self.assertEqual((ran.status, ran.err), (0, ''), number)
                for document in ran.documents():
                    assert_snapshot(self, document)

    def test_while_it_waits_for_the_next_round(self):
        with Children() as (pid,):
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                ran = self.ended_by(number, '--interval', '1h', '--json', str(pid))
                self.assertEqual((ran.status, ran.err), (0, ''), number)
                assert_snapshot(self, ran.document())

    def test_text_is_whole_too(self):
        with Children() as (pid,):
            ran = self.ended_by(signal.SIGTERM, str(pid))
        self.assertEqual((ran.status, ran.err), (0, ''))
        self.assertTrue(ran.out.endswith('\n'))


class Demo(unittest.TestCase):
    def test_hold_ends_with_0(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with Held('few-pages') as held:
                held.process.send_signal(number)
                self.assertEqual(held.process.wait(TIMEOUT), 0, number)
                self.assertEqual(held.process.stderr.read(), b'')


def set_some(to):
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        signal.signal(number, to)


class Ignored(TracingTest):
    """As nohup, and shells for commands in the background, ignore them."""

    def test_the_command_ignores_them_too(self):
        for to, ignored in ((signal.SIG_DFL, 0), (signal.SIG_IGN, 0b111)):
            ran = rsslag('peak', '--', 'grep', 'SigIgn', '/proc/self/status', preexec_fn=lambda to=to: set_some(to))
            self.assertEqual(ran.status, 0, ran)
            self.assertEqual(int(ran.out.split()[1], 16) & 0b111, ignored, ran)

    def test_a_hangup_does_not_end_it(self):
        with begun([contract.binary, 'live', '--format', 'jsonl', '--', 'sh', '-c', 'echo ready >&2; read line'],
                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                   env=environment(), preexec_fn=lambda: set_some(signal.SIG_IGN)) as process:
            self.assertEqual(process.stderr.readline(), 'ready\n')
            process.send_signal(signal.SIGHUP)
            out, err = process.communicate('\n', timeout=TIMEOUT)
            self.assertEqual((process.returncode, err), (0, ''))
            self.assertEqual(json.loads(out.splitlines()[-2])['state'], 'exited')


class Command(TracingTest):
    """With -- CMD, the first INT is for CMD; a second one ends rsslag."""

    @staticmethod
    def read(process):
        """Waits until CMD has been read. Returns CMD's line of output."""
        one, other = process.stdout.readline(), process.stdout.readline()
        return other if one.startswith(b'{') else one

    @staticmethod
    def is_taken(process, number):
        """Whether a signal that was sent is no longer pending."""
        status = Path(f'/proc/{process.pid}/status').read_text()
        return not int(re.search(r'(?m)^ShdPnd:\s*(\w+)', status)[1], 16) & 1 << number - 1

    @staticmethod
    def end_all(group):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(group, signal.SIGKILL)

    def start(self, script):
        process = subprocess.Popen([contract.binary, 'snapshot', '--json', '--delay', '100ms', '--', 'sh', '-c', script],
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env=environment(), start_new_session=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait, TIMEOUT)
        self.addCleanup(self.end_all, process.pid)
        return process

    def test_a_first_int_leaves_rsslag_waiting_for_the_command(self):
        process = self.start('trap "exit 9" INT; echo up; while :; do sleep 0.1; done')
        self.assertEqual(self.read(process), b'up\n')
        os.killpg(process.pid, signal.SIGINT)
        self.assertEqual(process.wait(TIMEOUT), 9)

    def test_a_second_int_ends_rsslag(self):
        process = self.start('trap "" INT; echo $$; exec sleep 1000')
        command = int(self.read(process))
        try:
            process.send_signal(signal.SIGINT)
            wait_until(lambda: self.is_taken(process, signal.SIGINT))
            time.sleep(0.5)  # in which it must not end
            self.assertIsNone(process.poll())
            process.send_signal(signal.SIGINT)
            wait_until(lambda: process.poll() is not None)
        finally:
            os.kill(command, signal.SIGKILL)


if __name__ == '__main__':
    contract.main()
