#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Without BPF, in the build or by privileges: snapshot, top and live report what /proc alone shows, and state that."""
import contextlib
import csv
import ctypes
import io
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import unittest

import contract
from contract import (Children, Held, NOBODY, Ran, as_nobody, assert_one_error_line, assert_valid, begun, child_with, environment,
                      long_only, needs_root, rsslag, set_comm, snapshot_of_command, task_state, wait_until)

PAGE = os.sysconf('SC_PAGE_SIZE')
NOTE = 'rsslag: without BPF, values are from /proc: '
CLOCK = r'\d\d:\d\d:\d\d'


def number(text):
    return int(re.sub(r'[~,]', '', text))


def walked(pid):
    """Resident pages, from the page tables."""
    with open(f'/proc/{pid}/smaps_rollup', encoding='ascii') as file:
        return int(re.search(r'^Rss: +(\d+)', file.read(), re.M)[1]) * 1024 // PAGE


AS_NOBODY = {'user': NOBODY, 'group': NOBODY, 'extra_groups': [], 'cwd': '/', 'env': environment()}


@contextlib.contextmanager
def few_pages():
    """A workload whose threads cache much, run by a user without capabilities."""
    with begun([contract.binary_for_all(), 'demo', 'few-pages', '--hold'], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
               stderr=subprocess.PIPE, **AS_NOBODY) as process:
        first = process.stdout.readline().decode().split()
        pid = int(first[1])
        wait_until(lambda: task_state(pid) == 'S')
        yield pid


def live_until(lines, end, *args):
    """Runs `rsslag live` as the user nobody, and ends it after that many lines. Then closes CMD's stdin."""
    with begun([contract.binary_for_all(), 'live', *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
               stderr=subprocess.PIPE, bufsize=0, **AS_NOBODY) as process:
        told = b''.join(process.stdout.readline() for _ in range(lines))
        end(process)
        rest, err = process.communicate(timeout=contract.TIMEOUT)
        return Ran(args, process.returncode, told + rest, err)


def interrupt(process):
    process.send_signal(signal.SIGINT)


def nothing(_):
    pass


@needs_root
class Unprivileged(unittest.TestCase):
    def document(self, ran):
        self.assertEqual(ran.status, 0, ran)
        self.assertTrue(ran.err.startswith(NOTE), ran.err)
        self.assertIn('CAP_BPF' if contract.has_tracer() else 'without the tracer', ran.err)
        document = json.loads(ran.lines[-1])
        assert_valid(self, 'proc', document)
        return document

    def assert_true(self, document, process):
        """Checks the reading of a quiescent process to the page."""
        pages = walked(process['pid'])
        self.assertFalse(process['moved'])
        self.assertEqual(process['exact_rss'], pages, process)
        self.assertEqual(process['lag'], pages - process['readers']['stat']['rss_kb'] * 1024 // PAGE)
        if document['calibration']['status'] == 'exact':
            self.assertEqual((process['from'], process['residual']), ('status', 0), process)
            members = process['members']
            self.assertEqual(members['rss'], members['file'] + members['anon'] + members['shmem'])
            self.assertEqual(members['rss'], pages)
        else:
            self.assertIn(process['from'], ('smaps_rollup', 'smaps'))
            self.assertIsNone(process['members'])

    def test_snapshot_of_a_process_of_its_own(self):
        with few_pages() as pid:
            document = self.document(as_nobody('snapshot', '--json', str(pid)))
            (process,) = document['processes']
            self.assert_true(document, process)
            self.assertEqual(document['calibration']['stat'], 'flushed')
            text = as_nobody('snapshot', str(pid))
        self.assertEqual(text.status, 0)
        self.assertIn('BY /proc ALONE', text.lines[1])
        self.assertIn(f"this process holds {process['exact_rss'] * PAGE // 1024:,} kB", text.lines[0])
        self.assertEqual(text.err.count('\n'), 1)

    def test_live_goes_on_for_what_matches_later(self):
        with begun([contract.binary_for_all(), 'live', '--format', 'jsonl', '--interval', '50ms', '--comm', 'rslg-proc-*'],
                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, **AS_NOBODY) as process:
            self.assertTrue(process.stderr.readline().decode().startswith(NOTE))
            self.assertIn(b'waiting', process.stderr.readline())
            for name in (b'rslg-proc-1', b'rslg-proc-2'):
                with Children([name], uid=NOBODY) as (pid,):
                    while pid not in [each['pid'] for each in json.loads(process.stdout.readline())['processes']]:
                        pass
                self.assertIn(b'waiting for the next', process.stderr.readline())
            interrupt(process)
            process.communicate(timeout=contract.TIMEOUT)
        self.assertEqual(process.returncode, 0)

    def test_the_experiment_finds_what_rsslag_finds_with_bpf(self):
        if contract.why_no_tracing():
            self.skipTest(contract.why_no_tracing())
        with Children(uid=NOBODY) as (pid,):
            proc = self.document(as_nobody('snapshot', '--json', str(pid)))['calibration']
            self.assertEqual(proc, contract.snapshot('--json', pid).document()['calibration'])

    def test_a_process_of_another_user(self):
        with Children() as (pid,):
            document = self.document(as_nobody('snapshot', '--json', str(pid)))
            text = as_nobody('snapshot', str(pid))
        (process,) = document['processes']
        self.assertEqual(process['walk'], 'denied')
        if document['calibration']['status'] == 'exact':
            self.assertEqual(process['from'], 'status')
        else:
            self.assertEqual((process['from'], process['exact_rss'], process['lag']), (None, None, None))
            self.assertIn('exact RSS is not known', text.lines[0])

    def test_demo_reads_its_workload(self):
        (process,) = self.document(as_nobody('demo', 'few-pages', '--json'))['processes']
        self.assertEqual((process['comm'], process['moved']), ('few-pages', False), process)
        self.assertGreater(process['exact_rss'], 0)
        self.assertIn('BY /proc ALONE', as_nobody('demo', 'few-pages').lines[1])

    def test_what_is_not_there_is_an_error_as_ever(self):
        ran = as_nobody('snapshot', '--json', str(contract.no_such_pid()))
        self.assertEqual(ran.status, 3, ran)
        self.assertEqual(len(json.loads(ran.out)['failed']), 1)

    def test_a_process_that_proc_hides(self):
        with Children() as (pid,):
            for hidepid in (2, 4):
                prefix = ['unshare', '-m', 'sh', '-c', f'mount -t proc -o hidepid={hidepid} proc /proc && exec "$@"', 'sh',
                          'setpriv', f'--reuid={NOBODY}', f'--regid={NOBODY}', '--clear-groups']
                for command in (('snapshot',), ('maps',), ('live', '--duration', '1s')):
                    with self.subTest(hidepid=hidepid, command=command[0]):
                        ran = rsslag(*command, str(pid), executable=contract.binary_for_all(), cwd='/', prefix=prefix)
                        if ran.err.startswith(('unshare: ', 'mount: ')):
                            self.skipTest(ran.err)
                        self.assertNotEqual(ran.status, 0)
                        self.assertIn(f'rsslag: /proc hides process {pid} from this user; run rsslag as root', ran.err)

    def test_check_takes_a_walk_that_confirms_a_counter(self):
        with few_pages() as own, Children() as (other,):
            exact = self.document(as_nobody('snapshot', '--json', str(own)))['calibration']['status'] == 'exact'
            self.assertEqual(as_nobody('snapshot', '--check', str(own)).status, 0 if exact else 1)
            self.assertEqual(as_nobody('snapshot', '--check', str(other)).status, 1)
            self.assertEqual(as_nobody('snapshot', '--check', '--no-walk', str(own)).status, 1)

    @contract.long_only('starts 30 programs, 1 s of CPU')
    def test_few_descriptors_are_enough_for_many_processes(self):
        few = ['prlimit', '--nofile=24:24']
        with contract.programs_for_all('rslg-few', *[NOBODY] * 30) as pids:
            ran = as_nobody('live', '--format', 'jsonl', '--no-walk', '--duration', '10ms', '--comm', 'rslg-few', prefix=few)
            read = {command: as_nobody(command, '--json', '--comm', 'rslg-few', prefix=few) for command in ('snapshot', 'maps')}
            checked = as_nobody('snapshot', '--check', '--repeat', '2', '--comm', 'rslg-few', prefix=few)
        self.assertEqual(ran.status, 0, ran)
        document = json.loads(ran.lines[0])
        self.assertEqual({process['pid'] for process in document['processes']}, set(pids), ran)
        self.assertEqual(document['failed'], [])
        self.assertNotIn('Too many open', ran.err)
        # All readings need the same processes, which stay open.
        self.assertEqual(checked.status, 1, checked)
        self.assertRegex(checked.err, r'\d+ processes were not read: .*Too many open')
        # These need a descriptor for one process at a time.
        for ran in read.values():
            self.assertEqual(ran.status, 0, ran)
            self.assertEqual({process['pid'] for process in json.loads(ran.out)['processes']}, set(pids), ran)

    def test_snapshot_of_a_command(self):
        ran, _, document = snapshot_of_command('read x; exit 7', '--delay', '50ms', executable=contract.binary_for_all(),
                                               user=NOBODY, group=NOBODY, extra_groups=[], cwd='/')
        self.assertEqual(ran.status, 7, ran)
        (process,) = document['processes']
        self.assertEqual(process['comm'], 'sh')

    def test_top(self):
        with few_pages() as pid:
            document = self.document(as_nobody('top', '--once', '--json'))
            (process,) = [each for each in document['processes'] if each['pid'] == pid]
            self.assertEqual(process['exact_rss'], walked(pid))
            lags = [each['lag'] for each in document['processes'] if each['lag'] is not None]
            self.assertEqual(lags, sorted(lags, reverse=True))
            text = as_nobody('top', '--once', '--sort', 'exact', '--rows', '5')
        self.assertEqual((text.status, len(text.lines)), (0, 6), text)
        for line in text.lines[1:]:
            self.assertRegex(line, CLOCK + r' .*  (sampled, (status|smaps_rollup|smaps)|you may not read its page tables)$')
        exact = [number(line.split()[-5]) for line in text.lines[1:] if 'sampled' in line]
        self.assertEqual(exact, sorted(exact, reverse=True))

    def test_top_as_metrics(self):
        if rsslag('top', '--once', '--format', 'prometheus').err.startswith('rsslag: this static build'):
            self.skipTest('this rsslag is static')

        def become_nobody():
            os.setgroups([])
            os.setresgid(NOBODY, NOBODY, NOBODY)
            os.setresuid(NOBODY, NOBODY, NOBODY)
            ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # PR_SET_DUMPABLE: nobody may read its smaps
            set_comm(b'rslg-metric')

        with child_with(become_nobody) as pid, Children([b'rslg-other']):
            ran = as_nobody('top', '--once', '--format', 'prometheus', '--rows', '10000')
            exact, calibration = walked(pid), self.document(as_nobody('snapshot', '--json', str(pid)))['calibration']
        self.assertEqual(ran.status, 0, ran)
        self.assertTrue(ran.err.startswith(NOTE), ran.err)
        values = {}
        for name, labels, value in re.findall(r'(?m)^rsslag_(\w+)\{comm="rslg-metric"(.*)\} (\S+)$', ran.out):
            values.setdefault(name, {})[labels] = float(value)
        resident = values['process_resident_memory_bytes']
        self.assertEqual(sum(resident.values()), exact * PAGE)
        by_status = calibration['status'] == 'exact'
        self.assertEqual(set(resident), {f',member="{member}",part="undivided"'
                                         for member in (('file', 'anon', 'shmem') if by_status else ('undivided',))})
        self.assertEqual((values['processes'], values['processes_unread'], values['processes_inexact']), ({'': 1}, {'': 0}, {'': 0}))
        self.assertIn('lag_bytes', values)
        unread = re.search(r'(?m)^rsslag_processes_unread\{comm="rslg-other"\} (\d)$', ran.out)
        self.assertEqual(unread[1], '0' if by_status else '1', 'the process of another user')

    def test_top_writes_a_file(self):
        with tempfile.TemporaryDirectory(prefix='rsslag-contract-') as place:
            os.chown(place, NOBODY, NOBODY)
            path = os.path.join(place, 'top')
            ran = as_nobody('top', '--once', '--json', '-o', path)
            self.assertEqual((ran.status, ran.out), (0, ''), ran)
            with open(path, encoding='utf-8') as file:
                self.assertEqual(json.load(file)['schema'], self.document(as_nobody('top', '--once', '--json'))['schema'])

    def test_live_marks_each_line(self):
        with few_pages() as pid:
            ran = live_until(5, interrupt, '--interval', '100ms', pid)
            held = walked(pid) * PAGE // 1024
        self.assertEqual(ran.status, 0, ran)
        self.assertTrue(ran.err.startswith(NOTE), ran.err)
        self.assertGreaterEqual(len(ran.lines), 5)
        for line in ran.lines[1:]:
            self.assertRegex(line, rf'^{CLOCK} +{pid} few-pages .* sampled, (status|smaps_rollup|smaps)$')
            self.assertEqual(number(line.split()[4]), held, line)

    def test_live_names_the_options_without_effect(self):
        with few_pages() as pid:
            for args, names in (((), None), (('--follow', '--threads', 'all', '--mode', 'counts'), '--follow, --threads, --mode')):
                ran = as_nobody('live', '--duration', '10ms', *args, str(pid))
                self.assertEqual(ran.status, 0, ran)
                self.assertEqual(ran.err.splitlines()[1:],
                                 [f'rsslag: these options have no effect without BPF: {names}'] if names else [], ran)

    def test_live_as_csv(self):
        with few_pages() as pid:
            ran = live_until(3, interrupt, '--format', 'csv', '--interval', '100ms', pid)
            held = walked(pid)
        self.assertEqual(ran.status, 0, ran)
        self.assertTrue(ran.err.startswith(NOTE), ran.err)
        self.assertEqual(ran.raw_out.count(b'\n'), ran.raw_out.count(b'\r\n'))
        header, *rows = csv.reader(io.StringIO(ran.out, newline=''), strict=True)
        self.assertGreaterEqual(len(rows), 2)
        for row in (dict(zip(header, row, strict=True)) for row in rows):
            self.assertEqual((row['pid'], row['comm'], row['exact_rss']), (str(pid), 'few-pages', str(held)))
            self.assertEqual(int(row['lag']), held - int(row['stat_rss_kb']) * 1024 // PAGE)
            self.assertIn(row['sampled'], ('status', 'smaps_rollup', 'smaps'))

    def test_maps_and_mem_of_another_user_by_status(self):
        with Children() as (pid,):
            status = open(f'/proc/{pid}/status', encoding='ascii').read()
            says = {key: int(re.search(rf'(?m)^{name}:\s+(\d+) kB', status)[1])
                    for key, name in (('anon_kb', 'RssAnon'), ('file_kb', 'RssFile'), ('shmem_kb', 'RssShmem'), ('virtual_kb', 'VmSize'))}
            maps, text = as_nobody('maps', '--json', str(pid)), as_nobody('maps', str(pid))
            mem, lines = as_nobody('mem', '--json'), as_nobody('mem')
            asked = as_nobody('maps', '--each', str(pid))
        for ran, schema in ((maps, 'maps'), (mem, 'mem')):
            self.assertEqual((ran.status, ran.err), (0, ''), ran)
            document = ran.document()
            assert_valid(self, schema, document)
            self.assertIn(document['status_shows'], ('exact', 'flushed'))
            (failed,) = [each for each in document['failed'] if each['pid'] == pid]
            self.assertEqual({key: failed['status'][key] for key in says}, says)
            self.assertEqual(failed['status']['rss_kb'], says['anon_kb'] + says['file_kb'] + says['shmem_kb'])
        self.assertEqual((text.status, text.err), (0, ''), text)
        self.assertIn(f'BY /proc/{pid}/status ALONE: ', text.lines[1])
        self.assertIn(f"anon{says['anon_kb']:>17,}", text.lines)
        self.assertIn('CAP_SYS_PTRACE', text.lines[-1])
        self.assertRegex(lines.out, r'(?m)^status of \d+ of them \([^)]+\): [\d,]+ kB resident')
        # Mappings that were requested cannot be shown.
        assert_one_error_line(self, asked, 3)

    def test_live_of_a_command_ends_as_it_does(self):
        ran = live_until(3, nothing, '--json', '--interval', '100ms', '--', 'sh', '-c', 'read x; exit 7')
        self.assertEqual(ran.status, 7, ran)
        documents = [json.loads(line) for line in ran.lines]
        for document in documents:
            assert_valid(self, 'proc', document)
        self.assertGreaterEqual(len(documents), 3)
        self.assertEqual(documents[0]['processes'][0]['comm'], 'sh')
        self.assertEqual(as_nobody('live', '--', '/no/such/command').status, 127)
        at_once = as_nobody('live', '--json', '--', 'true')
        self.assertEqual(at_once.status, 0)
        self.assertTrue(at_once.out or 'the command ended before the first sample' in at_once.err, at_once)

    def test_who_closes_the_pipe_leaves_the_command_its_status(self):
        with subprocess.Popen([contract.binary_for_all(), 'live', '--interval', '50ms', '--', 'sh', '-c', 'sleep 1; exit 7'],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, user=NOBODY, group=NOBODY, extra_groups=[],
                              cwd='/', env=environment()) as live:
            live.stdout.readline()
            live.stdout.close()
            self.assertEqual(live.wait(contract.TIMEOUT), 7)

    @unittest.skipUnless(shutil.which('strace'), 'strace is missing')
    def test_root_who_is_refused_keeps_no_capability_but_that_for_others_memory(self):
        command = ['strace', '-qq', '-f', '-o', '/dev/null', '-e', 'trace=bpf', '-e', 'inject=bpf:error=EPERM', contract.binary,
                   'live', '--json', '--interval', '50ms', '--', 'sh', '-c', 'read x; true']
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              env=environment()) as live:
            try:
                shell = json.loads(live.stdout.readline())['processes'][0]['pid']
                tracer = re.search(r'PPid:\s+(\d+)', open(f'/proc/{shell}/status', encoding='ascii').read())[1]
                for task in os.listdir(f'/proc/{tracer}/task'):
                    text = open(f'/proc/{tracer}/task/{task}/status', encoding='ascii').read()
                    self.assertEqual(int(re.search(r'CapPrm:\s+(\w+)', text)[1], 16) & ~(1 << 19), 0)  # SYS_PTRACE
            finally:
                live.communicate(b'\n', timeout=contract.TIMEOUT)

    def test_live_ends_with_its_target_and_by_signals(self):
        for by_target in (True, False):
            with begun(['sleep', '1000'], **AS_NOBODY) as target:
                end = (lambda _, target=target: target.kill()) if by_target else interrupt
                ran = live_until(1, end, '--json', '--interval', '50ms', target.pid)
            assert_valid(self, 'proc', json.loads(ran.lines[0]))
            self.assertEqual(ran.status, 0, ran)

    def test_a_command_never_runs_where_records_were_asked_for(self):
        assert_one_error_line(self, as_nobody('live', '--events', '--', 'echo', 'ran'), 125)

    @long_only('it reads a screen through tmux')
    def test_on_a_terminal_it_is_lines(self):
        try:
            from panes import Pane
        except unittest.SkipTest as reason:
            self.skipTest(str(reason))
        # A process that its user may walk: without an exec, a child that has become that user is not dumpable.
        with few_pages() as pid, Pane(120, 20) as pane:
            pane.run('setpriv', f'--reuid={NOBODY}', f'--regid={NOBODY}', '--clear-groups', contract.binary_for_all(), 'live',
                     '--interval', '100ms', str(pid))
            pane.until('sampled, ')


class FirstProcess(contract.TracingTest):
    """On some virtual machines the task iterator of BPF does not show the first process: then it is read by /proc."""

    def test_snapshot_and_live_read_it(self):
        for args, mark in ((('snapshot', '1'), 'BY /proc ALONE'),
                           (('live', '--duration', '10ms', '1'), ' (sampled, |you may not read its page tables)')):
            ran = contract.rsslag(*args)
            self.assertEqual(ran.status, 0, ran)
            if ran.err.startswith(NOTE):
                self.assertRegex(ran.out, mark)

    def test_it_is_one_document_of_proc(self):
        ran = contract.rsslag('snapshot', '--json', '--repeat', '2', '1')
        self.assertEqual(ran.status, 0, ran)
        self.assertEqual([[process['pid'] for process in document['processes']] for document in ran.documents()], [[1], [1]])
        for document in ran.documents():
            assert_valid(self, document['schema'].split('.')[1].split('/')[0], document)


if __name__ == '__main__':
    contract.main()
