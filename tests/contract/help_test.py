# SPDX-License-Identifier: BSD-2-Clause
"""--help and --version: on stdout, with status 0 and correct content."""
import json
import unittest

import contract
from contract import rsslag


class Help(unittest.TestCase):
    def shown(self, *args):
        ran = rsslag(*args)
        self.assertEqual((ran.status, ran.err), (0, ''), ran)
        self.assertTrue(ran.out.endswith('\n'))
        return ran.out

    def test_version_names_commit_libbpf_and_schemas(self):
        text = self.shown('--version')
        self.assertRegex(text, r'^rsslag \d+\.\d+\.\d+ \(([0-9a-f]{7,40}|unknown)\)')
        self.assertRegex(text, r'libbpf \d+\.\d+|no tracer')
        for file in sorted((contract.ROOT / 'docs' / 'schema').glob('*.schema.json')):
            self.assertIn(json.loads(file.read_text())['title'], text)

    def test_help_names_every_command(self):
        for option in ('--help', '-h'):
            text = self.shown(option)
            for command in ('snapshot', 'live', 'record', 'replay', 'report', 'export', 'top', 'serve', 'maps', 'mem', 'doctor',
                            'demo', 'mount', 'umount'):
                self.assertRegex(text, rf'(?m)^ +{command} ')

    def test_help_says_last_what_an_option_excludes(self):
        text = self.shown('maps', '--help')
        self.assertRegex(text, r'(?m)^  -x   .*; not with --stacks, -X$')
        self.assertRegex(self.shown('report', '--help'), r'(?m)^  --diff FILE   .*; not with --html, --stacks, --svg$')
        self.assertNotIn('Needs', self.shown('report', '--help'))
        self.assertNotIn('Excludes', text)

    def test_help_of_a_command_names_its_options_and_the_program(self):
        text = self.shown('snapshot', '--help')
        for option in ('-p', '--comm', '--cgroup', '-u', '--json', '--no-walk', '--check', '--repeat', '--interval',
                       '--delay', '--as-root', '--all'):
            self.assertRegex(text, rf'(?m)^ +(-\w,)?{option}\b')
        self.assertIn('rsslag snapshot', text)
        text = self.shown('live', '--help')
        for option in ('-p', '--comm', '--cgroup', '-u', '--follow', '--interval', '--duration', '--format', '--json',
                       '--threads', '--events', '--no-walk', '--no-wait', '--ring', '--memory', '--as-root', '--record', '--force',
                       '--sync', '--max-size'):
            self.assertRegex(text, rf'(?m)^ +(-\w,)?{option}\b')
        text = self.shown('record', '--help')
        for option in ('-o', '-p', '--comm', '--follow', '--duration', '--mode', '--force', '--sync', '--max-size'):
            self.assertRegex(text, rf'(?m)^ +(-\w,)?{option}\b')
        text = self.shown('replay', '--help')
        for option in ('--format', '--json', '--threads', '--events', '--from'):
            self.assertRegex(text, rf'(?m)^ +(-\w,)?{option}\b')
        text = self.shown('top', '--help')
        for option in ('--once', '--json', '--format', '--sort', '--rows', '--interval', '-o'):
            self.assertRegex(text, rf'(?m)^ +(-\w,)?{option}\b')
        text = self.shown('serve', '--help')
        for option in ('--listen', '--by', '--top', '--max-age'):
            self.assertRegex(text, rf'(?m)^ +(-\w,)?{option}\b')
        text = self.shown('maps', '--help')
        for option in ('-p', '--comm', '--cgroup', '-u', '--json', '--each', '--columns', '--sort', '--filter', '--all',
                       '-x', '-X', '--pages', '--limit', '--elf', '--watch', '--interval', '--repeat', '--baseline',
                       '--assert', '--report'):
            self.assertRegex(text, rf'(?m)^ +(-\w,)?{option}\b')
        text = self.shown('mem', '--help')
        for option in ('--by', '-u', '--each', '--all', '--json'):
            self.assertRegex(text, rf'(?m)^ +(-\w,)?{option}\b')
        text = self.shown('report', '--help')
        for option in ('--json', '--assert', '--svg', '--html', '--diff', '--all', '--force'):
            self.assertRegex(text, rf'(?m)^ +(-\w,)?{option}\b')
        text = self.shown('export', '--help')
        for option in ('--format', '--output', '--force'):
            self.assertRegex(text, rf'(?m)^ +(-\w,)?{option}\b')
        self.assertIn('--json', self.shown('doctor', '--help'))
        self.assertIn('--hold', self.shown('demo', '--help'))

    def test_help_comes_before_what_else_is_wrong(self):
        self.shown('snapshot', '--help', 'abc')

    def test_demo_list_names_the_promised_ones(self):
        names = [line.split()[0] for line in self.shown('demo', '--list').splitlines()]
        self.assertEqual(len(names), len(set(names)))
        self.assertEqual(set(names), set(contract.DEMOS))


if __name__ == '__main__':
    contract.main()
