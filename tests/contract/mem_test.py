# SPDX-License-Identifier: BSD-2-Clause
"""rsslag mem: sums over processes without double counting, and the processes that could not be read."""
import contextlib
import mmap
import os
import platform
import re
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time
import unittest

import contract
from contract import (NOBODY, Children, Held, as_nobody, assert_one_error_line, assert_valid, environment, long_only,
                      needs_root, needs_schema, rsslag, task_state, wait_until)

PAGES = 300


def mem(*args, **more):
    return rsslag('mem', *(str(arg) for arg in args), **more)


def rollup(pid):
    """Pss of smaps_rollup, and its private anonymous part."""
    with open(f'/proc/{pid}/smaps_rollup') as file:
        return dict((key, int(kb)) for key, kb in re.findall(r'(?m)^(\w+):\s+(\d+) kB', file.read()))


def assert_adds_up(test, document):
    assert_valid(test, 'mem', document)
    for row in document['rows'] + (document['processes'] or []) + [document['sum']]:
        test.assertEqual(row['private_kb'] + row['shared_kb'], row['total_kb'], row)
    for key in ('private_kb', 'total_kb', 'swap_kb', 'rss_kb'):
        if document['by'] != 'file':
            test.assertEqual(sum(row[key] for row in document['rows']), document['sum'][key], key)
    totals = [row['total_kb'] for row in document['rows']]
    test.assertEqual(totals, sorted(totals, reverse=True))
    assert_used_adds_up(test, document)


def used_rows(document):
    return {row['name']: row['in_use_kb'] for row in document['used']['rows']}


def assert_used_adds_up(test, document):
    """The rows add up to MemTotal - MemFree, to the kB."""
    used, after, rows = document['used'], document['meminfo']['after'], used_rows(document)
    test.assertEqual(len(rows), len(used['rows']), 'each name must appear once')
    test.assertEqual(used['in_use_kb'], after['total_kb'] - after['free_kb'])
    test.assertEqual(sum(kb for kb in rows.values() if kb is not None), used['in_use_kb'], used)
    if document['by'] != 'file':
        parts = [rows['process_' + part] for part in ('anon', 'file', 'shmem', 'drivers')]
        # The kernel rounds each of the three down, in each process (fs/proc/task_mmu.c, PSS_SHIFT).
        processes = sum(row['processes'] for row in document['rows'])
        test.assertLessEqual(sum(parts), document['sum']['total_kb'])
        test.assertGreaterEqual(sum(parts), document['sum']['total_kb'] - 3 * processes)


@unittest.skipUnless(os.geteuid() == 0 and platform.machine() == 'x86_64', 'needs root, and x86-64 for its small programs')
class Crowd(unittest.TestCase):
    """Stopped processes of a user that has no other process. They share no page with other processes."""

    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.mkdtemp(prefix='rsslag-contract-')
        cls.addClassCleanup(shutil.rmtree, cls.directory)
        os.chmod(cls.directory, 0o755)
        cls.program = os.path.join(cls.directory, 'crowd')
        contract.tiny_program(cls.program, PAGES)
        cls.user = next(uid for uid in range(61000, 62000) if not cls.pids_of(uid))

    @staticmethod
    def pids_of(uid):
        pids = []
        for name in os.listdir('/proc'):
            with contextlib.suppress(OSError):
                if name.isdigit() and os.stat('/proc/' + name).st_uid == uid:
                    pids.append(int(name))
        return pids

    @contextlib.contextmanager
    def crowd(self, count, **more):
        with contextlib.ExitStack() as stack:
            processes = []
            for _ in range(count):
                process = subprocess.Popen([self.program], stdout=subprocess.PIPE, env=environment(), user=self.user,
                                           group=self.user, extra_groups=[], **more)
                stack.callback(process.wait)
                stack.callback(process.stdout.close)
                stack.callback(process.kill)
                processes.append(process)
            for process in processes:
                if process.stdout.read(1) != b'\n':
                    raise AssertionError('the program did not start')
                process.send_signal(signal.SIGSTOP)
            for process in processes:
                wait_until(lambda pid=process.pid: task_state(pid) == 'T')
            yield sorted(process.pid for process in processes)

    def of_crowd(self, *args):
        ran = mem('--json', '-u', self.user, *args)
        self.assertEqual((ran.status, ran.err), (0, ''), ran)
        document = ran.document()
        assert_adds_up(self, document)
        self.assertEqual(document['failed'], [])
        return document

    def test_by_program_is_the_sum_of_the_rollups(self):
        with self.crowd(3) as pids:
            document = self.of_crowd('--each')
            sums = {pid: rollup(pid) for pid in pids}
        (row,) = document['rows']
        self.assertEqual((row['name'], row['processes'], row['pids']), (self.program, 3, pids))
        self.assertEqual(row['total_kb'], sum(each['Pss'] for each in sums.values()))
        self.assertEqual(row['private_kb'],
                         sum(each['Private_Clean'] + each['Private_Dirty'] for each in sums.values()))
        self.assertEqual({user['pids'][0]: user['total_kb'] for user in document['processes']},
                         {pid: each['Pss'] for pid, each in sums.items()})

    @long_only('it compares with smem, and processes start and end in between')
    @unittest.skipUnless(shutil.which('smem'), 'smem is missing')
    def test_smem_shows_the_same(self):
        with self.crowd(3) as pids:
            document = self.of_crowd('--each')
            told = subprocess.run(['smem', '-H', '-c', 'pid uss pss'], capture_output=True, text=True, check=True,
                                  env=environment(), timeout=contract.TIMEOUT).stdout
        theirs = {int(pid): (int(uss), int(pss)) for pid, uss, pss in re.findall(r'(?m)^\s*(\d+)\s+(\d+)\s+(\d+)\s*$', told)}
        for user in document['processes']:
            (pid,) = user['pids']
            self.assertIn(pid, pids)
            self.assertEqual((user['private_kb'], user['total_kb']), theirs[pid])

    def test_what_one_more_costs_and_how_many_fit(self):
        with self.crowd(3) as pids:
            document = self.of_crowd()
            dirty = [rollup(pid)['Private_Dirty'] for pid in pids]
        room = document['rows'][0]['room']
        self.assertEqual(room['each_kb'], -(-sum(dirty) // 3))
        self.assertEqual(room['largest_kb'], max(dirty))
        self.assertGreaterEqual(room['each_kb'], PAGES * 4)
        self.assertEqual(room['more'], document['meminfo']['after']['available_kb'] // room['each_kb'])

    def test_by_user_is_the_sum_of_the_processes(self):
        with self.crowd(4):
            document = self.of_crowd('--by', 'user', '--each')
        (row,) = document['rows']
        self.assertEqual(row['name'], str(self.user))
        self.assertEqual(row['total_kb'], sum(user['total_kb'] for user in document['processes']))
        self.assertIsNone(row['room'])

    def test_user_is_the_real_one(self):
        with self.crowd(1) as (pid,):
            with Held('single') as held:
                document = mem('--json', '--by', 'user', '--each').document()
        by_pid = {pid: user['uid'] for user in document['processes'] for pid in user['pids']}
        self.assertEqual((by_pid[pid], by_pid[held.pid]), (self.user, 0))

    def test_by_file_shows_which_processes_map_it(self):
        with self.crowd(3) as pids:
            document = self.of_crowd('--by', 'file', '--each')
            text = mem('--by', 'file', '--each', '-u', self.user)
        row = next(row for row in document['rows'] if row['name'] == self.program)
        self.assertEqual((row['processes'], row['pids'], row['mappings']), (3, pids, 3))
        self.assertEqual([who['pid'] for who in row['by_pid']], pids)
        self.assertEqual(row['total_kb'], sum(who['total_kb'] for who in row['by_pid']))
        anonymous = next(row for row in document['rows'] if row['name'] in ('', '[heap]'))
        self.assertEqual(anonymous['private_dirty_kb'], 3 * PAGES * 4)
        for pid in pids:
            self.assertTrue(any(re.search(rf' {pid} crowd', line) for line in text.lines), text)

    @long_only('it measures the time for 500 processes')
    def test_five_hundred_processes_in_two_seconds(self):
        with self.crowd(500):
            begin = time.monotonic()
            document = self.of_crowd()
            took = time.monotonic() - begin
        self.assertEqual(document['rows'][0]['processes'], 500)
        print(f'mem over 500 processes: {took:.2f} s, reading {document["read_us"] / 1e6:.2f} s')
        self.assertLess(took, 60 if contract.emulated() else 2)


class Machine(unittest.TestCase):
    @needs_schema
    def test_each_view_is_valid_and_adds_up(self):
        for by in ('program', 'user', 'cgroup', 'file'):
            ran = mem('--json', '--each', '--by', by)
            self.assertEqual((ran.status, ran.err), (0, ''), ran)
            assert_adds_up(self, ran.document())
            self.assertEqual(mem('--by', by, '--all', '--each').status, 0)

    @long_only('processes start and end during the reading')
    @needs_root
    def test_the_sum_is_no_more_than_what_is_in_use(self):
        document = mem('--json').document()
        used = [when['total_kb'] - when['free_kb'] for when in document['meminfo'].values()]
        self.assertLessEqual(document['sum']['total_kb'], max(used))

    def test_processes_that_share_an_mm_are_counted_once(self):
        with Held('clone-vm') as held:
            lodger = int(held.fact('child'))
            document, text = mem('--json', '--each').document(), mem()
        (user,) = [user for user in document['processes'] if held.pid in user['pids']]
        self.assertEqual(user['pids'], sorted([held.pid, lodger]))
        self.assertIn({'pids': user['pids'], 'comm': user['comm'], 'total_kb': user['total_kb']}, document['shared_mm'])
        (line,) = [line for line in text.lines if line.startswith('shared address spaces, each counted once: ')]
        if len(document['shared_mm']) <= 5:
            self.assertIn('+'.join(map(str, user['pids'])), line)
        self.assertEqual(document['maybe_shared_mm'], [])

    @unittest.skipUnless(shutil.which('strace'), 'strace is missing')
    def test_if_kcmp_gives_no_answer_this_is_reported(self):
        with Held('clone-vm') as held, tempfile.NamedTemporaryFile('r') as log:
            pids = sorted([held.pid, int(held.fact('child'))])
            without = ['strace', '-qq', '-o', log.name, '-e', 'trace=kcmp', '-e', 'inject=kcmp:error=ENOSYS']
            ran, text = mem('--json', '--each', prefix=without), mem(prefix=without)
        self.assertEqual((ran.status, ran.err), (0, ''), ran)
        document = ran.document()
        assert_adds_up(self, document)
        of = {pid: user['total_kb'] for user in document['processes'] for pid in user['pids']}
        self.assertEqual([user['pids'] for user in document['processes'] if set(pids) & set(user['pids'])],
                         [[pid] for pid in pids])
        self.assertIn({'pid': pids[1], 'like': pids[0], 'total_kb': of[pids[1]]}, document['maybe_shared_mm'])
        self.assertTrue(any(line.startswith('~ each is counted, but may share an mm with another one (kcmp: ')
                            for line in text.lines), text)

    def test_shmem_that_no_process_maps_is_shown(self):
        megabytes = 32
        memory = os.memfd_create('rsslag-contract')
        self.addCleanup(os.close, memory)
        for _ in range(megabytes):
            os.write(memory, bytes(1 << 20))
        # The kernel's counter lags by up to 125 pages per CPU (mm/vmstat.c). Pages that a process mapped which ended in the
        # meantime are subtracted anyway.
        lag_kb = 125 * os.cpu_count() * mmap.PAGESIZE // 1024
        wait_until(lambda: used_rows(mem('--json').document())['shmem'] >= megabytes * 1024 - lag_kb)

    @needs_root
    def test_hugetlb_that_only_a_memfd_holds_is_named(self):
        size = 2 << 20
        try:
            memory = os.memfd_create('rsslag-contract', os.MFD_HUGETLB)
            self.addCleanup(os.close, memory)
            os.ftruncate(memory, size)
            os.posix_fallocate(memory, 0, size)
        except OSError as refused:
            self.skipTest(f'no hugetlb pages here: {refused}')
        # A process that ends after it was read reduces what is not listed.
        wait_until(lambda: mem('--json').document()['used']['hugetlb']['unlisted_kb'] >= size // 1024)
        wait_until(lambda: ' mapped by no process listed: memfd, hugetlbfs, System V' in mem().out)

    @needs_root
    def test_the_ring_of_a_packet_socket_is_memory_of_a_driver(self):
        block, blocks, packet, rx_ring = 1 << 20, 32, 263, 5  # SOL_PACKET, PACKET_RX_RING (linux/if_packet.h)
        try:
            ring = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
            self.addCleanup(ring.close)
            ring.setsockopt(packet, rx_ring, struct.pack('4I', block, blocks, 2048, blocks * block // 2048))
        except OSError as refused:
            self.skipTest(f'no packet socket with a ring here: {refused}')
        mapped = mmap.mmap(ring.fileno(), blocks * block)
        self.addCleanup(mapped.close)
        for by in ('program', 'file'):
            document = mem('--json', '--by', by).document()
            assert_adds_up(self, document)
            self.assertGreaterEqual(used_rows(document)['process_drivers'], blocks * block // 1024)

    @needs_root
    def test_a_tmpfs_tells_what_it_holds(self):
        directory = tempfile.mkdtemp(prefix='rsslag contract-')
        self.addCleanup(shutil.rmtree, directory, ignore_errors=True)
        disk = contract.small_disk(self, directory, '64m')
        with open(disk + '/file', 'wb') as file:
            file.write(bytes(8 << 20))
        document = mem('--json').document()
        (row,) = [row for row in document['used']['tmpfs'] if row['where'] == disk]
        self.assertEqual((row['used_kb'], row['size_kb']), (8 << 10, 64 << 10))

    @needs_root
    def test_hugetlb_is_shown_with_its_holders(self):
        try:
            held = Held('hugetlb')
        except AssertionError as refused:
            self.skipTest(f'cannot get hugetlb pages: {refused}')
        with held:
            document, text = mem('--json').document(), mem()
        assert_adds_up(self, document)
        (row,) = [row for row in document['used']['hugetlb']['processes'] if held.pid in row['pids']]
        self.assertEqual((row['private_kb'], row['shared_kb']), (int(held.fact('hugetlb_kb')), 0))
        self.assertGreaterEqual(used_rows(document)['hugetlb'], row['private_kb'])
        self.assertGreaterEqual(sum(pool['page_kb'] * (pool['pages'] - pool['free'])
                                    for pool in document['used']['hugetlb']['pools']), row['private_kb'])
        self.assertTrue(any('private + shared, which counts in each: ' in line for line in text.lines), text)

    @needs_root
    @unittest.skipUnless(shutil.which('unshare'), 'unshare (util-linux) is missing')
    def test_in_a_pid_namespace_it_does_not_claim_that_no_process_maps_it(self):
        inside = ['unshare', '-pf', '--kill-child', '--mount-proc']
        ran, text = mem('--json', prefix=inside), mem(prefix=inside)
        self.assertEqual((ran.status, ran.err), (0, ''), ran)
        assert_adds_up(self, ran.document())
        self.assertFalse(ran.document()['used']['sees_all_processes'])
        self.assertNotIn('that no process maps', text.out)

    def test_text_shows_the_users_of_the_rest(self):
        text = mem()
        heads = [line for line in text.lines if line.startswith('in use on this machine (MemTotal - MemFree): ')]
        self.assertEqual(len(heads), 1, text)
        self.assertTrue(any(re.fullmatch(r' *~ [\u2212\d,.]+  unaccounted', line) for line in text.lines), text)

    @long_only('starts 200 processes to count system calls: a test of speed')
    @unittest.skipUnless(shutil.which('strace'), 'strace is missing')
    def test_many_that_look_alike_are_not_each_compared_with_all(self):
        count = 200
        with Children((b'alike',) * count), tempfile.NamedTemporaryFile('r') as log:
            ran = mem('--json', '--each', prefix=['strace', '-qq', '-o', log.name, '-e', 'trace=kcmp'])
            asked = len(log.readlines())
        self.assertEqual((ran.status, ran.err), (0, ''), ran)
        # Processes of another test may have equal values, too.
        processes = ran.document()['processes']
        self.assertGreaterEqual(len(processes), count)
        self.assertLess(asked, 20 * len(processes))

    @needs_root
    def test_what_may_not_be_read_is_named(self):
        with Held('single') as held:
            process = subprocess.Popen(['sh', '-c', 'echo; read x'], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                       env=environment(), user=NOBODY, group=NOBODY, extra_groups=[])
            try:
                process.stdout.readline()
                ran, text = as_nobody('mem', '--json', '--each'), as_nobody('mem')
            finally:
                process.communicate()
        self.assertEqual((ran.status, ran.err), (0, ''), ran)
        document = ran.document()
        assert_adds_up(self, document)
        self.assertIn(process.pid, [pid for user in document['processes'] for pid in user['pids']])
        self.assertIn(held.pid, [failed['pid'] for failed in document['failed']])
        self.assertGreaterEqual(document['used']['not_readable'], 1)
        self.assertRegex(text.out, r'(?m)  anonymous memory of .*not readable')
        self.assertIn(' are mapped by processes that were not read\n', text.out)
        self.assertTrue(any(re.fullmatch(r'not read: \d+ process(es)?, not allowed:[ \d.]+', line)
                            for line in text.lines), text)
        self.assertIn('\nto read them: run rsslag with sudo, or give it CAP_SYS_PTRACE: ', text.out)

    @needs_root
    def test_no_process_at_all(self):
        uid = next(uid for uid in range(61000, 62000) if not Crowd.pids_of(uid))
        assert_one_error_line(self, mem('-u', uid), 3)

    def test_bad_words(self):
        assert_one_error_line(self, mem('--by', 'colour'), 2)
        assert_one_error_line(self, mem('-u', 'no such user'), 2)
        assert_one_error_line(self, mem('--', 'true'), 2)


if __name__ == '__main__':
    contract.main()
