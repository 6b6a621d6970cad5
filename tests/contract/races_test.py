# SPDX-License-Identifier: BSD-2-Clause
"""Targets that die, exec and change while they are read: status 0 or 3, no crash, every line valid."""
import os
import random
import shutil
import signal
import subprocess
import tempfile
import threading
import time

import contract
from contract import TIMEOUT, Children, Held, Ran, TracingTest, assert_snapshot, begun, environment, long_only, snapshot


class Dying(TracingTest):
    def begun(self, *args):
        return begun([contract.binary, 'snapshot', *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                     stderr=subprocess.PIPE, env=environment(), bufsize=0)

    def finish(self, process, first=b''):
        out, err = process.communicate(timeout=TIMEOUT)
        ran = Ran(process.args, process.returncode, first + out, err)
        self.assertIn(ran.status, (0, 3), ran)
        return ran

    @long_only('it kills processes at random moments')
    def test_two_hundred_targets_that_are_killed_meanwhile(self):
        seen = 0
        chance = random.Random(1)
        for _ in range(20):
            with Children([b'dying'] * 10) as pids, self.begun('--json', '-p', ','.join(map(str, pids))) as process:
                time.sleep(chance.uniform(0, 0.06))
                for pid in chance.sample(pids, len(pids)):
                    os.kill(pid, signal.SIGKILL)
                    os.waitpid(pid, 0)
                ran = self.finish(process)
            for document in ran.documents():
                assert_snapshot(self, document)
                told = [process['pid'] for process in document['processes']]
                told += [failed['pid'] for failed in document['failed']]
                self.assertEqual(sorted(told), sorted(pids))
                self.assertEqual(ran.status, 3 if document['failed'] else 0, ran)
                seen += len(told)
            self.assertIn(len(ran.documents()), (0, 1))  # 0: all of them had ended before the first was read
        self.assertGreater(seen, 0)

    @long_only('it kills processes at random moments')
    def test_one_that_is_killed_while_it_is_read_again_and_again(self):
        for _ in range(20):
            with Children([b'dying']) as (pid,), self.begun('--json', '--repeat', '200', pid) as process:
                first = process.stdout.readline()
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
                ran = self.finish(process, first)
            for document in ran.documents():
                assert_snapshot(self, document)

    def test_repeating_ends_when_the_last_target_has_gone(self):
        with Children([b'dying']) as (pid,), self.begun('--no-walk', '--repeat', '100000', pid) as process:
            process.stdout.readline()
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            ran = self.finish(process)
        self.assertLessEqual(ran.err.count('\n'), 1, ran.err[:400])

    def test_a_pid_that_is_reused_is_not_taken_for_the_target(self):
        script = '''
            sleep 300 & first=$!
            "$1" snapshot --json --no-walk --repeat 30 --interval 100ms $first >"$2" & rsslag=$!
            until [ -s "$2" ]; do kill -0 $rsslag || exit 1; sleep 0.1; done
            kill $first; wait $first 2>/dev/null
            echo $((first - 1)) >/proc/sys/kernel/ns_last_pid || exit 77
            sleep 300 & second=$!
            [ $first = $second ] || exit 77
            wait $rsslag; status=$?
            kill $second
            exit $status'''
        if os.geteuid() != 0 or not shutil.which('unshare'):
            self.skipTest('needs root and unshare (util-linux)')
        unshare = ['unshare', '-pf', '--kill-child', '--mount-proc']
        if subprocess.run([*unshare, 'true'], capture_output=True, check=False).returncode != 0:
            self.skipTest('cannot create a PID namespace here')
        with tempfile.NamedTemporaryFile() as told:
            done = subprocess.run([*unshare, 'sh', '-c', script, 'sh', contract.binary, told.name], stdin=subprocess.DEVNULL,
                                  capture_output=True, env=environment(), timeout=TIMEOUT, check=False)
            ran = Ran((script,), done.returncode, told.read(), done.stderr)
        if ran.status == 77:
            self.skipTest('cannot set the next PID here')
        self.assertIn(ran.status, (0, 3), ran)
        born = {process['start_ticks'] for document in ran.documents() for process in document['processes']}
        self.assertEqual(len(born), 1, 'two processes were shown as one')

    @long_only('it kills processes at random moments')
    def test_text_of_a_target_that_dies_has_no_half_truths(self):
        chance = random.Random(2)
        for _ in range(20):
            with Children([b'dying']) as (pid,), self.begun(pid) as process:
                time.sleep(chance.uniform(0, 0.06))
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
                ran = self.finish(process)
            if ran.status == 3:
                contract.assert_one_error_line(self, ran, 3)
            else:
                self.assertTrue(ran.out.startswith(f'/proc/{pid}/stat says '), ran)

    @long_only('it is a race with its targets')
    def test_all_processes_while_some_start_and_end(self):
        stop = threading.Event()

        def churn():
            while not stop.is_set():
                subprocess.run(['/bin/true'], check=False)

        thread = threading.Thread(target=churn)
        thread.start()
        try:
            for _ in range(5):
                ran = snapshot('--json', '--comm', '*')
                self.assertIn(ran.status, (0, 3), ran.err)
                assert_snapshot(self, ran.document())
        finally:
            stop.set()
            thread.join()


class Moving(TracingTest):
    @long_only('it is a race with its target')
    def test_threads_that_come_and_go(self):
        with Held('churn') as held:
            ran = snapshot('--json', '--repeat', 50, held.pid)
        self.assertEqual((ran.status, ran.err), (0, ''))
        for document in ran.documents():
            assert_snapshot(self, document)
            self.assertIn(document['processes'][0]['verdict'], ('agrees', 'moving', 'explained'))

    @long_only('it is a race with its target')
    def test_a_process_that_execs_without_pause(self):
        script = 'exec sh -c "$0" "$0"'
        with begun(['sh', '-c', script, script], stdin=subprocess.DEVNULL) as child:
            ran = snapshot('--json', '--repeat', 200, child.pid)
        self.assertIn(ran.status, (0, 3), ran.err)
        for document in ran.documents():
            assert_snapshot(self, document)
            for process in document['processes']:
                self.assertNotEqual(process['verdict'], 'unexplained', process)

    def test_stopped_it_agrees_again(self):
        with Held('busy', '--threads', '4') as held:
            contract.stop(held.pid)
            documents = snapshot('--json', '--repeat', 10, held.pid).documents()
        self.assertEqual([document['processes'][0]['verdict'] for document in documents], ['agrees'] * 10)


if __name__ == '__main__':
    contract.main()
