# SPDX-License-Identifier: BSD-2-Clause
"""Ways to select processes: PIDs, --comm, --cgroup, -u, alone and together."""
import os
import shutil
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

import contract
from contract import (NOBODY, Children, TracingTest, assert_one_error_line, assert_snapshot, needs_root, snapshot,
                      wait_until)
from live import Live


class Targets(TracingTest):
    def pids(self, *args):
        ran = snapshot('--json', '--no-walk', *args)
        self.assertIn(ran.status, (0, 3), ran)
        document = ran.document()
        assert_snapshot(self, document)
        return [process['pid'] for process in document['processes']]

    def test_pids_as_words_and_by_option_in_any_mixture(self):
        with Children([b'one', b'two', b'three', b'four']) as (a, b, c, d):
            everyone = sorted([a, b, c, d])
            self.assertEqual(sorted(self.pids(a, b, c, d)), everyone)
            self.assertEqual(sorted(self.pids('-p', f'{a},{b}', '-p', c, d)), everyone)
            self.assertEqual(sorted(self.pids(a, '-p', f'{b},{c},{d}')), everyone)
            self.assertEqual(sorted(self.pids('--pid', f'{a},{b}', c, '--pid', d)), everyone)
            self.assertEqual(self.pids(a), [a])

    def test_a_process_named_twice_is_shown_once(self):
        with Children() as (pid,):
            self.assertEqual(self.pids(pid, '-p', f'{pid},{pid}'), [pid])

    def test_more_processes_than_a_shell_allows_descriptors(self):
        with Children([b'rslgtest-fd'] * contract.runs(80, 42)) as pids:
            ran = contract.rsslag('snapshot', '--json', '--no-walk', '--comm', 'rslgtest-fd', prefix=['prlimit', '--nofile=40:4096'])
        self.assertEqual((ran.status, ran.err), (0, ''), ran)
        self.assertEqual(sorted(each['pid'] for each in ran.document()['processes']), sorted(pids))

    @contract.long_only('starts 100 processes; the gate has the same for snapshot')
    @needs_root
    def test_live_traces_more_processes_than_the_limit_of_descriptors(self):
        def limits():
            yield '64:4096'
            with Children() as (pid,), Live('--format', 'jsonl', '--no-walk', '--interval', '1h', pid) as trace:
                trace.document()
                yield str(len(os.listdir(f'/proc/{trace.process.pid}/fd')) + 40)

        with tempfile.TemporaryDirectory() as directory, contract.Crowd(directory, [b'rslgtest-few'] * 100) as pids:
            for limit in limits():
                ran = contract.rsslag('live', '--format', 'jsonl', '--no-walk', '--threads', 'none', '--duration', '10ms', '--comm',
                                      'rslgtest-few', prefix=['prlimit', f'--nofile={limit}'])
                self.assertEqual((ran.status, ran.err), (0, ''), ran)
                *ticks, summary = ran.documents()
                self.assertEqual({tick['pid'] for tick in ticks if tick['readers']['stat']['rss_kb'] is not None}, set(pids))
                self.assertEqual(summary['readings_failed'], 0)

    def test_comm_is_a_glob(self):
        with Children([b'rslgtest-a1', b'rslgtest-b1', b'rslgtest-a2']) as (a1, b1, a2):
            self.assertEqual(sorted(self.pids('--comm', 'rslgtest-a*')), sorted([a1, a2]))
            self.assertEqual(self.pids('--comm', 'rslgtest-[b]?'), [b1])
            self.assertEqual(sorted(self.pids('--comm', 'rslgtest-b1', '--comm', 'rslgtest-a1')), sorted([a1, b1]))
            self.assertEqual(sorted(self.pids('--comm', 'rslgtest-b1', a1)), sorted([a1, b1]))

    def test_comm_with_a_slash_is_the_path_of_the_executable(self):
        with tempfile.TemporaryDirectory(prefix='rsslag contract ') as directory:
            program = shutil.copy('/bin/sleep', directory)
            with subprocess.Popen([program, '300']) as child:
                try:
                    wait_until(lambda: os.readlink(f'/proc/{child.pid}/exe') == program)
                    self.assertEqual(self.pids('--comm', program), [child.pid])
                    self.assertEqual(self.pids('--comm', directory + '/*'), [child.pid])
                    self.assertEqual(self.pids('--comm', directory + '/sl?ep'), [child.pid])
                finally:
                    child.kill()

    def test_patterns_leave_out_rsslag_itself_and_kernel_threads(self):
        with Children([b'rsslag-else']) as (pid,):
            pids = self.pids('--comm', 'rsslag-else', '--comm', 'kthreadd')
        self.assertEqual(pids, [pid])

    @needs_root
    def test_user_by_name_and_by_number(self):
        with Children([b'rslgtest-root']) as (own,), Children([b'rslgtest-nobody'], uid=NOBODY) as (other,):
            for user in ('root', '0'):
                pids = self.pids('-u', user)
                self.assertIn(own, pids)
                self.assertNotIn(other, pids)
            self.assertIn(other, self.pids('--user', str(NOBODY)))
            self.assertEqual(self.pids('-u', '0', '--comm', 'rslgtest-*'), [own])
            document = snapshot('--json', '--no-walk', other).document()
            self.assertEqual(document['processes'][0]['uid'], NOBODY)

    def test_one_that_is_gone_does_not_hide_the_others(self):
        gone = contract.no_such_pid()
        with Children() as (pid,):
            ran = snapshot('--json', pid, gone)
            text = snapshot(pid, gone)
        self.assertEqual(ran.status, 3, ran)
        document = ran.document()
        assert_snapshot(self, document)
        self.assertEqual([process['pid'] for process in document['processes']], [pid])
        self.assertEqual([failed['pid'] for failed in document['failed']], [gone])
        self.assertEqual(text.status, 3, text)
        self.assertIn(f'/proc/{pid}/stat says', text.lines[0])
        self.assertRegex(text.err, rf'^rsslag: .*{gone}.*\n$')

    def test_json_of_a_missing_process_has_the_error_on_stderr_too(self):
        gone = contract.no_such_pid()
        ran = snapshot('--json', gone)
        self.assertEqual(ran.status, 3, ran)
        self.assertRegex(ran.err, rf'^rsslag: .*{gone}.*\n$')
        if ran.out:
            assert_snapshot(self, ran.document())
            self.assertEqual([failed['pid'] for failed in ran.document()['failed']], [gone])


def cgroup2_mount():
    for line in Path('/proc/self/mounts').read_text().splitlines():
        fields = line.split()
        if fields[2] == 'cgroup2':
            return Path(fields[1])
    raise unittest.SkipTest('no cgroup v2 is mounted here')


class Cgroups(TracingTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.mount = cgroup2_mount()
        cls.parent = cls.mount / f'rsslag-contract-{os.getpid()}'
        cls.made = []
        for directory in (cls.parent, cls.parent / 'child', cls.parent / 'child' / 'grandchild', cls.parent / 'empty'):
            try:
                directory.mkdir()
            except OSError as error:
                cls.remove()
                raise unittest.SkipTest(f'cannot create a cgroup: {error}')
            cls.made.append(directory)

    @classmethod
    def remove(cls):
        for directory in reversed(cls.made):
            for _ in range(200):  # until the last task has been released
                try:
                    directory.rmdir()
                    break
                except OSError:
                    time.sleep(0.05)

    @classmethod
    def tearDownClass(cls):
        cls.remove()

    def pids(self, path):
        ran = snapshot('--json', '--no-walk', '--cgroup', path)
        self.assertEqual(ran.status, 0, ran)
        assert_snapshot(self, ran.document())
        return sorted(process['pid'] for process in ran.document()['processes'])

    def test_a_cgroup_with_all_its_descendants(self):
        with Children([b'in', b'below', b'deeper', b'outside']) as (own, below, deeper, _):
            for pid, directory in ((own, self.parent), (below, self.parent / 'child'),
                                   (deeper, self.parent / 'child' / 'grandchild')):
                (directory / 'cgroup.procs').write_text(str(pid))
            self.assertEqual(self.pids(self.parent), sorted([own, below, deeper]))
            self.assertEqual(self.pids(f'{self.parent}/'), sorted([own, below, deeper]))
            self.assertEqual(self.pids(self.parent / 'child'), sorted([below, deeper]))
            self.assertEqual(self.pids(f'/{self.parent.name}/child/grandchild'), [deeper])
            self.assertEqual(self.pids(f'{self.parent.name}/child'), sorted([below, deeper]))

    def test_an_empty_one_matches_nothing(self):
        assert_one_error_line(self, snapshot('--cgroup', self.parent / 'empty'), 3)

    def test_what_is_no_cgroup_v2_is_refused(self):
        assert_one_error_line(self, snapshot('--cgroup', '/there/is/none'), 2)
        with tempfile.TemporaryDirectory() as directory:
            (Path(directory) / 'cgroup.procs').write_text(f'{os.getpid()}\n')
            assert_one_error_line(self, snapshot('--cgroup', directory), 2)

    def test_a_cgroup_of_v1_is_refused(self):
        old = [line.split()[1] for line in Path('/proc/self/mounts').read_text().splitlines()
               if line.split()[2] == 'cgroup']
        if not old:
            self.skipTest('no cgroup v1 is mounted here')
        assert_one_error_line(self, snapshot('--cgroup', old[0]), 2)


if __name__ == '__main__':
    contract.main()
