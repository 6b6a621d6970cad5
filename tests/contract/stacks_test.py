# SPDX-License-Identifier: BSD-2-Clause
"""record --stacks and report --stacks: the code by which pages come and go."""
import json
import math
import os
import tempfile
import unittest
from pathlib import Path

import contract
from contract import TracingTest, assert_one_error_line, assert_valid, needs_root, rsslag, snapshot

PAGE = os.sysconf('SC_PAGESIZE')
SHARES = {'touch_ten': 0.1, 'touch_thirty': 0.3, 'touch_sixty': 0.6}


def program():
    path = Path(contract.binary).parent / 'tests/bench/by_function'
    if not path.exists():
        raise unittest.SkipTest('tests/bench/by_function is not built here')
    return str(path)


def pages_by(document, function, direction):
    """Sum over the stacks that contain the function."""
    return sum(stack[direction] for stack in document['stacks']
               if any(frame['function'] == function for frame in stack['frames']))


@needs_root
class ByFunction(TracingTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if json.loads(snapshot('--json', os.getpid()).out)['scheme'] != 'cpu':
            raise unittest.SkipTest('this kernel does not cache on CPUs')

    def recorded(self, mib, *options):
        with tempfile.TemporaryDirectory(prefix='rsslag-contract-') as directory:
            file = os.path.join(directory, 'file')
            ran = rsslag('record', '--ring', '8M', *options, '-o', file, '--', program(), str(mib))
            self.assertEqual(ran.status, 0, ran)
            report = rsslag('report', '--stacks', '--json', file)
            self.assertEqual((report.status, report.err), (0, ''), report)
            text = rsslag('report', '--stacks', file)
            self.assertEqual((text.status, text.err), (0, ''), text)
            document = json.loads(report.out)
            assert_valid(self, 'stacks', document)
            return document, text.out

    def assert_sums(self, document):
        """The flows of each thread, and what no sample explains, add up to what the records say."""
        for thread in document['threads']:
            for direction in ('came', 'went'):
                flows = sum(stack[direction] for stack in document['stacks']
                            if (stack['pid'], stack['tid']) == (thread['pid'], thread['tid']))
                self.assertAlmostEqual(flows + thread['unexplained'][direction], thread[direction], delta=1 + len(document['stacks']))

    def test_every_page(self):
        mib = 20
        document, text = self.recorded(mib, '--stacks=1')
        tenth = (mib << 20) // 10 // PAGE
        self.assert_sums(document)
        if document['lost'] == 0:
            for function, share in SHARES.items():
                # Besides, each touches a page of code at most, around which the kernel maps 16.
                self.assertAlmostEqual(pages_by(document, function, 'came'), round(10 * share) * tenth, delta=16)
            self.assertAlmostEqual(pages_by(document, 'drop_ten', 'went'), tenth, delta=16)
        whole = [stack for stack in document['stacks'] if any(frame['function'] == 'touch_sixty' for frame in stack['frames'])]
        self.assertTrue(whole)
        for stack in whole:
            self.assertEqual(stack['end'], 'outermost', stack)
            self.assertEqual(stack['frames'][-1]['function'], '_start')
            self.assertIn('main', [frame['function'] for frame in stack['frames']])
        self.assertRegex(text, r'\n *\d+ +\d+ +\d+ +\d+ +\d+  touch_sixty\n')

    def test_the_default_rate(self):
        mib = 200
        document, _ = self.recorded(mib, '--stacks')
        self.assertEqual(document['period'], 64)
        self.assert_sums(document)
        pages = (mib << 20) // PAGE
        for function, share in SHARES.items():
            # The number of samples is binomial; each stands for 64 pages.
            deviation = math.sqrt(pages * share * 64)
            self.assertAlmostEqual(pages_by(document, function, 'came'), pages * share, delta=5 * deviation + document['lost'] * 64)


class Refused(unittest.TestCase):
    def test_what_does_not_go_together(self):
        for more, said in ((['--mode', 'counts'], '--mode counts'), (['--no-names'], '--no-names')):
            ran = rsslag('record', '--stacks', *more, '-o', '/dev/null', '1')
            assert_one_error_line(self, ran, 2)
            self.assertIn(said, ran.err)
        for value in ('0', 'x', '-1', '64k'):
            assert_one_error_line(self, rsslag('record', f'--stacks={value}', '-o', '/dev/null', '1'), 2)

    def test_a_recording_without_stacks(self):
        file = str(contract.ROOT / 'docs' / 'recordings' / 'classic-6.1.rsslag')
        ran = rsslag('report', '--stacks', file)
        self.assertEqual(ran.out, 'no stacks were recorded: use rsslag record --stacks\n')
        assert_valid(self, 'stacks', json.loads(rsslag('report', '--stacks', '--json', file).out))
        assert_one_error_line(self, rsslag('report', '--stacks', '--by', 'page', file), 2)


if __name__ == '__main__':
    contract.main()
