# SPDX-License-Identifier: BSD-2-Clause
"""A terminal that tests can type into and read: a tmux server of its own, one window, no user settings."""
import os
import re
import shutil
import subprocess
import tempfile
import time
import unittest

import contract
from contract import TIMEOUT, environment


def needs_tmux(test):
    return unittest.skipUnless(shutil.which('tmux'), 'tmux is missing')(test)


class Pane:
    """A shell in a terminal until the end of the with block. Every wait has a deadline. Its temporary files, such as the output of
    CMD that rsslag keeps, are removed with it."""

    def __init__(self, columns=120, rows=36, **env):
        self.directory = tempfile.mkdtemp(prefix='rsslag-pane-')
        self.socket = os.path.join(self.directory, 'tmux')
        self.env = environment(**{'PS1': '$ ', 'SHELL': '/bin/sh', 'TMPDIR': self.directory, **env})
        self.tmux('-f', '/dev/null', 'new-session', '-d', '-x', str(columns), '-y', str(rows), 'exec env PS1="$ " sh -i')
        self.tmux('set', '-g', 'status', 'off')
        self.resize(columns, rows)
        self.until(lambda text: '$' in text)

    def tmux(self, *args):
        done = subprocess.run(['tmux', '-S', self.socket, *args], env=self.env, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=TIMEOUT, check=False)
        if done.returncode != 0:
            raise AssertionError(f'tmux {args}: {done.stderr.decode()}')
        return done.stdout.decode()

    def text(self):
        return self.tmux('capture-pane', '-p')

    def lines(self):
        return self.text().split('\n')

    def type(self, text):
        # tmux takes a ; at the end of an argument as the end of its command.
        self.tmux('send-keys', '-l', text[:-1] + '\\;' if text.endswith(';') else text)

    def key(self, *names):
        self.tmux('send-keys', *names)

    def takes_clicks(self):
        """Whether the program asks the terminal for clicks."""
        return self.tmux('display', '-p', '#{mouse_standard_flag}').strip() == '1'

    def mouse(self, button, row, column):
        """A button is pressed and released, or the wheel turned up (64) or down (65), as a terminal of tmux reports it (X10). Up to
        column 93."""
        wheel = button >= 64
        self.type(''.join('\x1b[M' + ''.join(chr(32 + value) for value in (each, column + 1, row + 1))
                          for each in ([button] if wheel else [button, 3])))

    def click(self, text):
        """On the first character of the text's last line."""
        row, line = max((i, line) for i, line in enumerate(self.lines()) if text in line)
        self.mouse(0, row, line.index(text))

    def run(self, *words):
        """Types a command line and presses Return."""
        self.type(' '.join(words))
        self.key('Enter')

    def rsslag(self, *words):
        self.run(contract.binary, *(str(word) for word in words))

    def until(self, accept, seconds=60):
        """Waits until `accept` accepts the text of the pane, or until the text contains this string. Returns the text."""
        wanted = accept if callable(accept) else lambda text: accept in text
        end = time.monotonic() + seconds
        while True:
            text = self.text()
            if wanted(text):
                return text
            if time.monotonic() > end:
                raise AssertionError(f'{accept!r} did not appear:\n{text}')

    def resize(self, columns, rows):
        self.tmux('resize-window', '-x', str(columns), '-y', str(rows))

    def state(self):
        """Whether the alternate screen is on, and whether the cursor is visible."""
        return self.tmux('display', '-p', '#{alternate_on} #{cursor_flag}').strip()

    def modes(self):
        """The terminal's modes as stty prints them, queried from another process."""
        tty = self.tmux('display', '-p', '#{pane_tty}').strip()
        return subprocess.run(['stty', '-g', '-F', tty], stdout=subprocess.PIPE, timeout=TIMEOUT, check=True).stdout

    def rsslag_pid(self):
        shell = int(self.tmux('display', '-p', '#{pane_pid}'))
        with open(f'/proc/{shell}/task/{shell}/children', encoding='ascii') as children:
            return int(children.read().split()[0])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.tmux('kill-server')
        shutil.rmtree(self.directory, ignore_errors=True)


NUMBER = re.compile(r'[~!≈]?[−+-]?\d[\d,.:]*')


def masked(text):
    """The text that is the same in every run: without numbers, areas, bars, ages and repeated rows."""
    lines = []
    for line in text.split('\n'):
        line = re.sub(r'Linux \S+', 'Linux KERNEL', line)
        line = re.sub('[▁▂▃▄▅▆▇█░▒◆▶▲↻╎┬╧└─]|No update for.*', ' ', line)
        line = re.sub(r'(\d) faults?\b', r'\1 fault', line)
        line = re.sub(r' ?@\d+\.\ds', '', line)
        line = NUMBER.sub('#', line)
        line = re.sub(r'(?<=# )(CPU|thread)s\b', r'\1', line)
        line = re.sub(r'# (kB|MiB|GiB) ?(┤|└)?', r'# \1 ', line)
        line = ' '.join(line.replace('┤', ' ').replace('│', ' ').split())
        # The width of the numbers decides which parts of the footer fit.
        line = re.sub(r'(events/s)( # seen)?|(rsslag: CPU # %).*', r'\1\3', line)
        line = re.sub(r'^# (kB|MiB|GiB)( (?=[a-z])|$)', '', line)
        if line and (not lines or lines[-1] != line):
            lines.append(line)
    return '\n'.join(lines) + '\n'
