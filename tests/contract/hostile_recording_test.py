#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A recording with valid checksums whose every text attacks the reader's terminal."""
import contextlib
import io
import csv
import shutil
import sqlite3
import struct
import tempfile
import unittest
from pathlib import Path

import contract
from contract import BIDI, CONTROL, ROOT, environment, rsslag, runs
from forger import CHUNK, PROLOGUE, Forger
from panes import Pane, needs_tmux

RECORDINGS = ROOT / 'docs' / 'recordings'
# Sets the title, sets the clipboard, clears the screen; a right-to-left override, an 8-bit CSI, invalid UTF-8.
EVIL = [b'\x1b]0;Z\x07', b'\x1b[2J', '\u202e'.encode(), '\x9b2J'.encode(), b'\xff\x9b\r', b'\x00\n', b'",;\x1b', b'</\x08&', '\u2066'.encode()]

CAUSES = (b'ring_full', b'recursion', b'no_room')


def evil(size, seed):
    """`size` hostile bytes. `seed` varies where in EVIL they start."""
    return b''.join(EVIL[(seed + i) % len(EVIL)] for i in range(size))[:size].ljust(size, b'\x1b')


def forge(forger, data, words):
    """Copies all chunks except the index, whose offsets are wrong in the new file. Also counts the occurrences of each word."""
    out, at, found = data[:PROLOGUE], PROLOGUE, dict.fromkeys(words, 0)
    while at < len(data):
        head = data[at:at + CHUNK]
        kind, stored, raw = struct.unpack('<3I', head[8:20])
        payload = data[at + CHUNK:at + CHUNK + stored]
        at += CHUNK + stored
        if kind > 2:
            continue
        if raw != stored:
            payload = forger.unpack(payload, raw)
        for i, word in enumerate(words):
            found[word] += payload.count(word)
            if word in CAUSES:  # changes a count of 0 to 5, as causes with a count of 0 are not reported
                payload = payload.replace(word + b'\0', evil(len(word), i) + b'\5')
            payload = payload.replace(word, evil(len(word), i))
        out += forger.chunk(head, payload)
    return out, found


class HostileRecording(unittest.TestCase):
    WORDS = {'classic-6.1.rsslag': [b'6.1.0-50-amd64', b'x86_64', b'classic', b'ring_full', b'recursion', b'no_room', b'rsslag'],
             'quiet-6.1.rsslag': [b'6.1.0-50-amd64', b'x86_64', b'ring_full', b'no_room', b'rsslag']}

    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.mkdtemp(prefix='rsslag-contract-')
        cls.addClassCleanup(shutil.rmtree, cls.directory)
        forger = Forger()
        cls.files = []
        for name, words in list(cls.WORDS.items())[:runs(2)]:  # the first has all words of the second
            data, found = forge(forger, (RECORDINGS / name).read_bytes(), words)
            if not all(found.values()):
                raise AssertionError(f'{name}: {found}')
            cls.files.append(Path(cls.directory, name))
            cls.files[-1].write_bytes(data)

    def assert_harmless(self, text, what):
        for pattern in (CONTROL, BIDI):
            match = pattern.search(text)
            self.assertIsNone(match, (what, match and text[max(0, match.start() - 60):match.end() + 20]))

    def told(self, *args, **more):
        ran = rsslag(*args, **more)
        self.assertEqual(ran.status, 0, ran)
        self.assert_harmless(ran.err, args)
        return ran

    def test_text(self):
        """In both locales: escapes are ASCII."""
        for file in self.files:
            for args in (('replay', '--format', 'lines'), ('replay', '--events'), ('replay', '--format', 'lines', '--threads', 'all'),
                         ('report', '--all'), ('report', '--diff', self.files[0])):
                for locale in ('C.UTF-8', 'C'):
                    with self.subTest(args=args, locale=locale, file=file.name):
                        self.assert_harmless(self.told(*args, file, env=environment(LC_ALL=locale)).out, args)
            self.assert_harmless(self.told('-vv', 'replay', '--format', 'lines', file).out, '-vv')

    def test_json(self):
        for file in self.files:
            for args in (('replay', '--json'), ('replay', '--json', '--events'), ('report', '--json'), ('report', '--json', '--diff', self.files[0]),
                         ('export',)):
                with self.subTest(args=args, file=file.name):
                    ran = self.told(*args, file)
                    self.assert_harmless(ran.out, args)
                    for document in ran.documents():
                        self.assert_words(document)

    def assert_words(self, value):
        """Checks the strings after JSON decoding."""
        if isinstance(value, dict):
            for key, each in value.items():
                self.assert_words(key)
                self.assert_words(each)
        elif isinstance(value, list):
            for each in value:
                self.assert_words(each)
        elif isinstance(value, str):
            self.assert_harmless(value, value)
            self.assertNotIn('\n', value)

    def test_csv(self):
        for file in self.files:
            for args in (('replay', '--format', 'csv'), ('export', '--format', 'csv')):
                with self.subTest(args=args, file=file.name):
                    text = self.told(*args, file).out
                    self.assertNotIn('\r', text.replace('\r\n', '\n'))
                    self.assert_harmless(text.replace('\r\n', '\n'), args)
                    for row in csv.reader(io.StringIO(text)):
                        self.assert_words(row)

    def test_svg(self):
        for file in self.files:
            drawn = Path(self.directory, file.name + '.svg')
            page = Path(self.directory, file.name + '.html')
            self.told('report', '--svg', drawn, '--html', page, file)
            for picture in (drawn, page):
                self.assert_harmless(picture.read_text(), picture)

    def test_sqlite(self):
        for file in self.files:
            path = Path(self.directory, file.name + '.db')
            self.told('export', '--format', 'sqlite', '-o', path, file)
            with contextlib.closing(sqlite3.connect(path)) as base:
                for line in base.iterdump():
                    self.assert_harmless(line, path)

    def test_perfetto(self):
        for file in self.files:
            path = Path(self.directory, file.name + '.perfetto')
            self.told('export', '--format', 'perfetto', '-o', path, file)
            for escape in (b'\x1b]0', b'\x1b[2J', '\u202e'.encode(), '\x9b2J'.encode()):
                self.assertNotIn(escape, path.read_bytes())

    def test_a_cause_that_is_not_known_is_other(self):
        """A loss with an unknown cause is counted as `other`."""
        summary = self.told('replay', '--json', self.files[0]).documents()[-1]
        self.assertEqual(summary['schema'], 'rsslag.summary/2')
        contract.assert_valid(self, 'summary', summary)
        self.assertEqual(set(summary['lost_by']) - {'ring_full', 'recursion', 'no_room', 'recording'}, {'other'})

    @contract.long_only('it reads a screen through tmux')
    @needs_tmux
    def test_screen(self):
        """If the terminal executed the escape, tmux would have the title."""
        for file in self.files:
            with Pane() as pane:
                title = pane.tmux('display', '-p', '#{pane_title}')
                pane.rsslag('replay', '--speed', '1000', file)
                self.assert_harmless(pane.until('q quit'), file)
                pane.key('End')
                self.assert_harmless(pane.until('q quit'), file)
                pane.type('q')
                self.assert_harmless(pane.until('$'), file)
                self.assertEqual(pane.tmux('display', '-p', '#{pane_title}'), title)


if __name__ == '__main__':
    contract.main()
