# SPDX-License-Identifier: BSD-2-Clause
"""In a PID namespace of its own, as in a container: PIDs are those that its /proc shows."""
import json
import os
import shutil
import subprocess
import unittest

import contract
from contract import Ran, TracingTest, assert_one_error_line, assert_snapshot, environment, needs_root


@needs_root
class Inside(TracingTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if not shutil.which('unshare'):
            raise unittest.SkipTest('unshare (util-linux) is missing')
        probe = subprocess.run(['unshare', '-pf', '--mount-proc', 'true'], stderr=subprocess.PIPE, check=False)
        if probe.returncode != 0:
            raise unittest.SkipTest('no PID namespace can be made here: ' + probe.stderr.decode().strip())

    def inside(self, script, *args):
        done = subprocess.run(['unshare', '-pf', '--mount-proc', 'sh', '-c', script, 'sh', contract.binary, *args],
                              stdin=subprocess.DEVNULL, capture_output=True, env=environment(),
                              timeout=contract.TIMEOUT, check=False)
        return Ran((script,), done.returncode, done.stdout, done.stderr)

    NEIGHBOUR = '''
        sleep 300 & neighbour=$!
        until [ "$(cat /proc/$neighbour/comm)" = sleep ]; do :; done
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

    def test_a_number_from_outside_means_nobody(self):
        outside = os.getpid()
        self.assertGreater(outside, 50)
        assert_one_error_line(self, self.inside('"$1" snapshot "$2"', str(outside)), 3)

    def test_a_command(self):
        ran = self.inside('"$1" snapshot --json --delay 200ms -- sh -c "echo \\$\\$; exec sleep 1"')
        self.assertEqual(ran.status, 0, ran)
        first, line = ran.lines
        (process,) = json.loads(line)['processes']
        self.assertEqual((process['pid'], process['comm']), (int(first), 'sleep'))

    def test_doctor_works_there(self):
        ran = self.inside('"$1" doctor --json')
        self.assertEqual(ran.status, 0, ran)
        contract.assert_valid(self, 'doctor', ran.document())

    def test_two_that_share_an_mm(self):
        ran = self.inside('''
            "$1" demo clone-vm --hold >/tmp/rsslag-contract-$$ & demo=$!
            until grep -q ^child /tmp/rsslag-contract-$$; do sleep 0.1; done
            rm /tmp/rsslag-contract-$$
            "$1" snapshot --json $demo; s=$?; kill $demo; exit $s''')
        self.assertEqual(ran.status, 0, ran)
        document = ran.document()
        assert_snapshot(self, document)
        (process,) = document['processes']
        self.assertEqual(process['mm']['tasks'], 2)
        self.assertEqual(len(process['mm']['pids']), 2)


if __name__ == '__main__':
    contract.main()
