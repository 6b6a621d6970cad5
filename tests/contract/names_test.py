# SPDX-License-Identifier: BSD-2-Clause
"""Growth by the names of mappings sums up to the exact growth, to the page."""
import contextlib
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import tempfile

import contract
from contract import TIMEOUT, TracingTest, assert_valid, begun, environment, interpreter, rsslag, wait_until
from live import ROOMY

# Memory from known calls. No other memory of Python is shared, named or as large.
PRELUDE = '''
import ctypes, os, sys, threading
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
libc.malloc.restype = ctypes.c_void_p
libc.malloc.argtypes = [ctypes.c_size_t]
PRIVATE, SHARED, FIXED, ANONYMOUS, POPULATE = 2, 1, 0x10, 0x20, 0x8000
MiB = 1 << 20
libc.prctl(41, 1, 0, 0, 0)  # PR_SET_THP_DISABLE: what is touched comes page by page
def mapped(size, flags, fd=-1, at=None, prot=3):
    return libc.mmap(at, size, prot, flags, fd, 0)
def touched(at, size):
    for page in range(at, at + size, 4096):
        ctypes.memset(page, 1, 1)
    return at
'''

# int 0x80 of a 64-bit program enters the kernel as a system call of a 32-bit program does.
CALL32 = '''
CODE = bytes.fromhex('53 4989fa 418b02 418b5a04 418b4a08 418b520c 418b7210 418b7a14 cd80 5b c3')
code = mapped(4096, PRIVATE | ANONYMOUS, prot=7)
ctypes.memmove(code, CODE, len(CODE))
def call32(number, *arguments):
    words = (ctypes.c_uint32 * 6)(number, *arguments)
    return ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_void_p)(code)(ctypes.addressof(words))
'''


def came(image, name):
    return sum(row['came'] for row in image['mappings'] if row['mapping'] == name)


class Names(TracingTest):
    def setUp(self):
        self.directory = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.directory)
        self.file = os.path.join(self.directory, 'trace.rsslag')

    def recorded(self, *command, options=()):
        ran = rsslag('record', '-o', self.file, *ROOMY, *options, '--', *command)
        self.assertEqual(ran.status, 0, ran)

    def report(self):
        ran = rsslag('report', '--json', self.file)
        self.assertEqual((ran.status, ran.err), (0, ''), ran)
        document = ran.document()
        assert_valid(self, 'report', document)
        for process in document['processes']:
            for image in process['images']:
                told = sum(row['came'] for row in image['mappings']) + sum(image['no_fault'].values())
                self.assertEqual(told, image['grew'], image)
                self.assertEqual(image['grew'], image['last'] - image['start'])
                if document['lost'] == 0:
                    self.assertEqual(image['no_fault']['not_told'], 0, image)
        return document

    def image(self, program, options=()):
        """The image of the Python that runs the program, not of a wrapper in the PATH."""
        self.recorded(interpreter(), '-c', PRELUDE + program, options=options)
        return self.report()['processes'][0]['images'][-1]

    def test_each_kind_has_its_pages_under_its_name(self):
        path = os.path.join(self.directory, 'mapped file')
        with open(path, 'wb') as file:
            file.write(b'x' * (1 << 20))
        image = self.image(f'''
before = len(open('/proc/self/maps').read())
touched(mapped(32 * MiB, PRIVATE | ANONYMOUS), 32 * MiB)
touched(mapped(3 * MiB, SHARED | ANONYMOUS), 3 * MiB)
libc.mallopt(-3, 1 << 30)
touched(libc.malloc(8 * MiB), 8 * MiB)
fd = os.open({path!r}, os.O_RDWR)
touched(mapped(1 * MiB, SHARED, fd), 1 * MiB)
jit = touched(mapped(2 * MiB, PRIVATE | ANONYMOUS, prot=7), 2 * MiB)
''')
        self.assertEqual(came(image, 'shmem'), 768)
        self.assertEqual(came(image, path), 256)
        self.assertEqual(came(image, 'JIT ~'), 512)
        self.assertGreaterEqual(came(image, '[heap]'), 2048)
        self.assertLess(came(image, '[heap]'), 2048 + 1024)
        self.assertGreaterEqual(came(image, '(anonymous)'), 8192)
        self.assertLess(came(image, '(anonymous)'), 8192 + 2048)
        self.assertEqual(came(image, '(unknown)'), 0)

    def test_a_reused_address_is_not_reported_under_its_old_name(self):
        image = self.image('''
at = touched(mapped(4 * MiB, SHARED | ANONYMOUS), 4 * MiB)
libc.munmap(at, 4 * MiB)
assert mapped(4 * MiB, PRIVATE | ANONYMOUS | FIXED, at=at, prot=7) == at
touched(at, 4 * MiB)
''')
        self.assertEqual(came(image, 'shmem'), 1024)
        self.assertEqual(came(image, 'JIT ~'), 1024)
        self.assertLessEqual(image['no_fault']['given_up'], -1024)

    def test_what_mremap_moves_keeps_its_name_and_takes_the_place_of_another(self):
        image = self.image('''
libc.mremap.restype = ctypes.c_void_p
libc.mremap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p]
at = touched(mapped(4 * MiB, SHARED | ANONYMOUS), 4 * MiB)
jit = touched(mapped(1 * MiB, PRIVATE | ANONYMOUS, prot=7), 1 * MiB)
assert libc.mremap(jit, 1 * MiB, 3 * MiB, 3, at) == at
touched(at + 1 * MiB, 2 * MiB)
''')
        self.assertEqual(came(image, 'shmem'), 1024)
        self.assertEqual(came(image, 'JIT ~'), 768)
        rows = [json.loads(line) for line in rsslag('export', self.file, '--format', 'jsonl').out.splitlines()[1:]]
        moved = [row['perms'] for row in rows if row['type'] == 'moved' and row['mapping'] == 'JIT ~']
        self.assertEqual(moved, ['rwxp'], 'as before the move; the kernel does not report them')

    def test_what_mremap_leaves_mapped_keeps_its_name(self):
        image = self.image('''
libc.mremap.restype = ctypes.c_void_p
libc.mremap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p]
MAYMOVE_DONTUNMAP = 5
jit = touched(mapped(4 * MiB, PRIVATE | ANONYMOUS, prot=7), 4 * MiB)
at = libc.mremap(jit, 4 * MiB, 4 * MiB, MAYMOVE_DONTUNMAP, None)
assert at not in (None, jit, 2 ** 64 - 1)
touched(jit, 4 * MiB)
''')
        self.assertEqual(came(image, 'JIT ~'), 2048)
        self.assertEqual(came(image, '(unknown)'), 0)

    def test_mremap_by_a_32_bit_call(self):
        # The kernel may lack them, and a hypervisor may not pass int 0x80 on.
        getpid = subprocess.run([interpreter(), '-c', PRELUDE + CALL32 + 'assert call32(20) == os.getpid()'], check=False)
        if getpid.returncode != 0:
            self.skipTest('a 64-bit program cannot make 32-bit system calls here')
        image = self.image(CALL32 + '''
LOW = 0x40
at = touched(mapped(4 * MiB, SHARED | ANONYMOUS | LOW), 4 * MiB)
jit = touched(mapped(1 * MiB, PRIVATE | ANONYMOUS | LOW, prot=7), 1 * MiB)
assert call32(163, jit, 1 * MiB, 3 * MiB, 3, at) == at
touched(at + 1 * MiB, 2 * MiB)
''')
        self.assertEqual(came(image, 'shmem'), 1024)
        self.assertEqual(came(image, 'JIT ~'), 768 + 1)

    def test_what_came_by_no_fault_has_rows_of_its_own(self):
        image = self.image('mapped(16 * MiB, PRIVATE | ANONYMOUS | POPULATE)')
        self.assertGreaterEqual(image['no_fault']['populated'], 4096)

    def test_stacks_and_arenas_of_threads(self):
        image = self.image('''
threading.stack_size(8 * MiB)
tid = []
def run():
    tid.append(threading.get_native_id())
    libc.prctl(15, b'worker-07', 0, 0, 0)
    touched(libc.malloc(65536), 65536)
thread = threading.Thread(target=run)
thread.start()
thread.join()
''')
        stacks = [row for row in image['mappings'] if row['mapping'].startswith('stack of thread ')]
        self.assertEqual(len(stacks), 1, image['mappings'])
        self.assertRegex(stacks[0]['mapping'], r'^stack of thread \d+ worker-07$')
        self.assertGreater(stacks[0]['came'], 0)
        self.assertGreaterEqual(came(image, 'glibc arena ~'), 16)
        tid = int(stacks[0]['mapping'].split()[3])
        self.assertIn(('worker-07', tid), [(row['comm'], row['tid']) for row in image['threads']])

    def test_programs_of_one_process_are_kept_apart(self):
        inner = PRELUDE + 'touched(mapped(2 * MiB, SHARED | ANONYMOUS), 2 * MiB)'
        python = interpreter()
        self.recorded(python, '-c', PRELUDE + f'''
touched(mapped(5 * MiB, PRIVATE | ANONYMOUS, prot=7), 5 * MiB)
os.execv({python!r}, [{python!r}, '-c', {inner!r}])''')
        images = self.report()['processes'][0]['images']
        self.assertEqual(len(images), 2)
        self.assertEqual([came(image, 'JIT ~') for image in images], [1280, 0])
        self.assertEqual([came(image, 'shmem') for image in images], [0, 512])
        self.assertNotEqual(images[0]['mm'], images[1]['mm'])

    def test_a_fork_has_the_names_of_its_parent(self):
        self.recorded(interpreter(), '-c', PRELUDE + '''
at = mapped(4 * MiB, PRIVATE | ANONYMOUS, prot=7)
if os.fork() == 0:
    touched(at, 4 * MiB)
    os._exit(0)
os.wait()''', options=['--follow'])
        processes = self.report()['processes']
        self.assertEqual([came(process['images'][-1], 'JIT ~') for process in processes], [0, 1024])

    def attached_to(self):
        """Whether the recording that is being written already contains the attach."""
        if not os.path.exists(self.file):
            return False
        ran = rsslag('report', '--json', self.file)
        return ran.status == 0 and bool(ran.document()['processes'])

    def attached(self, program, meanwhile=lambda tracer: None):
        """Traces a program that prints "ready", reads a line, grows, prints "grown" and waits."""
        with begun([interpreter(), '-c', PRELUDE + program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                   bufsize=0) as held:
            self.assertEqual(held.stdout.readline(), b'ready\n')
            with begun([contract.binary, 'record', '-o', self.file, '--interval', '50ms', *ROOMY, '-p', held.pid],
                       stderr=subprocess.DEVNULL, env=environment()) as tracer:
                wait_until(self.attached_to)
                meanwhile(tracer)
                held.stdin.write(b'\n')
                self.assertEqual(held.stdout.readline(), b'grown\n')
                tracer.send_signal(signal.SIGCONT)
                tracer.send_signal(signal.SIGINT)
                self.assertEqual(tracer.wait(TIMEOUT), 0)
        (image,) = self.report()['processes'][0]['images']
        return image

    def test_the_size_of_a_mapping_is_shown_at_both_ends(self):
        program = '''
touched(mapped(2 * MiB, SHARED | ANONYMOUS), 2 * MiB)
print('ready', flush=True)
sys.stdin.readline()
at = touched(mapped(1 * MiB, SHARED | ANONYMOUS), 1 * MiB)
for _ in range(10):
    libc.madvise(ctypes.c_void_p(at), ctypes.c_size_t(1 * MiB), 4)
    touched(at, 1 * MiB)
print('grown', flush=True)
sys.stdin.readline()
'''
        image = self.attached(program)
        (row,) = [row for row in image['mappings'] if row['mapping'] == 'shmem']
        self.assertEqual((row['held_start_kb'], row['held_end_kb']), (2048, 3072))
        self.assertEqual(row['came'], 11 * 256, '`came` must include pages that were released later, by madvise')

    def test_a_thread_that_was_there_at_the_attach_has_its_stack_by_its_shape(self):
        image = self.attached('''
threading.stack_size(8 * MiB)
asked, done = threading.Event(), threading.Event()
def run():
    libc.prctl(15, b'worker-07', 0, 0, 0)
    print('ready', flush=True)
    asked.wait()
    nested = []
    for _ in range(900):
        nested = [nested]
    repr(nested)  # recurs on the stack
    print('grown', flush=True)
    done.wait()
thread = threading.Thread(target=run)
thread.start()
sys.stdin.readline()
asked.set()
sys.stdin.readline()
done.set()
thread.join()
''')
        stacks = [row for row in image['mappings'] if row['mapping'].startswith('stack of thread ')]
        self.assertEqual(len(stacks), 1, image['mappings'])
        self.assertRegex(stacks[0]['mapping'], r'^stack of thread \d+ worker-07 ~$')
        self.assertGreater(stacks[0]['came'], 8)

    def test_a_name_given_by_prctl(self):
        self.skip_without_names()
        image = self.image('''
at = mapped(4 * MiB, PRIVATE | ANONYMOUS)
assert libc.prctl(0x53564d41, 0, ctypes.c_void_p(at + MiB), ctypes.c_size_t(2 * MiB), b'pool') == 0
touched(at, 4 * MiB)
''')
        self.assertEqual(came(image, '[anon:pool]'), 512)

    def skip_without_names(self):
        """Skips without CONFIG_ANON_VMA_NAME. tests/vm/build_kernel builds a kernel with it."""
        tried = subprocess.run([interpreter(), '-c', PRELUDE + '''
at = mapped(MiB, PRIVATE | ANONYMOUS)
sys.exit(libc.prctl(0x53564d41, 0, ctypes.c_void_p(at), ctypes.c_size_t(MiB), b'pool') != 0)
'''], check=False)
        if tried.returncode != 0:
            self.skipTest('this kernel does not support names of anonymous memory')

    def test_lost_changes_of_mappings_are_reported(self):
        image = self.attached('''
print('ready', flush=True)
sys.stdin.readline()
at = mapped(MiB, PRIVATE | ANONYMOUS)
for i in range(30000):  # more than the kernel's buffers hold unread
    assert mapped(4096, PRIVATE | ANONYMOUS | FIXED, at=at, prot=1 + 2 * (i % 2)) == at
touched(mapped(2 * MiB, SHARED | ANONYMOUS), 2 * MiB)
print('grown', flush=True)
sys.stdin.readline()
''', meanwhile=lambda tracer: tracer.send_signal(signal.SIGSTOP))
        self.assertGreater(image['names_lost'], 0)
        self.assertIn('changes of mappings were lost', rsslag('report', self.file).out)
        rows = [json.loads(line) for line in rsslag('export', self.file, '--format', 'jsonl').out.splitlines()[1:]]
        lost = [row for row in rows if row['type'] == 'loss']
        self.assertEqual({row['cause'] for row in lost}, {'mappings'})
        self.assertEqual(sum(row['records'] for row in lost), image['names_lost'])
        assert_valid(self, 'record', lost[0])

    def test_rows_of_an_export(self):
        self.image('touched(mapped(3 * MiB, SHARED | ANONYMOUS), 3 * MiB)')
        ran = rsslag('export', self.file, '--format', 'jsonl')
        rows = [json.loads(line) for line in ran.out.splitlines()[1:]]
        shmem = [row for row in rows if row['type'] == 'mapped' and row['mapping'] == 'shmem']
        self.assertEqual(len(shmem), 1, shmem)
        assert_valid(self, 'record', shmem[0])
        self.assertEqual(int(shmem[0]['to'], 16) - int(shmem[0]['from'], 16), 3 << 20)
        updates = [row for row in rows if row['type'] in ('update', 'flush', 'fold') and row['mapping'] == 'shmem']
        for row in updates:
            self.assertLess(int(row['address'], 16) - int(shmem[0]['from'], 16), 3 << 20)
        self.assertTrue(updates)

    def test_a_file_that_is_mapped_has_its_build_id(self):
        """The report and the export show the build ID of the file's notes, or that it has none."""
        if shutil.which('readelf') is None:
            self.skipTest('readelf is missing')
        image = self.image('touched(mapped(3 * MiB, SHARED | ANONYMOUS), 3 * MiB)')
        told = {row['mapping']: row['build_id'] for row in image['mappings']}
        self.assertIsNone(told['shmem'])
        files = {name: build_id for name, build_id in told.items() if name.startswith('/') and build_id is not None}
        if not files and tuple(map(int, os.uname().release.split('-')[0].split('.')[:2])) < (5, 12):
            self.skipTest('this kernel reports no build ids')
        self.assertTrue(any('libc' in name for name in files), told)
        for name, build_id in files.items():
            notes = subprocess.run(['readelf', '-n', name], capture_output=True, text=True, check=True).stdout
            self.assertIn(f'Build ID: {build_id}', notes, name)
        rows = [json.loads(line) for line in rsslag('export', self.file, '--format', 'jsonl').out.splitlines()[1:]]
        exported = {row['mapping']: row['build_id'] for row in rows if row['type'] == 'mapped' and row['build_id']}
        for name, build_id in files.items():
            self.assertEqual(exported[name], build_id)
        database = os.path.join(self.directory, 'trace.sqlite')
        self.assertEqual(rsslag('export', self.file, '--format', 'sqlite', '-o', database).status, 0)
        with contextlib.closing(sqlite3.connect(database)) as tables:
            stored = dict(tables.execute('SELECT mapping, build_id FROM mappings WHERE build_id IS NOT NULL'))
        self.assertEqual({name: stored[name] for name in files}, files)

    def test_a_recording_without_names(self):
        self.recorded(interpreter(), '-c', PRELUDE + 'touched(mapped(3 * MiB, SHARED | ANONYMOUS), 3 * MiB)',
                      options=['--no-names'])
        self.assertIs(self.report()['names'], False)

    def test_a_hostile_name_is_harmless(self):
        path = os.path.join(self.directory, 'evil\x1b[31m\u202e,"name')
        with open(path, 'wb') as file:
            file.write(b'x' * 65536)
        self.image(f'touched(mapped(65536, SHARED, os.open({path!r}, os.O_RDWR)), 65536)')
        for args in (['report', self.file], ['report', '--json', self.file], ['export', self.file, '--format', 'csv']):
            out = rsslag(*args).out
            self.assertIn('evil', out)
            self.assertNotIn('\x1b', out)
            self.assertNotIn('\u202e', out)

    def test_a_recording_without_names_is_reported_by_addresses(self):
        path = os.path.join(os.path.dirname(__file__), '../../docs/recordings/classic-6.1.rsslag')
        ran = rsslag('report', path)
        self.assertEqual(ran.status, 0, ran)
        self.assertIn('ADDRESSES OF FAULTS', ran.out)
        self.assertNotIn('(unknown)', ran.out)
        self.assertIs(rsslag('report', '--json', path).document()['names'], False)


if __name__ == '__main__':
    contract.main()
