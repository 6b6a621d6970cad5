# SPDX-License-Identifier: BSD-2-Clause
"""Names come from untrusted processes: whatever bytes they contain, no terminal and no parser gets them raw."""
import os
import re
import threading

import contract
from contract import BIDI, CONTROL, Children, TracingTest, assert_snapshot, environment, set_comm, snapshot

# At most 15 bytes each; the kernel truncates longer names, even within a character.
NAMES = [
    b'\x1b[2J\x1b[31mred', b'\x1b]0;title\x07', b'\x9b31m', '\u202egnp.exe'.encode(), 'a\u2066b\u2069c'.encode(),
    '\u200e\u200f\u061c'.encode(), b'\xff\xfe\x80\xc0', b'\xc3(', b'\xed\xa0\x80', b'\xf4\x90\x80\x80', b'\xc0\xaf',
    b'two\nlines', b'\r\roverwrite', b'tab\tbell\x07', '日本語日本語'.encode(), '👩‍👩‍👧‍👦'.encode(), b'"quoted"',
    b"it's'\"", b'back\\slash\\x1b', b'\\', b'\\n\\u001b', b') S 1 (x', b'{"a":[1]}', b'<b>&amp;', b'$(reboot)`x`',
    b'%s%n%d{}{0}', b' lead trail ', b'\x7f\x01\x02\x1f', '\u2028\u2029\ufeff'.encode(), b'e\xcc\x81\xcc\x81\xcc\x81',
]


def kept(name):
    return name[:15].partition(b'\0')[0]


def undo(text):
    """The bytes that a printed name stands for: \\xNN is a byte, \\\\ a backslash."""
    def back(match):
        return b'\\' if match.group() == b'\\\\' else bytes([int(match.group()[2:], 16)])
    return re.sub(rb'\\\\|\\x[0-9a-f]{2}', back, text.encode())


class Names(TracingTest):
    def assert_harmless(self, text, ran):
        self.assertIsNone(CONTROL.search(text), (CONTROL.search(text), ran))
        self.assertIsNone(BIDI.search(text), (BIDI.search(text), ran))

    def test_json(self):
        with Children(NAMES) as pids:
            ran = snapshot('--json', *pids)
        self.assertEqual((ran.status, ran.err), (0, ''), ran)
        self.assert_harmless(ran.out, ran)  # .out decodes strictly: it is UTF-8
        self.assertEqual(ran.out.count('\n'), 1)
        document = ran.document()
        assert_snapshot(self, document)
        comms = {process['pid']: process['comm'] for process in document['processes']}
        for pid, name in zip(pids, NAMES):
            self.assert_harmless(comms[pid], name)
            self.assertEqual(undo(comms[pid]), kept(name), 'the printed name must determine the name')

    def test_text(self):
        with Children(NAMES) as pids:
            ran = snapshot('--all', *pids)
            plain = snapshot('--all', *pids, env=environment(LC_ALL='C'))
        for run in (ran, plain):
            self.assertEqual((run.status, run.err), (0, ''), run)
            self.assert_harmless(run.out, run)
        self.assertTrue(plain.raw_out.isascii(), plain)
        lines = ran.lines
        for pid, name in zip(pids, NAMES):
            (line,) = [line for line in lines if f' [{pid}]  ' in line]
            self.assertEqual(undo(line[:line.index(f' [{pid}]  ')]), kept(name))
        # A newline in a name must not start a line of the output.
        self.assertEqual(sum(' holds ' in line for line in lines), len(NAMES))

    def test_names_of_threads(self):
        """Only on the thread scheme: on the cpu scheme a snapshot lists no threads."""
        names = NAMES[:8]
        done, ready = threading.Event(), threading.Barrier(len(names) + 1)

        def idle(name):
            set_comm(name)
            bytes(bytearray(64 * 4096))
            ready.wait()
            done.wait()

        threads = [threading.Thread(target=idle, args=(name,)) for name in names]
        for thread in threads:
            thread.start()
        ready.wait()
        try:
            runs = [snapshot(*options, os.getpid()) for options in (['--json'], ['--all'])]
        finally:
            done.set()
            for thread in threads:
                thread.join()
        for ran in runs:
            self.assertEqual(ran.status, 0, ran)
            self.assert_harmless(ran.out, ran)
        assert_snapshot(self, runs[0].document())

    def test_patterns_match_them_byte_by_byte(self):
        for name, glob in ((b'q\xff\xfeq', 'q*q'), (b'q\xff\xfez', b'q\xff\xfez'), (b'two\nlines', 'two?lines'),
                           ('日本'.encode(), '日*'), ('日x'.encode(), '?x')):
            with Children([name]) as (pid,):
                ran = contract.rsslag('snapshot', '--json', '--no-walk', '--comm', glob)
                self.assertIn(ran.status, (0, 3), ran)
                pids = [process['pid'] for process in ran.document()['processes']] if ran.out else []
                self.assertIn(pid, pids, (name, glob))


if __name__ == '__main__':
    contract.main()
