# SPDX-License-Identifier: BSD-2-Clause
"""scripts/quickstart with the build under test in place of its own: its output and its last line."""
import os
import re
import shutil
import subprocess
import tempfile
import unittest

import contract
from contract import NOBODY, environment, long_only, why_no_tracing

STUBS = {'dpkg-query': 'echo install ok installed',
         'cmake': 'echo "-- Build files have been written to: $PWD/build"',
         'sudo': 'exit 1'}


class Quickstart(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix='rsslag-contract-')
        self.addCleanup(shutil.rmtree, self.directory)
        os.chmod(self.directory, 0o755)
        for part in ('scripts', os.path.join('docs', 'recordings')):
            shutil.copytree(contract.ROOT / part, os.path.join(self.directory, part))
        os.mkdir(os.path.join(self.directory, 'build'))
        shutil.copy(contract.binary, os.path.join(self.directory, 'build', 'rsslag'))
        os.mkdir(os.path.join(self.directory, 'stubs'))
        for name, script in STUBS.items():
            self.stub(name, script)

    def stub(self, name, script):
        path = os.path.join(self.directory, 'stubs', name)
        with open(path, 'w', encoding='ascii') as file:
            file.write(f'#!/bin/sh\n{script}\n')
        os.chmod(path, 0o755)

    def run_it(self, **more):
        env = environment(PATH=os.path.join(self.directory, 'stubs') + ':' + os.environ['PATH'])
        done = subprocess.run(['sh', os.path.join(self.directory, 'scripts', 'quickstart')], env=env, check=False,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=contract.TIMEOUT, **more)
        lines = done.stdout.decode().splitlines()
        self.assertTrue(lines[-1].startswith('quickstart: '), done)
        return done.returncode, lines, done.stderr.decode()

    @long_only('it expects a number of ticks within seconds')
    def test_it_ends_with_a_trace_from_the_first_page_to_the_last(self):
        if why_no_tracing():
            self.skipTest(why_no_tracing())
        status, lines, err = self.run_it()
        self.assertEqual((status, err), (0, ''), lines)
        ticks = [line for line in lines if re.match(r'\d\d:\d\d:\d\d ', line)]
        self.assertGreaterEqual(len(ticks), 8, lines)
        self.assertTrue(any(' AGREES' in tick for tick in ticks), lines)
        self.assertTrue(ticks[-1].endswith(' EXITED'), lines)
        self.assertTrue(any(line.startswith('traced ') for line in lines), lines)
        (peak,) = [match for match in map(re.compile(r'peak lag ~?([\d,]+) kB').search, lines) if match]
        self.assertGreater(int(peak.group(1).replace(',', '')), 100, 'the workload must lag')
        self.assertIn('traced to the page', lines[-1])

    def run_refused(self):
        """Runs it where BPF is refused: as a user without rights, or in a build without the tracer."""
        if not contract.has_tracer():
            return self.run_it()
        if os.geteuid() != 0:
            self.skipTest('needs root, to change to a user that may not trace')
        return self.run_it(user=NOBODY, group=NOBODY, extra_groups=[], cwd='/')

    def test_if_bpf_is_refused_it_prints_the_reason_and_replays_the_classic(self):
        status, lines, err = self.run_refused()
        self.assertEqual(status, 0, (lines, err))
        reason = 'CAP_BPF' if contract.has_tracer() else 'without the tracer'
        said = lines.index('BPF cannot be used here, for these reasons:')
        shown = next(i for i, line in enumerate(lines) if line.startswith('TIME ') and i > said)
        self.assertIn(reason, '\n'.join(lines[said:shown]))
        ticks = [line for line in lines[shown:] if re.match(r'\d\d:\d\d:\d\d ', line)]
        resting = [tick for tick in ticks if re.search(r' 82,732 +106,984 +24,252 .* AGREES$', tick)]
        self.assertGreaterEqual(len(resting), 2, lines)
        self.assertTrue(ticks[-1].endswith(' EXITED'), lines)
        self.assertTrue(any(line.startswith('traced ') and ' Linux 6.1.' in line for line in lines), lines)
        self.assertIn('this was a recording', lines[-1])
        self.assertIn('does not allow tracing', lines[-1])

    def test_with_nothing_to_replay_it_prints_the_reason_and_ends_with_3(self):
        shutil.rmtree(os.path.join(self.directory, 'docs'))
        status, lines, err = self.run_refused()
        self.assertEqual(status, 3, lines)
        self.assertIn('classic-6.1.rsslag', err)
        self.assertIn('does not allow tracing', lines[-1])

    def test_it_shows_the_progress_of_the_build(self):
        self.stub('cmake', STUBS['cmake'] + '; for i in $(seq 40); do echo "[$i/40] Building"; done')
        lines = self.run_refused()[1]
        told = [line for line in lines if line.startswith('building: ')]
        self.assertEqual(told, [f'building: {tenth}0 %' for tenth in range(1, 11)])

    def test_a_build_that_fails(self):
        self.stub('cmake', 'echo no compiler; exit 1')
        status, lines, err = self.run_it()
        self.assertEqual(status, 3, lines)
        self.assertIn('no compiler', err)
        self.assertIn('the build failed', lines[-1])


if __name__ == '__main__':
    contract.main()
