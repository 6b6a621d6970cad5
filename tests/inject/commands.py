# SPDX-License-Identifier: BSD-2-Clause
"""The command lines that are tested, and the output that each must have if it ends with 0."""
import collections
import http.client
import json
import os
import re
import signal
import sqlite3
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RECORDING = str(ROOT / 'docs' / 'recordings' / 'quiet-6.1.rsslag')
HANG = 10  # seconds

Ran = collections.namedtuple('Ran', 'status out err files', defaults=({},))


class Wrong(Exception):
    """A result that must not occur."""


def complained(ran):
    return re.search(r'(?m)^rsslag: .', ran.err) is not None


def documents(ran):
    if not ran.out.endswith('\n'):
        raise Wrong('status 0, and the last line is incomplete')
    return [json.loads(line) for line in ran.out.splitlines()]


def wrong_unless(condition, what):
    if not condition:
        raise Wrong(what)


class Command:
    """A command line, and the check of its output if it ends with 0."""
    screen = False
    leaves_close_to_sqlite = False  # SQLite reports no error of close(); rsslag syncs and closes the file after it

    def __init__(self, name, argv, check, clean_status=0):
        self.name, self.argv, self.check, self.clean_status = name, argv, check, clean_status
        self.clean, self.patience = None, HANG

    def prepare(self, directory):
        """Creates what the command needs."""

    def talk(self, process, directory):
        """Interacts with the command while it runs."""

    def clean_up(self, directory):
        """Removes what the command leaves."""

    def keep(self, ran, directory):
        """Keeps the result of the run without failures."""
        self.clean = ran._replace(files={file.name: file.read_bytes() for file in Path(directory).iterdir() if file.is_file()})

    def arguments(self, directory, target):
        return [argument.format(dir=directory, pid=target) for argument in self.argv]

    def evaluate(self, ran, directory, target, clean):
        if ran.status == self.clean_status:
            return self.check(ran, directory, target, clean)
        wrong_unless(ran.status in (1, 2, 3, 125, 126, 127), f'status {ran.status}')
        # If stderr itself fails, there is no message.
        wrong_unless(complained(ran) or ran.err == '', f'status {ran.status}, and stderr: {ran.err[-300:]!r}')


class ToDatabase(Command):
    leaves_close_to_sqlite = True


class OnScreen(Command):
    screen = True

    def __init__(self, name, argv, ready=''):
        """`ready`: what a screen shows once its CMD has ended. Earlier, the keys that quit would end CMD, with another status."""
        super().__init__(name, argv, lambda *_: None)
        self.ready = ready


def one_process(ran, _directory, target, _clean):
    (document,) = documents(ran)
    wrong_unless([each['pid'] for each in document['processes']] == [target], 'the process is not there')


def rows_there(ran, _directory, _target, _clean):
    *_, document = documents(ran)
    wrong_unless(document.get('rows') or document.get('processes'), 'no rows')


def a_trace(ran, *_):
    if 'without BPF' in ran.err:  # output from /proc alone; none for a command that ends immediately
        proc = documents(ran) if ran.out else []
        wrong_unless(all(each['schema'] == 'rsslag.proc/1' for each in proc), 'neither a trace nor output from /proc')
        return
    *ticks, summary = documents(ran)
    wrong_unless(summary.get('schema') == 'rsslag.summary/2', 'no summary')
    wrong_unless(ticks or summary['processes'] == [], 'no tick')


def recorded(rsslag):
    def check(_ran, directory, _target, _clean):
        done = subprocess.run([rsslag, 'report', '--json', f'{directory}/rec'], capture_output=True, check=False)
        report = json.loads(done.stdout) if done.returncode == 0 else {}
        wrong_unless(report.get('complete') and len(report['processes']) == 1, f'the recording: {done.stdout[:300]}{done.stderr}')
    return check


def saved(rsslag):
    """The recordings that a condition has saved can be read."""
    def check(ran, directory, *_):
        files = [str(file) for file in Path(directory).glob('kept-*')]
        wrong_unless(files or complained(ran), 'status 0, and nothing is saved')
        for file in files:
            done = subprocess.run([rsslag, 'report', '--json', file], capture_output=True, check=False)
            wrong_unless(done.returncode == 0, f'the recording: {done.stderr}')
    return check


def same_as_clean(ran, _directory, _target, clean):
    wrong_unless(ran.out == clean.out or complained(ran), 'status 0, and the output differs')


def same_or_missing(ran, _directory, _target, clean):
    """A part of a recording that cannot be read has a row of its own."""
    reported = ran.out == clean.out or complained(ran) or '"type":"missing"' in ran.out
    wrong_unless(reported, 'status 0, and the output differs')


def same_report(ran, _directory, _target, clean):
    wrong_unless(ran.out == clean.out or json.loads(ran.out)['missing'], 'status 0, and the output differs')


def names_missing(base):
    ((missing,),) = base.execute("select value from facts where key = 'missing'")
    return json.loads(missing) != []


def database(_ran, directory, _target, clean):
    with tempfile.NamedTemporaryFile() as before:
        before.write(clean.files['db'])
        before.flush()
        with sqlite3.connect(f'{directory}/db') as base, sqlite3.connect(before.name) as whole:
            wrong_unless(rows_of(base) == rows_of(whole) or names_missing(base), 'rows are missing')


def rows_of(base):
    tables = [name for (name,) in base.execute("select name from sqlite_master where type='table' order by name")]
    return [(name, base.execute(f'select count(*) from "{name}"').fetchone()) for name in tables]


def same_file(name):
    """A part of a recording that cannot be read may be missing if that is reported."""
    def check(ran, directory, _target, clean):
        file = Path(directory, name)
        reported = complained(ran) or '"missing":[{' in ran.out or '"type":"missing"' in ran.out
        wrong_unless(reported or file.read_bytes() == clean.files[name], f'status 0, and {name} differs')
    return check


def peaked(ran, directory, *_):
    """Status 7 is that of the command."""
    document = json.loads(Path(directory, 'peak').read_text())
    wrong_unless(document['schema'] == 'rsslag.peak/1' and document['status'] == 7, 'no document')
    wrong_unless(document['processes'] and all(each['peak_max'] is not None for each in document['processes']), 'no process')


def command_there(ran, *_):
    (document,) = documents(ran)
    wrong_unless(len(document['processes']) == 1, 'the command is not there')


def of_elf_file(ran, _directory, target, _clean):
    found = documents(ran)
    wrong_unless(found and 'libc.so' in ran.out and str(target) in ran.out, 'the file is not there')


class Serve(Command):
    """Scraped once, then ended by SIGTERM."""

    def __init__(self, name, argv):
        super().__init__(name, argv, lambda *_: None)

    def talk(self, process, directory):
        out = Path(directory, 'stdout')
        while process.poll() is None and not out.read_text().endswith('\n'):
            os.sched_yield()
        if process.poll() is not None:
            return
        port = re.search(r':(\d+)/metrics', out.read_text())  # None: getsockname() has failed
        connection = http.client.HTTPConnection('127.0.0.1', int(port[1]) if port else 0, timeout=HANG)
        try:
            connection.request('GET', '/metrics')
            answer = connection.getresponse()
            text = answer.read().decode()
            wrong_unless(answer.status >= 500 or 'rsslag_process_resident_memory_bytes{' in text, f'{answer.status}: {text[:300]}')
        except (ConnectionError, http.client.HTTPException):
            pass  # the client notices a closed connection, or that there is none
        except TimeoutError:
            raise Wrong('the client gets neither a response nor an error') from None
        finally:
            connection.close()
            (traced,) = Path(f'/proc/{process.pid}/task/{process.pid}/children').read_text().split()[:1] or (0,)
            if int(traced):
                os.kill(int(traced), signal.SIGTERM)


class Mount(Command):
    """`mount`, or the `umount` of what it has mounted."""

    def __init__(self, name, argv, rsslag):
        super().__init__(name, argv, self.whole_or_not_there)
        self.rsslag = rsslag

    def prepare(self, directory):
        if self.name == 'umount':
            subprocess.run([self.rsslag, 'mount', f'{directory}/mounted'], check=True, capture_output=True)

    def whole_or_not_there(self, _ran, directory, *_):
        there = os.path.ismount(f'{directory}/mounted')
        wrong_unless(there == (self.name == 'mount'), 'mounted' if there else 'not mounted')
        if there:
            text = Path(directory, 'mounted', 'self').read_text()
            wrong_unless(str(os.getpid()) in text, f'self: {text[:200]}')

    def evaluate(self, ran, directory, target, clean):
        super().evaluate(ran, directory, target, clean)
        if self.name == 'mount' and ran.status != 0:
            wrong_unless(not os.path.ismount(f'{directory}/mounted'), 'it failed, and something is mounted')

    def clean_up(self, directory):
        while os.path.ismount(f'{directory}/mounted'):
            subprocess.run(['umount', '-l', f'{directory}/mounted'], check=True)


def told_by_doctor(ran, *_):
    (document,) = documents(ran)
    wrong_unless(not [problem for problem in document['problems'] if problem['fatal']], 'fatal problems')


def nothing(*_):
    pass


def commands(rsslag):
    trace = ['--format', 'jsonl', '--duration', '150ms', '--interval', '50ms']
    return [
        Command('snapshot', ['snapshot', '--json', '{pid}'], one_process),
        Command('live', ['live', *trace, '-p', '{pid}'], a_trace),
        Command('live-events', ['live', *trace, '--events', '--record', '{dir}/rec', '-p', '{pid}'], recorded(rsslag)),
        Command('live-command', ['live', '--format', 'jsonl', '--', 'sh', '-c', 'exit 7'], a_trace, 7),
        Command('record', ['record', '-o', '{dir}/rec', '--duration', '150ms', '-p', '{pid}'], recorded(rsslag)),
        Command('record-limited', ['record', '-o', '{dir}/rec', '--max-size', '256K', '--duration', '150ms', '-p', '{pid}'],
                recorded(rsslag)),
        Command('record-stacks', ['record', '--stacks', '-o', '{dir}/rec', '--duration', '150ms', '-p', '{pid}'], recorded(rsslag)),
        Command('record-when', ['record', '--keep', '1m', '--save-when', 'rss>1KiB', '-o', '{dir}/kept', '--duration', '150ms', '-p', '{pid}'],
                saved(rsslag)),
        Command('top', ['top', '--once', '--json'], rows_there),
        Command('maps', ['maps', '--json', '{pid}'], one_process),
        Command('maps-pages', ['maps', '--pages', '--json', '{pid}'], one_process),
        Command('mem', ['mem', '--json'], rows_there),
        Command('doctor', ['doctor', '--json'], told_by_doctor),
        Command('demo', ['demo', 'single'], nothing),
        Command('report', ['report', '--json', RECORDING], same_report),
        Command('replay', ['replay', '--format', 'jsonl', '--events', RECORDING], same_as_clean),
        Command('export-jsonl', ['export', RECORDING], same_or_missing),
        Command('export-csv', ['export', '--format', 'csv', RECORDING], same_as_clean),
        ToDatabase('export-sqlite', ['export', '--format', 'sqlite', '-o', '{dir}/db', RECORDING], database),
        Command('export-perfetto', ['export', '--format', 'perfetto', '-o', '{dir}/trace', RECORDING], same_file('trace')),
        Command('report-svg', ['report', '--json', '--svg', '{dir}/svg', RECORDING], same_file('svg')),
        Command('report-html', ['report', '--json', '--html', '{dir}/html', RECORDING], same_file('html')),
        Command('report-diff', ['report', '--json', '--diff', RECORDING, RECORDING], same_as_clean),
        Command('maps-elf', ['maps', '--elf', '*/libc.so.6', '--json', '{pid}'], of_elf_file),
        Command('snapshot-command', ['snapshot', '--json', '--delay', '50ms', '--', 'sleep', '5'], command_there),
        Command('peak', ['peak', '--json', '-o', '{dir}/peak', '--', 'sh', '-c', 'exit 7'], peaked, 7),
        Serve('serve', ['serve', '--listen', '127.0.0.1:0']),
        Mount('mount', ['mount', '{dir}/mounted'], rsslag),
        Mount('umount', ['umount', '{dir}/mounted'], rsslag),
        OnScreen('screen-live', ['live', '--interval', '50ms', '-p', '{pid}']),
        OnScreen('screen-command', ['live', '--interval', '50ms', '--', 'echo', 'here'], 'ended with status'),
        OnScreen('screen-top', ['top']),
        OnScreen('screen-replay', ['replay', RECORDING]),
    ]
