#!/usr/bin/env python3
"""tests/runner.py: which steps a resumed run keeps, what the table then has, and what a step leaves on the machine."""
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


class Runs(unittest.TestCase):
    def setUp(self):
        logs = tempfile.TemporaryDirectory(prefix='rsslag-runner-')
        self.addCleanup(logs.cleanup)
        self.logs = pathlib.Path(logs.name)
        for replaced in (mock.patch.object(runner, 'LOGS', self.logs), mock.patch.object(runner, 'ROOT', self.logs),
                         mock.patch.object(runner, 'machine', lambda: {'no'}),
                         mock.patch.object(runner.tempfile, 'tempdir', logs.name)):
            replaced.start()
            self.addCleanup(replaced.stop)

    def run_on(self, tree, groups, resume=True):
        """Returns what the run printed and the letters of the steps that it ran."""
        ran = self.logs / 'ran'
        ran.write_text('')
        out = io.StringIO()
        with mock.patch.object(runner, 'tree', lambda: tree), contextlib.redirect_stdout(out):
            run_all(groups, resume).table()
        return out.getvalue(), ''.join(sorted(ran.read_text().split()))


class Resume(Runs):
    def steps(self):
        def appends(letter, then):
            return ('sh', '-c', f'echo {letter} >>ran; {then}')
        return [[Step('build', appends('b', 'true'), 1, 60)],
                [Step('passes', appends('p', 'true'), 1, 60, needs=('build',)), Step('fails', appends('f', 'false'), 1, 60)],
                [Step('skips', appends('s', 'echo "no such kernel"; exit 77'), 1, 60)]]

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


class Order(Runs):
    def test_a_step_begins_after_the_one_that_it_names(self):
        def step(name, after=''):
            return Step(name, ('sh', '-c', f'cat ran >{name}; echo {name} >>ran'), 1, 60, after=after)
        self.run_on('', [[step('c', 'b'), step('b', 'a'), step('a'), step('d', 'not-here')]])
        self.assertIn('a', (self.logs / 'b').read_text().split())
        self.assertLessEqual({'a', 'b'}, set((self.logs / 'c').read_text().split()))
        self.assertTrue((self.logs / 'd').exists())


class Leftovers(Runs):
    def run_step(self, script):
        return self.run_on('', [[Step('step', ('sh', '-c', script), 1, 60)]])[0]

    def directories(self):
        return [path.name for path in self.logs.iterdir() if path.name.startswith('rsslag-')]

    def test_reports_and_removes_the_temporary_files_of_a_step(self):
        text = self.run_step('mktemp -d "$TMPDIR/left-XXXXXX" >ran; mktemp >>ran')
        made = [pathlib.Path(line) for line in (self.logs / 'ran').read_text().split()]
        for path in made:
            self.assertIn(f'file {path.parent.name}/{path.name}', text)
            self.assertFalse(path.exists())
        self.assertEqual(self.directories(), [])

    def test_says_nothing_of_a_step_that_removes_its_files(self):
        text = self.run_step('touch "$TMPDIR/a" && rm "$TMPDIR/a"; stat -c %a "$TMPDIR" >ran')
        self.assertNotIn('left on this machine', text)
        self.assertEqual((self.logs / 'ran').read_text().strip(), '1777')

    def test_removes_the_files_of_a_step_that_hangs(self):
        text = self.run_on('', [[Step('step', ('sh', '-c', 'touch "$TMPDIR/a"; sleep 60'), 1, 1)]])[0]
        self.assertIn('timed out', text)
        self.assertIn('/a', text)
        self.assertEqual(self.directories(), [])

    def removed_with_mount(self, unmounts):
        """A directory with a mount, removed; the files below the mount are those of another file system."""
        directory = pathlib.Path(tempfile.mkdtemp(dir=self.logs))
        (directory / 'mnt').mkdir()
        (directory / 'mnt/file').touch()
        mounted = [f'{directory}/mnt/below', f'{directory}/mnt']

        def umount(words, **_):
            if unmounts:
                mounted.remove(words[-1])

        def text(_):
            return ''.join(f'none {point} tmpfs rw 0 0\n' for point in ['/proc', f'{directory}2', *reversed(mounted)])

        with mock.patch.object(runner.Path, 'read_text', text), mock.patch.object(runner.subprocess, 'run', umount):
            self.assertEqual(runner.remove(directory), [f'file {directory.name}/mnt', f'mount {directory}/mnt/below', f'mount {directory}/mnt'])
        return directory

    def test_unmounts_what_is_left_in_a_directory(self):
        self.assertFalse(self.removed_with_mount(True).exists())

    def test_keeps_a_directory_with_a_mount_that_stays(self):
        self.assertTrue((self.removed_with_mount(False) / 'mnt/file').exists())

    def test_waits_for_programs_that_the_kernel_frees(self):
        readings = [{'no', 'program 7: tracing'}, {'no', 'program 7: tracing'}, {'no'}]
        with mock.patch.object(runner, 'machine', lambda: readings.pop(0)):
            self.assertEqual(runner.left_since({'no'}), [])
        self.assertEqual(readings, [])

    def test_reports_a_program_that_stays(self):
        with mock.patch.object(runner, 'machine', lambda: {'program 7: tracing'}), mock.patch.object(runner, 'FREED', 0.3):
            self.assertEqual(runner.left_since(set()), ['program 7: tracing'])


if __name__ == '__main__':
    unittest.main()
