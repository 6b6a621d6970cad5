# SPDX-License-Identifier: BSD-2-Clause
"""The examples of the man pages run as printed, and so do other typical jq lines."""
import os
import re
import shlex
import shutil
import subprocess
import tempfile
import unittest

import contract
from contract import Held, TracingTest, environment, rsslag


@contract.long_only('runs jq over examples that seldom change, 3 s of CPU')
class Jq(TracingTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if not shutil.which('jq'):
            raise unittest.SkipTest('jq is missing')
        directory = tempfile.mkdtemp(prefix='rsslag-contract-')
        cls.addClassCleanup(shutil.rmtree, directory)
        os.symlink(contract.binary, os.path.join(directory, 'rsslag'))
        cls.path = directory + ':' + os.environ['PATH']

    def shell(self, line, *args):
        done = subprocess.run(['bash', '-o', 'pipefail', '-c', line, 'bash', *args], stdin=subprocess.DEVNULL,
                              capture_output=True, env=environment(PATH=self.path), timeout=contract.TIMEOUT,
                              check=False)
        # The kernel of some virtual machines hides their first process.
        unread = re.sub(rb"rsslag: this kernel's task iterator does not show process 1\n", b'', done.stderr)
        self.assertEqual((done.returncode, unread), (0, b''), (line, done))
        return done.stdout.decode()

    def test_examples_of_the_man_page(self):
        page = (contract.ROOT / 'docs' / 'man' / 'rsslag.1').read_text()
        lines = [line.replace(r'\e', '\\') for line in page.splitlines() if re.match(r'rsslag .*\| jq ', line)]
        self.assertGreaterEqual(len(lines), 3)
        with Held('classic'), Held('per-cpu'):  # one of these two lags on every scheme that caches
            for line in lines:
                self.assertNotEqual(self.shell(line), '', line)

    def test_sums(self):
        with Held('few-pages') as held:
            for query in ('.exact.rss == .flushed.rss + .cached.rss',
                          '.exact.rss == .exact.file + .exact.anon + .exact.shmem',
                          '([.cached_by[].rss] | add // 0) == .cached.rss',
                          '([.residual_causes[].pages] | add // 0) == .residual',
                          '.behind * $k == .exact.rss * $k - .readers.stat.rss_kb'):
                self.shell(f"rsslag snapshot --json $1 | jq -e '(.page_size / 1024) as $k | .processes[] | {query}'",
                           str(held.pid))

    def test_lines(self):
        with Held('single') as held:
            self.assertEqual(self.shell('rsslag snapshot --json --repeat 3 $1 | jq -s length', str(held.pid)), '3\n')
            self.assertEqual(self.shell('rsslag snapshot --json $1 | jq -r .schema', str(held.pid)),
                             'rsslag.snapshot/2\n')

    def test_every_number_fits_a_double(self):
        query = '[.. | numbers | fabs < 9007199254740992] | all'
        self.shell(f"rsslag doctor --json | jq -e '{query}'")
        with Held('single') as held:
            self.shell(f"rsslag snapshot --json $1 | jq -e '{query}'", str(held.pid))


class Readme(unittest.TestCase):
    TEXT = (contract.ROOT / 'README.md').read_text()

    def test_its_recipes_use_options_that_exist(self):
        recipes = re.findall(r'(?m)^sudo rsslag (.*\S) +# ', self.TEXT)
        self.assertEqual(len(recipes), 5)
        for recipe in recipes:
            own, _, _ = f' {recipe}'.partition(' -- ')
            command, *words = shlex.split(own) or ['live']
            text = rsslag(command, '--help').out if words else ''
            for option in (word for word in words if word.startswith('-')):
                self.assertRegex(text, rf'(?m)^ +(-\w,)?{option}\b', recipe)

    def test_it_has_the_costs_and_is_short(self):
        self.assertIn('\nWhat it costs: ', self.TEXT)
        self.assertLessEqual(self.TEXT.count('\n'), 150)


if __name__ == '__main__':
    contract.main()
