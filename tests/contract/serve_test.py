#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""`rsslag serve`: metrics over HTTP, also with hostile clients; the same metrics by `top --format prometheus`."""
import fcntl
import http.client
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest

import contract
from contract import (LONG, NOBODY, Children, Crowd, Held, TracingTest, assert_one_error_line, begun, environment, long_only, needs_root,
                      rsslag, snapshot, task_state, wait_until)

SAMPLE = re.compile(r'^(\w+)(?:\{(.*)\})? (\S+)$')
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
PAGE = os.sysconf('SC_PAGE_SIZE')


def samples(text):
    """(name, {label: value}, value) of each line that is not a comment."""
    found = []
    for line in text.splitlines():
        if line.startswith('#'):
            continue
        name, labels, value = SAMPLE.match(line).groups()
        unescape = lambda each: re.sub(r'\\(.)', lambda m: '\n' if m[1] == 'n' else m[1], each)
        found.append((name, {key: unescape(of) for key, of in LABEL.findall(labels or '')}, float(value)))
    return found


def exact_of(text, **labels):
    return sum(value for name, having, value in samples(text)
               if name == 'rsslag_process_resident_memory_bytes' and having.items() >= labels.items())


def umask():
    masked = os.umask(0)
    os.umask(masked)
    return masked


def single(text, wanted):
    (value,) = [value for name, _, value in samples(text) if name == wanted]
    return value


class Serving:
    def __init__(self, *args, **more):
        self.process = subprocess.Popen([contract.binary, 'serve', *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, env=environment(), **more)
        line = self.process.stdout.readline().decode()
        matched = re.fullmatch(r'http://(.*):(\d+)/metrics\n', line)
        if not matched:
            raise AssertionError((line, self.process.communicate()))
        self.host, self.port = matched[1], int(matched[2])

    def get(self, path='/metrics', method='GET', headers=None):
        """Status, content type, text."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=contract.TIMEOUT)
        connection.request(method, path, headers=headers or {})
        answer = connection.getresponse()
        body = answer.read().decode()
        connection.close()
        return answer.status, answer.getheader('Content-Type'), body

    def metrics(self):
        status, _, text = self.get()
        if status != 200:
            raise AssertionError((status, text))
        return text

    def rss_kb(self):
        with open(f'/proc/{self.process.pid}/smaps_rollup', encoding='ascii') as file:
            return int(re.search(r'^Rss: +(\d+)', file.read(), re.M)[1])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.status = self.process.wait(contract.TIMEOUT)
        finally:
            self.process.kill()
            self.process.stdout.close()
            self.process.stderr.close()


class Serve(TracingTest):
    def test_the_sum_of_parts_is_what_a_process_holds(self):
        with tempfile.TemporaryDirectory() as directory:
            # Gives the workload its own group: concurrent tests run a workload of the same name.
            program = shutil.copy(contract.binary, directory)
            with (Held('few-pages', program=program) as held,
                  Serving('--listen', '127.0.0.1:0', '--top', '10000', '--by', 'exe') as serving):
                (process,) = snapshot('--json', held.pid).document()['processes']
                text = serving.metrics()
                self.assertEqual(exact_of(text, exe=program), process['exact']['rss'] * PAGE)
                self.assertEqual(exact_of(text, exe=program, part='cached'), process['cached']['rss'] * PAGE)
                self.assertEqual(process['verdict'], 'agrees')
        self.assertEqual(serving.status, 0)

    def test_groups_of_each_kind(self):
        with Children((b'of a kind',)) as (pid,):
            exe = os.readlink(f'/proc/{pid}/exe')
            for by, name in (('exe', exe), ('user', 'root' if os.geteuid() == 0 else None), ('cgroup', None), ('unit', None)):
                with Serving('--listen', '127.0.0.1:0', '--top', '10000', '--by', by) as serving:
                    groups = {labels[by] for family, labels, _ in samples(serving.metrics()) if family == 'rsslag_processes'}
                self.assertTrue(groups)
                if name:
                    self.assertIn(name, groups)

    def test_at_most_so_many_groups(self):
        with Children([b'group%d' % i for i in range(30)]), Serving('--listen', '127.0.0.1:0', '--top', '3') as serving:
            text = serving.metrics()
            groups = [labels['comm'] for name, labels, _ in samples(text) if name == 'rsslag_processes']
            self.assertEqual(len(groups), 4)
            self.assertIn('other', groups)

    def test_hostile_names_and_groups_that_end(self):
        name, shown = b'a"b\n\\\x1b[31m', 'a"b\\x0a\\\\\\x1b[31m'

        def comms(text):
            return [labels['comm'] for family, labels, _ in samples(text) if family == 'rsslag_processes']

        with Serving('--listen', '127.0.0.1:0', '--top', '10000', '--max-age', '0ms') as serving:
            with Children((name,)):
                text = serving.metrics()
                self.assertIsNone(contract.CONTROL.search(text))
                self.assertIn(shown, comms(text))
            wait_until(lambda: shown not in comms(serving.metrics()))

    def test_a_checker_accepts_it(self):
        if not shutil.which('promtool'):
            self.skipTest('there is no promtool')
        with Serving('--listen', '127.0.0.1:0') as serving:
            checked = subprocess.run(['promtool', 'check', 'metrics'], input=serving.metrics().encode(),
                                     stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        self.assertEqual((checked.returncode, checked.stdout), (0, b''))

    def test_formats_paths_and_methods(self):
        with Serving('--listen', '127.0.0.1:0') as serving:
            self.assertEqual(serving.get()[1], 'text/plain; version=0.0.4; charset=utf-8')
            status, kind, text = serving.get(headers={'Accept': 'application/openmetrics-text;version=1.0.0,*/*;q=0.1'})
            self.assertEqual((status, kind), (200, 'application/openmetrics-text; version=1.0.0; charset=utf-8'))
            self.assertTrue(text.endswith('# EOF\n'))
            self.assertEqual(serving.get('/')[0], 200)
            self.assertEqual(serving.get('/etc/passwd')[0], 404)
            self.assertEqual(serving.get(method='POST')[0], 405)
            self.assertEqual(serving.get(method='HEAD')[0::2], (200, ''))

    def test_one_reading_serves_all_within_its_age(self):
        with Serving('--listen', '127.0.0.1:0', '--max-age', '1m') as serving:
            for _ in range(20):
                text = serving.metrics()
            self.assertEqual((single(text, 'rsslag_readings_total'), single(text, 'rsslag_requests_total')), (1, 20))
        with Serving('--listen', '127.0.0.1:0', '--max-age', '0ms') as serving:
            for _ in range(5):
                text = serving.metrics()
            self.assertEqual(single(text, 'rsslag_readings_total'), 5)

    def test_many_scrapers(self):
        with Serving('--listen', '127.0.0.1:0') as serving:
            serving.metrics()
            before, wrong = serving.rss_kb(), []

            def scrape():
                for _ in range(50 if LONG else 10):
                    try:
                        serving.metrics()
                    except (OSError, AssertionError) as error:
                        wrong.append(error)

            threads = [threading.Thread(target=scrape) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(wrong, [])
            if LONG:
                self.assertLess(serving.rss_kb() - before, 4096)

    def test_sockets_that_are_handed_in(self):
        with socket.create_server(('127.0.0.1', 0)) as first, socket.create_server(('127.0.0.1', 0)) as second:
            ports = [each.getsockname()[1] for each in (first, second)]

            def prepare():
                # Copies above 4 first, as a listening socket itself may be descriptor 3 or 4.
                copies = [fcntl.fcntl(each, fcntl.F_DUPFD, 10) for each in (first.fileno(), second.fileno())]
                for number, copy in enumerate(copies, 3):
                    os.dup2(copy, number)
            with begun(['sh', '-c', 'LISTEN_FDS=2 LISTEN_PID=$$ exec "$0" serve --listen 127.0.0.1:1', contract.binary],
                       preexec_fn=prepare, close_fds=False, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
                for port in ports:
                    self.assertEqual(process.stdout.readline().decode(), f'http://127.0.0.1:{port}/metrics\n')
                for port in ports:
                    connection = http.client.HTTPConnection('127.0.0.1', port, timeout=contract.TIMEOUT)
                    connection.request('GET', '/metrics')
                    self.assertIn(b'rsslag_build_info{', connection.getresponse().read())
                    connection.close()
                process.send_signal(signal.SIGTERM)
                self.assertEqual(process.wait(contract.TIMEOUT), 0)

    def test_what_cannot_be(self):
        for words in (('--listen', 'nonsense'), ('--listen', '127.0.0.1:http'), ('--listen', '127.0.0.1:65536'),
                      ('--listen', '127.0.0.1:+80'), ('--listen', '127.0.0.1:'), ('--by', 'tid'), ('--top', '0'),
                      ('--max-age', 'soon')):
            assert_one_error_line(self, rsslag('serve', *words), 2)
        assert_one_error_line(self, rsslag('serve', '--', 'true'), 2)
        with Serving('--listen', '127.0.0.1:0') as serving:
            assert_one_error_line(self, rsslag('serve', '--listen', f'127.0.0.1:{serving.port}'), 3)


# For each line of input it touches 40 MB, in small pages, and unmaps them.
BUSY = r'''
import ctypes, mmap, sys
ctypes.CDLL(None).prctl(15, sys.argv[1].encode())
for _ in sys.stdin:
    with mmap.mmap(-1, 40 << 20) as memory:
        memory.madvise(mmap.MADV_NOHUGEPAGE)
        for at in range(0, len(memory), 4096):
            memory[at] = 1
    print('done', flush=True)
'''
PAGES = (40 << 20) // PAGE


def flushes():
    return rsslag('doctor', '--json').document()['scheme'] == 'thread'


class Busy:
    def __init__(self, name='rsslag-busy'):
        self.name = name
        self.process = subprocess.Popen([contract.interpreter(), '-c', BUSY, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        env=environment())
        wait_until(self.waits)

    def waits(self):
        with open(f'/proc/{self.process.pid}/comm', encoding='ascii') as file:
            return file.read() == self.name + '\n' and task_state(self.process.pid) == 'S'

    def work(self):
        self.process.stdin.write(b'\n')
        self.process.stdin.flush()
        assert self.process.stdout.readline() == b'done\n'
        wait_until(self.waits)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


class Traced(TracingTest):
    """serve --trace: finds processes by name, running or forked. From then on they are exact, with any number of scrapes."""

    def serving(self, *args):
        return Serving('--listen', '127.0.0.1:0', '--max-age', '0ms', '--trace', 'rsslag-b*', *args)

    def of(self, text, what, **labels):
        """The sum of a metric's samples for the traced process; None without a sample."""
        found = [value for name, having, value in samples(text)
                 if name == f'rsslag_traced_{what}' and having.items() >= {'comm': 'rsslag-busy', **labels}.items()]
        return sum(found) if found else None

    def lost(self, text):
        return sum(value for name, _, value in samples(text) if name == 'rsslag_trace_lost_records_total')

    def test_what_a_process_does_between_two_scrapes(self):
        with Busy() as busy, self.serving() as serving:
            before = serving.metrics()
            self.assertEqual(self.of(before, 'processes'), 1)
            resident = exact_of(before, comm='rsslag-busy')
            rounds = 3 if LONG else 1  # the rings can hold the records of one round
            for _ in range(rounds):
                busy.work()
            after = serving.metrics()
            grew = {what: self.of(after, what) - self.of(before, what) for what in ('updates_total', 'faults_total', 'flushes_total')}
            self.assertEqual(self.lost(after), 0)
            # Each page causes a fault. On the cpu scheme it also causes one update; threads flush up to 64 pages together.
            by_cpu = 'scheme="cpu"' in after
            self.assertGreaterEqual(grew['updates_total'] * (1 if by_cpu else 64), rounds * PAGES)
            self.assertLess(3 * grew['updates_total'], rounds * 7 * PAGES)
            self.assertGreaterEqual(grew['faults_total'], rounds * PAGES)
            self.assertLess(grew['faults_total'], rounds * PAGES + 1000)
            self.assertGreater(grew['flushes_total'], 33 * rounds)
            # The whole memory was resident, and is unmapped before the scrape.
            self.assertLess(abs(exact_of(after, comm='rsslag-busy') - resident), 4 << 20)
            least = self.of(after, 'peak_resident_memory_bytes')
            self.assertGreaterEqual(least + self.of(after, 'peak_uncertainty_bytes'), resident + (40 << 20))
            self.assertLess(least, resident + (44 << 20))
            self.assertEqual((self.of(after, 'peak_lossy'), self.of(after, 'processes_need_resync')), (0, 0))
            quiet = serving.metrics()
            for what in ('updates_total', 'faults_total', 'flushes_total', 'peak_resident_memory_bytes'):
                self.assertEqual(self.of(quiet, what), self.of(after, what), what)
            if shutil.which('promtool'):
                checked = subprocess.run(['promtool', 'check', 'metrics'], input=quiet.encode(), stdout=subprocess.PIPE,
                                         stderr=subprocess.STDOUT, check=False)
                self.assertEqual((checked.returncode, checked.stdout), (0, b''))

    def test_forked_ones_are_found_and_series_end(self):
        with self.serving() as serving:
            self.assertIsNone(self.of(serving.metrics(), 'processes'))
            with Children([b'rsslag-busy'] * 2):
                wait_until(lambda: self.of(serving.metrics(), 'processes') == 2)
            wait_until(lambda: 'rsslag-busy' not in serving.metrics())

    def test_the_end_of_a_group_is_reported_once(self):
        with tempfile.TemporaryDirectory() as directory, self.serving() as serving:
            program = os.path.join(directory, 'rsslag-busy')
            contract.tiny_program(program, 300)
            with subprocess.Popen([program], stdout=subprocess.PIPE) as process:
                wait_until(lambda: self.of(serving.metrics(), 'processes') == 1)
                process.stdout.readline()  # all are touched
                process.kill()
            told = [serving.metrics()]
            wait_until(lambda: told.append(serving.metrics()) or self.of(told[-1], 'processes') is None)
            self.assertEqual(self.of(told[-2], 'processes'), 0)
            peak = self.of(told[-2], 'peak_resident_memory_bytes')
            self.assertGreaterEqual(peak + self.of(told[-2], 'peak_uncertainty_bytes'), 300 * PAGE)
            self.assertGreater(self.of(told[-2], 'updates_total'), 0)

    @long_only('it requires seconds without a lost record')
    def test_slow_scrapers_stop_nothing(self):
        with Busy() as busy, self.serving('--top', '10000') as serving:
            before = serving.metrics()
            slow = []
            for number in range(100):
                slow.append(socket.create_connection((serving.host, serving.port)))
                slow[-1].setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                slow[-1].sendall(b'GET /metrics HTTP/1.1\r\nHost: x\r\n' + (b'\r\n' if number % 2 else b''))
            for _ in range(30):
                busy.work()
            after = serving.metrics()
            self.assertEqual(self.lost(after), 0)
            # On the `thread` scheme an update is a flush, at the start of every 66th fault at the latest.
            updates = 30 * PAGES // (66 if flushes() else 1)
            self.assertGreaterEqual(self.of(after, 'updates_total') - self.of(before, 'updates_total'), updates)
            for each in slow:
                each.close()


class TextFile(TracingTest):
    def test_the_same_for_a_textfile_collector(self):
        with tempfile.TemporaryDirectory() as directory, Children((b'for-a-collector',)) as (pid,):
            path = f'{directory}/rsslag.prom'
            for _ in range(2):  # replaced
                ran = rsslag('top', '--once', '--format', 'prometheus', '-o', path)
                self.assertEqual((ran.status, ran.out, ran.err), (0, '', ''), ran)
            (process,) = snapshot('--json', pid).document()['processes']
            with open(path, encoding='utf-8') as file:
                text = file.read()
            self.assertEqual(exact_of(text, comm=process['comm']), process['exact']['rss'] * PAGE)
            self.assertEqual(os.listdir(directory), ['rsslag.prom'])
            self.assertEqual(os.stat(path).st_mode & 0o777, 0o666 & ~umask())
            assert_one_error_line(self, rsslag('top', '--once', '--format', 'prometheus', '-o', ''), 2)
            printed = rsslag('top', '--once', '--format', 'prometheus')
            self.assertEqual({name for name, _, _ in samples(printed.out)}, {name for name, _, _ in samples(text)})

    @needs_root
    def test_the_directory_of_the_collector_may_be_that_of_its_user(self):
        """Debian's node_exporter reads a directory of the user prometheus, where root may write only by a capability."""
        sudo = environment(SUDO_UID=str(NOBODY), SUDO_GID=str(NOBODY), SUDO_USER='nobody')
        for options in (('--format', 'prometheus'), ('--json',)):
            for env in (environment(), sudo):
                with self.subTest(options=options), tempfile.TemporaryDirectory() as directory:
                    os.chown(directory, NOBODY, NOBODY)
                    for _ in range(2):
                        ran = rsslag('top', '--once', *options, '-o', f'{directory}/rsslag.prom', env=env)
                        self.assertEqual((ran.status, ran.out, ran.err), (0, '', ''), ran)
                        self.assertEqual(os.listdir(directory), ['rsslag.prom'])

    def test_names_have_a_limit(self):
        with tempfile.TemporaryDirectory() as directory, Crowd(directory, [b'rsslag-t%d' % number for number in range(150)]):
            for most, arguments in ((100, ()), (20, ('--rows', '20'))):
                text = rsslag('top', '--once', '--format', 'prometheus', *arguments).out
                names = {labels['comm'] for name, labels, _ in samples(text) if name == 'rsslag_processes'}
                self.assertIn('other', names)
                self.assertLessEqual(len(names), most + 1)

    def test_the_groups_are_those_of_serve(self):
        with Children([b'of a kind']):
            ran = rsslag('top', '--once', '--format', 'prometheus', '--by', 'exe', '--top', '2')
            self.assertEqual((ran.status, ran.err), (0, ''), ran)
            groups = [labels['exe'] for name, labels, _ in samples(ran.out) if name == 'rsslag_processes']
            self.assertEqual((len(groups), groups[-1]), (3, 'other'))
        for words in (('--by', 'exe'), ('--format', 'json', '--by', 'exe'), ('--format', 'prometheus', '--by', 'pid')):
            assert_one_error_line(self, rsslag('top', '--once', *words), 2)

    def test_it_is_one_reading(self):
        assert_one_error_line(self, rsslag('top', '--format', 'prometheus'), 2)
        assert_one_error_line(self, rsslag('top', '-o', '/tmp/x'), 2)


if __name__ == '__main__':
    contract.main()
