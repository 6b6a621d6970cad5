# SPDX-License-Identifier: BSD-2-Clause
"""A recording and its replay have the same content; damage of the file is reported in one line and affects nothing else."""
import json
import os
import random
import shutil
import signal
import subprocess
import tempfile
import unittest

import contract
from contract import (NOBODY, TIMEOUT, Held, TracingTest, assert_one_error_line, begun, environment, interpreter, long_only,
                      needs_root, rsslag, wait_until)
from live import unseen

LIVES = ('sh', '-c',
         'for i in 1 2 3; do /bin/true; done; (ls /usr/lib | sort) >/dev/null; exec sh -c "ls /usr >/dev/null; sleep 0.2"')
STORM = 'for _ in range(10): bytearray(4 << 20)'


class Directory(TracingTest):
    def setUp(self):
        self.directory = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.directory)
        self.file = os.path.join(self.directory, 'trace.rsslag')

    def record_lives(self, *args, target=LIVES):
        return rsslag('live', '--format', 'jsonl', '--interval', '50ms', '--follow', '--record', self.file, *args,
                      '--', *target)

    def replay(self, *args, **more):
        return rsslag('replay', self.file, '--format', 'jsonl', *args, **more)


class Equal(Directory):
    def assert_equal(self, *args, of_both=(), target=LIVES):
        ran = self.record_lives(*args, *of_both, target=target)
        self.assertEqual((ran.status, ran.err), (0, ''), ran)
        replayed = self.replay(*of_both)
        self.assertEqual((replayed.status, replayed.err), (0, ''), replayed)
        live, again = ran.documents(), replayed.documents()
        self.assertEqual(len(again), len(live))
        for one, other in zip(live, again):
            self.assertEqual(other, one)
        self.assertEqual(live[-1]['schema'], 'rsslag.summary/2')
        self.assertGreater(live[-1]['updates'], 0)
        return live

    def test_events_with_fork_exec_and_exits(self):
        live = self.assert_equal()
        states = {tick.get('state') for tick in live[:-1]}
        self.assertLessEqual({'exited', 'exec'}, states)

    def test_counts(self):
        self.assert_equal('--mode', 'counts')

    def test_each_record(self):
        self.assert_equal(of_both=['--events'])

    def test_a_loss(self):
        live = self.assert_equal('--ring', '4K', target=(interpreter(), '-c', unseen(STORM)))
        self.assertGreater(live[-1]['lost'], 0)

    def test_threads_are_listed_as_they_were(self):
        for choice in ('none', 'top:1', 'changed'):
            self.assert_equal('--threads', choice)
            os.unlink(self.file)


class Record(Directory):
    def record(self, *args, **more):
        return rsslag('record', '-o', self.file, *args, **more)

    def test_reports_what_it_recorded_and_writes_nothing_else(self):
        ran = self.record('--', 'true')
        self.assertEqual((ran.status, ran.out), (0, ''), ran)
        self.assertRegex(ran.err, r'^\d+ events, (\d+ kB|(?!0\.0)\d+\.\d MiB), 0 lost\n$')
        events = int(ran.err.split()[0])
        self.assertEqual(self.replay().documents()[-1]['records'], events)
        self.assertEqual(os.stat(self.file).st_mode & 0o7777, 0o600)

    def test_gives_the_status_of_the_command(self):
        self.assertEqual(self.record('--', 'sh', '-c', 'exit 7').status, 7)

    def test_a_file_that_is_there_stays_unless_forced(self):
        with open(self.file, 'w', encoding='ascii') as file:
            file.write('mine')
        ran = self.record('--duration', '100ms', '--', 'true')
        self.assertEqual(ran.status, 2, ran)
        assert_one_error_line(self, ran, 2)
        self.assertIn('--force', ran.err)
        with open(self.file, encoding='ascii') as file:
            self.assertEqual(file.read(), 'mine')
        self.assertEqual(self.record('--force', '--', 'true').status, 0)
        self.assertEqual(self.replay().status, 0)

    def test_what_can_be_no_file_is_refused(self):
        for place in (self.directory, '/dev/null', self.directory + '/none/trace', ''):
            ran = rsslag('record', '-o', place, '--force', '--', 'true')
            self.assertEqual(ran.status, 2, ran)
            assert_one_error_line(self, ran, 2)

    def test_nothing_is_left_where_nothing_could_be_traced(self):
        ran = rsslag('record', '-o', self.file, '-p', '1999999999')
        self.assertNotEqual(ran.status, 0)
        self.assertEqual(os.listdir(self.directory), [])

    def test_a_command_that_is_not_found_leaves_what_there_was(self):
        ran = self.record('--', './no such command')
        self.assertEqual((ran.status, os.listdir(self.directory)), (127, []), ran)
        self.assertEqual(self.record('--', 'true').status, 0)
        with open(self.file, 'rb') as file:
            before = file.read()
        ran = self.record('--force', '--', './no such command')
        self.assertEqual((ran.status, os.listdir(self.directory)), (127, [os.path.basename(self.file)]), ran)
        with open(self.file, 'rb') as file:
            self.assertEqual(file.read(), before)

    @needs_root
    def test_a_full_disk_ends_it_with_1_and_takes_nothing(self):
        self.file = os.path.join(contract.small_disk(self, self.directory, '128k'), 'trace.rsslag')
        # rsslag does not kill it, so it ends by itself, and it must not hold the pipe.
        storm = 'exec >/dev/null 2>&1; while kill -0 $PPID; do ls -l /usr/bin; sleep 0.05; done'
        ran = self.record('--follow', '--duration', '200s', '--', 'sh', '-c', storm)
        self.assertEqual(ran.status, 125, ran)
        self.assertIn('No space left', ran.err)
        replayed = self.replay()
        self.assertEqual(replayed.status, 0, replayed)
        self.assertIn('incomplete', replayed.err)
        self.assertGreater(replayed.documents()[-1]['records'], 0)


@needs_root
class Owner(Directory):
    def test_the_user_behind_sudo_has_it_and_replays_it_without_any_capability(self):
        os.chmod(self.directory, 0o755)
        changes = {'SUDO_UID': str(NOBODY), 'SUDO_GID': str(NOBODY), 'SUDO_USER': 'nobody'}
        ran = rsslag('record', '-o', self.file, '--', 'true', env=environment(**changes))
        self.assertEqual(ran.status, 0, ran)
        status = os.stat(self.file)
        self.assertEqual((status.st_uid, status.st_mode & 0o7777), (NOBODY, 0o600))
        nobody = ['setpriv', f'--reuid={NOBODY}', f'--regid={NOBODY}', '--clear-groups', '--bounding-set=-all']
        replayed = self.replay(prefix=nobody, executable=contract.binary_for_all(), cwd='/')
        self.assertEqual((replayed.status, replayed.err), (0, ''), replayed)
        self.assertEqual(replayed.documents()[-1]['schema'], 'rsslag.summary/2')
        again = self.replay(env=environment(**changes))
        self.assertEqual((again.status, again.err), (0, ''), again)
        self.assertEqual(again.out, replayed.out)

    def test_is_replaced_where_root_without_capabilities_may_not_write(self):
        """The file is created beside the old one and renamed, when rsslag has dropped its capabilities."""
        sudo = {'SUDO_UID': str(NOBODY), 'SUDO_GID': str(NOBODY), 'SUDO_USER': 'nobody'}
        third = 12345
        for changes, of_directory, owner in (({}, NOBODY, NOBODY), (sudo, NOBODY, NOBODY), (sudo, third, third), (sudo, 0, NOBODY)):
            with self.subTest(changes=changes, of_directory=of_directory):
                os.chown(self.directory, of_directory, of_directory)
                with open(self.file, 'w', encoding='ascii'):
                    pass
                ran = rsslag('record', '-o', self.file, '--force', '--', 'true', env=environment(**changes))
                self.assertEqual(ran.status, 0, ran)
                self.assertEqual(os.listdir(self.directory), ['trace.rsslag'])
                self.assertGreater(os.path.getsize(self.file), 0)
                self.assertEqual(os.stat(self.file).st_uid, owner)
                os.unlink(self.file)

    def test_is_not_read_by_a_capability(self):
        self.assertEqual(rsslag('record', '-o', self.file, '--', 'true').status, 0)
        os.chown(self.file, NOBODY, NOBODY)
        for command in (('report',), ('replay',), ('export', '--format', 'csv')):
            ran = rsslag(*command, self.file)
            assert_one_error_line(self, ran, 2)
            self.assertIn('run rsslag as a user who may read it', ran.err)

    def test_may_be_in_segments_where_only_root_may_write(self):
        """Also under sudo: rsslag cannot give segments to the user that it creates later."""
        sudo = {'SUDO_UID': str(NOBODY), 'SUDO_GID': str(NOBODY), 'SUDO_USER': 'nobody'}
        os.chmod(self.directory, 0o755)
        ran = rsslag('record', '-o', self.file, '--max-size', '1M', '--', 'true', env=environment(**sudo))
        self.assertEqual(ran.status, 0, ran)
        self.assertEqual(os.stat(self.file).st_uid, 0)


@long_only('it kills rsslag at random moments')
class Killed(Directory):
    def test_all_but_the_open_chunk_is_read(self):
        rounds = int(os.environ.get('RSSLAG_TEST_KILLS', '10'))
        dice = random.Random(5)
        with Held('busy') as held:
            for i in range(rounds):
                process = subprocess.Popen([contract.binary, 'record', '-o', self.file, '-p', str(held.pid), '--interval',
                                            '20ms'], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                           env=environment())
                try:
                    wait_until(lambda: os.path.exists(self.file) and os.path.getsize(self.file) > 0)
                    # The test is about an arbitrary moment, so it does not wait for a condition.
                    try:
                        process.wait(dice.uniform(0, 2.5 if i % 4 == 0 else 0.6))
                    except subprocess.TimeoutExpired:
                        pass
                finally:
                    process.kill()
                    process.wait(TIMEOUT)
                size = os.path.getsize(self.file)
                ran = self.replay()
                self.assertEqual(ran.status, 0 if size >= 600 else ran.status, (i, size, ran))
                if ran.status == 0:
                    self.assertIn('incomplete', ran.err)
                    self.assertEqual(ran.documents()[-1]['schema'], 'rsslag.summary/2')
                else:
                    self.assertEqual(ran.status, 2)
                os.unlink(self.file)


class Hostile(Directory):
    def assert_refused(self, content):
        with open(self.file, 'wb') as file:
            file.write(content)
        ran = self.replay()
        self.assertEqual((ran.status, ran.out), (2, ''), ran)
        assert_one_error_line(self, ran, 2)
        return ran.err

    def test_other_files_are_refused_in_one_line(self):
        self.assertIn('is empty', self.assert_refused(b''))
        self.assertIn('is not a recording', self.assert_refused(b'{"schema":"rsslag.tick/2"}\n' * 9))
        self.assertIn('is not a recording', self.assert_refused(os.urandom(5000)))
        for place in (self.directory, self.file + '.none', '/dev/null'):
            ran = rsslag('replay', place)
            self.assertEqual((ran.status, ran.out), (2, ''), ran)
            assert_one_error_line(self, ran, 2)

    def test_damage_is_named_and_the_rest_is_shown(self):
        self.assertEqual(self.record_lives().status, 0)
        with open(self.file, 'rb') as file:
            whole = file.read()
        chunks = [i for i in range(len(whole)) if whole.startswith(b'\x89rslchk\n', i)]
        self.assertGreater(len(chunks), 4)
        dice = random.Random(3)
        for at in chunks[:3] + [dice.randrange(16, len(whole)) for _ in range(contract.runs(40, 10))]:
            damaged = bytearray(whole)
            damaged[at] ^= 1 << dice.randrange(8)
            with open(self.file, 'wb') as file:
                file.write(damaged)
            ran = self.replay()
            self.assertEqual(ran.status, 0, (at, ran))
            self.assertRegex(ran.err, r'^rsslag: the recording is incomplete: .*damaged')
            self.assertEqual(json.loads(ran.lines[-1])['schema'], 'rsslag.summary/2')
        for size in [dice.randrange(16, len(whole)) for _ in range(contract.runs(40, 10))]:
            with open(self.file, 'wb') as file:
                file.write(whole[:size])
            ran = self.replay()
            self.assertIn(ran.status, (0, 2), (size, ran))
            self.assertRegex(ran.err, 'incomplete' if ran.status == 0 else 'is cut off or damaged at its start|has no readable header')

    def test_a_closed_pipe_ends_it_quietly(self):
        self.assertEqual(self.record_lives().status, 0)
        with begun([contract.binary, 'replay', self.file, '--events'], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                   env=environment()) as process:
            process.stdout.close()
            self.assertEqual(process.stderr.read(), b'')
            self.assertEqual(process.wait(TIMEOUT), 0)


if __name__ == '__main__':
    contract.main()
