# SPDX-License-Identifier: BSD-2-Clause
"""The storm and the tracers as child processes that report when they are ready, so that no test has to sleep."""
import atexit
import json
import os
import resource
import select
import shutil
import signal
import subprocess
import tempfile
import time

DEADLINE = 120  # seconds for one line of output: the machines are small and busy
WORKING = 1200  # seconds for a target's work, which slow page faults make ten times as long
TRACEFS = '/sys/kernel/tracing'


class Failed(Exception):
    """A child failed; the text includes its output."""


class Child:
    """A process whose stdout is read line by line, with a deadline for each line. Its stderr goes to a file, as messages of a
    tracer must not block on a pipe without a reader."""

    def __init__(self, command, **options):
        self.name = os.path.basename(command[0])
        self.said = tempfile.TemporaryFile()
        self.rest = b''
        options = {'stderr': self.said, **options}
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **options)
        self.pid = self.process.pid

    def line(self, deadline=DEADLINE):
        """The next line without its newline; None at the end."""
        until = time.monotonic() + deadline
        while b'\n' not in self.rest:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
                raise Failed(f'{self.name} printed nothing for {deadline} s: {self.complaint()}')
            more = os.read(self.process.stdout.fileno(), 1 << 16)
            if not more:
                return None
            self.rest += more
        line, self.rest = self.rest.split(b'\n', 1)
        return line.decode(errors='replace')

    def expect(self, wanted, deadline=DEADLINE):
        """Reads up to the first line that `wanted` accepts, each within the deadline."""
        others = []
        while (line := self.line(deadline)) is not None:
            if wanted(line):
                return line
            others = others[-3:] + [line]
        raise Failed(' '.join([f'{self.name} ended early:', *others, self.complaint()]))

    def await_rest(self):
        """Returns once all of its threads sleep: some tracers would count what it does before that."""
        until = time.monotonic() + DEADLINE
        while not (resting(self.pid) and resting(self.pid)):
            if time.monotonic() > until:
                raise Failed(f'{self.name} does not become quiet: {self.complaint()}')
            time.sleep(0.001)

    def complaint(self):
        self.said.seek(0)
        return self.said.read().decode(errors='replace').strip()

    def say(self, text):
        self.process.stdin.write(text.encode())
        self.process.stdin.flush()

    def stop(self, number=signal.SIGINT):
        """Ends it by a signal and returns the remaining lines of its output."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        lines = []
        while (line := self.line()) is not None:
            lines.append(line)
        self.process.wait(DEADLINE)
        return lines

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.said):
            try:
                stream.close()
            except BrokenPipeError:
                pass


def resting(pid):
    """Whether all threads sleep at this moment."""
    try:
        for thread in os.listdir(f'/proc/{pid}/task'):
            with open(f'/proc/{pid}/task/{thread}/stat', encoding='utf-8', errors='replace') as stat:
                if stat.read().rpartition(')')[2].split()[0] != 'S':
                    return False
    except OSError as error:
        raise Failed(f'process {pid} has ended: {error}') from error
    return True


class Storm(Child):
    """Ready and waiting after construction; alive until end()."""

    def __init__(self, path, threads, rounds, *options):
        super().__init__([path, '--threads', str(threads), '--rounds', str(rounds), *options])
        self.expect(lambda line: line == f'ready {self.pid}')
        self.await_rest()

    def run(self):
        self.say('b')
        return json.loads(self.expect(lambda line: line.startswith('{'), WORKING))

    def end(self):
        self.say('e')
        self.process.wait(DEADLINE)


class Perf(Child):
    """`perf record` or `perf stat`, started disabled; only its control pipe reports that it counts."""

    def __init__(self, arguments):
        commands_read, self.commands = os.pipe()
        self.answers, answers_write = os.pipe()
        os.set_inheritable(commands_read, True)
        os.set_inheritable(answers_write, True)
        control = f'fd:{commands_read},{answers_write}'
        try:
            super().__init__(['perf', arguments[0], '--delay=-1', '--control', control, *arguments[1:]],
                             pass_fds=(commands_read, answers_write), env={**os.environ, 'LC_ALL': 'C'})
        finally:
            os.close(commands_read)
            os.close(answers_write)
        self.control('enable')

    def control(self, command):
        os.write(self.commands, command.encode() + b'\n')
        ready = select.select([self.answers], [], [], DEADLINE)[0]
        # Up to perf 6.x an acknowledgement is its text with a newline and a final NUL.
        if not ready or not os.read(self.answers, 16).startswith(b'ack'):
            raise Failed(f'perf does not acknowledge {command}: {self.complaint()}')

    def __exit__(self, *what):
        os.close(self.commands)
        os.close(self.answers)
        super().__exit__(*what)


class Rsslag(Child):
    """`rsslag live` on one process; ready after its first tick, when its programs are attached. The mode is events, counts, or
    stacks: events with samples of stacks, into a recording."""

    def __init__(self, path, pid, mode, *options, walk=False):
        self.directory = tempfile.TemporaryDirectory()
        options = (*options, *(() if walk else ('--no-walk',)), *self.mode_options(mode))
        super().__init__([path, 'live', '-p', str(pid), '--format', 'jsonl', *options])
        self.attached = self.tick()

    def mode_options(self, mode):
        if mode == 'stacks':
            return ['--stacks', '--record', self.directory.name + '/recording']
        return [] if mode == 'events' else ['--mode', mode]

    def __exit__(self, *error):
        super().__exit__(*error)
        self.directory.cleanup()

    def tick(self):
        return json.loads(self.expect(lambda line: '"rsslag.tick/' in line))

    def finish(self):
        """Its last tick and its summary."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        documents = [json.loads(line) for line in self.stop() if line.startswith('{')]
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.own_cpu_ns = 1e9 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        of_kind = {document['schema'].split('/')[0]: document for document in documents}
        if 'rsslag.tick' not in of_kind or 'rsslag.summary' not in of_kind:
            raise Failed(f'rsslag ended without a last tick and a summary: {self.complaint()}')
        return of_kind['rsslag.tick'], of_kind['rsslag.summary']


def without_perf():
    """Why perf cannot be used with these tracepoints here; None if it can."""
    if not shutil.which('perf'):
        return 'perf is not installed (linux-perf)'
    if reason := without_tracefs():
        return reason
    tried = subprocess.run(['perf', 'stat', '-e', 'kmem:rss_stat', 'true'], capture_output=True, text=True, timeout=DEADLINE,
                           check=False)
    return f'perf stat fails here: {tried.stderr.strip()[:200]}' if tried.returncode else None


def without_tracefs():
    if not os.path.isdir(TRACEFS + '/events') and shutil.which('mount'):
        mounted = subprocess.run(['mount', '-t', 'tracefs', 'tracefs', TRACEFS], stderr=subprocess.DEVNULL, check=False)
        if mounted.returncode == 0:
            atexit.register(subprocess.run, ['umount', TRACEFS], stderr=subprocess.DEVNULL, check=False)
    for event in ('kmem/rss_stat', 'exceptions/page_fault_user'):
        if not os.path.isdir(f'{TRACEFS}/events/{event}'):
            return f'this kernel shows no tracepoint {event} in {TRACEFS}'
    return None


def without_live(rsslag, mode='events'):
    """Why `rsslag live` cannot be used in this mode; None if it can."""
    try:
        asked, doctor = (subprocess.run([rsslag, *words], capture_output=True, text=True, timeout=DEADLINE, check=False)
                         for words in (('live', '--help'), ('doctor',)))
    except OSError as error:
        return f'rsslag live is missing ({rsslag}: {error.strerror})'
    if asked.returncode != 0:
        return 'rsslag live is missing'
    if doctor.returncode != 0:
        return 'tracing does not work here: ' + ' '.join(doctor.stdout.split())[:300]
    option = {'events': '', 'counts': '--mode', 'stacks': '--stacks'}[mode]
    if option not in asked.stdout:
        return f'rsslag live has no {option}'
    if mode != 'stacks':
        return None
    try:
        with Child(['sleep', str(DEADLINE)]) as target, Rsslag(rsslag, target.pid, mode):
            return None
    except Failed as failed:
        return str(failed)
