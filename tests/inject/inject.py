#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Lets system calls fail, through strace. For each command, each call that it makes fails at its first, second and last occurrence,
with each error that the call can return. Checks that no command crashes or hangs, that the terminal is restored, and that the output
is complete if the status is 0.

    tests/inject/inject.py build/rsslag [--sites] [--seconds N] [--part K/N] [--command NAME] [--call NAME] [--seed N]

With --sites it tests each place that a call is made from, otherwise each call, which takes less time. Runs all cases, or a random
selection that takes N seconds; with --sites, the first occurrence from each place is tested however long that takes. With --part 1/3,
2/3 and 3/3, three runs together test each case that all of them find. A case fails if it does so twice in a row. Status 77 if nothing
can be tested on this machine."""
import argparse
import collections
import concurrent.futures
import functools
import os
import pty
import random
import re
import select
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import termios
import threading
import time
import zlib
from pathlib import Path

from commands import HANG, Ran, Wrong, commands, wrong_unless
from errors import ERRORS

MAIN = 'rt_sigaction(SIGPIPE'  # the first call of main(): calls of the loader before it are not tested
LIBRARIES = re.compile(r'/(libc|ld-linux[^/]*|libpthread|libstdc\+\+)\.so')  # their frames are left out, so that their callers count
INJECTED_CLOSE = r'close\(.*\(INJECTED\)'
UNWRITABLE, UNWRITTEN = re.compile('inject=write:error=E(IO|NOSPC)'), re.compile(r'write\(.* E(IO|NOSPC) .*\(INJECTED\)')
ALTERNATE = '\x1b[?1049h'
FRAMES = 3                     # that identify a place: functions that only wrap a call are called from many


def environment(directory):
    env = {key: os.environ[key] for key in ('PATH', 'HOME') if key in os.environ}
    env.update(LC_ALL='C.UTF-8', TERM='xterm', TMPDIR=directory)
    return env


def kill(process):
    """Kills the process and its descendants."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def run_plain(argv, directory, command, patience):
    with open(f'{directory}/stdout', 'w+', encoding='utf-8') as out, open(f'{directory}/stderr', 'w+', encoding='utf-8') as err:
        process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=environment(directory),
                                   start_new_session=True)
        try:
            command.talk(process, directory)
            status = process.wait(patience)
        except subprocess.TimeoutExpired:
            raise Wrong('timed out') from None
        finally:
            kill(process)
        out.seek(0)
        err.seek(0)
        return Ran(status, out.read(), err.read())


def shows(ready, text):
    """Whether there is a screen with `ready`, or are lines instead of it."""
    return ('q quit' in text and ready in text) or (ALTERNATE not in text and '\n' in text)


def text_of(process, master, seconds, until=lambda text: False):
    """Its output on the terminal, until it ends or the output is such that `until` holds."""
    text, end = '', time.monotonic() + seconds
    while time.monotonic() < end and not until(text):
        gone = process.poll() is not None
        if select.select([master], [], [], 0 if gone else 0.05)[0]:
            text += os.read(master, 65536).decode(errors='replace')
        elif gone:
            break
    return text


def run_on_terminal(argv, directory, command, patience):
    master, slave = pty.openpty()
    termios.tcsetwinsize(slave, (24, 80))
    before = termios.tcgetattr(slave)
    process = subprocess.Popen(argv, stdin=slave, stdout=slave, stderr=slave, env=environment(directory),
                               start_new_session=True, preexec_fn=lambda: os.login_tty(os.dup(slave)))
    try:
        text = text_of(process, master, patience / 3, functools.partial(shows, command.ready))
        # Without a screen it traces on, in lines, or is about to end. It may also have printed something before it starts the screen.
        if ALTERNATE not in text:
            text += text_of(process, master, patience / 5, lambda more: ALTERNATE in more)
        for end in (b'q', b'q', b'\x03') if ALTERNATE in text else (b'\x03', b'q', b'\x03'):
            os.write(master, end)
            text += text_of(process, master, patience / 2)
        if process.poll() is None:
            raise Wrong('timed out')
        wrong_unless(termios.tcgetattr(slave) == before, 'the modes of the terminal are not restored')
        # The write that leaves the alternate screen may be the one that failed.
        left = text.rfind('\x1b[?1049l') >= text.rfind(ALTERNATE) or any(UNWRITABLE.match(each) for each in argv)
        wrong_unless(left, 'the terminal is left on the alternate screen')
        return Ran(process.returncode, '', text.replace('\r\n', '\n').replace('\x1b[?1l\x1b>', '\n'))
    finally:
        kill(process)
        os.close(slave)
        os.close(master)


def closes_of_output(text, directory):
    """The lines of strace -y that are close() of an output file. Of stdout and stderr it is the last one, if anything was written:
    their copies may be closed earlier."""
    found = {}
    for line in text.splitlines():
        closed = re.search(r'close\(\d+<(.*?)(>| \(deleted\)>)', line)
        if closed is None or closed[2] != '>' or os.path.dirname(closed[1]) != directory:
            continue
        name = os.path.basename(closed[1])
        standard = name in ('stdout', 'stderr')
        if name != 'mounted' and not (standard and os.path.getsize(closed[1]) == 0):
            found[name if standard else len(found)] = line
    return set(found.values())


class Calls:
    """The parsed output of strace -y: for each call its number among the same calls of its thread, and its stack."""

    def __init__(self, text, directory):
        self.closes = closes_of_output(text, directory)
        self.counts = collections.defaultdict(collections.Counter)  # by thread, by call
        self.found = []                                              # [thread, call, number, frames]
        self.before, self.main = collections.Counter(), None         # calls of the loader, in the first thread
        self.begun, self.pending, self.last = False, {}, None
        for line in text.splitlines():
            if line.startswith(' > '):
                self.frame(line[3:])
            else:
                self.line(line)

    def frame(self, text):
        if self.last is not None and not LIBRARIES.search(text.partition('(')[0]):
            self.last[3].append(text.rpartition(' [')[2])

    def line(self, line):
        pid, _, rest = line.partition(' ')
        rest = rest.lstrip()
        self.main = self.main or pid
        self.last = None
        if rest.startswith('<... '):  # its stack follows
            self.last = self.pending.pop(pid, None)
            return
        call = re.match(r'(\w+)\(', rest)
        if call is None:
            return
        if pid == self.main and rest.startswith(MAIN) and not self.begun:
            self.before, self.begun = collections.Counter(self.counts[pid]), True
        self.counts[pid][call.group(1)] += 1
        self.last = [pid, call.group(1), self.counts[pid][call.group(1)], []]
        never_fails = 'EPOLL_CTL_DEL' in line or (call.group(1) == 'close' and line not in self.closes)
        if not never_fails:
            self.found.append(self.last)
        if line.endswith('<unfinished ...>'):
            self.pending[pid] = self.last

    def tried(self):
        """By call the numbers of the occurrences to test, first, second and last from each place; those that are a first one; and the
        number of places."""
        places = collections.defaultdict(list)
        for pid, call, number, frames in self.found:
            # strace counts per thread, so a number of another thread also matches a call of the loader.
            if number > self.before[call]:
                places[pid == self.main, call, tuple(frames[:FRAMES])].append(number)
        tried, first = collections.defaultdict(set), collections.defaultdict(set)
        for (_, call, _), numbers in places.items():
            first[call].add(numbers[0])
            tried[call].update((numbers[0], numbers[min(1, len(numbers) - 1)], numbers[-1]))
        return tried, first, len(places)


def closes_of_others(text, directory):
    """Whether a close() failed that cannot: the number of the call was that of another one in this run."""
    closes = closes_of_output(text, directory)
    return any(re.search(INJECTED_CLOSE, line) and line not in closes for line in text.splitlines())


# `always`: it is tested even after the time that --seconds gives.
Injection = collections.namedtuple('Injection', 'command what always')


class Runner:
    def __init__(self, rsslag, target, sites):
        self.rsslag, self.target, self.sites = rsslag, target, sites
        self.places, self.unknown = 0, set()

    def run(self, command, strace, patience):
        """Returns the calls that it made."""
        with tempfile.TemporaryDirectory(prefix='rsslag-inject-') as directory:
            log = Path(directory, 'strace')
            argv = ['strace', '-f', '-y', '-qq', '-o', str(log), *strace, self.rsslag, *command.arguments(directory, self.target)]
            command.prepare(directory)
            try:
                ran = (run_on_terminal if command.screen else run_plain)(argv, directory, command, patience)
                text = log.read_text(errors='replace')
                self.evaluate(command, ran, directory, text)
                return Calls(text, directory)
            except Wrong:
                if not closes_of_others(log.read_text(errors='replace'), directory):
                    raise
                return None
            finally:
                command.clean_up(directory)

    def evaluate(self, command, ran, directory, text):
        if command.clean is None:
            command.keep(ran, directory)
            wrong_unless(ran.status == command.clean_status, f'{command.name}: {ran}')
        elif 'INJECTED' not in text or closes_of_others(text, directory):
            return
        # Without a signalfd, signals end rsslag at once (system/signals.cpp).
        if -ran.status in (signal.SIGINT, signal.SIGTERM) and re.search(r'signalfd4\(.*\(INJECTED\)', text):
            return
        wrong_unless(ran.status >= 0, f'killed by {signal.Signals(-ran.status).name}' if ran.status < 0 else '')
        if re.search(INJECTED_CLOSE, text) and not command.leaves_close_to_sqlite:
            wrong_unless(re.search('cannot write|may be lost', ran.err), f'status {ran.status}, and the error of close() is not reported')
        if command.screen:
            # The write of the message may be the one that failed.
            reported = ran.status == 0 or 'rsslag: ' in ran.err or ran.err == '' or UNWRITTEN.search(text)
            wrong_unless(reported, f'status {ran.status}, and no message: {ran.err[-200:]!r}')
            return
        command.evaluate(ran, directory, self.target, command.clean)

    def injections(self, command):
        """Runs without failures, and returns the failures that can be injected. strace takes long for stacks."""
        begin = time.monotonic()
        calls = self.run(command, [], 12 * HANG)
        command.patience = HANG + 3 * (time.monotonic() - begin)  # on a busy machine every run takes longer
        tried, first, places = (self.run(command, ['-k'], 90 * HANG) if self.sites else calls).tried()
        self.places += places
        self.unknown.update(call for call in tried if call not in ERRORS)
        return [Injection(command, f'{call}:error={error}:when={number}', self.sites and number in first[call])
                for call, numbers in sorted(tried.items()) for number in sorted(numbers) for error in ERRORS.get(call, ())]

    def inject(self, injection):
        """None, or a description of the error."""
        command, what = injection.command, injection.what
        try:
            self.run(command, ['-e', 'trace=' + what.partition(':')[0], '-e', 'inject=' + what], command.patience)
        except (Wrong, ValueError, KeyError, OSError, sqlite3.Error) as wrong:
            return f'{command.name}: {what}: {wrong}'
        return None


def part(text):
    """K/N as a function: whether a case belongs to this part."""
    number, of = map(int, text.split('/'))
    if not 1 <= number <= of:
        raise ValueError(text)
    return lambda each: zlib.crc32(f'{each.command.name}: {each.what}'.encode()) % of == number - 1


def why_not(rsslag):
    if shutil.which('strace') is None:
        return 'strace is missing'
    if os.geteuid() != 0:
        return 'loading BPF programs needs root'
    done = subprocess.run([rsslag, 'doctor'], capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else 'rsslag doctor: ' + done.stdout.splitlines()[-1]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('rsslag')
    parser.add_argument('--sites', action='store_true')
    parser.add_argument('--seconds', type=float)
    parser.add_argument('--part', type=part, metavar='K/N', default='1/1')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--command', action='append')
    parser.add_argument('--call')
    options = parser.parse_args()
    rsslag = os.path.abspath(options.rsslag)
    reason = why_not(rsslag)
    if reason:
        print(f'skipped: inject: {reason}')
        sys.exit(77)
    if options.sites and 'stack-trace' not in subprocess.run(['strace', '-V'], capture_output=True, text=True, check=False).stdout:
        print('this strace shows no stacks: tests by call, not by call site')
        options.sites = False
    begin, stopped = time.monotonic(), threading.Event()
    with subprocess.Popen([rsslag, 'demo', 'few-pages', '--hold'], stdout=subprocess.PIPE, text=True) as held, \
            concurrent.futures.ThreadPoolExecutor(2 * os.cpu_count()) as pool:
        try:
            runner = Runner(rsslag, int(held.stdout.readline().split()[1]), options.sites)
            chosen = [each for each in commands(rsslag) if options.command is None or each.name in options.command]
            all_of_them = [each for of_one in pool.map(runner.injections, chosen) for each in of_one]
            if options.call:
                all_of_them = [each for each in all_of_them if each.what.startswith(options.call + ':')]
            found = len(all_of_them)
            all_of_them = [each for each in all_of_them if options.part(each)]
            random.Random(options.seed).shuffle(all_of_them)
            all_of_them.sort(key=lambda each: not each.always)
            always = sum(each.always for each in all_of_them)
            print(f'{len(chosen)} commands, {runner.places} places, {found} injections, {len(all_of_them)} of this part, {always} of them '
                  f'at the first occurrence from a place, found after {time.monotonic() - begin:.0f} s; no errors are listed for '
                  f'{" ".join(sorted(runner.unknown))}', flush=True)
            wrong, once = [], []
            for number in (signal.SIGINT, signal.SIGTERM):  # ends after the injections that have begun, and says how many there were
                signal.signal(number, lambda *_: stopped.set())

            def one(injection):
                late = options.seconds and time.monotonic() - begin > options.seconds
                if stopped.is_set() or (late and not injection.always):
                    return False
                error = runner.inject(injection)
                if error:
                    again = runner.inject(injection)  # the same call may be another one, and a busy machine is slow
                    print('FAIL:' if again else 'once:', error, flush=True)
                    (wrong if again else once).append(error)
                return True
            tried = sum(pool.map(one, all_of_them))
        finally:
            held.terminate()
    print(f'{tried} of {len(all_of_them)} injections in {time.monotonic() - begin:.0f} s, {len(wrong)} failed, and {len(once)} once')
    sys.exit(1 if wrong else 0)


if __name__ == '__main__':
    main()
