#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Small files that cost much to read: each is read or clearly refused, in time and memory proportional to its size."""
import os
import resource
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import unittest
from functools import partial
from pathlib import Path

import contract
from contract import environment, long_only
from forger import (CPU, MOST_PAYLOAD, START_NS, Forger, attach, batch, counters, error, item, moment, number, reading, signed, task,
                    task_record, text, tick_end, watermark)
from panes import Pane, needs_tmux

ADDRESS = 0xffff888100000000
PID = 4711
ALL = bool(os.environ.get('RSSLAG_TEST_BUDGETS'))
# One of each kind; the others take too long for the gate.
QUICK = ('words', 'updates of a process without tasks', 'answers to one call', 'faults of more and more tasks', 'CPUs of many mms', 'causes', 'time that jumps, version 1',
         'records with no watermark', 'readings of one tick', 'a long name', 'deep stacks')
ENOUGH = 3 << 30  # bytes of address space, so that a failing test does not use up the machine's memory


def filled(unit, room=MOST_PAYLOAD - 4096):
    return unit * (room // len(unit))


def whole(count, unit, *, kind, before=b''):
    """One item with `count` repetitions of `unit`."""
    return item(kind, before + number(count) + unit * count)


def updates(records, flags, new_mms=False):
    """Updates without a watermark, all of one mm, or each the first of a new mm."""
    key = number(1) + number(flags) + signed(PID)
    if not new_mms:
        return batch(records, key + signed(ADDRESS) + number(0) * 2, number(0) + number(1) * (records - 1), signed(1) * records,
                     b'', signed(1) * records, signed(0) * records)
    keys = key + signed(ADDRESS) + number(0) * 2 + (key + signed(4096) + number(0) * 2) * (records - 1)
    return batch(records, keys, number(0) * records, signed(1) * records, b'', signed(1) * records, signed(0) * records)


def tasks(records, kind, flags, first=0):
    """Records of the lives of tasks, each with its own mm."""
    raw = b''.join(task_record(kind, PID + first + i, ADDRESS + (first + i) * 4096, flags, START_NS + i) for i in range(records))
    return batch(records, (number(kind) + number(0) * 5), number(0) + number(1) * (records - 1), raw=raw)


def lives(rounds, batches):
    """Thousands of processes that start and end."""
    payload = b''
    for i in range(batches):
        payload += tasks(rounds, 3, 8, i * rounds) + watermark(1) + tasks(rounds, 7, 4, i * rounds) + watermark(2)
    return payload


def listed(count, name=b''):
    """Mappings of one page each, none of them adjacent."""
    return item(24, signed(0) + signed(PID) + number(count) + number(1) + text(name) +
                (signed(1) + number(1) + number(3) + number(1 if name else 0) + number(0)) * count + number(0))


def named(count):
    """Names all of these mappings, repeatedly."""
    return item(23, number(count) + number(2) + text(b'[anon:a]') + text(b'[anon:b]') + text(number(3) * count) +
                text(signed(0) * count) + text(signed(PID) + signed(0) * (count - 1)) + text(signed(0) * count) +
                text(signed(1) + signed(-1 << 30) * (count - 1)) + text(number(1 << 30) * count) + text(number(3) * count) +
                text((number(1) + number(2)) * (count // 2)) + text(b''))


def orphans(tasks_, batches):
    """Updates by the leader of a group that has no tasks, next to a group with many."""
    crowd = task(PID + 1, PID + 1) + task(PID + 1, 1) * (tasks_ - 1)
    many = 16384
    key = number(1) + number(9 | 32) + signed(PID) + signed(ADDRESS) + number(1 << 16) + number(0)
    alike = batch(many, key, number(0) + number(1) * (many - 1), signed(1000) * many, b'', signed(1) * many, signed(0) * many)
    return (item(15, signed(PID + 1) + counters(ADDRESS + 4096, crowd, tasks_) + signed(0) * 2 + number(0)) +
            item(15, signed(PID) + counters(ADDRESS) + signed(0) * 2 + number(0)) + alike * batches + watermark(2**50))


def samples(count, first=0):
    return item(26, number(first) + number(count) + (signed(1) + bytes(8)) * count)


def owned(count, first):
    """Samples of faults, each at another page."""
    return item(26, number(first) + number(count) + (signed(1) + signed(0) * 3 + signed(4096) + number(0) * 2 + signed(1) + signed(0)) * count)


def absent(count, before):
    """None of these pages belongs to a sample."""
    return item(28, signed(0) + signed(PID) + number(0) * 2 + number(before) + number(count) + number(1) * count)


def stacks(count, stack_of, frames, first=0, names=b''):
    """The stacks of these samples; `frames`: their number, and the body of each."""
    return item(27, number(first) + number(0) + (names or number(0)) + number(frames[0]) + frames[1] * frames[0] + number(count) +
                b''.join(number(0) + number(len(stack)) + stack for stack in map(stack_of, range(count))) +
                number(count) + b''.join(map(number, range(count))))


def sampled(forger, payloads):
    return forger.recording(payloads, header=forger.header(2, scheme=CPU, sample_period=1))


def deep(first, i):
    """256 frames that no other stack has."""
    i += first
    return bytes(i >> bit & 1 for bit in range(24)) + bytes(232)


def named_frames(i):
    """Each frame has a name of 4,000 bytes, which differ in each item."""
    name = b'%04d' % i + bytes([65]) * 3_996
    return samples(1, i) + stacks(1, lambda _: bytes([0]), (8_000, number(1) + number(0) * 2 + signed(1)), i, number(1) + text(name))


def tasks_of_one(count, kind, flags, *, tids=1, own_group=False, step=0, old=False):
    """Records of tasks that share the memory of the process, or of the process itself (`tids` 0)."""
    records = [task_record(kind, PID + (i + 1) * tids, ADDRESS + i * step, flags, START_NS + i, b'%d' % i, tgid=0 if own_group else PID,
                           parent=PID if kind == 3 else 0, old_tid=PID if old else 0) for i in range(count)]
    return b''.join(batch(len(part), number(kind) + number(0) * 5, number(0) + number(1) * (len(part) - 1), raw=b''.join(part))
                    for part in (records[at:at + 16_000] for at in range(0, count, 16_000)))


def on_cpus(records, cpus):
    """Folds of one mm on each CPU in turn."""
    keys = b''.join(number(1) + number(9) + signed(PID) + signed(0 if i else ADDRESS) + number(i) + number(0) for i in range(cpus))
    index = b''.join(number(i % cpus + 1 if i >= cpus else 0) for i in range(records))
    return batch(records, keys, index, signed(7) * records, b'', signed(33) * records, signed(0) * records)


def sums(records, cpus):
    keys = b''.join(number(8) + number(8) + signed(PID) + signed(0 if i else ADDRESS) + number(i | i << 16 | 15 << 32) + number(0) for i in range(cpus))
    index = b''.join(number(i % cpus + 1 if i >= cpus else 0) for i in range(records))
    columns = (keys, index, signed(3) * records, b'', b'', b'', signed(1) * 4 * records, number(5) * records, number(1) * records, b'', b'')
    return item(2, number(0) + number(records) + b''.join(map(text, columns)))


def moves(count):
    """Moves of overlapping ranges."""
    return item(23, number(count) + number(0) + text(number(2) * count) + text(signed(0) * count) + text(signed(PID) + signed(0) * (count - 1)) +
                text(signed(0) * count) + text(signed(1) + signed(1 - (1 << 20)) * (count - 1)) + text(number(1 << 20) * count) +
                text(number(3) * count) + text(number(0) * count) + text((signed(1) + number(1 << 19)) * count))


def build_ids(count):
    """Each mapping is of a file of the same name with another build id."""
    ids = b''.join(text(b'%020d' % i) for i in range(count))
    return item(23, number(count) + number(1) + text(b'/f') + text(number(0) * count) + text(signed(0) * count) +
                text(signed(PID) + signed(0) * (count - 1)) + text(signed(0) * count) + text(signed(1) * count) + text(number(1) * count) +
                text(number(5) * count) + text(number(1) * count) + text(b'') + number(count) + ids + number(count) + number(0) + number(1) +
                b''.join(number(1) + number(i + 1) for i in range(1, count)))


def not_traced(i):
    return item(8, signed(i) + number(0) + number(1) + text(b'%08d' % i + bytes([65]) * 4_000) + signed(0) + text(bytes([66]) * 4_000))


def functions(count, nth):
    """Stacks of two functions; no two have the same pair of names."""
    names = b''.join(text(b'fn_%d_%d' % (nth, i)) for i in range(count))
    frames = b''.join(number(i + 1) + number(0) * 2 + signed(1) for i in range(count))
    return samples(count, nth * count) + item(27, number(nth * count) + number(0) + number(count) + names + number(count) + frames + number(count) + b''.join(
        number(0) + number(2) + number(i) + number(i * 7 % count) for i in range(count)) + number(count) + b''.join(map(number, range(count))))


def ticks_of(processes, ticks):
    payload = b''.join(item(15, signed(i) + counters(ADDRESS + i * 4096, task(i, i), 1) + signed(0) * 2 + number(0)) for i in range(1, processes))
    for t_ns in range(10**9, ticks * 10**9, 10**9):
        payload += watermark(t_ns) + b''.join(reading(i, ADDRESS + i * 4096, task(i, i), 1, t_ns) for i in range(1, processes)) + tick_end(t_ns)
    return payload


def hostile(forger):
    """{name: function that writes the hostile recording}."""
    make = forger.recording
    jumps = watermark(2**63 - 1) + watermark(-START_NS) + item(13, signed(2**62) + number(0) * 2) + item(22, signed(-2**63) + signed(2**63 - 1))
    readings = attach(PID, ADDRESS)
    many = 16384
    storm = filled(updates(many, 9), 32 << 20)
    return {
        'words': lambda: make([], header=forger.header(2, words=(MOST_PAYLOAD - 256, bytes(MOST_PAYLOAD - 256)))),
        'faults of one item': lambda: make([whole(20_000_000, signed(1) + number(0) * 2, kind=7)]),
        'faults of more and more tasks': lambda: make([item(7, number(150_000) + signed(i * 150_000) + number(0) * 2 +
                                                  (signed(1) + number(0) * 2) * 149_999) for i in range(200)]),
        'CPUs': lambda: make([readings], header=forger.header(2, 1 << 20, scheme=CPU)),
        'CPUs of many mms': lambda: make([updates(many, 256, True)], header=forger.header(2, 8192, scheme=CPU)),
        'losses': lambda: make([filled(item(13, signed(0) + number(1) + number(1) + text(b'no_room') + number(7)))] * 30),
        'causes': lambda: make([whole(30_000_000, text(b'') + number(1), kind=13, before=signed(0) + number(9))]),
        'updates of a process without tasks': lambda: make([orphans(200_000, 10)]),
        'gaps': lambda: make([filled(item(12, number(1) * 2))]),
        'time that jumps': lambda: make([filled(jumps, 1 << 20)]),
        'records with no watermark': lambda: make([storm] * 4),
        'records of as many mms': lambda: make([filled(updates(many, 256, True))] * 4),
        'records of an mm that is torn down again and again': lambda: make([filled(updates(many, 4) + updates(many, 256))]),
        'tasks of as many mms': lambda: make([tasks(many, 3, 8, i * many) + watermark() for i in range(60)]),
        'processes that have ended': lambda: make([lives(1000, 20)] * 60),
        'awaited': lambda: make([b''.join(item(16, signed(i) + signed(i) + number(0)) for i in range(4_000_000))]),
        'readings of one tick': lambda: make([readings + filled(reading(PID, ADDRESS))]),
        'tasks of one reading': lambda: make([readings + reading(PID, ADDRESS, task(PID, 1) * 3_000_000, 3_000_000) + tick_end()]),
        'CPUs of one reading': lambda: make([item(8, signed(PID) + number(1) + number(1) + number(ADDRESS) + signed(1) + bytes(4) +
                                          number(12_000_000) + bytes(60_000_000) + bytes(2 + 4 + 1 + 2) + bytes(4))]),
        'counters of one reading': lambda: make([readings + item(17, signed(PID) + number(1) + signed(PID) + number(0) * 2 + text(b'') + signed(0) + number(0) +
                                         number(0) * 8 + number(2_000_000) + counters(ADDRESS) * 2_000_000)]),
        'ticks': lambda: make([readings + filled(reading(PID, ADDRESS) + tick_end())]),
        'processes that come with a reading each': lambda: make([b''.join(reading(i, i * 4096, task(i, i), 1) for i in range(1, 500_000))]),
        'a long name': lambda: make([readings + reading(PID, ADDRESS, task(PID, PID, bytes(20 << 20)), 1) + tick_end() + filled(watermark(), 1 << 20)]),
        'a long error': lambda: make([readings + item(17, signed(PID) + number(0) + number(1) + text(b'\x1b' * (60 << 20)) + signed(0) + text(b'')) + tick_end()]),
        'watermarks of many processes': lambda: make([tasks(3000, 3, 8) + filled(watermark(), 8 << 20)]),
        'words about all mappings': lambda: make([readings + listed(60_000) + named(20_000)] * 3),
        'long names of mappings': lambda: make([readings + listed(2_000, bytes([65 + i]) * 4_000) for i in range(20)]),
        'samples': lambda: sampled(forger, [b''.join(samples(60_000, (100 * i + j) * 60_000) for j in range(100)) for i in range(4)]),
        'stacks': lambda: sampled(forger, [samples(30_000, i * 30_000) + stacks(30_000, lambda i: number(i % 2), (2, bytes(3) + signed(1)), i * 30_000) for i in range(100)]),
        'deep stacks': lambda: sampled(forger, [b''.join(samples(200, i * 200) + stacks(200, partial(deep, i * 200), (2, bytes(3) + signed(1)), i * 200) for i in range(1000))]),
        'names of frames': lambda: sampled(forger, [b''.join(map(named_frames, range(50)))]),
        'absent pages': lambda: sampled(forger, [b''.join(owned(20_000, (100 * i + j) * 20_000) + absent(20_000, (100 * i + j) * 20_000) for j in range(100)) for i in range(4)]),
        'walks of many processes': lambda: sampled(forger, [owned(20_000, 0) + b''.join(item(28, signed(0) + signed(i) + number(0) * 2 + number(20_000) + number(0)) for i in range(2_000_000))]),
        'execs': lambda: make([readings + tasks_of_one(700_000, 6, 0, tids=0, step=4096, old=True) + watermark(1 << 40)]),
        'names of one task': lambda: make([readings + tasks_of_one(700_000, 5, 0, tids=0) + watermark(1 << 40)]),
        'threads that have ended': lambda: make([readings + tasks_of_one(350_000, 3, 3) + tasks_of_one(350_000, 7, 0) + watermark(1 << 40)]),
        'processes that share an mm': lambda: make([readings + tasks_of_one(100_000, 3, 9, own_group=True) + watermark(1 << 20) +
                                                    updates(many, 9) * 20 + watermark(1 << 40)]),
        'tasks of others': lambda: make([readings + tasks_of_one(700_000, 4, 0, own_group=True) + watermark(1 << 40)]),
        'folds of 8192 CPUs': lambda: make([readings + on_cpus(many, 8192) * 60 + watermark(1 << 50)], header=forger.header(2, 8192, scheme=CPU)),
        'sums of 256 CPUs': lambda: make([readings + sums(many, 256) * 40 + watermark(1 << 50)] * 2, header=forger.header(2, 256, scheme=CPU)),
        'moves': lambda: make([readings + listed(60_000) + moves(20_000) + watermark(1 << 40), moves(400_000) + watermark(1 << 41)]),
        'stacks of a listing': lambda: make([readings + item(24, signed(0) + signed(PID) + number(0) * 2 + number(500_000) + (signed(0) + number(1)) * 500_000)] * 10),
        'attached again and again': lambda: make([b''.join(attach(PID, ADDRESS + i * 4096) for i in range(400_000))]),
        'reasons': lambda: make([b''.join(map(not_traced, range(i * 8_000, (i + 1) * 8_000))) for i in range(6)]),
        'build ids': lambda: make([readings + build_ids(200_000) + watermark(1 << 40)] * 3),
        'names of functions': lambda: sampled(forger, [functions(4_000, i) for i in range(150)]),
        'ticks of many processes': lambda: make([ticks_of(5_000, 20)]),
        'ticks far apart': lambda: make([readings + b''.join(reading(PID, ADDRESS, task(PID, PID), 1, i << 50) + tick_end(i << 50) for i in range(1, 3_000))]),
        'nothing at all': lambda: make([filled(item(99))] * 20),
        'damage': lambda: make([]) + (b'\x89rslchk\n' * 500_000),
    }


def made(file, make):
    """Writes the file in a child, as fork passes this process's ru_maxrss on to its children."""
    pid = os.fork()
    if pid == 0:
        try:
            file.write_bytes(make())
        finally:
            os._exit(0)
    os.waitpid(pid, 0)
    return file.stat().st_size


def until_signals_wait(pid):
    """Waits until rsslag has blocked its signals, which it reads from a descriptor, or has set handlers."""
    while True:
        status = dict(line.split(':\t', 1) for line in Path(f'/proc/{pid}/status').read_text().splitlines())
        if status['State'][0] == 'Z' or (int(status['SigBlk'], 16) | int(status['SigCgt'], 16)) & 1 << signal.SIGINT - 1:
            return
        os.sched_yield()


class Use:
    """The time and memory of a run."""

    def __init__(self, args, limit_s):
        with tempfile.TemporaryFile() as err, open(os.devnull, 'wb') as null:
            began = time.monotonic()
            process = subprocess.Popen([contract.binary, *map(str, args)], stdin=subprocess.DEVNULL, stdout=null, stderr=err, env=environment(),
                                       preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (ENOUGH, ENOUGH)))
            timer = threading.Timer(limit_s * 4, process.kill)
            timer.start()
            _, status, usage = os.wait4(process.pid, 0)
            timer.cancel()
            self.status = process.returncode = os.waitstatus_to_exitcode(status)
            self.seconds = time.monotonic() - began
            self.cpu, self.bytes = usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024
            err.seek(0)
            self.err = err.read().decode()


class Forgeries(unittest.TestCase):
    def test_updates_are_of_a_known_mm(self):
        """Otherwise the hostile recordings are cheap to read."""
        for flags in (9, 4):
            with self.subTest(flags=flags), tempfile.NamedTemporaryFile() as file:
                file.write(Forger().recording([attach(PID, ADDRESS) + updates(3, flags) + watermark(1 << 40)]))
                file.flush()
                rows = contract.rsslag('export', '--rows-only', file.name).documents()
                self.assertEqual([row['known'] for row in rows if row['type'] == 'update'], [True] * 3)


    def test_a_lower_limit_of_memory_is_named(self):
        """It is a fault of neither the recording nor rsslag, so the status is not that of bad input."""
        with tempfile.NamedTemporaryFile() as file:
            file.write(Forger().recording([b''.join(reading(i, i * 4096, task(i, i), 1) for i in range(1, 50_000))]))
            file.flush()
            for limit, option in (('data', '-d'), ('as', '-v')):
                ran = contract.rsslag('report', file.name, prefix=['prlimit', f'--{limit}={32 << 20}'])
                self.assertEqual(ran.status, 1, ran)
                self.assertRegex(ran.err, rf'^rsslag: there is not enough memory to read .*; raise the limit that ulimit {option} shows$')


@long_only('it measures time and memory')
class RecordingBudgets(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.mkdtemp(prefix='rsslag-contract-')
        cls.addClassCleanup(shutil.rmtree, cls.directory)

    def test_hostile(self):
        for name, make in hostile(Forger()).items():
            if not ALL and name not in QUICK:
                continue
            file = Path(self.directory, name)
            size = made(file, make)
            for args in self.ways(file):
                read = args.count(file)
                seconds, room = 10 + read * size / 4e6, (256 << 20) + read * size
                with self.subTest(name=name, args=args[:3]):
                    use = Use(args, seconds)
                    self.assertIn(use.status, (0, 2), use.err)
                    self.assertLess(use.bytes, room)
                    self.assertLess(use.cpu, seconds)
                    if use.status != 0:
                        self.assertEqual(len(use.err.splitlines()), 1, use.err)
            file.unlink()

    def ways(self, file):
        yield 'replay', '--format', 'lines', file
        yield 'export', file
        if ALL:
            yield 'replay', '--json', '--events', '--threads', 'all', file
            yield 'report', '--stacks', file
            yield 'report', '--diff', file, file
            for form in ('csv', 'folded', 'pprof', 'speedscope'):
                yield 'export', '--format', form, file
            for nth, args in enumerate((('report', '--json', '--svg'), ('report', '--html'), ('report', '--flame'),
                                        ('export', '--format', 'sqlite', '-o'), ('export', '--format', 'perfetto', '-o'))):
                out = Path(self.directory, f'out{nth}')
                yield *args, out, file
                out.unlink(missing_ok=True)

    def test_a_stop_is_obeyed_at_once(self):
        """rsslag ends while it searches a chunk, and while items yield no event."""
        forger = Forger()
        hole, busy = Path(self.directory, 'hole'), Path(self.directory, 'busy')
        hole.write_bytes(forger.recording([], ended=False))
        os.truncate(hole, 1 << 40)
        made(busy, lambda: forger.recording([filled(item(13, signed(0) + number(9) + number(0)))] * 4))
        for file in (hole, busy):
            for args in (('replay', '--format', 'lines'), ('report', '--json'), ('export', '--format', 'csv')):
                for stop in (signal.SIGINT, signal.SIGTERM):
                    with self.subTest(file=file.name, args=args, stop=stop):
                        self.assertLess(self.stopped(stop, *args, file), 2)

    @needs_tmux
    def test_q_is_obeyed_at_once(self):
        """Also while there is nothing to show."""
        forger = Forger()
        begun = attach(PID, ADDRESS) + reading(PID, ADDRESS, task(PID, PID), 1) + tick_end()
        busy, jumps = Path(self.directory, 'busy-screen'), Path(self.directory, 'jumps-screen')
        made(busy, lambda: forger.recording([begun] + [filled(item(13, signed(0) + number(9) + number(0)))] * 8))
        jumps.write_bytes(forger.recording([begun + watermark(2**63 - 1) + watermark(-START_NS) + reading(PID, ADDRESS, task(PID, PID), 1, 2**62) +
                                            tick_end(2**62)]))
        for file in (busy, jumps):
            with self.subTest(file.name), Pane() as pane:
                pane.rsslag('replay', file)
                pane.until('q quit')
                pid = pane.rsslag_pid()
                pane.key('End')
                pane.type('q')
                began = time.monotonic()
                while Path(f'/proc/{pid}').exists():
                    self.assertLess(time.monotonic() - began, 2)
                    os.sched_yield()

    def stopped(self, stop, *args):
        with subprocess.Popen([contract.binary, *map(str, args)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              env=environment()) as process:
            until_signals_wait(process.pid)
            process.send_signal(stop)
            began = time.monotonic()
            try:
                self.assertEqual(process.wait(60), 0)
            finally:
                process.kill()
            return time.monotonic() - began


if __name__ == '__main__':
    contract.main()
