# SPDX-License-Identifier: BSD-2-Clause
"""The manual: one page per command, and each option in the page of its command, in the help and in the completions."""
import re
import shutil
import subprocess
import unittest

import contract
from contract import rsslag

MAN = contract.ROOT / 'docs' / 'man'


def in_help(*command):
    """{option: whether it takes a value}. -h and --help are described once, in rsslag(1)."""
    text = rsslag(*command, '--help').out
    found = {}
    for names, rest in re.findall(r'(?m)^  (-[\w-]+(?:,-[\w-]+)*)( ?.*)$', text):
        for name in names.split(','):
            found[name] = bool(re.match(r' ([A-Z{]|INT|UINT)', rest))
    return found


def options_of(line):
    """`-x , -X` and `-o FILE , --output FILE` are two options each."""
    found = {f'--{long}' for long in re.findall(r'\bFl Fl ([\w-]+)', line)}
    return found | {f'-{short}' for short in re.findall(r'\bFl (\w)(?= |$)', line)}


def items_of(name):
    """The options of each item of the page."""
    return [options_of(item) for item in re.findall(r'(?m)^\.It (.*)$', (MAN / f'{name}.1').read_text())]


def in_page(name):
    return set().union(*items_of(name))


def in_completion(*command):
    found = set()
    for begin in ('-', '--'):
        _, *lines = rsslag('completion', '--', *command, begin).lines
        found |= {line.split('\t')[0] for line in lines}
    return found


class Options(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # The commands help and version are the same as --help and --version.
        listed = rsslag('--help').out.split('Subcommands:')[1].split('\n\n')[0]
        cls.commands = [command for command in re.findall(r'(?m)^  ([a-z]+) ', listed) if command not in ('help', 'version')]
        cls.common = set(in_help())

    def test_a_page_for_each_command(self):
        self.assertGreater(len(self.commands), 14)
        self.assertEqual({path.stem for path in MAN.iterdir()}, {'rsslag'} | {f'rsslag-{command}' for command in self.commands})
        overview = (MAN / 'rsslag.1').read_text()
        for command in self.commands:
            self.assertRegex(overview, rf'(?m)^\.It Cm {command}$')
            self.assertIn(f'.Xr rsslag-{command} 1 .\n', overview)

    def test_those_of_all_commands(self):
        self.assertTrue({'--unit', '-v', '--version', '--help'} <= self.common)
        self.assertEqual(in_page('rsslag') & self.common, self.common)

    def test_those_of_each_command(self):
        for command in self.commands:
            shown = set(in_help(command)) - {'-h', '--help'}
            self.assertEqual(in_page(f'rsslag-{command}'), shown, command)

    def test_values_and_defaults_of_each_command(self):
        """Or they are in a page that this page refers to."""
        pages = {path.stem: path.read_text().replace(r'\&', '').replace(' Ns Ar ', '') for path in MAN.iterdir()}
        for command in self.commands:
            page = pages[f'rsslag-{command}']
            text = page + ''.join(pages[other] for other in re.findall(r'\.Xr (rsslag-\w+) 1', page))
            for option, kind in re.findall(r'(?m)^  (-\S+) (\S+)', rsslag(command, '--help').out):
                listed, default = re.search(r'\{(.*)\}', kind), re.search(r'=(.*)$', kind)
                for value in (listed[1].split(',') if listed else []) + ([default[1]] if default else []):
                    self.assertRegex(text, rf'(?<![\w.]){re.escape(value)}(?!\w)', f'{command} {option}')

    def test_the_synopsis_has_those_of_the_page(self):
        """Some pages refer to all of them: `.Op Ar options`."""
        for command in self.commands:
            page = (MAN / f'rsslag-{command}.1').read_text()
            synopsis = re.search(r'(?s)\.Sh SYNOPSIS\n(.*?)\n\.Sh ', page)[1]
            if '.Op Ar options' in synopsis:
                continue
            given = set().union(*(options_of(line) for line in synopsis.splitlines()))
            for names in filter(None, items_of(f'rsslag-{command}')):
                self.assertTrue(names & given, (command, names))

    @contract.long_only('starts 20 shells, 2 s of CPU; the gate checks what each shell offers')
    def test_shells_complete_each(self):
        for command in self.commands:
            self.assertEqual(in_completion(command), set(in_help(command)) | self.common, command)


class Pages(unittest.TestCase):
    @contract.long_only('3 s of CPU; the gate has mandoc check the same pages')
    @unittest.skipUnless(shutil.which('man') and shutil.which('groff'), 'there is no man, or no groff')
    def test_man_warns_of_nothing(self):
        self.check('man', '--warnings', '-E', 'UTF-8', '-l', '-Tutf8', '-Z')

    @unittest.skipUnless(shutil.which('mandoc'), 'there is no mandoc')
    def test_mandoc_finds_nothing(self):
        """Except references to manuals that are not installed here."""
        for page in sorted(MAN.iterdir()):
            done = subprocess.run(['mandoc', '-Tlint', page], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                                  env=contract.environment(), timeout=contract.TIMEOUT)
            found = [line for line in done.stdout.decode().splitlines()
                     if 'referenced manual not found' not in line and 'outdated mandoc.db' not in line]
            self.assertEqual(found, [])

    def check(self, *argv):
        for page in sorted(MAN.iterdir()):
            done = subprocess.run([*argv, page], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                                  env=contract.environment(MANWIDTH='100'), timeout=contract.TIMEOUT)
            self.assertEqual((done.returncode, done.stderr), (0, b''), page.name)


if __name__ == '__main__':
    contract.main()
