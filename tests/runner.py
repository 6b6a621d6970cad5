# SPDX-License-Identifier: BSD-2-Clause
"""Runs steps one after the other, each with a time limit, its own log and its own temporary directory, and ends all processes that a
step leaves behind.

A step is a command. This process is the subreaper of its descendants (prctl PR_SET_CHILD_SUBREAPER), so no process of one step runs
during the next one."""
import ctypes
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOGS = ROOT / 'build/test-logs'
SKIPPED = 77  # status of a command that cannot run here; the last line of its log is the reason
GRACE = 10  # seconds from SIGTERM to SIGKILL
FREED = 10  # seconds until the kernel has freed the BPF programs of processes that ended: it frees them from a work queue


@dataclass(frozen=True)
class Step:
    """A command line, run in the root of the tree. `usual` and `limit` are seconds; the limit ends a step that hangs, and does not
    test speed. `missing` returns why the step cannot run here, or an empty string."""
    name: str
    command: tuple
    usual: int
    limit: int
    needs: tuple = ()
    after: str = ''  # a step of the same group that must have ended before
    environment: tuple = ()  # pairs
    missing: object = None


@dataclass
class Outcome:
    name: str
    status: str  # ok, FAIL, skip
    seconds: float
    cpu: float
    why: str = ''
    skips: list = field(default_factory=list)  # lines: what was skipped, and the reason


class Stop(Exception):
    """A signal to end this process."""

    def __init__(self, number):
        super().__init__(number)
        self.number = number


def stop(number, _):
    raise Stop(number)


def say(text):
    print(text, flush=True)


# Processes


def children_of(pid):
    """The direct children of all threads: the file of each thread lists only its own."""
    found = []
    for task in Path(f'/proc/{pid}/task').glob('*/children'):
        try:
            found += [int(word) for word in task.read_text().split()]
        except OSError:
            pass
    return found


def descendants(pid):
    found = []
    for child in children_of(pid):
        found += [child, *descendants(child)]
    return found


def name_of(pid):
    try:
        command = Path(f'/proc/{pid}/cmdline').read_bytes().replace(b'\0', b' ').decode(errors='replace').strip()
    except OSError:
        return ''
    return f'{pid} {command[:100]}' if command else ''


def signal_all(pids, number):
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass


def reap():
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def end_all(pid):
    """Ends all descendants of `pid` by SIGTERM, and by SIGKILL those left after the grace. Returns the names of those that ran."""
    names = [name for name in map(name_of, descendants(pid)) if name]
    signal_all(descendants(pid), signal.SIGTERM)
    end = time.monotonic() + GRACE
    while left := [each for each in descendants(pid) if name_of(each)]:
        if time.monotonic() > end:
            signal_all(left, signal.SIGKILL)
        if pid == os.getpid():
            reap()
        time.sleep(0.05)
    if pid == os.getpid():
        reap()
    return names


# Traces of a step on the machine


def programs():
    tool = shutil.which('bpftool') or shutil.which('bpftool', path='/usr/sbin:/sbin')
    if not tool or os.geteuid() != 0:
        return set()
    shown = subprocess.run([tool, 'prog', 'show'], capture_output=True, text=True, check=False).stdout
    return {f'program {line.strip()[:60]}' for line in shown.splitlines() if re.match(r'\d+: ', line)}


def mounts():
    lines = Path('/proc/self/mounts').read_text().splitlines()
    return {f'mount {fields[1]} ({fields[2]})' for fields in map(str.split, lines)}


def mounts_below(directory):
    """The innermost first."""
    points = [line.split()[1] for line in Path('/proc/self/mounts').read_text().splitlines()]
    return sorted((point for point in points if point.startswith(f'{directory}/')), reverse=True)


def files_in(directory, what, only=lambda _: True):
    try:
        return {f'{what} {path}' for path in directory.iterdir() if only(path)}
    except OSError:
        return set()


def directories_below(root, what):
    return {f'{what} {path}' for path, _, _ in os.walk(root)} if root.is_dir() else set()


def machine():
    """Everything on this machine that a test may leave behind, but for files in the temporary directory of its step."""
    own = re.compile('rsslag|crowd-|tmp|rehearsal')
    return (programs() | mounts() | files_in(Path('/sys/fs/bpf'), 'pin') | directories_below(Path('/sys/fs/cgroup'), 'cgroup') |
            files_in(Path(tempfile.gettempdir()), 'file', lambda path: own.match(path.name)))


def left_since(before):
    """What is on this machine now and was not in `before`. Waits for programs that the kernel is about to free."""
    end = time.monotonic() + FREED
    left = machine() - before
    while any(each.startswith('program') for each in left) and time.monotonic() < end:
        time.sleep(0.1)
        left = machine() - before
    return sorted(left)


def remove(directory):
    """Removes a temporary directory and returns what was in it. If a file system stays mounted there, so does the directory: the files
    below may be others'."""
    found = [f'file {directory.name}/{path.name}' for path in sorted(directory.iterdir())]
    for point in mounts_below(directory):
        found.append(f'mount {point}')
        subprocess.run(['umount', '--lazy', point], check=False, stderr=subprocess.DEVNULL)
    if not mounts_below(directory):
        shutil.rmtree(directory, ignore_errors=True)
    return found


# Logs


def without_number(line):
    """ctest -V prefixes each line with the number of its test."""
    match = re.match(r'(\d+): ?', line)
    return (match.group(1), line[match.end():]) if match else ('', line)


def skips_in(log):
    """{reason: tests}. GoogleTest prints the reason between "file:line: Skipped" and "[  SKIPPED ]", all other tests print one
    line "skipped: TEST: REASON"."""
    reasons, inside = {}, {}
    for number, line in map(without_number, log.read_text(errors='replace').splitlines()):
        if line.endswith(': Skipped'):
            inside[number] = []
        elif line.startswith('[  SKIPPED ] ') and number in inside:
            reasons.setdefault(' '.join(inside.pop(number)), set()).add(line.split()[3])
        elif number in inside:
            if line:
                inside[number].append(line)
        elif line.startswith('skipped: '):
            test, _, reason = line[len('skipped: '):].partition(': ')
            reasons.setdefault(reason, set()).add(test)
    return reasons


FAILURE = re.compile(r': Failure$|^(FAIL|ERROR)\b|: error: |^(known truth|completeness): |\*\*\*(Failed|Timeout)|^FAILED: ')


def failures(log, most=60):
    """The lines that report a failure, each with the lines after it; without any, the last lines."""
    lines = log.read_text(errors='replace').splitlines()
    chosen = []
    until = 0
    for at, line in enumerate(lines):
        if FAILURE.search(without_number(line)[1]):
            until = at + 12
        if at < until:
            chosen.append(line[:400])
    return chosen[:most] or [line[:400] for line in lines[-30:]]


# Outcomes of earlier runs


def tree():
    """The id of the tree of HEAD, or an empty string if a file differs from it."""
    def git(*arguments):
        return subprocess.run(('git', *arguments), cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()
    return '' if git('status', '--porcelain') else git('rev-parse', '--verify', '--quiet', 'HEAD^{tree}')


def remember(of, outcome):
    with open(LOGS / 'outcomes.jsonl', 'a', encoding='utf-8') as file:
        file.write(json.dumps({'tree': of, **asdict(outcome)}) + '\n')


def remembered(of):
    """{step: its last outcome} on the tree `of`."""
    if not of or not (LOGS / 'outcomes.jsonl').exists():
        return {}
    found = {}
    for line in (LOGS / 'outcomes.jsonl').read_text(encoding='utf-8').splitlines():
        outcome = json.loads(line)
        if outcome.pop('tree') == of:
            found[outcome['name']] = Outcome(**outcome)
    return found


# Running


class Runner:
    def __init__(self):
        self.outcomes = []
        self.directories = []  # the temporary directories of the steps that run
        self.before = set()  # what was on this machine before these steps
        self.tree = tree()
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, stop)
        LOGS.mkdir(parents=True, exist_ok=True)

    def run(self, group):
        """Runs the steps of a group concurrently, but for those that come after another one; mostly there is one."""
        self.before = machine()
        ready = [step for step in group if not self.cannot(step)]
        waiting = list(ready)
        running = []
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        while waiting or running:
            blocked = {step.name for step in waiting} | {step.name for step, *_ in running}
            running += [(step, self.begin(step), time.monotonic()) for step in waiting if step.after not in blocked]
            waiting = [step for step in waiting if step.after in blocked]
            for one in running:
                step, process, begun = one
                status, why = process.poll(), ''
                if status is None and time.monotonic() - begun > step.limit:
                    end_all(process.pid)
                    process.kill()
                    process.wait()
                    status, why = 1, f'timed out and ended after {step.limit} s'
                if status is not None:
                    now = resource.getrusage(resource.RUSAGE_CHILDREN)
                    cpu = now.ru_utime + now.ru_stime - usage.ru_utime - usage.ru_stime
                    usage = now
                    self.ended(step, status, why, time.monotonic() - begun, cpu)
            running = [one for one in running if one[1].returncode is None]
            time.sleep(0.05)
        self.clean(' and '.join(step.name for step in ready))

    def cannot(self, step):
        failed = [need for need in step.needs if any(each.name == need and each.status == 'FAIL' for each in self.outcomes)]
        why = f'{failed[0]} failed' if failed else step.missing() if step.missing else ''
        if why:
            self.skip(step, why)
        return bool(why)

    def skip(self, step, why, seconds=0.0, cpu=0.0):
        self.keep(Outcome(step.name, 'skip', seconds, cpu, why, [f'{step.name}: {why}']))
        say(f'skip  {step.name}: {why}')

    def keep(self, outcome):
        self.outcomes.append(outcome)
        remember(self.tree, outcome)

    def log(self, step):
        return LOGS / f'{step.name}.log'

    def begin(self, step):
        directory = tempfile.mkdtemp(prefix='rsslag-')
        os.chmod(directory, 0o1777)  # as /tmp: tests change their user
        self.directories.append(Path(directory))
        with open(self.log(step), 'wb') as log:
            return subprocess.Popen(step.command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                                    env={**os.environ, 'TMPDIR': directory, **dict(step.environment)}, start_new_session=True)

    def clean(self, names):
        """Ends the processes and removes the temporary files that the steps `names` left, and reports all that they left."""
        left = [f'process {name}' for name in end_all(os.getpid())]
        left += [name for directory in self.directories for name in remove(directory)]
        self.directories = []
        left += left_since(self.before)
        if left and names:
            say(f'      {names} left on this machine: ' + '; '.join(left))

    def ended(self, step, status, why, seconds, cpu):
        log = self.log(step)
        if status == SKIPPED:
            lines = [line for line in log.read_text(errors='replace').splitlines() if line.strip()]
            self.skip(step, lines[-1] if lines else 'no reason given', seconds, cpu)
            return
        kept_for_long = 0
        skips = []
        for reason, tests in sorted(skips_in(log).items()):
            if reason.startswith('scripts/test --long'):
                kept_for_long += len(tests)
            else:
                skips.append(f'{step.name}: {reason}: {", ".join(sorted(tests))}')
        took = f'({seconds:.0f} s, CPU {cpu:.0f} s)'
        if status == 0:
            self.keep(Outcome(step.name, 'ok', seconds, cpu, '', skips))
            say(f'ok    {step.name} {took}')
        else:
            why = why or f'status {status}'
            self.keep(Outcome(step.name, 'FAIL', seconds, cpu, why, skips))
            say(f'FAIL  {step.name} {took}: {why}; log: {log.relative_to(ROOT)}')
            for line in failures(log):
                say(f'      {line}')
        if kept_for_long:
            say(f'      {kept_for_long} of its tests run only with --long')

    def table(self):
        """Prints the results. Returns whether all passed."""
        say('')
        for each in self.outcomes:
            say(f'{each.status:5} {each.name:28} {each.seconds:6.0f} s  CPU {each.cpu:6.0f} s  {each.why}'.rstrip())
        skips = [line for each in self.outcomes for line in each.skips]
        if skips:
            say('\nskipped:')
            for line in skips:
                say(f'  {line[:300]}')
        count = {status: sum(each.status == status for each in self.outcomes) for status in ('ok', 'FAIL')}
        say(f'\n{count["ok"]} passed, {count["FAIL"]} failed, {len(skips)} skipped')
        return count['FAIL'] == 0 and count['ok'] > 0


def run_all(groups, resume=False):
    """Runs all groups and returns the runner; on a signal prints the table and ends this process. With `resume`, a step that has run
    on this tree before keeps its outcome. A build runs again, since later steps need its files."""
    runner = Runner()
    earlier = remembered(runner.tree) if resume else {}
    needed = {need for group in groups for step in group for need in step.needs}
    try:
        for group in groups:
            kept = [step.name for step in group if step.name in earlier and step.name not in needed]
            runner.outcomes += [earlier[name] for name in kept]
            runner.run([step for step in group if step.name not in kept])
    except Stop as why:
        end_all(os.getpid())
        say(f'ended by {signal.Signals(why.number).name}')
        runner.clean('the steps that ran')
        runner.table()
        sys.exit(128 + why.number)
    return runner
