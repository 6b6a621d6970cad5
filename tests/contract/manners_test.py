# SPDX-License-Identifier: BSD-2-Clause
"""How rsslag handles typical mistakes of new users, and names programs as users know them."""
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import contract
from contract import Children, TracingTest, assert_one_error_line, rsslag, wait_until

COMMANDS = ('snapshot', 'live', 'top', 'record', 'replay', 'report', 'export', 'peak', 'serve', 'maps', 'mem', 'mount', 'umount',
            'doctor', 'demo', 'help', 'version')


class Words(unittest.TestCase):
    def refused(self, *args):
        ran = rsslag(*args)
        assert_one_error_line(self, ran, 2)
        return ran.err

    def test_help_and_version_are_words_too(self):
        self.assertEqual(rsslag('help').out, rsslag('--help').out)
        for word in ('version', '-V'):
            self.assertEqual(rsslag(word).out, rsslag('--version').out)
        for command in COMMANDS[:contract.runs(len(COMMANDS), 3)]:
            ran = rsslag('help', command)
            self.assertEqual((ran.status, ran.err, ran.out), (0, '', rsslag(command, '--help').out), ran)
        self.assertIn('did you mean live?', self.refused('help', 'lvie'))

    def test_every_help_ends_with_examples_of_options_that_there_are(self):
        everywhere = rsslag('--help').out
        for command in COMMANDS:
            text = rsslag(command, '--help').out
            options, examples = text.rstrip('\n').split('\nExamples:\n')
            for line in examples.splitlines():
                self.assertRegex(line, rf'^  rsslag {command}\b')
                own = line.split(' -- ')[0].split('|')[0]
                for option in re.findall(r'(?<= )--?[a-z][a-z-]*', own):
                    self.assertRegex(options + everywhere, rf'(?m)[ ,]{option}\b', line)
            self.assertLess(max(map(len, examples.splitlines())), 100, examples)

    def test_a_slip_is_seen(self):
        for word, meant in (('lvie', 'live'), ('snapsot', 'snapshot'), ('recrod', 'record')):
            self.assertIn(f"'{word}' is not a command, and no process has that name; did you mean {meant}?", self.refused(word, '1'))
        self.assertIn('did you mean --mode?', self.refused('live', '--mdoe', 'counts', '1'))
        self.assertIn('did you mean classic?', self.refused('demo', 'clasic'))
        self.assertIn('rsslag --help', self.refused('frobnicate-the-thing'))

    def test_a_value_that_is_not_valid_is_reported_with_those_that_are(self):
        for words, message in ((('live', '--mode', 'foo', '1'), '--mode foo is not valid; use events or counts'),
                               (('live', '--format', 'json', '1'), '--format json is not valid; did you mean jsonl?'),
                               (('top', '--sort', 'size'), '--sort size is not valid; use lag, exact, cached or name'),
                               (('serve', '--by', 'x'), '--by x is not valid; use comm, exe, user, cgroup or unit'),
                               (('top', '--rows', 'x'), '--rows x is not valid; use an integer of 0 or more'),
                               (('top', '--rows', '-1'), '--rows -1 is not valid; use an integer of 0 or more'),
                               (('snapshot', '--repeat', '0', '1'), '--repeat 0 is not valid; use an integer from 1 to 1000000'),
                               (('live', '--mode'), '--mode requires a value: {events,counts}; see rsslag live --help'),
                               (('snapshot', '-p'), '--pid requires a value: PID; see rsslag snapshot --help')):
            self.assertEqual(self.refused(*words), f'rsslag: {message}\n')

    def test_a_mistyped_option_is_reported_instead_of_its_value(self):
        for words, option, meant in ((('--mdoe', 'counts', '1'), '--mdoe', '--mode'),
                                     (('--interval', '100ms', '--duraton', '1s', '1'), '--duraton', '--duration'),
                                     (('--colour', 'never', 'name'), '--colour', '--color')):
            before = ' '.join(('rsslag', *words[:words.index(option)]))
            self.assertIn(f"'{option}' is not expected after '{before}'; did you mean {meant}?", self.refused(*words))

    def test_the_help_of_an_unknown_command_is_refused(self):
        self.assertIn('did you mean live?', self.refused('lvie', '--help'))
        self.assertEqual(rsslag('--help', 'lvie').out, rsslag('--help').out)

    def test_an_unexpected_argument_is_reported_with_its_place(self):
        self.assertIn("'y' is not expected after 'rsslag report x'", self.refused('report', 'x', 'y', 'z'))
        self.assertIn("'--nonsense' is not expected after 'rsslag snapshot 1'", self.refused('snapshot', '1', '--nonsense'))
        self.assertIn("'x' is not expected after 'rsslag report x'", self.refused('report', 'x', 'x'))
        self.assertIn("'4711' is not expected after 'rsslag top'; top lists all processes; use rsslag snapshot",
                      self.refused('top', '4711'))

    def test_a_name_in_place_of_a_pid(self):
        with Children((b'rslg-manners', b'rslg-manners')) as pids:
            ran = rsslag('maps', '--json', 'rslg-manners')
            self.assertEqual(sorted(process['pid'] for process in ran.document()['processes']), sorted(pids))
            self.assertIn('did you mean rslg-manners?', self.refused('rslg-maners'))
            self.assertIn('did you mean rslg-manners?', self.refused('maps', 'rslg-maners'))
        self.assertIn("'rslg-manners' is not a PID, and no process has that name", self.refused('snapshot', 'rslg-manners'))


class Programs(unittest.TestCase):
    """A file under several names, as busybox and redis-server are."""

    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix='rsslag-contract-')
        self.addCleanup(shutil.rmtree, self.directory)
        os.chmod(self.directory, 0o755)
        self.file = os.path.join(self.directory, 'rslg-check-rdb')
        shutil.copy(shutil.which('sleep'), self.file)
        self.link = os.path.join(self.directory, 'rslg-redis-server')
        os.symlink('rslg-check-rdb', self.link)

    def run_as(self, *argv, executable=None):
        process = subprocess.Popen(argv, executable=executable)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        wait_until(lambda: os.readlink(f'/proc/{process.pid}/exe') == self.file)
        return process.pid

    def program_of(self, pid):
        (row,) = [row for row in rsslag('mem', '--json', '--all', '--each').document()['rows'] if pid in row['pids']]
        return row['name']

    def test_the_name_is_what_it_was_started_by(self):
        self.assertEqual(self.program_of(self.run_as(self.link, '100')), self.link)
        self.assertEqual(self.program_of(self.run_as('rslg-redis-server', '100', executable=self.file)), self.link)
        self.assertEqual(self.program_of(self.run_as(self.link + ' *:6379', '100', executable=self.file)), self.link)

    def test_a_name_of_another_file_does_not_count(self):
        for name in ('init', '/usr/bin/env', './rslg-redis-server', '', '../..', '-sh'):
            self.assertEqual(self.program_of(self.run_as(name, '100', executable=self.file)), self.file, name)

    def test_it_is_found_by_that_name(self):
        pid = self.run_as('rslg-redis-server', '100', executable=self.file)
        self.assertEqual(Path(f'/proc/{pid}/comm').read_text(), 'rslg-check-rdb\n')
        for words in (('rslg-redis-server',), (self.link,), ('--comm', '*/rslg-redis-server'), ('--comm', '*/rslg-check-rdb')):
            (process,) = rsslag('maps', '--json', *words).document()['processes']
            self.assertEqual((process['pid'], process['exe'], process['program']), (pid, self.file, self.link), words)
        self.assertTrue(rsslag('maps', str(pid)).lines[0].startswith(f'rslg-check-rdb [{pid}]  {self.link}  '))
        self.assertIn('did you mean rslg-redis-server?', rsslag('rslg-redis-servr').err)


class Traced(TracingTest):
    def test_all_of_that_name_are_traced(self):
        with Children((b'rslg-traced', b'rslg-traced', b'rslg-other')) as pids:
            ran = rsslag('rslg-traced', '--duration', '100ms', '--json')
        self.assertEqual((ran.status, ran.err), (0, ''), ran)
        self.assertEqual({row['pid'] for row in ran.documents() if row['schema'].startswith('rsslag.tick/')}, set(pids[:2]))

    @contract.long_only('it measures CPU time')
    def test_the_first_tick_does_not_show_only_the_cost_of_the_attach(self):
        with Children() as (pid,):
            ran = rsslag(str(pid), '--duration', '100ms', '--json')
        self.assertLess(ran.documents()[0]['own']['cpu_percent'], 90)

    def test_events_are_in_kb(self):
        ran = rsslag('live', '--events', '--', 'true')
        self.assertRegex(ran.out, r'(?m)  (anon|file) [+\u2212][\d,]+ kB  cached \S+ kB  flushed [\d,\u2212]+ kB')
        self.assertRegex(rsslag('live', '--unit', 'pages', '--events', '--', 'true').out, r'(?m)  anon \+1 page  cached ')


if __name__ == '__main__':
    contract.main()
