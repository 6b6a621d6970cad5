# SPDX-License-Identifier: BSD-2-Clause
"""The ABI of librsslag and its copy in python3-rsslag. These tests read no process, so they belong to the gate."""
import re
import shutil
import subprocess
import unittest

import contract
from contract import ROOT
from library_test import PYTHON, directory, python, run, user

LIBRARY = ROOT / 'userspace' / 'lib'


class Abi(unittest.TestCase):
    def test_it_exports_what_its_map_lists_and_needs_no_libbpf(self):
        if not shutil.which('nm'):
            self.skipTest('binutils are missing')
        named = re.findall(r'^        (rsslag_\w+);', (LIBRARY / 'librsslag.map').read_text(), re.M)
        declared = re.findall(r'^RSSLAG_API .*?\b(rsslag_\w+)\(', (ROOT / 'include' / 'rsslag.h').read_text(), re.M)
        listed = run(['nm', '-D', '--defined-only', directory() / 'librsslag.so.0']).stdout.split('\n')[:-1]
        shown = sorted(line.split()[2] for line in listed if line.split()[1] != 'A')
        self.assertEqual(shown, [f'{name}@@LIBRSSLAG_0' for name in sorted(named)])
        self.assertEqual(sorted(declared), sorted(named))
        wanted = run(['nm', '-D', '-u', directory() / 'librsslag.so.0']).stdout
        self.assertNotRegex(wanted, r'\b(bpf_|libbpf_|btf__|std(out|err)\b|sigaction|signal|fork|pthread_create|system)')

    def test_the_abi_is_the_one_that_is_kept(self):
        if not shutil.which('abidw'):
            self.skipTest('abigail-tools are missing')
        now = directory() / 'now.abi'
        run([LIBRARY / 'abi', directory() / 'librsslag.so.0', now])
        done = subprocess.run(['abidiff', '--no-show-locs', LIBRARY / 'librsslag.abi', now], capture_output=True, text=True,
                              check=False)
        self.assertEqual((done.returncode, done.stdout), (0, ''),
                         'an ABI must only grow; after an addition run userspace/lib/abi BUILD/librsslag.so userspace/lib/librsslag.abi')

    def test_python_has_the_structures_of_c(self):
        told = dict(line.split() for line in user('sizes').splitlines())
        code = '''
import ctypes
from rsslag._library import CError, COptions, CReading
print('reading', ctypes.sizeof(CReading)), print('error', ctypes.sizeof(CError)), print('options', ctypes.sizeof(COptions))
for name, _ in CReading._fields_[1:]:
    print(name, getattr(CReading, name).offset)
'''
        self.assertEqual(dict(line.split() for line in python(code).splitlines()), told)

    def test_metadata_that_is_installed_is_that_of_pyproject(self):
        plugin = re.search(r'\[project\.entry-points\.pytest11\]\nrsslag = "([\w.]+)"', (PYTHON / 'pyproject.toml').read_text())[1]
        self.assertIn(f'[pytest11]\nrsslag = {plugin}', (PYTHON / 'entry_points.txt').read_text())
        version = re.search(r'VERSION ([\d.]+)', (ROOT / 'CMakeLists.txt').read_text().split('project(', 1)[1])[1]
        self.assertIn(f'version = "{version}"', (PYTHON / 'pyproject.toml').read_text())


if __name__ == '__main__':
    contract.main()
