#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""An installed rsslag as a user of a shell finds it. scripts/package runs this in a chroot with the packages installed; it uses
nothing of the checkout. The shells find the completion by themselves and are driven on a terminal of their own."""
import os
import pty
import re
import select
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

TIMEOUT = 60
MANUAL = sorted(Path('/usr/share/man/man1').glob('rsslag*.1.gz'))


class Terminal:
    """A shell on a terminal, with typed input."""

    def __init__(self, home, *argv):
        master, slave = pty.openpty()
        self.master, self.got = master, ''
        self.process = subprocess.Popen(argv, stdin=slave, stdout=slave, stderr=slave, cwd=home, start_new_session=True,
                                        env={'HOME': home, 'PATH': '/usr/bin:/bin', 'TERM': 'xterm', 'LC_ALL': 'C.UTF-8'})
        os.close(slave)

    def type(self, text):
        self.got = ''
        os.write(self.master, text.encode())

    def until(self, *words):
        end = time.monotonic() + TIMEOUT
        while not all(word in re.sub(r'\x1b\[[\d;?]*[a-zA-Z=>]', '', self.got) for word in words):
            if time.monotonic() > end:
                raise AssertionError((words, self.got))
            if select.select([self.master], [], [], 1)[0]:
                self.got += os.read(self.master, 65536).decode(errors='replace')

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.close(self.master)


class Completion(unittest.TestCase):
    def drive(self, setting, *argv):
        with tempfile.TemporaryDirectory() as home:
            for name in ('.bash_profile', '.zshrc'):
                (Path(home) / name).write_text(setting)
            with Terminal(home, *argv) as shell:
                # The terminal echoes the input, so it must not contain the awaited text.
                shell.type('echo RE""ADY\n')
                shell.until('READY')
                shell.type('rsslag live --m\t\t')
                shell.until('--mode', '--max-size')
                # From their common prefix to one that only --mode has.
                shell.type('\x15rsslag live --mod\t')
                shell.until('--mode ')
                shell.type('\x15echo EN""DED\n')
                shell.until('ENDED')

    def test_bash(self):
        self.drive('. /usr/share/bash-completion/bash_completion\n', 'bash', '-l', '-i')

    def test_zsh(self):
        self.drive('autoload -Uz compinit; compinit -u -D\n', 'zsh', '-i')

    def test_fish(self):
        with tempfile.TemporaryDirectory() as home:
            asked = subprocess.run(['fish', '-c', 'complete -C "rsslag live --m"'], stdout=subprocess.PIPE, check=True,
                                   timeout=TIMEOUT, env={'HOME': home, 'PATH': '/usr/bin:/bin', 'LC_ALL': 'C.UTF-8'})
        self.assertEqual({line.split('\t')[0] for line in asked.stdout.decode().splitlines()}, {'--memory', '--mode', '--max-size'})


class Manual(unittest.TestCase):
    def silent(self, *argv):
        done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, timeout=TIMEOUT)
        self.assertEqual((done.returncode, done.stderr.decode()), (0, ''), argv)
        return done.stdout.decode()

    def test_man_finds_each_page_and_warns_of_nothing(self):
        self.assertGreater(len(MANUAL), 14)
        for page in MANUAL:
            name = page.name.removesuffix('.1.gz')
            self.assertEqual(self.silent('man', '-w', name).strip(), str(page))
            self.assertIn(name.split('-')[0], self.silent('man', '--warnings', '-E', 'UTF-8', name))

    def test_mandoc_finds_nothing(self):
        """Except for references to manuals of programs that are not installed."""
        for page in MANUAL:
            done = subprocess.run(['mandoc', '-Tlint', page], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, timeout=TIMEOUT)
            found = [line for line in done.stdout.decode().splitlines()
                     if not re.search('referenced manual not found: Xr (?!rsslag)|outdated mandoc.db', line)]
            self.assertEqual(found, [])


class Library(unittest.TestCase):
    """The programs in the installed manual."""

    def setUp(self):
        (manual,) = Path('/usr/share/doc/rsslag/docs').glob('library.md*')
        text = subprocess.run(['zcat', '-f', manual], stdout=subprocess.PIPE, check=True).stdout.decode()
        self.programs = dict(re.findall(r'```(c|python)\n(.*?)```', text, re.S)[::-1])

    def test_c(self):
        with tempfile.TemporaryDirectory() as directory:
            Path(directory, 'holds.c').write_text(self.programs['c'])
            flags = subprocess.run(['pkg-config', '--cflags', '--libs', 'rsslag'], stdout=subprocess.PIPE, check=True)
            subprocess.run(['cc', '-Wall', '-Wextra', '-Werror', 'holds.c', *flags.stdout.decode().split(), '-o', 'holds'],
                           cwd=directory, check=True)
            told = subprocess.run([f'{directory}/holds', str(os.getpid())], stdout=subprocess.PIPE, check=True).stdout.decode()
        self.assertRegex(told, r'^python3\S* holds \d+ kB, read by \w+\n')

    def test_python(self):
        gone = int(Path('/proc/sys/kernel/pid_max').read_text())
        program = self.programs['python'].replace('4711', str(os.getpid())).replace('4712', str(gone))
        told = subprocess.run(['/usr/bin/python3', '-B', '-c', program], stdout=subprocess.PIPE, check=True).stdout.decode()
        self.assertRegex(told, r'^python3\S* \d+ \d+ \w+\n')


if __name__ == '__main__':
    unittest.main(verbosity=2)
