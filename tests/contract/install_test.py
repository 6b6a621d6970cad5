# SPDX-License-Identifier: BSD-2-Clause
"""cmake --install: the location of each file, and that the program works from there."""
import ctypes
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import contract

MOST = 5 << 20  # bytes of the program without its debug symbols
PREFIX = '/opt/rsslag'


class Install(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        build = Path(contract.binary).parent
        if not shutil.which('cmake') or not (build / 'cmake_install.cmake').exists():
            raise unittest.SkipTest('there is no cmake, or no build directory')
        cls.shipped = 'CMAKE_BUILD_TYPE:STRING=RelWithDebInfo\n' in (build / 'CMakeCache.txt').read_text()
        cls.directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.directory.cleanup)
        for component in ('rsslag', 'dev'):
            done = subprocess.run(['cmake', '--install', str(build), '--prefix', PREFIX, '--component', component],
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, timeout=contract.TIMEOUT,
                                  env=contract.environment(DESTDIR=cls.directory.name))
            if done.returncode != 0:
                raise AssertionError(done.stdout.decode())
        cls.root = Path(cls.directory.name + PREFIX)
        cls.files = {str(path.relative_to(cls.root)) for path in cls.root.rglob('*') if path.is_file()}

    def test_each_has_its_place(self):
        share = {f'share/rsslag/{name}' for name in ('grafana/rsslag.json', 'prometheus/rsslag.rules.yml', 'sql/rows.sql',
                                                     'recordings/classic-6.1.rsslag')}
        share |= {f'share/rsslag/schema/{path.name}' for path in (contract.ROOT / 'docs/schema').iterdir()}
        man = {f'share/man/man1/{path.name}' for path in (contract.ROOT / 'docs/man').iterdir()}
        self.assertEqual(self.files & share, share)
        self.assertEqual({name for name in self.files if '/man/' in name}, man)
        rest = {name for name in self.files if not name.startswith(('share/rsslag/', 'share/man/', 'share/doc/'))}
        debug = {name for name in rest if re.fullmatch(r'lib/debug/\.build-id/[0-9a-f]{2}/[0-9a-f]+\.debug', name)}
        self.assertEqual(len(debug), 1, rest)
        self.assertEqual(rest - debug, {
            'bin/rsslag', 'include/rsslag/exact_rss.bpf.h', 'share/bash-completion/completions/rsslag',
            'share/zsh/site-functions/_rsslag', 'share/fish/vendor_completions.d/rsslag.fish', 'lib/systemd/system/rsslag-mount.service',
            'lib/systemd/system/rsslag-serve.service', 'lib/systemd/system/rsslag-serve.socket'})

    def test_all_may_read_it(self):
        for path in self.root.rglob('*'):
            mode = path.stat().st_mode & 0o777
            self.assertEqual(mode, 0o755 if path.is_dir() or path.name == 'rsslag' and path.parent.name == 'bin' else 0o644, path)

    def test_the_program_is_small_and_runs(self):
        program = self.root / 'bin/rsslag'
        done = subprocess.run([program, '--version'], stdout=subprocess.PIPE, env=contract.environment(), check=True)
        self.assertEqual(done.stdout.decode(), contract.rsslag('--version').out)
        if self.shipped:
            self.assertLess(program.stat().st_size, MOST)

    @unittest.skipUnless(shutil.which('readelf'), 'there is no readelf')
    def test_its_debug_symbols_are_found(self):
        def look(path):
            return subprocess.run(['readelf', '--wide', '--notes', '--sections', path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                  check=True).stdout.decode()
        program = look(self.root / 'bin/rsslag')
        build_id = re.search(r'Build ID: ([0-9a-f]+)', program)[1]
        symbols = '.debug_info' if self.shipped else '.symtab'
        self.assertNotIn(symbols, program)
        self.assertIn(symbols, look(self.root / f'lib/debug/.build-id/{build_id[:2]}/{build_id[2:]}.debug'))

    def test_the_library_is_stripped_and_has_its_manual(self):
        build = Path(contract.binary).parent
        if not (build / 'librsslag.so.0').exists():
            self.skipTest('librsslag is not part of this build')
        with tempfile.TemporaryDirectory() as directory:
            for component in ('library', 'library-dev'):
                subprocess.run(['cmake', '--install', str(build), '--prefix', PREFIX, '--component', component], check=True,
                               stdout=subprocess.DEVNULL, timeout=contract.TIMEOUT, env=contract.environment(DESTDIR=directory))
            (library,) = [path for path in Path(directory).rglob('librsslag.so.*') if not path.is_symlink()]
            (manual,) = Path(directory).rglob('library.md')
            self.assertEqual(manual.read_text(), (contract.ROOT / 'docs/library.md').read_text())
            (debug,) = Path(directory).rglob('*.debug')
            if shutil.which('readelf'):
                sections = [subprocess.run(['readelf', '--wide', '--sections', path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                           check=True).stdout.decode() for path in (library, debug)]
                self.assertNotIn('.symtab', sections[0])
                self.assertIn('.symtab', sections[1])
            ctypes.CDLL(str(library)).rsslag_open

    @unittest.skipUnless(os.path.exists('/usr/bin/python3'), 'there is no /usr/bin/python3')
    def test_python_looks_where_its_modules_are_installed(self):
        cache = (Path(contract.binary).parent / 'CMakeCache.txt').read_text()
        prefix, modules = (re.search(rf'(?m)^{name}:\w+=(.*)$', cache)[1] for name in ('CMAKE_INSTALL_PREFIX', 'RSSLAG_PYTHON_MODULES'))
        if prefix not in ('/usr', '/usr/local'):
            self.skipTest(f'Python does not look below {prefix}')
        looks = subprocess.run(['/usr/bin/python3', '-c', 'import site; print(*site.getsitepackages(), sep="\\n")'],
                               stdout=subprocess.PIPE, check=True, timeout=contract.TIMEOUT).stdout.decode().splitlines()
        self.assertIn(f'{prefix}/{modules}', looks)

    def test_units_run_what_was_installed(self):
        for name in ('rsslag-mount.service', 'rsslag-serve.service'):
            text = (self.root / 'lib/systemd/system' / name).read_text()
            self.assertIn(f'\nExecStart={PREFIX}/bin/rsslag ', text)
            self.assertNotIn('/usr/bin', text)


if __name__ == '__main__':
    contract.main()
