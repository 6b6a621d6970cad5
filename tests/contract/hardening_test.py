# SPDX-License-Identifier: BSD-2-Clause
"""Hardening of the binary, which runs as root: read from the binary itself where possible, else from the compiler's
command lines."""
import json
import os
import platform
import re
import shlex
import subprocess
import unittest

import contract

# A source file of rsslag itself, or the unity file of a module.
OWN = re.compile(re.escape(str(contract.ROOT)) + r'/(userspace/|[^/]+/userspace/[^/]+/[^/]+_unity\.cpp)')
COMPILER = re.compile(r'(.*/)?([\w-]+-)?(c\+\+|g\+\+|clang\+\+|cc|gcc|clang)(-\d+)?')
X86 = platform.machine() in ('x86_64', 'i686', 'i386')


def readelf(option):
    return subprocess.run(['readelf', '--wide', option, contract.binary], env=contract.environment(), check=True,
                          capture_output=True, text=True).stdout


def commands():
    """The command line of each file of rsslag itself."""
    database = os.path.join(os.path.dirname(os.path.abspath(contract.binary)), 'compile_commands.json')
    if not os.path.exists(database):
        raise unittest.SkipTest('there is no compile_commands.json next to the binary')
    with open(database, encoding='utf-8') as file:
        entries = json.load(file)
    return {entry['file']: from_compiler(entry['command']) for entry in entries if OWN.match(entry['file'])}


def from_compiler(command):
    """The arguments from the compiler on, without a compiler cache in front of it."""
    words = shlex.split(command)
    return words[next(at for at, word in enumerate(words) if COMPILER.fullmatch(word)):]


def known(compiler, flag):
    return subprocess.run([compiler, '-Werror', flag, '-x', 'c++', '-fsyntax-only', os.devnull], check=False,
                          capture_output=True).returncode == 0


class Hardening(unittest.TestCase):
    def setUp(self):
        words = next(iter(commands().values()))
        self.sanitized = any(word.startswith('-fsanitize=') for word in words)
        self.optimised = any(re.fullmatch('-O[1-3s]', word) for word in words)
        if self.sanitized:
            self.skipTest('a build with sanitizers has other checks')

    def test_relocations_are_read_only_and_bound_at_the_start(self):
        self.assertIn('GNU_RELRO', readelf('--program-headers'))
        dynamic = readelf('--dynamic')
        self.assertRegex(dynamic, r'\((FLAGS|BIND_NOW)\).*BIND_NOW|\(BIND_NOW\)')
        self.assertRegex(dynamic, r'\(FLAGS_1\).*\bNOW\b.*\bPIE\b')

    def test_it_is_position_independent_and_its_stack_is_not_executable(self):
        self.assertRegex(readelf('--file-header'), r'Type:\s+DYN')
        (stack,) = re.findall(r'GNU_STACK.*', readelf('--program-headers'))
        self.assertRegex(stack, r' RW +0x')

    def test_stack_frames_have_a_canary(self):
        self.assertIn('__stack_chk_fail', readelf('--dyn-syms'))

    def test_calls_of_the_c_library_are_checked(self):
        if not self.optimised:
            self.skipTest('_FORTIFY_SOURCE needs optimisation')
        self.assertRegex(readelf('--dyn-syms'), r'UND __\w+_chk\b')

    def test_every_file_is_compiled_with_each_flag_that_the_compiler_knows(self):
        for file, words in commands().items():
            with self.subTest(file=file):
                self.assertIn('-fstack-protector-strong', words)
                # Objects that librsslag shares with the program may also be compiled with -fPIC.
                self.assertTrue({'-fPIE', '-fPIC'} & set(words), words)
                if X86:
                    self.assertIn('-fcf-protection', words)
                if self.optimised:
                    fortified = [word for word in words if word.startswith('-D_FORTIFY_SOURCE=')]
                    self.assertIn(fortified, (['-D_FORTIFY_SOURCE=2'], ['-D_FORTIFY_SOURCE=3']))
        words = next(iter(commands().values()))
        zero = '-ftrivial-auto-var-init=zero'
        self.assertEqual(zero in words, known(words[0], zero))


if __name__ == '__main__':
    contract.main()
