#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""System calls that fail, one at a time, through strace: one line with the error, no crash, no hang."""
import contextlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

import contract
from contract import (LONG, NOBODY, ROOT, Children, Ran, TracingTest, assert_one_error_line, begun, environment, long_only,
                      needs_root, rsslag, small_disk, snapshot_of_command, wait_until)
from live import Live
from panes import Pane, needs_tmux


RECORDING = str(ROOT / 'docs' / 'recordings' / 'quiet-6.1.rsslag')


def inject(what, log='/dev/null'):
    return ['strace', '-qq', '-o', log, '-e', 'trace=' + what.partition(':')[0], '-e', 'inject=' + what]


@unittest.skipUnless(shutil.which('strace'), 'strace is missing')
class Refused(TracingTest):
    def test_any_call_of_bpf(self):
        """In the 13th call libbpf checks whether variables can be mapped. If it fails, libbpf continues without mapping them."""
        with tempfile.TemporaryDirectory() as directory, Children() as (pid,):
            log = os.path.join(directory, 'log')
            for command in (('snapshot', str(pid)), ('live', '--format', 'jsonl', '--duration', '10ms', '-p', str(pid))):
                for number in range(1, 41, 1 if LONG else 6):
                    with self.subTest(command=command[0], number=number):
                        ran = rsslag(*command, prefix=inject(f'bpf:error=EPERM:when={number}', log))
                        self.assertIn(ran.status, (0, 1, 3), ran)
                        if ran.status != 0:
                            assert_one_error_line(self, ran, ran.status)
                    if 'INJECTED' not in Path(log).read_text():
                        break

    def test_pidfd_open_before_the_command_runs(self):
        with tempfile.TemporaryDirectory() as directory:
            for command in ('live', 'snapshot'):
                file = Path(directory, command)
                ran = rsslag(command, '--', 'touch', file, prefix=inject('pidfd_open:error=EMFILE'))
                assert_one_error_line(self, ran, 125)
                self.assertFalse(file.exists())

    def test_a_wait_that_is_interrupted(self):
        ran = rsslag('live', '--', 'sh', '-c', 'exit 7', prefix=inject('wait4:error=EINTR:when=1..3'))
        self.assertEqual((ran.status, ran.err), (7, ''), ran)

    def test_a_status_that_cannot_be_had(self):
        ran = rsslag('live', '--', 'sh', '-c', 'exit 7', prefix=inject('wait4:error=ECHILD'))
        self.assertEqual(ran.status, 125, ran)

    def test_kill_of_the_workload_of_a_demo(self):
        ran = rsslag('demo', 'single', prefix=inject('kill:error=EPERM'))
        self.assertIn(ran.status, (0, 3), ran)

    def test_kill_of_the_child_that_calibrates(self):
        with tempfile.TemporaryDirectory() as directory, Children() as (pid,):
            for args in (('snapshot', str(pid)), ('maps', str(pid)), ('top', '--once'), ('doctor',), ('live', '--duration', '10ms', '-p', str(pid)),
                         ('record', '-q', '-o', os.path.join(directory, 'file'), '--duration', '10ms', '-p', str(pid))):
                with self.subTest(args=args):
                    ran = rsslag(*args, prefix=inject('kill:error=EPERM'))
                    self.assertEqual((ran.status, ran.err), (0, ''), ran)


@unittest.skipUnless(shutil.which('strace'), 'strace is missing')
class Words(TracingTest):
    """Error messages give the actual cause."""

    def test_out_of_descriptors(self):
        with Children() as (pid,):
            for limit in range(4, 24, 1 if LONG else 4):
                for command in (['snapshot'], ['maps'], ['live', '--duration', '10ms']):
                    ran = rsslag(*command, str(pid), prefix=['prlimit', f'--nofile={limit}'])
                    if ran.status != 0:
                        assert_one_error_line(self, ran, ran.status)
                    for wrong in ('no BTF', 'no process', 'no /proc', 'Invalid argument'):
                        self.assertNotIn(wrong, ran.err + ran.out, limit)

    @needs_root
    def test_without_sys_or_proc(self):
        with Children() as (pid,):
            for mount, says, commands in (('/sys', '/sys is not mounted', ('snapshot', 'live --events', 'serve')),
                                          ('/proc', '/proc of this PID namespace is not mounted', ('snapshot', 'live', 'maps', 'mem'))):
                hide = f'umount -l {mount} && mount -t tmpfs tmpfs {mount} && '  # in a guest, that of the host may be below it
                for command in map(str.split, commands):
                    words = command if command[0] in ('serve', 'mem') else [*command, str(pid)]
                    ran = rsslag(*words, prefix=['unshare', '-m', 'sh', '-c', hide + 'exec "$@"', 'sh'])
                    if ran.status == 1 and 'umount' in ran.err:
                        self.skipTest(ran.err)
                    self.assertIn(says, ran.err)
                    if mount == '/sys' and command[0] == 'snapshot':
                        self.assertEqual(ran.status, 0, ran)  # a reading by /proc alone
                    else:
                        assert_one_error_line(self, ran, 3)

    @needs_root
    def test_the_remedy_for_root_is_not_sudo(self):
        with Children() as (pid,):
            for args, file, says in ((('maps', str(pid)), 'smaps', 'CAP_SYS_PTRACE is not enough'),
                                     (('mem',), 'smaps_rollup', 'not allowed: ')):
                ran = rsslag(*args, prefix=['strace', '-f', '-qq', '-o', '/dev/null', '-P', file, '-e', 'inject=openat:error=EACCES'])
                self.assertEqual((ran.status, ran.err), (0, ''), ran)  # a reading by their status files
                self.assertIn(says, ran.out)
                self.assertNotIn('sudo', ran.out)


# A walk of the file $WALKED that never ends, as with a contended mmap_lock; exit(2) ends it, as it would then. The walk creates
# $WALKS at its start.
ENDLESS_WALK = """
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
static void walk(const char *path) {
    if (strcmp(path, getenv("WALKED")) != 0) return;
    syscall(SYS_openat, AT_FDCWD, getenv("WALKS"), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    for (;;) pause();
}
int __openat_2(int directory, const char *path, int flags) {
    walk(path);
    return syscall(SYS_openat, directory, path, flags, 0);
}
int openat(int directory, const char *path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    const int mode = va_arg(more, int);
    va_end(more);
    walk(path);
    return syscall(SYS_openat, directory, path, flags, mode);
}
"""


@unittest.skipUnless(shutil.which('cc'), 'cc is missing')
class LongWalk(TracingTest):
    """A long walk does not delay the end of rsslag."""

    def setUp(self):
        directory = tempfile.mkdtemp(prefix='rsslag-contract-')
        self.addCleanup(shutil.rmtree, directory)
        library = os.path.join(directory, 'walk.so')
        self.walks = Path(directory, 'walks')
        subprocess.run(['cc', '-U_FORTIFY_SOURCE', '-shared', '-fPIC', '-x', 'c', '-o', library, '-'],
                       input=ENDLESS_WALK.encode(), check=True)
        self.endless = ['env', 'LD_PRELOAD=' + library, f'WALKS={self.walks}', 'WALKED=smaps_rollup']

    def await_walk(self):
        wait_until(self.walks.exists)
        self.walks.unlink()

    @contextlib.contextmanager
    def soon(self):
        """The walk never ends. --long measures how long rsslag takes to end nevertheless."""
        begin = time.monotonic()
        yield
        if LONG:
            self.assertLess(time.monotonic() - begin, 8)

    def assert_unwalked(self, ran):
        self.assertEqual((ran.status, ran.err), (0, ''), ran)
        *ticks, summary = ran.documents()
        self.assertEqual({(tick['walk'], tick['verdict']) for tick in ticks}, {('skipped', 'unwalked')})
        self.assertEqual(summary['schema'], 'rsslag.summary/2')

    def test_a_duration(self):
        with Children() as (pid,), self.soon():
            self.assert_unwalked(rsslag('live', '--format', 'jsonl', '--duration', '300ms', str(pid), prefix=self.endless))

    def test_a_signal(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with Children() as (pid,), Live('--format', 'jsonl', pid, prefix=self.endless) as live:
                self.await_walk()
                with self.soon():
                    live.signal(number)
                    self.assert_unwalked(live.finish())

    def interrupted(self, *args, walked=()):
        """How a run ends that gets SIGINT during the walk."""
        with begun([*self.endless, *walked, contract.binary, *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                   stderr=subprocess.PIPE, env=environment()) as process:
            self.await_walk()
            with self.soon():
                process.send_signal(signal.SIGINT)
                out, err = process.communicate(timeout=contract.TIMEOUT)
        return Ran(args, process.returncode, out, err)

    def test_a_snapshot(self):
        with Children() as (pid,):
            ran = self.interrupted('snapshot', '--json', pid)
        self.assertEqual((ran.status, ran.err), (0, ''), ran)
        (document,) = ran.document()['processes']
        self.assertEqual((document['walk'], document['verdict']), ('skipped', 'unwalked'))

    def test_maps(self):
        for args in ('--watch',), ('--pages',), ():
            with self.subTest(args), Children() as (pid,):
                ran = self.interrupted('maps', *args, pid, walked=['WALKED=smaps'])
                assert_one_error_line(self, ran, 1)
                self.assertIn(f'{pid} were not read: a signal stopped rsslag', ran.err)

    @long_only('it reads a screen through tmux')
    @needs_tmux
    def test_q(self):
        with Children() as (pid,), Pane() as pane:
            pane.run(*self.endless, contract.binary, 'live', str(pid))
            pane.until('q quit')
            with self.soon():
                pane.type('q')
                pane.until('traced ')

    @long_only('it reads a screen through tmux')
    @needs_tmux
    def test_one_that_top_was_asked_for(self):
        for end in (lambda pane: pane.type('q'), lambda pane: os.kill(pane.rsslag_pid(), signal.SIGTERM)):
            with Children(), Pane() as pane:
                pane.run(*self.endless, contract.binary, 'top')
                pane.until(lambda text: re.search(r'(?m)^\W*\d+ \w', text))  # wait until a process can be selected
                pane.type('w')
                self.await_walk()
                with self.soon():
                    end(pane)
                    pane.until(lambda text: text.strip().endswith('$'))


class LogFile(unittest.TestCase):
    def test_is_its_owners_alone(self):
        with tempfile.TemporaryDirectory() as directory:
            for args in (('demo', '--list'), ('report', RECORDING)):
                log = Path(directory, args[0])
                self.assertEqual(rsslag('-vv', '--log-file', log, *args).status, 0)
                self.assertEqual((log.stat().st_mode & 0o777, log.stat().st_uid), (0o600, os.getuid()))

    @needs_root
    def test_belongs_to_the_invoking_user(self):
        with tempfile.TemporaryDirectory() as directory:
            os.chmod(directory, 0o777)
            for args in (('demo', '--list'), ('report', RECORDING)):
                log = Path(directory, args[0])
                ran = rsslag('-vv', '--log-file', log, *args, env=environment(SUDO_UID=str(NOBODY), SUDO_GID=str(NOBODY)))
                self.assertEqual(ran.status, 0, ran)
                self.assertEqual((log.stat().st_mode & 0o777, log.stat().st_uid), (0o600, NOBODY))


@needs_root
@unittest.skipUnless(shutil.which('setcap') and shutil.which('tic') and shutil.which('infocmp'), 'setcap or tic is missing')
class FileCapabilities(unittest.TestCase):
    """A user who may run a binary with capabilities must not control what it writes to a terminal."""

    def screen(self, *args, **env):
        """The start of what it writes to its own terminal."""
        master, slave = os.openpty()
        process = subprocess.Popen([contract.binary_for_all(), *args], stdin=slave, stdout=slave, stderr=slave, cwd='/',
                                   user=NOBODY, group=NOBODY, extra_groups=[], env=environment(TERM='xterm', **env))
        os.close(slave)
        text = b''
        try:
            while b'quit' not in text:
                text += os.read(master, 65536)
        finally:
            process.kill()
            process.wait(contract.TIMEOUT)
            os.close(master)
        return text

    def test_terminal_descriptions_of_the_caller_are_not_read(self):
        with tempfile.TemporaryDirectory() as directory:
            os.chmod(directory, 0o755)
            source = subprocess.run(['infocmp', '-1', 'xterm'], stdout=subprocess.PIPE, check=True).stdout.decode()
            entry = Path(directory, 'source')
            entry.write_text(re.sub(r'(?m)^\tsmcup=.*$', r'\tsmcup=\\E[?1049hHOSTILE,', source))
            home = Path(directory, '.terminfo')
            home.mkdir(mode=0o755)
            subprocess.run(['tic', '-o', home, entry], check=True, stderr=subprocess.DEVNULL)
            ways = {'TERMINFO': str(home)}, {'HOME': directory}, {'TERMINFO_DIRS': str(home)}
            for way in ways:
                self.assertIn(b'HOSTILE', self.screen('replay', RECORDING, **way), way)
            done = subprocess.run(['setcap', 'cap_bpf,cap_perfmon,cap_sys_ptrace+ep', contract.binary_for_all()],
                                  stderr=subprocess.PIPE, check=False)
            if done.returncode != 0:
                self.skipTest('no file capabilities here: ' + done.stderr.decode().strip())
            self.addCleanup(subprocess.run, ['setcap', '-r', contract.binary_for_all()], check=False)
            for way in ways:
                self.assertNotIn(b'HOSTILE', self.screen('replay', RECORDING, **way), way)
            if contract.why_no_tracing() is None:
                _, said, _ = snapshot_of_command('echo "$HOME|$TERMINFO"; read x', '--delay', '50ms', cwd='/',
                                                 executable=contract.binary_for_all(), user=NOBODY, group=NOBODY,
                                                 extra_groups=[], env=environment(HOME='/home/of/mine', TERMINFO='/terms'))
                self.assertEqual(said, ['/home/of/mine|/terms'])


class Nice(TracingTest):
    @needs_root
    def test_is_what_it_was(self):
        """Except for the drain thread, which must not wait for a CPU."""
        own = os.getpriority(os.PRIO_PROCESS, 0)
        for nice in (5, -3, -15):
            with self.subTest(nice=nice), Children() as (pid,), \
                    Live('--format', 'jsonl', '-p', pid, prefix=('nice', '-n', str(nice - own))) as live:
                live.document()
                tasks = [int(task.name) for task in Path(f'/proc/{live.process.pid}/task').iterdir()]
                nices = {task: os.getpriority(os.PRIO_PROCESS, task) for task in tasks}
                self.assertEqual(nices[live.process.pid], nice, nices)
                self.assertEqual(min(nices.values()), min(nice, -10), nices)
                live.signal(signal.SIGTERM)
                self.assertEqual(live.finish().status, 0)


@long_only('it reads a screen through tmux')
@needs_tmux
class FullDisk(TracingTest):
    @needs_root
    def test_output_of_a_command_that_does_not_fit(self):
        directory = tempfile.mkdtemp(prefix='rsslag-contract-')
        self.addCleanup(shutil.rmtree, directory)
        with Pane(columns=200, TMPDIR=small_disk(self, directory, '64k')) as pane:
            pane.rsslag('--', 'sh', '-c', "'head -c 300000 /dev/zero | tr \"\\0\" x; read x'")
            told = re.search(r'! the first ([\d,]+) bytes are in (\S+): No space left', pane.until('! the first'))
            self.assertEqual(int(told.group(1).replace(',', '')), os.path.getsize(told.group(2)))
            pane.until('300,000 bytes')
            pane.type('q')
            pane.until('the command is still running')
            pane.type('q')
            pane.until(lambda text: f'the first {told.group(1)} of 300,000 bytes that the command wrote are in'
                       in text.replace('\n', '') and 'No space left' in text)


if __name__ == '__main__':
    contract.main()
