#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Threads, processes and execs that start and end for an hour under two tracers, one of which records with --max-size. The
tracers' memory and open files are constant after the first third, nothing is lost, and every address space ends at 0.

    tests/live/soak.py --rsslag build/rsslag [--minutes N | --sample SECONDS]

--sample: no warm-up, and no check of the memory, which grows during the first minute."""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

# Threads with some memory, a fork and an exec, repeated until stdin ends: a load that two cores can handle.
CHURN = r'''
import mmap, os, select, subprocess, sys, threading
def touch():
    with mmap.mmap(-1, 64 * mmap.PAGESIZE) as memory:
        for at in range(0, len(memory), mmap.PAGESIZE):
            memory[at] = 1
def one_round():
    threads = [threading.Thread(target=touch) for _ in range(4)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    pid = os.fork()
    if pid == 0:
        touch()
        os._exit(0)
    os.waitpid(pid, 0)
    subprocess.run(['/bin/true'])
rounds = WARMING
sys.stdin.readline()
for _ in range(WARMING): one_round()
print('warm', flush=True)
while not select.select([sys.stdin], [], [], 0.05)[0]:
    one_round()
    rounds += 1
print(rounds)
'''
ENDED_IN_A_ROUND = 2  # address spaces: the fork's and that of /bin/true, as subprocess forks by vfork
WARMING = 2100        # rounds without a pause. A trace keeps the data of at most 4,000 ended processes
WARM_S = 60
SLACK_KB = 128        # between medians: malloc may or may not return pages


class Tracer:
    """`rsslag live` on all processes of the churn; keeps its last line."""

    def __init__(self, rsslag, pid, *more):
        self.process = subprocess.Popen([rsslag, 'live', '--format', 'jsonl', '--threads', 'none', '--follow', '-p', str(pid), *more],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.lines, self.last, self.lossy, self.begun = 0, b'', 0, threading.Event()
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            self.last = line
            self.lines += 1
            self.lossy += b'"lost":0,' not in line
            self.begun.set()

    def holds(self):
        """kB of RSS, open files."""
        status = Path(f'/proc/{self.process.pid}/status').read_text()
        return int(status.split('VmRSS:')[1].split()[0]), len(os.listdir(f'/proc/{self.process.pid}/fd'))

    def end(self):
        """Waits until it ends, after its target."""
        try:
            self.process.wait(60)
        finally:
            self.process.kill()
        self.reader.join(60)
        said = self.process.stderr.read().decode()
        self.process.stdout.close()
        self.process.stderr.close()
        return self.process.returncode, said, json.loads(self.last)


def check(name, condition, what):
    if not condition:
        print(f'FAIL: {name}: {what}')
    return bool(condition)


def flat(name, samples, warm):
    """Whether RSS and open files do not grow. RSS: from the second third after the warm-up to the last one, by the median. In the
    first third malloc and the containers still reach the sizes of the largest bursts, in steps that become rare. Files: from the most
    of the first third to the fewest of the last one. A tracer opens some for a moment, and a median would meet those by chance; a file
    that stays open is in every later sample."""
    third = len(samples) // 3
    (_, files_before), (before, _), (after, files_after) = (zip(*part) for part in (samples[:third], samples[third:2 * third], samples[2 * third:]))
    before, after = statistics.median(before), statistics.median(after)
    for begin in range(0, len(samples), 60):
        kb, files = zip(*samples[begin:begin + 60])
        print(f'{name}: minute {begin // 60 + 1}: RSS {min(kb)} to {max(kb)} kB, {min(files)} to {max(files)} files')
    print(f'{name}: RSS {before} kB, then {after} kB by the median; at most {max(files_before)} files, then at least {min(files_after)}')
    return (check(name, not warm or after <= before + SLACK_KB, 'RSS grows') &
            check(name, min(files_after) <= max(files_before), 'files stay open'))


def ended_well(name, rounds, tracer, status, said, summary):
    ended = rounds * ENDED_IN_A_ROUND + 1
    return (check(name, (status, said) == (0, ''), f'status {status}: {said}') &
            check(name, summary.get('schema') == 'rsslag.summary/2', 'no summary') &
            check(name, summary.get('lost') == 0, f'lost {summary.get("lost")}: {summary.get("lost_by")}') &
            check(name, tracer.lossy == 0, f'{tracer.lossy} lines with losses') &
            check(name, summary.get('emitted') == summary.get('records'), 'emitted and records differ') &
            check(name, summary.get('ended_not_at_zero') == 0, f'{summary.get("ended_not_at_zero")} not at 0') &
            check(name, summary.get('ended_mms') == ended, f'{summary.get("ended_mms")} address spaces of {ended} ended'))


def soak(rsslag, seconds, warm, directory):
    recording = os.path.join(directory, 'file')
    warming, warm_s = (WARMING, WARM_S) if warm else (0, 0)
    samples = {}
    with subprocess.Popen([sys.executable, '-c', CHURN.replace('WARMING', str(warming))], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as load:
        tracers = {'live': Tracer(rsslag, load.pid),
                   'recording': Tracer(rsslag, load.pid, '--record', recording, '--max-size', '4M')}
        try:
            for tracer in tracers.values():
                if not tracer.begun.wait(60):
                    raise SystemExit('a tracer does not start')
            load.stdin.write('\n')
            load.stdin.flush()
            begin = time.monotonic()
            if load.stdout.readline() != 'warm\n':
                raise SystemExit('the load does not start')
            took = time.monotonic() - begin
            print(f'the first {warming} rounds took {took:.0f} s', flush=True)
            time.sleep(max(0, warm_s - took))
            end = max(begin + seconds, time.monotonic() + warm_s)
            while time.monotonic() < end:
                time.sleep(1)
                for name, tracer in tracers.items():
                    samples.setdefault(name, []).append(tracer.holds())
            rounds = int(load.communicate(timeout=60)[0])
        finally:
            load.kill()
            ends = {name: tracer.end() for name, tracer in tracers.items()}
    print(f'{rounds} rounds')
    good = all([flat(name, samples[name], warm) & ended_well(name, rounds, tracer, *ends[name]) for name, tracer in tracers.items()])
    for name, (_, _, summary) in ends.items():
        print(f'{name}: {tracers[name].lines} lines, {summary.get("records")} records, {summary.get("ended_mms")} address spaces ended')
    size = sum(file.stat().st_size for file in Path(directory).iterdir())
    newest = subprocess.run([rsslag, 'report', '--json', recording], capture_output=True, check=False)
    report = json.loads(newest.stdout) if newest.returncode == 0 else {}
    good &= check('recording', size <= 4 << 20, f'{size} bytes are more than 4 MiB')
    good &= check('recording', report.get('complete') and report['lost'] == 0, newest.stderr or newest.stdout[:500])
    return good


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--rsslag', required=True)
    parser.add_argument('--minutes', type=float, default=60)
    parser.add_argument('--sample', type=float, metavar='SECONDS')
    options = parser.parse_args()
    if options.sample is None and options.minutes * 60 < 2 * WARM_S:
        parser.error(f'the first {WARM_S} s are not looked at')
    if os.geteuid() != 0:
        print('skipped: soak: loading BPF programs needs root')
        sys.exit(77)
    directory = tempfile.mkdtemp(prefix='rsslag-soak-')
    try:
        sys.exit(0 if soak(os.path.abspath(options.rsslag), options.sample or options.minutes * 60, options.sample is None, directory)
                 else 1)
    finally:
        shutil.rmtree(directory)


if __name__ == '__main__':
    main()
