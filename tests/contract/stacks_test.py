# SPDX-License-Identifier: BSD-2-Clause
"""record --stacks and report --stacks: the code by which pages come and go."""
import collections
import contextlib
import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
import xml.dom.minidom
from pathlib import Path

import contract
from browser import Browser, needs_chromium
from contract import TracingTest, assert_one_error_line, assert_valid, long_only, needs_root, rsslag, snapshot
from panes import Pane, needs_tmux

RECORDED = str(contract.ROOT / 'tests' / 'fuzz' / 'corpus' / 'fuzz_recording' / 'stacks-6.18')
PAGE = os.sysconf('SC_PAGESIZE')
VALUES = ('came', 'went', 'resident')
HEAPS = ('pages that came', 'pages that went', 'pages that are still resident')
SHARES = {'touch_ten': 0.1, 'touch_thirty': 0.3, 'touch_sixty': 0.6}
# All samples of 2 MiB and of a program's start fit into the ring, and into the half of it that may wait to be unwound, even if rsslag
# does not run meanwhile: at most 32 KiB each, as the copies grow when stacks are cut.
RING = ('--ring', '64M')
MIB = 2
# Forks a child for each number, which touches 2 MiB, forks a grandchild that does it, too, and ends. Then does it itself.
FORK = '''
import mmap, os, sys
def touch():
    memory = mmap.mmap(-1, 2 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    for at in range(0, 2 << 20, 4096):
        memory[at] = 1
for number in range(5):
    child = os.fork()
    if child == 0:
        touch()
        if os.fork() == 0:
            touch()
        os._exit(0)
    os.waitpid(child, 0)
touch()
'''
# A thread touches 8 MiB below calls that take several KiB of its stack.
DEEP_THREAD = '''
import mmap, threading
def touch(depth):
    if depth:
        return max((depth,), key=lambda _: touch(depth - 1) or 0)
    memory = mmap.mmap(-1, 8 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory.madvise(mmap.MADV_NOHUGEPAGE)
    for at in range(0, 8 << 20, 4096):
        memory[at] = 1
thread = threading.Thread(target=touch, args=(20,))
thread.start()
thread.join()
'''
# Populates 2 MiB for each byte of stdin.
POPULATE = '''
import mmap, os
while os.read(0, 1):
    mmap.mmap(-1, 2 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x8000).close()
    os.write(1, b'done\\n')
'''


def needs_samples():
    """Skips unless this kernel lets rsslag sample updates."""
    kernel = tuple(int(number) for number in os.uname().release.split('.')[:2])
    if json.loads(snapshot('--json', os.getpid()).out)['scheme'] != 'cpu' and kernel < (5, 15):
        raise unittest.SkipTest('this kernel lacks the BPF helper bpf_task_pt_regs')


def names_of_the_kernel():
    with open('/proc/kallsyms') as file:
        return int(file.readline().split()[0], 16) > 0


def amounts(rows):
    """The pages of each update. Those of a flush do not contain what fault records have reported."""
    reported = collections.Counter()
    for row in rows:
        thread = row['mm'], row['tid']
        if row['type'] == 'fault':
            for member in ('file', 'anon', 'shmem'):
                cached = row[f'cached_{member}']
                yield cached - reported[*thread, member]
                reported[*thread, member] = cached
        elif row['type'] in ('update', 'flush', 'fold') and row['member'] != 'swap' and row['pages']:
            yield row['pages'] - (reported.pop((*thread, row['member']), 0) if row['type'] == 'flush' else 0)


def program(name='by_function'):
    path = Path(contract.binary).parent / 'tests/bench' / name
    if not path.exists():
        raise unittest.SkipTest(f'tests/bench/{name} is not built here')
    return str(path)


# Runs a script in a mount namespace in which /mnt/server is a copy of the file.
ELSEWHERE = ('unshare', '-m', 'sh', '-c', 'mount -t tmpfs none /mnt && cp "$1" /mnt/server && eval "$0"')


def with_other_names(path, copy):
    """Copies a program. Its functions touch_… are teach_…, and it has another build id."""
    code = Path(path).read_bytes().replace(b'touch_', b'teach_')
    head = b'\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0'  # of the note NT_GNU_BUILD_ID
    at = code.index(head) + len(head)
    Path(copy).write_bytes(code[:at] + bytes([code[at] ^ 0xff]) + code[at + 1:])
    os.chmod(copy, 0o755)


def line_of(text):
    """The number of the only line of by_function.cpp that contains it."""
    lines = (contract.ROOT / 'tests/bench/by_function.cpp').read_text().splitlines()
    (number,) = [i + 1 for i, line in enumerate(lines) if text in line]
    return number


def pprof_text(test, file):
    """The profile, decoded by protoc, and its table of strings."""
    if not shutil.which('protoc'):
        raise unittest.SkipTest('there is no protoc')
    here, out = Path(__file__).parent, file + '.pb'
    test.assertEqual(rsslag('export', '--format', 'pprof', '-o', out, file).status, 0)
    with open(out, 'rb') as profile:
        text = subprocess.run(['protoc', f'--proto_path={here}', '--decode=profile.Profile', here / 'profile.proto'], stdin=profile,
                              capture_output=True, check=True).stdout.decode()
    test.assertNotRegex(text, r'(?m)^ *\d+:')  # a field that the .proto does not have
    return text, re.findall(r'^string_table: "(.*)"$', text, re.M)


def pprof_sums(test, file):
    """The sums of the values of a profile."""
    text, strings = pprof_text(test, file)
    test.assertEqual(strings[0], '')
    types = re.findall(r'^sample_type {\n  type: (\d+)\n  unit: (\d+)\n}', text, re.M)
    test.assertEqual([(strings[int(kind)], strings[int(unit)]) for kind, unit in types], [(value, 'bytes') for value in VALUES])
    locations = set(re.findall(r'^location {\n  id: (\d+)', text, re.M))
    samples = re.findall(r'^sample {\n(.*?)^}', text, re.M | re.S)
    for sample in samples:
        test.assertLessEqual(set(re.findall(r'^  location_id: (\d+)', sample, re.M)), locations)
    test.assertIn('touch_sixty', strings)
    values = [list(map(int, re.findall(r'^  value: (\d+)', sample, re.M))) for sample in samples]
    return [sum(each[i] for each in values) for i in range(len(VALUES))]


def perfetto_sums(test, file):
    """The sums of the heap profiles, decoded by protoc."""
    here, out = Path(__file__).parent, file + '.perfetto'
    test.assertEqual(rsslag('export', '--format', 'perfetto', '-o', out, file).status, 0)
    with open(out, 'rb') as trace:
        text = subprocess.run(['protoc', f'--proto_path={here}', '--decode=rsslag.test.Trace', here / 'perfetto.proto'], stdin=trace,
                              capture_output=True, check=True).stdout.decode()
    test.assertNotRegex(text, r'(?m)^ *\d+[:{ ]')  # a field that the .proto does not have
    (packet,) = re.findall(r'(?ms)^  profile_packet {$(.*?)^  }$', text)
    table = {name: dict(re.findall(r'(?m)^    %s {\n      iid: (\d+)\n      \w+: (.*)$' % name, packet))
             for name in ('strings', 'frames', 'callstacks', 'mappings')}
    functions = {frame: table['strings'][string] for frame, string in table['frames'].items()}
    test.assertIn('"touch_sixty"', functions.values())
    test.assertLessEqual(set(re.findall(r'(?m)^      mapping_id: (\d+)$', packet)), set(table['mappings']))
    test.assertLessEqual(set(re.findall(r'(?m)^      frame_ids: (\d+)$', packet)), set(functions))
    sums = dict.fromkeys(HEAPS, 0)
    for dump in re.findall(r'(?ms)^    process_dumps {$(.*?)^    }$', packet):
        (heap,) = re.findall(r'(?m)^      heap_name: "(.*)"$', dump)
        for callstack, size in re.findall(r'(?m)^        callstack_id: (\d+)\n        self_allocated: (\d+)$', dump):
            test.assertIn(callstack, table['callstacks'])
            sums[heap] += int(size)
    return list(sums.values())


def pages_by(document, function, direction):
    """Sum over the stacks that contain the function."""
    return sum(stack[direction] for stack in document['stacks']
               if any(frame['function'] == function for frame in stack['frames']))


class Told:
    """A process that does its work each time that it is told to."""

    def __init__(self, *words):
        self.words = words

    def __enter__(self):
        self.process = subprocess.Popen(self.words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        self.pid = self.process.pid
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()

    def touch(self, test):
        self.process.stdin.write(b'x')
        test.assertEqual(self.process.stdout.readline(), b'done\n')

    @contextlib.contextmanager
    def traced(self, test, file, *options):
        """Records what it does in the body."""
        def is_traced():
            ran = rsslag('report', '--json', file)
            return ran.status == 0 and bool(ran.document()['processes'])
        with contract.begun([contract.binary, 'record', *options, '-o', file, '-p', str(self.pid)], stderr=subprocess.DEVNULL,
                            env=contract.environment()) as tracer:
            contract.wait_until(is_traced)
            yield tracer
            tracer.send_signal(signal.SIGINT)
            test.assertEqual(tracer.wait(contract.TIMEOUT), 0)

    def recorded(self, test, file, *options):
        """Records one round in the file. Returns its report."""
        with self.traced(test, file, *options):
            self.touch(test)
        document = rsslag('report', '--json', file).document()
        assert_valid(test, 'report', document)
        return document


class Touching(Told):
    """Touches so many MiB and drops a tenth of them."""

    def __init__(self, mib, how='held'):
        super().__init__(program(), str(mib), how)


@needs_root
class ByFunction(TracingTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        needs_samples()

    def recorded(self, mib, *options, by=('record', '-o')):
        with tempfile.TemporaryDirectory(prefix='rsslag-contract-') as directory:
            file = os.path.join(directory, 'file')
            ran = rsslag(*by, file, *RING, *options, '--', program(), str(mib))
            self.assertEqual(ran.status, 0, ran)
            document = json.loads(self.ran('report', '--json', file))
            assert_valid(self, 'report', document)
            self.assert_sums(document, file)
            self.assert_exports(document, file)
            return document, self.ran('report', '--stacks', file)

    def ran(self, *args):
        ran = rsslag(*args)
        self.assertEqual((ran.status, ran.err), (0, ''), ran)
        return ran.out

    def assert_sums(self, document, file):
        """All rows add up to what the records say, to the page."""
        rows = [json.loads(line) for line in self.ran('export', '--rows-only', file).splitlines()]
        pages = list(amounts(rows))
        self.assertEqual(sum(stack['came'] for stack in document['stacks']), sum(n for n in pages if n > 0))
        self.assertEqual(sum(stack['went'] for stack in document['stacks']), -sum(n for n in pages if n < 0))
        for stack in document['stacks']:
            self.assertEqual(stack['net'], stack['came'] - stack['went'])

    def assert_exports(self, document, file):
        """Each format has the same sums."""
        wholes = [sum(stack[value] for stack in document['stacks']) * PAGE for value in ('came', 'went', 'resident_min')]
        lines = [line.rsplit(' ', 1) for line in self.ran('export', '--format', 'folded', file).splitlines()]
        for value, whole in zip(VALUES, wholes, strict=True):
            self.assertEqual(sum(int(kb) for stack, kb in lines if stack.startswith(value + ';')) * 1024, whole)
        self.assertTrue(any(';main;' in stack for stack, _ in lines), lines)
        scope = json.loads(self.ran('export', '--format', 'speedscope', file))
        for profile, whole in zip(scope['profiles'], wholes, strict=True):
            self.assertEqual((profile['type'], profile['unit'], profile['startValue'], profile['endValue']), ('sampled', 'bytes', 0, whole))
            self.assertEqual(sum(profile['weights']), whole)
            self.assertEqual(len(profile['samples']), len(profile['weights']))
            for stack in profile['samples']:
                for frame in stack:
                    self.assertIn('name', scope['shared']['frames'][frame])
        self.assertEqual(pprof_sums(self, file), wholes)
        self.assertEqual(perfetto_sums(self, file), wholes)

    def assert_kernel_stacks(self, document):
        """Where the kernel took or added pages, unless by a page fault. The innermost function is one of its own."""
        kinds = collections.defaultdict(list)
        for stack in document['stacks']:
            if stack['reason']:
                kinds[stack['reason'], stack['came'] > 0].append([frame['function'] for frame in stack['kernel']])
        self.assertEqual(set(map(len, kinds['page_fault', True])), {0})
        for functions in kinds['madvise', False]:
            self.assertGreater(len(functions), 2)
            if names_of_the_kernel():
                self.assertTrue(any('madvise' in name for name in functions), functions)
                self.assertFalse(any(name.startswith(('bpf_', '__bpf_')) for name in functions), functions)

    def test_every_page(self):
        document, text = self.recorded(MIB, '--stacks=1')
        tenth = (MIB << 20) // 10 // PAGE
        self.assertEqual(document['sampling']['lost'], 0)
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
        self.assertRegex(text, r'\n *[\d,]+ +[\d,]+ +[\d,]+ +\S+ +[\d,]+ +\d+  touch_sixty\n')
        largest = document['processes'][0]['images'][-1]['mappings'][0]
        self.assertEqual(largest['stack']['functions'][:2], ['touch_sixty', 'main'], largest)
        self.assertAlmostEqual(largest['stack']['share'], 0.6, delta=0.05)
        reasons = {stack['reason'] for stack in document['stacks'] if any(frame['function'] == 'drop_ten' for frame in stack['frames'])}
        self.assertLessEqual({'madvise'}, reasons)
        self.assert_kernel_stacks(document)
        self.assertLessEqual(reasons, {'madvise', 'page_fault'})
        # If rsslag reads the process while it exits, rsslag may drop the last reference to the mm.
        at_end = [stack['went'] for stack in document['stacks'] if stack['reason'] in ('exit', 'other_process')]
        self.assertGreaterEqual(sum(at_end), 9 * tenth - 16)

    @long_only('64 MiB; the gate samples 2')
    def test_every_page_of_64_mib(self):
        """All of its samples fit into the ring. What has no stack nevertheless is a row."""
        document, _ = self.recorded(64, '--stacks=1')
        tenth = (64 << 20) // 10 // PAGE
        self.assertEqual(document['sampling']['lost'], 0)
        for value, functions in (('came', SHARES), ('went', {'drop_ten': 0.1})):
            without = sum(stack[value] for stack in document['stacks'] if stack['reason'] is None or stack['end'] == 'dropped')
            for function, share in functions.items():
                pages = round(10 * share) * tenth
                self.assertGreaterEqual(pages_by(document, function, value) + without, pages)
                self.assertLessEqual(pages_by(document, function, value), pages + 16)

    def test_through_a_shared_library(self):
        """Without frame pointers, as the program."""
        with tempfile.TemporaryDirectory(prefix='rsslag-contract-') as directory:
            file = os.path.join(directory, 'file')
            ran = rsslag('record', '-o', file, *RING, '--stacks=1', '--', program('by_library'), str(MIB))
            self.assertEqual(ran.status, 0, ran)
            document = json.loads(self.ran('report', '--json', file))
            by_module = self.ran('report', '--stacks', '--by', 'module', file)
        for function, share in SHARES.items():
            self.assertAlmostEqual(pages_by(document, function, 'came'), round(10 * share) * ((MIB << 20) // 10 // PAGE), delta=16)
        stacks = [stack for stack in document['stacks'] if 'touch_sixty' in [frame['function'] for frame in stack['frames']]]
        self.assertEqual({stack['end'] for stack in stacks}, {'outermost'})
        for touch, here, main, *_ in (stack['frames'] for stack in stacks):
            self.assertEqual([frame['function'] for frame in (touch, here, main)], ['touch_sixty', 'touch_and_drop', 'main'])
            self.assertRegex(touch['module'], r'/libby_function_functions\.so$')
            self.assertEqual(main['module'], program('by_library'))
        self.assertRegex(by_module, r'/libby_function_functions\.so\n')

    def test_what_comes_without_a_page_fault(self):
        """MAP_POPULATE, with huge pages or without."""
        with tempfile.TemporaryDirectory(prefix='rsslag-contract-') as directory:
            with Told(sys.executable, '-S', '-c', POPULATE) as told:
                document = told.recorded(self, os.path.join(directory, 'file'), *RING, '--stacks=1')
        came = sum(stack['came'] for stack in document['stacks'] if stack['reason'] == 'mmap')
        self.assertEqual((came, document['sampling']['lost']), ((2 << 20) // PAGE, 0))
        self.assertTrue(all(stack['resident_min'] == 0 for stack in document['stacks'] if stack['reason'] == 'mmap'))

    def test_inlined_functions_and_lines(self):
        """`touch` is inlined into the functions that touch."""
        with tempfile.TemporaryDirectory(prefix='rsslag-contract-') as directory:
            file = os.path.join(directory, 'file')
            ran = rsslag('record', '-o', file, *RING, '--stacks=8', '--', program('by_line'), '4')
            self.assertEqual(ran.status, 0, ran)
            document = json.loads(self.ran('report', '--json', file))
            assert_valid(self, 'report', document)
            by_file = self.ran('report', '--stacks', '--by', 'file', file)
            self.assertIn('touch_sixty', self.ran('report', '--stacks', file))
            pprof, strings = pprof_text(self, file)
        stacks = [stack['frames'] for stack in document['stacks'] if any(frame['function'] == 'touch_sixty' for frame in stack['frames'])]
        self.assertTrue(stacks)
        for touch, sixty, here, main, *_ in stacks:
            self.assertRegex(touch['function'], 'touch')
            self.assertEqual([frame['function'] for frame in (sixty, here, main)], ['touch_sixty', 'touch_and_drop_here', 'main'])
            self.assertEqual([frame['inlined'] for frame in (touch, sixty, here, main)], [True, False, True, False])
            for frame in (touch, sixty, here, main):
                self.assertTrue(frame['file'].endswith('tests/bench/by_function.cpp'), frame)
            self.assertIn(touch['line'] - line_of('for (std::size_t at = 0; at < bytes'), (0, 1))
            self.assertEqual(sixty['line'], line_of('touch(memory, 6 * tenth)'))
            self.assertEqual(here['line'], line_of('    touch_sixty(memory + 4 * tenth, tenth);'))
            self.assertEqual((touch['offset'], here['offset']), (sixty['offset'], main['offset']))
        self.assertRegex(by_file, r'\n *[\d,]+ .*tests/bench/by_function.cpp\n')
        files = {strings[int(name)] for name in re.findall(r'(?m)^  filename: (\d+)$', pprof)}
        self.assertTrue(any(name.endswith('tests/bench/by_function.cpp') for name in files), files)
        self.assertRegex(pprof, r'(?m)^    line: %d$' % line_of('touch(memory, 6 * tenth)'))

    def test_what_is_still_resident(self):
        """The pages that the last walk finds are those of the functions whose pages nobody dropped."""
        tenth = (MIB << 20) // 10 // PAGE
        with tempfile.TemporaryDirectory(prefix='rsslag-contract-') as directory:
            file = os.path.join(directory, 'file')
            with Touching(MIB) as held:
                document = held.recorded(self, file, *RING, '--stacks=1')
            self.assert_exports(document, file)
            text = self.ran('report', '--stacks', file)
            reasons = self.ran('report', '--stacks', '--by', 'reason', file)
        for stack in document['stacks']:
            self.assertLessEqual(stack['resident_min'], stack['came'])
            self.assertIn(stack['resident'], (None, stack['resident_min']))
        self.assertEqual(document['sampling']['lost'], 0)
        for function, resident in (('touch_ten', 0), ('touch_thirty', 3 * tenth), ('touch_sixty', 6 * tenth)):
            # A page of code, around which the kernel maps 16, stays.
            self.assertAlmostEqual(pages_by(document, function, 'resident_min'), resident, delta=16)
            self.assertAlmostEqual(pages_by(document, function, 'came'), resident or tenth, delta=16)
        self.assertRegex(text, r'\n *[\d,]+ +[\d,]+ +[\d,]+ +[\d,]+ +[\d,]+ +\d+  touch_sixty\n')
        self.assertRegex(reasons, r'\n *[\d,]+ +0 +[\d,]+ +[\d,]+ +[\d,]+ +\d+  page_fault\n')

    def test_what_mremap_moves_is_still_resident(self):
        tenth = (MIB << 20) // 10 // PAGE
        with tempfile.TemporaryDirectory(prefix='rsslag-contract-') as directory, Touching(MIB, 'moved') as held:
            document = held.recorded(self, os.path.join(directory, 'file'), *RING, '--stacks=1')
        for function, resident in (('touch_ten', 0), ('touch_thirty', 3 * tenth), ('touch_sixty', 6 * tenth)):
            self.assertAlmostEqual(pages_by(document, function, 'resident_min'), resident, delta=16)

    def test_the_mappings_of_a_process_have_stacks(self):
        """By which the resident pages of each row came."""
        tenth = (MIB << 20) // 10 // PAGE
        with tempfile.TemporaryDirectory(prefix='rsslag-contract-') as directory:
            file = os.path.join(directory, 'file')
            with Touching(MIB) as held:
                held.recorded(self, file, *RING, '--stacks=1')
                text = self.ran('maps', '--stacks', file, str(held.pid))
                each = rsslag('maps', '--stacks', file, '--each', '--json', str(held.pid)).document()
                other = self.ran('maps', '--stacks', file, str(os.getpid()))
            refused = rsslag('maps', '--stacks', RECORDED, str(os.getpid()))
            without = os.path.join(directory, 'without')
            self.assertEqual(rsslag('record', '-o', without, '--', 'true').status, 0)
            no_stacks = rsslag('maps', '--stacks', without, str(os.getpid()))
        assert_valid(self, 'maps', each)
        (process,) = each['processes']
        self.assertIsNone(process['why_no_stacks'])
        self.assertEqual((process['stacks']['lost'], process['stacks']['complete']), (0, True))
        self.assertAlmostEqual(process['stacks']['resident'], 9 * tenth, delta=100)  # and pages of code
        largest = max((row for row in process['mappings'] if row['stack'] and not row['name']), key=lambda row: row['rss_kb'])
        self.assertEqual(largest['stack']['functions'][:2], ['touch_sixty', 'main'])
        self.assertAlmostEqual(largest['stack']['share'], 2 / 3, delta=0.02)
        self.assertRegex(text, r'\n {79}67 % by touch_sixty < main < ')
        self.assertRegex(text, r'\nStacks: of [\d,]+ sampled pages that are resident, one in 1\. ')
        self.assertIn(f'\nNo stacks: {file} does not contain this process\n', other)
        self.assertEqual((refused.status, no_stacks.status), (2, 2))
        self.assertIn('is not of this boot of this machine', refused.err)
        self.assertIn('has no stacks', no_stacks.err)

    def test_first_copies_are_whole(self):
        """At the default rate: of the main thread, with 16 KiB below main, and of another one. Samples of the same page have the same
        hash, so the numbers of samples vary, but not to 0."""
        with tempfile.TemporaryDirectory(prefix='rsslag-contract-') as directory:
            file = os.path.join(directory, 'file')
            with Touching(8, 'deep') as held:
                document = held.recorded(self, file, *RING, '--stacks')
            ran = rsslag('record', '-o', file + '2', *RING, '--stacks', '--', sys.executable, '-S', '-c', DEEP_THREAD)
            self.assertEqual(ran.status, 0, ran)
            of_python = json.loads(self.ran('report', '--json', file + '2'))
        deep = [stack for stack in document['stacks'] if 'touch_sixty' in [frame['function'] for frame in stack['frames']]]
        self.assertEqual({(stack['end'], len(stack['frames']) > 32) for stack in deep}, {('outermost', True)})
        main = of_python['processes'][0]['pid']
        of_thread = [stack for stack in of_python['stacks'] if stack['frames'] and main not in stack['threads'] and stack['reason'] == 'page_fault']
        # A fault of the top of the stack may come before there is anything to copy.
        self.assertEqual({stack['end'] for stack in of_thread} - {'no_copy'}, {'outermost'})
        self.assertGreater(max(len(stack['frames']) for stack in of_thread), 32)

    def test_a_fork_has_the_code_of_its_parent(self):
        """Even if it ends before rsslag could read its mappings."""
        with tempfile.TemporaryDirectory(prefix='rsslag-contract-') as directory:
            file = os.path.join(directory, 'file')
            ran = rsslag('record', '--follow', '-o', file, *RING, '--stacks=8', '--', sys.executable, '-S', '-c', FORK)
            self.assertEqual(ran.status, 0, ran)
            document = json.loads(self.ran('report', '--json', file))
        self.assertEqual(document['sampling']['lost'], 0)
        main = document['processes'][0]['pid']  # its start runs code without .eh_frame
        stacks = [stack for stack in document['stacks'] if stack['reason'] == 'page_fault' and stack['frames'] and main not in stack['threads']]
        self.assertEqual(len({thread for stack in stacks for thread in stack['threads']}), 10)
        for stack in stacks:
            self.assertTrue(all(frame['module'] for frame in stack['frames']), stack)
            self.assertNotEqual(stack['end'], 'no_rules', stack)

    def test_names_can_be_looked_up_later(self):
        with tempfile.TemporaryDirectory(prefix='rsslag-contract-') as directory:
            file, symbols = os.path.join(directory, 'file'), os.path.join(directory, 'symbols')
            ran = rsslag('record', '-o', file, *RING, '--stacks=1', '--no-symbols', '--', program('by_line'), '1')
            self.assertEqual(ran.status, 0, ran)
            nameless = json.loads(self.ran('report', '--json', file))
            modules = {frame['module']: frame['build_id'] for stack in nameless['stacks'] for frame in stack['frames']}
            self.assertEqual({frame['function'] for stack in nameless['stacks'] for frame in stack['frames']}, {None})
            os.makedirs(os.path.join(symbols, modules[program('by_line')]))
            shutil.copy(program('by_line'), os.path.join(symbols, modules[program('by_line')], 'debuginfo'))
            document = json.loads(self.ran('report', '--json', '--symbols', symbols, file))
            assert_valid(self, 'report', document)
            by_file = self.ran('report', '--stacks', '--by', 'file', '--symbols', symbols, file)
            folded = self.ran('export', '--format', 'folded', '--symbols', symbols, file)
            for args in (['report'], ['export', '--format', 'folded']):
                for wrong in (file, os.path.join(directory, 'nothing')):
                    assert_one_error_line(self, rsslag(*args, '--symbols', wrong, file), 2)
        for function, share in SHARES.items():
            self.assertAlmostEqual(pages_by(document, function, 'came'), round(10 * share) * ((1 << 20) // 10 // PAGE), delta=16)
        for value in ('came', 'went'):
            self.assertEqual(*(sum(stack[value] for stack in each['stacks']) for each in (nameless, document)))
        self.assertRegex(by_file, r'\n *[\d,]+ .*tests/bench/by_function.cpp\n')
        self.assertIn(';main;', folded)

    def test_unwinds_by_the_method_that_is_chosen(self):
        """The program has .eh_frame, and uses the frame pointer for something else."""
        methods = ('auto', 'dwarf', 'fp')
        with tempfile.TemporaryDirectory(prefix='rsslag-contract-') as directory:
            documents = []
            for method in methods:
                file = os.path.join(directory, method)
                ran = rsslag('record', '-o', file, *RING, '--stacks=1', '--unwind', method, '--', program(), '1')
                self.assertEqual(ran.status, 0, ran)
                documents.append(json.loads(self.ran('report', '--json', file)))
        for method, document in zip(methods, documents, strict=True):
            stacks = [[frame['function'] for frame in stack['frames']] for stack in document['stacks']]
            of_sixty = [functions for functions in stacks if functions and functions[0] == 'touch_sixty']
            self.assertTrue(of_sixty)
            for functions in of_sixty:
                self.assertEqual('main' in functions, method != 'fp', (method, functions))

    def test_copies_of_long_stacks_grow(self):
        """From 2 KiB to 32, as there are 16 KiB below main."""
        with Touching(1, 'deep') as deep, tempfile.TemporaryDirectory(prefix='rsslag-contract-') as directory:
            file = os.path.join(directory, 'file')

            def ends():
                """{why the stacks end: their numbers of frames}"""
                deep.touch(self)
                found = collections.defaultdict(list)
                for stack in json.loads(self.ran('report', '--json', file))['stacks']:
                    functions = [frame['function'] for frame in stack['frames']]
                    if 'touch_sixty' in functions:
                        found[stack['end']].append(len(functions) if 'main' in functions else 0)
                return found
            with deep.traced(self, file, '--stacks=8', *RING) as tracer:
                contract.wait_until(lambda: max(ends()['outermost'], default=0) > 32)
                contract.stop(tracer.pid)
                for _ in range(12):  # 12 MiB of samples; the ring has 8 MiB by default
                    deep.touch(self)
                tracer.send_signal(signal.SIGCONT)
            self.assertIn('cut', ends(), 'the first copies were too small')
            self.assertEqual(rsslag('report', '--json', file).document()['sampling']['lost'], 0)

    @long_only('it records five times')
    def test_another_seed_chooses_other_pages(self):
        """Of the same mm and the same addresses."""
        counts = []
        with Touching(20) as held, tempfile.TemporaryDirectory(prefix='rsslag-contract-') as directory:
            held.touch(self)  # the code comes in the first round
            for number, seed in enumerate((1, 1, 2, 3, 4)):
                document = held.recorded(self, os.path.join(directory, str(number)), '--stacks=16', '--stack-seed', str(seed), *RING)
                self.assertEqual(document['sampling']['lost'], 0)
                counts.append([sum(stack['samples'] for stack in document['stacks'] if stack['reason'] == 'page_fault' and
                                   function in [frame['function'] for frame in stack['frames']]) for function in SHARES])
        self.assertEqual(counts[0], counts[1], 'the same seed chooses the same pages')
        self.assertGreater(len(set(map(tuple, counts))), 3, counts)

    @long_only('it touches 1 GiB; the gate samples every page')
    def test_what_is_still_resident_of_1_gib(self):
        pages = (1 << 30) // PAGE
        with tempfile.TemporaryDirectory(prefix='rsslag-contract-') as directory, Touching(1024) as held:
            document = held.recorded(self, os.path.join(directory, 'file'), '--stacks', '--stack-seed', '7')
        self.assertEqual(document['sampling']['lost'], 0)
        for function, share in (('touch_ten', 0), ('touch_thirty', 0.3), ('touch_sixty', 0.6)):
            deviation = math.sqrt(pages * share * 64)
            self.assertAlmostEqual(pages_by(document, function, 'resident_min'), pages * share, delta=4 * deviation + 16)

    @long_only('the default rate needs many pages, seconds of CPU; the gate samples every page')
    def test_the_default_rate(self):
        mib = 200 if contract.emulated() else 2048  # in a guest it takes minutes
        document, _ = self.recorded(mib, '--stacks', '--stack-seed', '7', by=('live', '--format', 'csv', '--record'))
        self.assertEqual(document['sampling']['period'], 64)
        pages = (mib << 20) // PAGE
        for function, share in SHARES.items():
            # The number of samples is binomial; each stands for 64 pages.
            deviation = math.sqrt(pages * share * 64)
            self.assertAlmostEqual(pages_by(document, function, 'came'), pages * share, delta=4 * deviation + document['sampling']['lost'] * 64)


ROW = re.compile(r'(?m)^[ ▶>]*([\d,]+) +([\d,]+) +[−\d,]+ +([≥–\d,]+) +[\d,]+ +(\d+) ( *\S+)')


def unwinder_of(tracer):
    """The PID of the process that unwinds for it; None: it has none."""
    for stat in Path('/proc').glob('[0-9]*/stat'):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            comm, fields = stat.read_text().rsplit(')', 1)
            if comm.endswith('(rsslag-unwinder') and int(fields.split()[1]) == tracer.pid:
                return int(stat.parent.name)
    return None


def has_ended(pid):
    """It may be a zombie whose parent does not wait for it."""
    try:
        return Path(f'/proc/{pid}/stat').read_text().rsplit(')', 1)[1].split()[0] == 'Z'
    except (FileNotFoundError, ProcessLookupError):
        return True


@needs_root
class ProcessThatUnwinds(TracingTest):
    """rsslag opens the files of traced processes in a process of its own."""
    MIB = 1

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        needs_samples()

    def setUp(self):
        self.held = self.enterContext(Touching(self.MIB))
        self.file = os.path.join(self.enterContext(tempfile.TemporaryDirectory(prefix='rsslag-contract-')), 'file')

    def test_has_only_the_capabilities_to_read_files(self):
        ptrace, dac_read_search = 1 << 19, 1 << 2
        with self.held.traced(self, self.file, '--stacks=1') as tracer:
            status = Path(f'/proc/{unwinder_of(tracer)}/status').read_text()
            for capabilities in re.findall(r'(?m)^Cap(?:Prm|Eff|Inh|Amb):\t(\w+)$', status):
                self.assertEqual(int(capabilities, 16) & ~(ptrace | dac_read_search), 0, status)

    def test_its_death_costs_the_stacks_only(self):
        with self.held.traced(self, self.file, '--stacks=1', *RING) as tracer:
            unwinder = unwinder_of(tracer)
            os.kill(unwinder, signal.SIGSEGV)
            contract.wait_until(lambda: has_ended(unwinder))
            self.held.touch(self)
        document = rsslag('report', '--json', self.file).document()
        self.assertGreaterEqual(sum(stack['came'] for stack in document['stacks']), 10 * ((self.MIB << 20) // PAGE // 10))
        self.assertEqual({stack['end'] for stack in document['stacks'] if stack['samples']}, {'dropped'})

    def test_it_ends_with_rsslag(self):
        with self.held.traced(self, self.file, '--stacks=1') as tracer:
            unwinder = unwinder_of(tracer)
        self.assertFalse(Path(f'/proc/{unwinder}').exists())
        with contract.begun([contract.binary, 'record', '--stacks', '-o', self.file + '2', '-p', str(self.held.pid)],
                            stderr=subprocess.DEVNULL, env=contract.environment()) as tracer:
            contract.wait_until(lambda: unwinder_of(tracer))
            unwinder = unwinder_of(tracer)
            tracer.kill()
        contract.wait_until(lambda: has_ended(unwinder))


def rows(text):
    """{function: (came, went, resident) in pages} of the view of stacks."""
    def pages(kb):
        return int(kb.strip('≥').replace(',', '')) * 1024 // PAGE if kb != '–' else None
    return {name.strip(): tuple(pages(kb) for kb in (came, went, resident)) for came, went, resident, _, name in ROW.findall(text)}


# Copies machine code to memory of its own, and calls it for each line of stdin: it touches 1 MiB while the stack pointer is 0x1000. With
# "name" it writes a map of that code first, as a JIT does.
WITHOUT_STACK = '''
import ctypes, mmap, os, sys
code = bytes.fromhex('4989e0' '48c7c400100000' 'c60701' '4881c700100000' '48ffce' '75f1' '4c89c4' 'c3')
made = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
made.write(code)
start = ctypes.addressof(ctypes.c_char.from_buffer(made))
if sys.argv[1:] == ['name']:
    with open(f'/tmp/perf-{os.getpid()}.map', 'wb') as file:
        file.write(b'%x %x evil\\x1b[31m\\x07;\\xff\\n' % (start, len(code)))
touch = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_size_t)(start)
while os.read(0, 1):
    memory = mmap.mmap(-1, 1 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory.madvise(mmap.MADV_NOHUGEPAGE)
    here = ctypes.c_char.from_buffer(memory)
    touch(ctypes.addressof(here), (1 << 20) // 4096)
    os.write(1, b'done\\n')
'''
# Touches 1 MiB and execs the program of the arguments without delay.
EXECS = '''
import mmap, os, sys
memory = mmap.mmap(-1, 1 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
for at in range(0, 1 << 20, 4096):
    memory[at] = 1
os.execv(sys.argv[1], sys.argv[1:])
'''


@needs_root
class Hostile(TracingTest):
    """What a target does to its stack, files and names is counted, and never gives a wrong name."""
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        needs_samples()

    def recorded(self, told, *options):
        with tempfile.TemporaryDirectory(prefix='rsslag-contract-') as directory:
            file = os.path.join(directory, 'file')
            document = told.recorded(self, file, *RING, '--stacks=1', *options)
            texts = [rsslag('report', '--stacks', file), rsslag('export', '--format', 'folded', file)]
        self.assertEqual([text.status for text in texts], [0, 0], texts)
        return document, ''.join(text.out for text in texts)

    def test_a_stack_pointer_to_nowhere(self):
        with Told(sys.executable, '-S', '-c', WITHOUT_STACK) as told:
            document, _ = self.recorded(told)
        nowhere = [stack for stack in document['stacks'] if stack['end'] == 'no_copy' and stack['reason'] == 'page_fault']
        self.assertGreaterEqual(sum(stack['came'] for stack in nowhere), (1 << 20) // PAGE)
        self.assertEqual({len(stack['frames']) for stack in nowhere}, {1})

    def test_names_with_escapes(self):
        with Told(sys.executable, '-S', '-c', WITHOUT_STACK, 'name') as told:
            document, text = self.recorded(told)
            os.unlink(f'/tmp/perf-{told.pid}.map')
        functions = {frame['function'] for stack in document['stacks'] for frame in stack['frames']}
        self.assertIn('evil\\x1b[31m\\x07;\\xff', functions)
        self.assertIn('evil\\x1b[31m\\x07', text)
        self.assertNotRegex(text, '[\x1b\x07]')

    def test_a_program_that_is_replaced_while_it_runs(self):
        with tempfile.TemporaryDirectory(prefix='rsslag-contract-') as directory:
            path = os.path.join(directory, 'program')
            shutil.copy(program(), path)
            with Told(path, '1', 'held') as told:
                shutil.copy('/bin/true', path + '.new')
                os.replace(path + '.new', path)
                document, _ = self.recorded(told)
        tenth = (1 << 20) // 10 // PAGE
        by_name = {function: pages_by(document, function, 'came') for function in SHARES}
        for function, share in SHARES.items():
            self.assertAlmostEqual(by_name[function], round(10 * share) * tenth, delta=16)

    def test_two_programs_with_one_path_and_inode_number(self):
        """In two mount namespaces, each with a file system of its own."""
        with tempfile.TemporaryDirectory(prefix='rsslag-contract-') as directory:
            other = os.path.join(directory, 'other')
            with_other_names(program(), other)
            with Told(*ELSEWHERE, 'exec /mnt/server 1 held', program()) as first, \
                    Told(*ELSEWHERE, 'exec /mnt/server 1 held', other) as second:
                self.wait_for_servers(first, second)
                with first.traced(self, file := os.path.join(directory, 'file'), *RING, '--stacks=1', '-p', str(second.pid)):
                    first.touch(self)
                    second.touch(self)
            document = rsslag('report', '--json', file).document()
        tenth = (1 << 20) // 10 // PAGE
        for function in ('touch_thirty', 'teach_thirty'):
            self.assertAlmostEqual(pages_by(document, function, 'came'), 3 * tenth, delta=16)

    def test_an_earlier_process_with_the_program_has_ended(self):
        """Its files could not be read any more. Those of the next process can."""
        with tempfile.TemporaryDirectory(prefix='rsslag-contract-') as directory:
            file = os.path.join(directory, 'file')
            with Told(*ELSEWHERE, 'head -c1 >&2; /mnt/server 1 </dev/null; exec /mnt/server 1 held', program()) as told:
                with told.traced(self, file, *RING, '--stacks=1', '--follow'):
                    told.process.stdin.write(b'\n')
                    self.wait_for_servers(told)
                    told.touch(self)
            document = rsslag('report', '--json', file).document()
        tenth = (1 << 20) // 10 // PAGE
        self.assertGreaterEqual(pages_by(document, 'touch_thirty', 'came'), 3 * tenth)

    def test_the_process_of_another_user(self):
        with tempfile.TemporaryDirectory(prefix='rsslag-contract-') as directory:
            os.chmod(directory, 0o755)
            path = shutil.copy(program(), directory)
            os.chmod(path, 0o755)
            with Told('setpriv', '--reuid=65534', '--regid=65534', '--clear-groups', path, '1', 'held') as told:
                document, _ = self.recorded(told)
        self.assertAlmostEqual(pages_by(document, 'touch_thirty', 'resident_min'), 3 * ((1 << 20) // 10 // PAGE), delta=16)

    def wait_for_servers(self, *all_told):
        for told in all_told:
            contract.wait_until(lambda: os.readlink(f'/proc/{told.pid}/exe') == '/mnt/server')

    def test_a_program_that_another_one_replaces_by_exec(self):
        with tempfile.TemporaryDirectory(prefix='rsslag-contract-') as directory:
            file = os.path.join(directory, 'file')
            ran = rsslag('record', '-o', file, *RING, '--stacks=1', '--', sys.executable, '-S', '-c', EXECS, program(), '1')
            self.assertEqual(ran.status, 0, ran)
            document = rsslag('report', '--json', file).document()
        tenth = (1 << 20) // 10 // PAGE
        for function, share in SHARES.items():
            self.assertAlmostEqual(pages_by(document, function, 'came'), round(10 * share) * tenth, delta=16)
        for stack in document['stacks']:
            modules = {frame['module'] for frame in stack['frames']}
            self.assertFalse({program(), os.path.realpath(sys.executable)} <= modules, stack)


@long_only('it reads a screen through tmux')
@needs_tmux
@needs_root
class OnTheScreen(TracingTest):
    TENTH = (MIB << 20) // 10 // PAGE

    def setUp(self):
        needs_samples()
        self.held = self.enterContext(Touching(MIB))

    def assert_functions(self, text):
        shown = rows(text)
        # A page of code, around which the kernel maps 16, comes besides.
        self.assertAlmostEqual(shown['touch_sixty'][0], 6 * self.TENTH, delta=16)
        self.assertAlmostEqual(shown['touch_thirty'][0], 3 * self.TENTH, delta=16)
        self.assertAlmostEqual(shown['drop_ten'][1], self.TENTH, delta=16)
        return shown

    def test_live(self):
        with Pane(140, 36) as pane:
            pane.rsslag('live', '--stacks=1', *RING, '--interval', '200ms', '-p', self.held.pid)
            pane.until(lambda text: 'AGREES' in text and 'x stacks' in text)
            pane.type('x')
            self.held.touch(self)
            pane.until(lambda text: 'drop_ten' in text and 'touch_sixty' in text)
            pane.type('w')
            text = pane.until(lambda text: rows(text).get('touch_sixty', (0, 0, 0))[2] == rows(text)['touch_sixty'][0])
            shown = self.assert_functions(text)
            self.assertLess(shown['touch_ten'][2], 17, 'what drop_ten has dropped')
            pane.type('xg')
            text = pane.until(lambda text: 'STACKS' not in text and 'touch_sixty < main' in text)
            (share,) = re.findall(r'(\d+) % by touch_sixty < main', text)
            self.assertLessEqual(abs(int(share) - 60), 2, text)
            pane.type('gx')
            pane.until('STACKS')
            pane.type('v')
            text = pane.until('CALLS')
            self.assertRegex(text, r'(?m)^.* 1 ( *)main *\n(.*\n)*?.* 1 \1 touch_sixty')
            pane.type('/touch_th')
            pane.key('Enter')
            pane.until(lambda text: 'touch_thirty' in text and 'touch_sixty' not in text)
            pane.type('x')
            pane.until(lambda text: 'STACKS' not in text)
            pane.type('t')
            pane.key('Enter')
            pane.until(f'THREAD {self.held.pid}')
            pane.type('x')
            pane.until(lambda text: f'STACKS of thread {self.held.pid}' in text and 'touch_thirty' in text)
            pane.type('q')
            pane.until('traced ')

    def test_replay(self):
        with tempfile.TemporaryDirectory(prefix='rsslag-contract-') as directory:
            file = os.path.join(directory, 'file')
            document = self.held.recorded(self, file, *RING, '--stacks=1')
            with Pane(140, 36) as pane:
                pane.rsslag('replay', file)
                pane.until('END of')
                pane.type('x')
                shown = self.assert_functions(pane.until('drop_ten'))
                self.assertEqual(shown['touch_sixty'][0], pages_by(document, 'touch_sixty', 'came'))
                self.assertEqual(shown['main'][0], pages_by(document, 'main', 'came'))
                pane.type('q')


class FlameGraph(unittest.TestCase):
    """Of a recording of /bin/true."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix='rsslag-contract-')
        self.addCleanup(directory.cleanup)
        self.file = os.path.join(directory.name, 'flames.svg')
        ran = rsslag('report', '--flame', self.file, RECORDED)
        self.assertEqual((ran.status, ran.err), (0, ''), ran)

    def boxes(self):
        """[(direction, name, x, width, depth)]"""
        svg = xml.dom.minidom.parse(self.file)
        for panel in svg.getElementsByTagName('g'):
            if panel.getAttribute('class') == 'panel':
                direction = panel.getElementsByTagName('text')[0].firstChild.data.split()[-1]
                for box in panel.getElementsByTagName('g'):
                    title = box.getElementsByTagName('title')[0].firstChild.data
                    yield (direction, title.rsplit(': ', 1)[0], *(float(box.getAttribute(f'data-{key}')) for key in 'xwd'))

    def test_boxes_lie_on_their_callers_with_the_shares_of_the_report(self):
        document = json.loads(rsslag('report', '--json', RECORDED).out)
        for direction in ('came', 'went'):
            boxes = [box[1:] for box in self.boxes() if box[0] == direction]
            whole = boxes[0][2]
            for name, x, width, depth in boxes[1:]:
                self.assertTrue(any(below[3] == depth - 1 and below[1] <= x + 0.01 and x + width <= below[1] + below[2] + 0.01 for below in boxes),
                                (name, x, width, depth))
            pages = {True: 0, False: 0}
            for stack in document['stacks']:
                pages[bool(stack['frames']) and stack['frames'][-1]['function'] == '_start' and stack['end'] == 'outermost'] += stack[direction]
            of_start = sum(width for name, _, width, depth in boxes if name == '_start' and depth == 1)
            self.assertAlmostEqual(of_start / whole, pages[True] / sum(pages.values()), delta=0.001)

    @long_only('it opens a browser')
    @needs_chromium
    def test_zoom_and_search_in_a_browser(self):
        with Browser('file://' + self.file) as page:
            def width_of(name):
                return page.run(f"""[...document.querySelectorAll('.box')].filter(box => box.style.display !== 'none' &&
                                    box.querySelector('title').textContent.startsWith({json.dumps(name + ': ')}))
                                    .map(box => +box.querySelector('rect').getAttribute('width'))""")

            def click(name):
                x, y = page.run(f"""(() => {{ const box = [...document.querySelectorAll('.box')].find(box =>
                                    box.querySelector('title').textContent.startsWith({json.dumps(name + ': ')}));
                                    const at = box.getBoundingClientRect(); return [at.x + at.width / 2, at.y + at.height / 2]; }})()""")
                for kind in ('mousePressed', 'mouseReleased'):
                    page.mouse(kind, x, y, button='left', clickCount=1)

            before = width_of('__libc_early_init')
            whole = width_of('all')[0]
            self.assertLess(before[0], whole / 2)
            click('__libc_early_init')
            self.assertAlmostEqual(width_of('__libc_early_init')[0], whole, delta=0.01)
            self.assertEqual(width_of('_start'), [])
            click('all')
            self.assertEqual(width_of('__libc_early_init'), before)
            page.run("document.querySelector('input').focus()")
            page.call('Input.insertText', text='EARLY_init')
            self.assertEqual(page.run("[...document.querySelectorAll('.hit title')].map(title => title.textContent.split(':')[0])"),
                             ['__libc_early_init'])
            self.assertRegex(page.run("document.querySelector('.found').textContent"), r'^came \d+\.\d %, went 0\.0 %$')
            self.assertEqual((page.console, [url for url in page.requests if not url.startswith('file://')]), ([], []))


@needs_root
class OldKernel(TracingTest):
    def test_is_refused_with_the_reason(self):
        try:
            needs_samples()
        except unittest.SkipTest:
            with tempfile.TemporaryDirectory(prefix='rsslag-contract-') as directory:
                ran = rsslag('record', '--stacks', '-o', os.path.join(directory, 'file'), '--', 'true')
            assert_one_error_line(self, ran, 125)
            self.assertIn('bpf_task_pt_regs', ran.err)
        else:
            self.skipTest('this kernel supports it')


class Refused(unittest.TestCase):
    def test_what_does_not_go_together(self):
        for more, said in ((['--mode', 'counts'], '--mode counts'), (['--no-names'], '--no-names')):
            ran = rsslag('record', '--stacks', *more, '-o', '/dev/null', '1')
            assert_one_error_line(self, ran, 2)
            self.assertIn(said, ran.err)
        ran = rsslag('live', '--stacks', '1')
        assert_one_error_line(self, ran, 2)
        self.assertIn('--record', ran.err)
        for option in ('--stack-bytes=4K', '--stack-seed=1', '--unwind=fp', '--no-symbols'):
            ran = rsslag('record', option, '-o', '/dev/null', '1')
            assert_one_error_line(self, ran, 2)
            self.assertIn('--stacks', ran.err)
        ran = rsslag('record', '--stacks', '--unwind=lbr', '-o', '/dev/null', '1')
        assert_one_error_line(self, ran, 2)
        self.assertIn('auto, fp or dwarf', ran.err)
        for value in ('0', 'x', '-1', '64k'):
            assert_one_error_line(self, rsslag('record', f'--stacks={value}', '-o', '/dev/null', '1'), 2)

    def test_a_recording_without_stacks(self):
        file = str(contract.ROOT / 'docs' / 'recordings' / 'classic-6.1.rsslag')
        ran = rsslag('report', '--stacks', file)
        self.assertEqual(ran.out, 'the recording has no stacks; record it with rsslag record --stacks\n')
        document = json.loads(rsslag('report', '--stacks', '--json', file).out)
        assert_valid(self, 'report', document)
        self.assertEqual((document['sampling'], document['stacks']), (None, None))
        for args in (['report', '--stacks', '--by', 'page'], ['report', '--by', 'thread'], ['report', '--stacks', '--diff', file],
                     ['export', '--format', 'folded'], ['export', '--format', 'pprof'], ['export', '--format', 'speedscope']):
            assert_one_error_line(self, rsslag(*args, file), 2)


if __name__ == '__main__':
    contract.main()
