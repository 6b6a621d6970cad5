#!/usr/bin/env python3
"""tests/runner.py: which steps a resumed run keeps, and what the table then has."""
import contextlib
import io
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
sys.dont_write_bytecode = True
import runner  # noqa: E402
from runner import Step, run_all  # noqa: E402


class Resume(unittest.TestCase):
    def setUp(self):
        logs = tempfile.TemporaryDirectory(prefix='rsslag-runner-')
        self.addCleanup(logs.cleanup)
        self.logs = pathlib.Path(logs.name)
        for replaced in (mock.patch.object(runner, 'LOGS', self.logs), mock.patch.object(runner, 'ROOT', self.logs),
                         mock.patch.object(runner, 'machine', lambda: {'no'})):
            replaced.start()
            self.addCleanup(replaced.stop)

    def steps(self):
        def appends(letter, then):
            return ('sh', '-c', f'echo {letter} >>ran; {then}')
        return [[Step('build', appends('b', 'true'), 1, 60)],
                [Step('passes', appends('p', 'true'), 1, 60, needs=('build',)), Step('fails', appends('f', 'false'), 1, 60)],
                [Step('skips', appends('s', 'echo "no such kernel"; exit 77'), 1, 60)]]

    def run_on(self, tree, groups, resume=True):
        """Returns what the run printed and the letters of the steps that it ran."""
        ran = self.logs / 'ran'
        ran.write_text('')
        out = io.StringIO()
        with mock.patch.object(runner, 'tree', lambda: tree), contextlib.redirect_stdout(out):
            run_all(groups, resume).table()
        return out.getvalue(), ''.join(sorted(ran.read_text().split()))

    def test_keeps_the_outcomes_of_the_same_tree(self):
        self.assertEqual(self.run_on('t1', self.steps()[:2])[1], 'bfp')
        text, ran = self.run_on('t1', self.steps())
        self.assertEqual(ran, 'bs', 'a build runs again, since its files are needed')
        self.assertIn('2 passed, 1 failed, 1 skipped', text)
        self.assertIn('skips: no such kernel', text)
        text, ran = self.run_on('t1', self.steps())
        self.assertEqual(ran, 'b')
        self.assertIn('2 passed, 1 failed, 1 skipped', text)

    def test_runs_everything_on_another_tree(self):
        self.run_on('t1', self.steps())
        self.assertEqual(self.run_on('t2', self.steps())[1], 'bfps')

    def test_runs_everything_on_a_tree_with_changes(self):
        self.run_on('', self.steps())
        self.assertEqual(self.run_on('', self.steps())[1], 'bfps')

    def test_runs_everything_unless_resumed(self):
        self.run_on('t1', self.steps())
        self.assertEqual(self.run_on('t1', self.steps(), resume=False)[1], 'bfps')


if __name__ == '__main__':
    unittest.main()
