# SPDX-License-Identifier: BSD-2-Clause
"""rsslag maps --elf: which sections and symbols of a mapped file are resident, shared, written."""
import mmap
import os
import resource
import shutil
import struct
import tempfile
import time
import unittest

import contract
from contract import assert_one_error_line, assert_valid, child_with, rsslag


def elf(glob, pid, *args):
    return rsslag('maps', '--elf', glob, *args, str(pid))


def of(test, glob, pid):
    ran = elf(glob, pid, '--json', '--pages')
    test.assertEqual((ran.status, ran.err), (0, ''), ran)
    assert_valid(test, 'maps', ran.document())
    (process,) = ran.document()['processes']
    return process


def made_up(sections, symbols, size=1 << 20):
    """An ELF file whose sections are tables of the same symbols. All symbols have the same name, of half the size."""
    name_at, table_at, headers_at = 4096, size // 2 + 8192, 64 + 56
    entries = b''.join(struct.pack('<IBBHQQ', 1, 2, 0, 1, i * 8, 8) for i in range(symbols))
    names = b'\0' + b'n' * (size // 2) + b'\0'
    table = struct.pack('<IIQQQQIIQQ', 0, 2, 0, 0, table_at, len(entries), 2, 0, 8, 24)
    strings = struct.pack('<IIQQQQIIQQ', 1, 3, 0, 0, name_at, len(names), 0, 0, 1, 0)
    headers = bytes(64) + table + strings + table * sections
    headers_at = table_at + len(entries)
    head = b'\x7fELF' + bytes([2, 1, 1]) + bytes(9)
    head += struct.pack('<HHIQQQIHHHHHH', 3, 62, 1, 0, 64, headers_at, 0, 64, 56, 1, 64, 3 + sections, 2)
    head += struct.pack('<IIQQQQQQ', 1, 5, 0, 0, 0, size, size, 4096)
    out = head.ljust(name_at, b'\0') + names
    out = out.ljust(table_at, b'\0') + entries + headers
    return out.ljust(size, b'\0')


class Elf(unittest.TestCase):
    def test_the_c_library_by_section_and_symbol(self):
        process = of(self, 'libc[.-]*', os.getpid())
        report = process['elf']
        self.assertIsNone(report['reason'])
        sections = {section['name']: section for section in report['sections']}
        for section in report['sections'] + report['symbols']:
            self.assertLessEqual(section['resident'], section['pages'], section)
            self.assertLessEqual(max(section['shared'], section['written']), section['resident'], section)
        self.assertGreater(sections['.text']['resident'], 0)
        self.assertEqual(sections['.text']['written'], 0)
        self.assertGreater(sections['.data']['written'], 0)
        self.assertTrue(all(symbol['resident'] > 0 for symbol in report['symbols']))
        written = [symbol['written'] for symbol in report['symbols']]
        self.assertEqual(written, sorted(written, reverse=True))
        self.assertIn('_IO_2_1_stdout_', [symbol['name'] for symbol in report['symbols'] if symbol['written']])
        if process['pages']['omitted'] or not process['pages']['frames']:
            return
        present = sum(row['present'] for row in process['pages']['rows'] if row['name'] == report['file'])
        self.assertLessEqual(sections['.text']['resident'], present)

    def test_what_is_written_shows(self):
        """A data page of a library belongs to the file, and after a write to this process alone."""
        directory = tempfile.mkdtemp(prefix='rsslag-contract-')
        self.addCleanup(shutil.rmtree, directory)
        # The pages of a fresh copy are dirty in the page cache. They must not count as written by this process.
        program = os.path.realpath(shutil.copy(contract.binary, directory))
        with contract.Held('single', program=program) as held:
            report = of(self, program, held.pid)['elf']
        self.assertEqual(report['file'], program)
        sections = {section['name']: section for section in report['sections']}
        self.assertGreater(sections['.bss']['written'], 0)
        self.assertEqual(sections['.rodata']['written'], 0)

    def test_text(self):
        ran = elf('libc[.-]*', os.getpid())
        self.assertEqual(ran.status, 0, ran)
        self.assertTrue(any(line.split()[-1:] == ['SECTION'] for line in ran.lines), ran)
        self.assertTrue(any('SYMBOL' in line for line in ran.lines), ran)

    def test_a_file_that_is_no_elf_file_and_one_that_is_deleted(self):
        directory = tempfile.mkdtemp(prefix='rsslag-contract-')
        self.addCleanup(shutil.rmtree, directory)
        path = os.path.join(directory, 'plain')
        kept = []

        def map_it():
            with open(path, 'w+b') as file:
                file.write(b'x' * 4096)
                file.flush()
                kept.append(mmap.mmap(file.fileno(), 4096))

        with child_with(map_it) as pid:
            report = of(self, path, pid)['elf']
            self.assertIn('not an ELF file', report['reason'])
            os.unlink(path)
            gone = elf(path + '*', pid, '--json')
        self.assertIn(gone.status, (0, 3), gone)
        if gone.status == 0:
            self.assertIn('not an ELF file', gone.document()['processes'][0]['elf']['reason'])

    def test_a_made_up_file_costs_no_more_than_its_size(self):
        directory = tempfile.mkdtemp(prefix='rsslag-contract-')
        self.addCleanup(shutil.rmtree, directory)
        enough = 1 << 30
        for sections, symbols in ((0, 15000), (3000, 8000)):
            path = os.path.join(directory, f'made-up-{sections}')
            kept = []

            def map_it(path=path, sections=sections, symbols=symbols, kept=kept):
                with open(path, 'w+b') as file:
                    file.write(made_up(sections, symbols))
                    file.flush()
                    kept.append(mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ))

            with self.subTest(sections=sections), child_with(map_it) as pid:
                began = time.monotonic()
                ran = rsslag('maps', '--elf', path, '--json', str(pid),
                             preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (enough, enough)))
                self.assertEqual((ran.status, ran.err), (0, ''), ran.err)
                if contract.LONG and not contract.emulated():
                    self.assertLess(time.monotonic() - began, 5)
                self.assertIn('its section headers are invalid', ran.document()['processes'][0]['elf']['reason'])

    def test_what_is_not_mapped_is_refused(self):
        ran = elf('/no/such/*', os.getpid())
        self.assertEqual(ran.status, 2, ran)
        assert_one_error_line(self, ran, 2)


if __name__ == '__main__':
    contract.main()
