# SPDX-License-Identifier: BSD-2-Clause
"""`rsslag snapshot -- CMD`: CMD's status and CMD's user, and no descriptor or capability of rsslag leaks into CMD."""
import os
import pwd
import re
import shutil
import signal
import subprocess
import tempfile
import unittest
from pathlib import Path

import contract
from contract import NOBODY, TracingTest, as_nobody, assert_snapshot, begun, environment, needs_root, snapshot

READING = re.compile(rb'\{|/proc/')  # the start of a JSON document, and of a text


def during(script, *words, options=('--json',), readings=1, given=b'', prefix=(), env=None):
    """The result of a script that ends with `read`. The script gets its line after `readings` readings."""
    args = ('snapshot', '--delay', '200ms', *options, '--', 'sh', '-c', script, *words)
    with subprocess.Popen([*prefix, contract.binary, *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, env=env or environment(), bufsize=0) as process:
        try:
            process.stdin.write(given)
            said = []
            while sum(bool(READING.match(line)) for line in said) < readings and (line := process.stdout.readline()):
                said.append(line)
            out, err = process.communicate(b'\n', timeout=contract.TIMEOUT)
        finally:
            process.kill()
    return contract.Ran(args, process.returncode, b''.join(said) + out, err)


class Status(TracingTest):
    def test_the_command_is_read_and_its_status_passed_on(self):
        for status in (0, 7, 255, 1, 2, 3, 125)[:contract.runs(7)]:
            ran = during(f'read x; exit {status}')
            self.assertEqual((ran.status, ran.err), (status, ''), ran)
            assert_snapshot(self, ran.document())
            self.assertEqual(ran.document()['processes'][0]['comm'], 'sh')

    def test_a_signal_is_128_and_its_number(self):
        for name, number in (('TERM', 15), ('KILL', 9), ('INT', 2), ('SEGV', 11)):
            ran = during(f'ulimit -c 0; read x; kill -{name} $$')
            self.assertEqual(ran.status, 128 + number, ran)

    def test_what_does_not_exist_is_127(self):
        for command in ('/no/such/command', 'no-such-command-here'):
            contract.assert_one_error_line(self, snapshot('--', command), 127)

    def test_what_cannot_be_run_is_126(self):
        with tempfile.TemporaryDirectory() as directory:
            plain = Path(directory, 'plain')
            plain.write_text('data')
            contract.assert_one_error_line(self, snapshot('--', plain), 126)
            contract.assert_one_error_line(self, snapshot('--', directory), 126)

    def test_one_that_ends_before_it_is_read(self):
        ran = snapshot('--json', '--delay', '1h', '--', 'sh', '-c', 'exit 5')
        self.assertEqual((ran.status, ran.out), (5, ''), ran)
        self.assertRegex(ran.err, r'^rsslag: [^\n]*\n$')

    def test_check_and_no_walk_go_with_a_command(self):
        ran = during('read x; exit 4', options=('--json', '--no-walk'))
        self.assertEqual(ran.status, 4, ran)
        self.assertEqual(ran.document()['processes'][0]['walk'], 'skipped')

    def test_no_check_holds_for_a_command_that_was_not_read(self):
        for options, status in (((), 0), (('--check',), 1)):
            self.assertEqual(snapshot(*options, '--delay', '1h', '--', 'true').status, status)
        self.assertEqual(snapshot('--check', '--delay', '1h', '--', 'sh', '-c', 'exit 5').status, 5)

    def test_no_check_holds_after_a_stop_before_the_reading(self):
        with begun([contract.binary, 'snapshot', '--check', '--delay', '1h', '--', 'sh', '-c', 'echo ready; read line'],
                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            self.assertEqual(process.stdout.readline(), b'ready\n')
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=contract.TIMEOUT)
            self.assertEqual(process.returncode, 1)

    def test_repeat_goes_with_a_command(self):
        ran = during('read x; exit 4', options=('--json', '--repeat', '3'), readings=3)
        self.assertEqual(ran.status, 4, ran)
        self.assertEqual(len(ran.documents()), 3)

    def test_it_has_the_limit_on_descriptors_of_who_called(self):
        ran = during('ulimit -Sn; ulimit -Hn; read x', prefix=['prlimit', '--nofile=100:4096'])
        self.assertEqual([line for line in ran.lines if not line.startswith('{')], ['100', '4096'], ran)

    def test_a_delay_that_is_none(self):
        for delay in ('abc', '-1s', '', '1x'):
            ran = snapshot('--delay=' + delay, '--', 'true')
            self.assertIn(ran.status, (2, 125), ran)
            self.assertEqual((ran.raw_out, ran.err.count('\n')), (b'', 1), ran)

    def test_words_after_the_dashes_are_the_commands_own(self):
        with tempfile.TemporaryDirectory() as directory:
            file = Path(directory, 'words')
            ran = during('printf "%s|" "$@" >"$0"; read x', str(file), '--json', '--', '-p', '', '--no-such-flag')
            self.assertEqual(ran.status, 0, ran)
            self.assertEqual(file.read_text(), '--json|--|-p||--no-such-flag|')

    def test_stdin_stdout_and_stderr_are_the_commands(self):
        ran = during('read word; echo "$word"; echo err >&2; read x', options=(), given=b'hello\n')
        self.assertEqual((ran.status, ran.err), (0, 'err\n'), ran)
        self.assertEqual(ran.lines.count('hello'), 1, ran)
        self.assertTrue(ran.out.replace('hello\n', '').startswith('/proc/'), ran)


class OwnFailure(unittest.TestCase):
    @needs_root
    def test_without_capabilities_it_is_125_and_the_command_never_runs(self):
        with tempfile.TemporaryDirectory() as directory:
            os.chmod(directory, 0o777)
            file = Path(directory, 'ran')
            ran = as_nobody('record', '-o', f'{directory}/x', '--', 'touch', str(file))
            self.assertFalse(file.exists())
        contract.assert_one_error_line(self, ran, 125)
        if contract.has_tracer():
            self.assertIn('setcap', ran.err)


SCRIPT = r'''
exec >"$0"
id -u; id -g; id -G
printf '%s\n' "$HOME" "$USER" "$LOGNAME" "$SHELL"
grep -E '^(Cap(Inh|Prm|Eff|Amb)|Sig(Blk|Ign)|NoNewPrivs)' /proc/self/status
ls /proc/$$/fd
read x
'''


class Account:
    """What a command reports about its own user and environment."""

    def __init__(self, directory, *options, **changes):
        file = Path(directory, 'account')
        file.unlink(missing_ok=True)
        self.ran = during(SCRIPT, str(file), options=('--json', *options), env=environment(**changes))
        text = file.read_text() if file.exists() else ''
        lines = text.splitlines()
        self.whole = len(lines) > 10
        if not self.whole:
            return
        self.uid, self.gid = int(lines[0]), int(lines[1])
        self.groups = sorted(map(int, lines[2].split()))
        self.home, self.user, self.logname, self.shell = lines[3:7]
        self.bits = {key: int(value, 16) for key, value in re.findall(r'(?m)^(\w+):\t([0-9a-f]{16})$', text)}
        self.fds = sorted(int(line) for line in text.rpartition('NoNewPrivs')[2].splitlines()[1:])


class Identity(TracingTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.directory = tempfile.mkdtemp(prefix='rsslag-contract-')
        os.chmod(cls.directory, 0o777)
        cls.addClassCleanup(shutil.rmtree, cls.directory)
        cls.nobody = pwd.getpwuid(NOBODY)

    def account(self, *options, **changes):
        account = Account(self.directory, *options, **changes)
        self.assertTrue(account.whole, account.ran)
        return account

    def assert_nobody(self, account):
        nobody = self.nobody
        self.assertEqual(account.ran.status, 0, account.ran)
        self.assertEqual((account.uid, account.gid), (nobody.pw_uid, nobody.pw_gid))
        self.assertEqual(account.groups, sorted(os.getgrouplist(nobody.pw_name, nobody.pw_gid)))
        self.assertEqual((account.home, account.user, account.logname, account.shell),
                         (nobody.pw_dir, nobody.pw_name, nobody.pw_name, nobody.pw_shell))
        self.assert_clean(account)
        for key in ('CapInh', 'CapPrm', 'CapEff', 'CapAmb'):
            self.assertEqual(account.bits[key], 0, key)
        (process,) = account.ran.document()['processes']
        self.assertEqual(process['uid'], nobody.pw_uid)

    def assert_clean(self, account):
        self.assertEqual(account.fds, [0, 1, 2])
        self.assertEqual(account.bits['SigBlk'], 0)
        self.assertEqual(account.bits['SigIgn'], 0)

    @needs_root
    def test_under_sudo_it_runs_as_the_invoking_user(self):
        self.assert_nobody(self.account(SUDO_UID=str(NOBODY), SUDO_GID=str(self.nobody.pw_gid), SUDO_USER='nobody'))

    @needs_root
    def test_under_doas_and_pkexec_too(self):
        self.assert_nobody(self.account(DOAS_USER='nobody'))
        self.assert_nobody(self.account(PKEXEC_UID=str(NOBODY)))

    @needs_root
    def test_as_root_keeps_root(self):
        account = self.account('--as-root', SUDO_UID=str(NOBODY), SUDO_GID=str(self.nobody.pw_gid), SUDO_USER='nobody')
        self.assertEqual(account.uid, 0)
        self.assert_clean(account)

    @needs_root
    def test_sudo_from_root_stays_root(self):
        account = self.account(SUDO_UID='0', SUDO_GID='0', SUDO_USER='root')
        self.assertEqual((account.uid, account.gid), (0, 0))

    @needs_root
    def test_an_invoking_user_without_a_name_does_not_become_root(self):
        """For example, a UID from a directory service that does not answer."""
        account = Account(self.directory, SUDO_UID='54321', SUDO_GID='54321', SUDO_USER='ghost')
        if account.whole:
            self.assertEqual((account.uid, account.gid), (54321, 54321))
            self.assertEqual(account.bits['CapEff'], 0)
        else:
            self.assertEqual(account.ran.status, 125, account.ran)

    def test_nothing_leaks_without_sudo(self):
        account = self.account()
        self.assertEqual(account.uid, os.getuid())
        self.assertEqual(account.home, os.environ.get('HOME', ''))
        self.assert_clean(account)


if __name__ == '__main__':
    contract.main()
