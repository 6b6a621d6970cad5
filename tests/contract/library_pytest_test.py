# SPDX-License-Identifier: BSD-2-Clause
"""The pytest plugin of python3-rsslag: tests with a memory limit."""
import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

import contract
from contract import interpreter, needs_root
from library_test import NOT_PRIVILEGED, directory, run

TESTS = '''
import mmap, os, pytest

def touch(size):
    memory = mmap.mmap(-1, size)
    memory.write(b'x' * size)
    memory.close()

@pytest.fixture
def amount():
    return 64 << 20

@pytest.mark.max_rss("1GiB")
def test_small():
    touch(1 << 20)

@pytest.mark.max_rss("40MiB")
def test_large(amount):
    touch(amount)

@pytest.mark.max_rss("1GiB")
@pytest.mark.parametrize("value", ["a b", "c"])
def test_wrong(value):
    assert value == "c", "not c"

@pytest.mark.max_rss("1GiB")
def test_skipped():
    pytest.skip("by itself")

@pytest.mark.max_rss("64 MB")
def test_unit():
    pass

@pytest.mark.max_rss(limit=1)
def test_keyword():
    pass

@pytest.mark.max_rss("1GiB")
def test_exits():
    os._exit(0)

def test_unmarked():
    touch(64 << 20)
'''


class Pytest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        directory()
        if subprocess.run([interpreter(), '-c', 'import pytest'], capture_output=True, check=False).returncode != 0:
            raise unittest.SkipTest('python3-pytest is missing')

    def pytest(self, *args, **more):
        with tempfile.TemporaryDirectory() as made:
            os.chmod(made, 0o755)
            test = Path(made) / 'test_memory.py'
            test.write_text(TESTS)
            done = run([interpreter(), '-m', 'pytest', '-p', 'rsslag.pytest_plugin', '-p', 'no:cacheprovider', '-rA', '-v',
                        '--strict-markers', '--rootdir', made, *args, test], **more)
        return done.stdout

    def test_a_limit_holds_or_not_to_the_page(self):
        reason = contract.why_no_tracing()
        if reason:
            self.skipTest(reason)
        told = self.pytest('--rsslag', contract.binary)
        for name, outcome in (('test_small', 'PASSED'), ('test_large', 'FAILED'), ('test_wrong[a b]', 'FAILED'),
                              ('test_wrong[c]', 'PASSED'), ('test_skipped', 'SKIPPED'), ('test_unit', 'FAILED'), ('test_keyword', 'FAILED'),
                              ('test_exits', 'FAILED'), ('test_unmarked', 'PASSED')):
            self.assertRegex(told, rf'{re.escape(name)} (\x1b\[\d+m)?{outcome}', told)
        self.assertRegex(told, r"max_rss\('40MiB'\): peak_rss [\d,]+ kB > 40960 kB")
        self.assertIn('AssertionError: not c', told)
        self.assertIn('by itself', told)
        self.assertIn("max_rss('64 MB'): the limit is ", told)
        self.assertIn('max_rss takes one limit', told)
        self.assertIn('its process ended without a result, with status 0', told)

    @needs_root
    def test_where_it_may_not_trace_it_is_skipped_with_the_reason(self):
        told = self.pytest('--rsslag', contract.binary_for_all(), '-k', 'small', **NOT_PRIVILEGED)
        self.assertRegex(told, r'SKIPPED.*max_rss: .*CAP_BPF')
        with self.assertRaisesRegex(AssertionError, '--rsslag /nonexistent: no such program'):  # it is on stderr
            self.pytest('--rsslag', '/nonexistent', '-k', 'small')


if __name__ == '__main__':
    contract.main()
