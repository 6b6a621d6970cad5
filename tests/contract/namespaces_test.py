# SPDX-License-Identifier: BSD-2-Clause
"""In a PID namespace of its own, as in a container: PIDs are those of its /proc."""
import json
import os
import shutil
import subprocess
import tempfile
import unittest

import contract
from contract import (Ran, TracingTest, assert_one_error_line, assert_snapshot, environment, needs_root,
                      snapshot_of_command)

# All descendants of unshare end with it.
UNSHARE = ('unshare', '-pf', '--kill-child', '--mount-proc')


@needs_root
class Inside(TracingTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if not shutil.which('unshare'):
            raise unittest.SkipTest('unshare (util-linux) is missing')
        probe = subprocess.run([*UNSHARE, 'true'], stderr=subprocess.PIPE, check=False)
        if probe.returncode != 0:
            raise unittest.SkipTest('no PID namespace can be made here: ' + probe.stderr.decode().strip())

    def inside(self, script, *args):
        done = subprocess.run([*UNSHARE, 'sh', '-c', script, 'sh', contract.binary, *args],
                              stdin=subprocess.DEVNULL, capture_output=True, env=environment(),
                              timeout=contract.TIMEOUT, check=False)
        return Ran((script,), done.returncode, done.stdout, done.stderr)

    # Its counters do not change while it sleeps.
    NEIGHBOUR = '''
        sleep 300 & neighbour=$!
        until read pid name state rest </proc/$neighbour/stat && [ "$name $state" = "(sleep) S" ]; do :; done
        echo $neighbour
    '''

    def test_a_neighbour_by_its_inner_pid(self):
        ran = self.inside(self.NEIGHBOUR + '"$1" snapshot --json $neighbour; s=$?; kill $neighbour; exit $s')
        self.assertEqual((ran.status, ran.err), (0, ''), ran)
        first, line = ran.lines
        inner = int(first)
        document = json.loads(line)
        assert_snapshot(self, document)
        (process,) = document['processes']
        self.assertEqual((process['pid'], process['comm'], process['mm']['pids']), (inner, 'sleep', [inner]))
        self.assertIsNotNone(process['host_pid'])
        self.assertNotEqual(process['host_pid'], inner)
        self.assertEqual(process['verdict'], 'agrees')
        for row in process['cached_by']:
            if 'tid' in row:
                self.assertEqual((row['tid'], row['tgid']), (inner, inner))

    def test_its_sentence_names_the_inner_pid(self):
        ran = self.inside(self.NEIGHBOUR + '"$1" snapshot $neighbour; s=$?; kill $neighbour; exit $s')
        self.assertEqual((ran.status, ran.err), (0, ''), ran)
        first, sentence, *_ = ran.lines
        self.assertTrue(sentence.startswith(f'/proc/{first}/stat says '), sentence)

    def test_patterns_find_only_who_lives_there(self):
        ran = self.inside(self.NEIGHBOUR + '"$1" snapshot --json --comm sleep; s=$?; kill $neighbour; exit $s')
        self.assertEqual(ran.status, 0, ran)
        first, line = ran.lines
        self.assertEqual([process['pid'] for process in json.loads(line)['processes']], [int(first)])

    def test_a_pid_of_another_namespace_matches_no_process(self):
        outside = os.getpid()
        if outside < 50:
            self.skipTest('a process in the namespace may have this PID, too')
        assert_one_error_line(self, self.inside('"$1" snapshot "$2"', str(outside)), 3)

    def test_the_proc_of_another_namespace_is_refused(self):
        """It has a process 1, too, which is another one."""
        for args in (('snapshot', '1'), ('live', '--duration', '100ms', '1'), ('maps', '1'), ('top', '--once')):
            with self.subTest(args=args):
                ran = contract.rsslag(*args, prefix=('unshare', '-pf', '--kill-child'))
                assert_one_error_line(self, ran, 3)
                self.assertIn('/proc of this PID namespace is not mounted', ran.err)

    def test_in_a_time_namespace(self):
        """Where CLOCK_MONOTONIC is another one than that of the kernel's records."""
        for offset in (100000, -60):
            prefix = ('unshare', '--time', '--monotonic', str(offset))
            if subprocess.run([*prefix, 'true'], stderr=subprocess.DEVNULL, check=False).returncode != 0:
                self.skipTest('no time namespace can be made here')
            ran = contract.rsslag('peak', '--json', '--', contract.interpreter(), '-S', '-E', '-c', f'bytearray({8 << 20})', prefix=prefix)
            self.assertEqual(ran.status, 0, ran)
            (process,) = json.loads(ran.err.splitlines()[-1])['processes']
            self.assertGreater(process['t_ns'], 0)
            self.assertLess(process['t_ns'], 100 * 10 ** 9)
            self.assertGreater(process['peak_min'], (8 << 20) // os.sysconf('SC_PAGESIZE'))

    def test_a_pattern_matches_nothing_outside(self):
        """A process that execs a matching name outside of the namespace."""
        with tempfile.TemporaryDirectory() as directory:
            program = shutil.copy(shutil.which('sleep'), os.path.join(directory, 'outer-one'))
            with contract.begun([*UNSHARE, contract.binary, 'live', '--format', 'jsonl', '--comm', 'outer-one', '--duration', '2s'],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment()) as process:
                self.assertIn('no process matches yet', process.stderr.readline())
                while process.poll() is None:
                    subprocess.run([program, '0.05'], check=True)
                out, err = process.communicate(timeout=contract.TIMEOUT)
        self.assertEqual(process.returncode, 3, err)
        self.assertEqual([line for line in out.splitlines() if '"pid":0' in line], [])

    def test_a_command(self):
        ran, (first,), document = snapshot_of_command('echo $$; read x; exit 7', '--delay', '50ms',
                                                      prefix=[*UNSHARE, 'sh', '-c', '"$@"; exit $?', 'sh'])
        self.assertEqual((ran.status, ran.err), (7, ''), ran)
        (process,) = document['processes']
        self.assertEqual((process['pid'], process['comm']), (int(first), 'sh'))
        self.assertNotEqual(process['host_pid'], int(first))

    def test_doctor_works_there(self):
        ran = self.inside('"$1" doctor --json')
        self.assertEqual(ran.status, 0, ran)
        contract.assert_valid(self, 'doctor', ran.document())

    def test_two_that_share_an_mm(self):
        with tempfile.NamedTemporaryFile() as said:
            ran = self.inside('''
                "$3" clone-vm --hold >"$2" & demo=$!
                until grep -q ^child "$2"; do kill -0 $demo || exit; sleep 0.1; done
                "$1" snapshot --json $demo; s=$?; kill $demo; exit $s''', said.name, contract.workload_program())
        self.assertEqual(ran.status, 0, ran)
        document = ran.document()
        assert_snapshot(self, document)
        (process,) = document['processes']
        self.assertEqual(process['mm']['tasks'], 2)
        self.assertEqual(len(process['mm']['pids']), 2)


if __name__ == '__main__':
    contract.main()
