# SPDX-License-Identifier: BSD-2-Clause
"""Shared by the tests of `rsslag live`: traces that a test waits for line by line, and checks that each must pass."""
import collections
import contextlib
import datetime
import json
import os
import re
import signal
import subprocess
import threading
import time

import contract
from contract import MEMBERS, TIMEOUT, assert_valid, environment, rsslag


# Rings that hold all records of a test program without being read, so that nothing is lost on a busy machine.
# --long uses the default size.
ROOMY = () if contract.LONG else ('--ring', '8M')


def unseen(work):
    """A Python program for `-- CMD` that runs `work` while rsslag is stopped, so that a small ring loses records."""
    return f'import os, signal\nos.kill(os.getppid(), signal.SIGSTOP)\n{work}\nos.kill(os.getppid(), signal.SIGCONT)\n'


def live(*args, **more):
    return rsslag('live', *(str(arg) for arg in args), **more)


def made_at(tick):
    """The time of a tick, in seconds since the epoch."""
    return datetime.datetime.fromisoformat(tick['time'].replace('Z', '+00:00')).timestamp()


class Live:
    """`rsslag live` until the end of the with block. A thread reads its stderr."""

    def __init__(self, *args, executable=None, prefix=(), **more):
        argv = [*prefix, executable or contract.binary, 'live', *(str(arg) for arg in args)]
        more.setdefault('stdin', subprocess.DEVNULL)
        self.args = args
        self.process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(),
                                        start_new_session=True, **more)
        self.said = []  # lines on stderr
        self.seen = []  # lines on stdout
        self._more = threading.Condition()
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _listen(self):
        for line in self.process.stderr:
            with self._more:
                self.said.append(line.decode())
                self._more.notify_all()

    def complaint(self, index=0):
        """The line `index` of stderr."""
        with self._more:
            if not self._more.wait_for(lambda: len(self.said) > index, TIMEOUT):
                raise AssertionError(f'no further line after {self.said}')
            return self.said[index]

    def line(self):
        line = self.process.stdout.readline().decode()
        if not line:
            raise AssertionError(f'{self.args}: it ended: {self.process.wait(TIMEOUT)} {self.said}')
        self.seen.append(line)
        return line

    def document(self, accept=lambda document: True):
        """The next document that `accept` accepts."""
        while True:
            document = json.loads(self.line())
            if accept(document):
                return document

    def later(self, ticks, accept=lambda document: True):
        """Skips ticks that are already on their way. Counts from the first tick made after this call, whose reading may be older."""
        now = time.time()
        first = self.document(lambda one: 'seq' in one and made_at(one) > now)
        return self.document(lambda one: 'seq' in one and one['seq'] >= first['seq'] + ticks and accept(one))

    def signal(self, number):
        self.process.send_signal(number)

    def finish(self):
        """Waits for its end, and returns the status and all output."""
        rest = self.process.stdout.read()
        status = self.process.wait(TIMEOUT)
        self._listener.join(TIMEOUT)
        return contract.Ran(self.args, status, ''.join(self.seen).encode() + rest, ''.join(self.said).encode())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)  # kills CMD too, which holds the pipes
        self.process.wait(TIMEOUT)
        self._listener.join(TIMEOUT)
        self.process.stdout.close()
        self.process.stderr.close()


class Told:
    """A shell that runs `before` immediately, and `after` on request; then it ends."""

    def __init__(self, after='exit 0', before=':', count=1):
        script = f'{before}; echo ready; read x; {after}'
        self.shells = [subprocess.Popen(['sh', '-c', script], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
                       for _ in range(count)]
        for shell in self.shells:
            if shell.stdout.readline() != b'ready\n':
                raise AssertionError('no shell')
        self.pids = [shell.pid for shell in self.shells]
        contract.wait_until(lambda: all(contract.task_state(pid) == 'S' for pid in self.pids))
        self.pid = self.pids[0]

    def tell(self, index=0):
        os.write(self.shells[index].stdin.fileno(), b'\n')
        return self.shells[index].wait(TIMEOUT)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for shell in self.shells:
            shell.stdin.close()
            shell.kill()
            shell.wait(TIMEOUT)
            shell.stdout.close()


def assert_sum(test, whole, parts, tick):
    for member in MEMBERS:
        test.assertEqual(whole[member], sum(part[member] for part in parts), (member, tick))


def assert_tick(test, tick):
    """Checks what must hold for each process at each tick."""
    assert_valid(test, 'tick', tick)
    for members in (tick['flushed'], tick['cached'], tick['exact'], tick['baseline'], tick['exited']['net']):
        test.assertEqual(members['rss'], members['file'] + members['anon'] + members['shmem'], tick)
    assert_sum(test, tick['exact'], (tick['flushed'], tick['cached']), tick)
    if tick['cpus'] is not None:
        assert_sum(test, tick['cached'], [cpu['cached'] for cpu in tick['cpus']], tick)
    test.assertEqual(sum(cause['pages'] for cause in tick['residual_causes']), tick['residual'] or 0, tick)
    test.assertEqual(tick['lost'], sum(tick['lost_by'].values()), tick)
    reasons = tick['flush_reasons']
    test.assertEqual(tick['flushes'], sum(count for reason, count in reasons.items() if reason != 'direct'), tick)
    window = tick['window']
    test.assertLessEqual(window['min'], tick['exact']['rss'], tick)
    test.assertLessEqual(tick['exact']['rss'], window['max'], tick)
    stat = tick['readers']['stat']['rss_kb']
    if tick['lag'] is not None:
        test.assertEqual(tick['lag'], tick['exact']['rss'] - sum(max(0, tick['flushed'][member]) for member in contract.RSS), tick)
    if stat is not None and tick['behind'] is not None:
        test.assertEqual(tick['behind'], tick['exact']['rss'] - stat * 1024 // tick['page_size'], tick)


def assert_attributed(test, tick):
    """With --threads all: everything since the attach is attributed."""
    parts = [thread['net'] for thread in tick['threads']] + [other['net'] for other in tick['others']]
    assert_sum(test, tick['exact'], [tick['baseline'], tick['exited']['net'], *parts], tick)
    if tick['scheme'] == 'thread' and all(thread['cached'] for thread in tick['threads']):
        assert_sum(test, tick['cached'], [thread['cached'] for thread in tick['threads']], tick)


def assert_trace(test, ran, attributed=True, status=0, said='', not_at_zero=0):
    """Checks a whole run in jsonl: ticks, then one summary. Returns the ticks, without the records of --events, and the summary."""
    test.assertEqual((ran.status, ran.err), (status, said), ran)
    documents = [document for document in ran.documents() if 'schema' in document]
    *ticks, summary = documents
    test.assertEqual(summary['schema'], 'rsslag.summary/2', ran.lines[-1])
    assert_valid(test, 'summary', summary)
    before = collections.defaultdict(int)
    gone = []
    last = 0
    for tick in ticks:
        assert_tick(test, tick)
        if attributed:
            assert_attributed(test, tick)
        test.assertNotIn((tick['pid'], tick['host_pid']), gone, 'a tick follows the last tick of its process')
        test.assertGreaterEqual(tick['seq'], last, tick)
        last = tick['seq']
        key = (tick['pid'], tick['mm']['id'])
        test.assertGreaterEqual(tick['updates'], before[key], 'counts are totals, so they must not decrease')
        before[key] = tick['updates']
        if tick['state'] == 'exited':
            gone.append((tick['pid'], tick['host_pid']))
    test.assertEqual(sorted(pid for pid, _ in gone),
                     sorted(each['pid'] for each in summary['processes'] if each['state'] == 'exited'), summary)
    test.assertEqual(summary['ticks'], len(ticks))
    # Targets that still run emit more records while the kernel's counts are read.
    more = summary['emitted'] - summary['records'] - summary['lost']
    test.assertGreaterEqual(more, 0, summary)
    if all(process['state'] == 'exited' for process in summary['processes']):
        test.assertEqual(more, 0, summary)
    test.assertEqual(summary['lost'], sum(summary['lost_by'].values()), summary)
    test.assertLessEqual(summary['ended_not_at_zero'], not_at_zero, summary)
    # The last tick of a PID belongs to its last row. A fork has a row of its own for what it held before its exec.
    for process in {process['pid']: process for process in summary['processes']}.values():
        final = [tick for tick in ticks if tick['pid'] == process['pid']][-1:]
        if final:
            test.assertEqual(process['final'], final[0]['exact'], process)
    return ticks, summary


def assert_lines_hold(test, text):
    """Checks the lines for a command that has ended: its last line and the summary show values above 0."""
    (last,) = [line.split() for line in text.splitlines() if line.endswith(' EXITED')]
    test.assertGreater(int(last[4].lstrip('~!').replace(',', '')), 0, text)  # EXACT
    (most,) = re.findall(r' exited: .* (?:at most|at least) ([\d,]+) kB', text)
    test.assertGreater(int(most.replace(',', '')), 0, text)
