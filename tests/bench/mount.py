#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The time of one reading of each file of `rsslag mount` (open, read to the end, close): with 100 processes, next to one of 10,000
threads, and with 1,000 processes. Also the cost of the mounted files for others while no process reads them, by the fault storm.
Exits with 1 if `rss` takes longer than its limit. As root: mount.py [--rsslag build/rsslag] [--storm build/tests/bench/storm]
[--rounds 201]"""
import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time

from children import Storm

MOST_MS = {'100 processes': 1, '10,000 threads more': 30}
# Of the CPU time of the median storm. The difference between two halves of the same rounds is printed next to it.
MOST_PERCENT = 1.0


def read_once(path):
    """Milliseconds of wall time and of this thread's CPU time, and lines."""
    wall, cpu, lines = time.perf_counter(), time.thread_time(), 0
    fd = os.open(path, os.O_RDONLY)
    while data := os.read(fd, 1 << 17):
        lines += data.count(b'\n')
    os.close(fd)
    return 1e3 * (time.perf_counter() - wall), 1e3 * (time.thread_time() - cpu), lines


def measure(directory, rounds, load):
    """Whether the limit holds, by CPU time: a reading never waits, so the rest of the wall time is the load of the machine."""
    holds = True
    for name in ('rss', 'self', 'rss.prom'):
        walls, cpus, lines = zip(*(read_once(os.path.join(directory, name)) for _ in range(rounds)))
        cpu = statistics.median(cpus)
        print(f'{load}: {name}: median {statistics.median(walls):.3f} ms, least {min(walls):.3f}; CPU time {cpu:.3f}; {lines[-1]} lines')
        if name == 'rss' and cpu >= MOST_MS.get(load, float('inf')):
            print(f'{load}: {name} takes {cpu:.3f} ms, not less than {MOST_MS[load]}')
            holds = False
    return holds


def held(command, count):
    """That many processes, which have started and wait."""
    children = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(count)]
    for child in children:
        child.stdout.readline()
    return children


def there(directory):
    with open(os.path.join(directory, 'rss'), encoding='ascii') as file:
        return len(file.readlines()) - 1


def end(children):
    for child in children:
        child.kill()
    for child in children:
        child.wait()


def readings(binary, directory, rounds):
    subprocess.run([binary, 'mount', directory], check=True)
    children = []
    try:
        children = held(['sh', '-c', 'echo; read line'], max(0, 100 - there(directory)))
        holds = measure(directory, rounds, '100 processes')
        children += held([binary, 'demo', 'many-threads', '--hold'], 1)
        holds = measure(directory, rounds, '10,000 threads more') and holds
        end(children)
        children = held(['sh', '-c', 'echo; read line'], max(0, 1000 - there(directory)))
        return measure(directory, rounds, '1,000 processes') and holds
    finally:
        end(children)
        subprocess.run([binary, 'umount', directory], check=True)


def storm_ns(storm):
    """CPU time per fault."""
    with Storm(storm, 2, 25) as run:
        result = run.run()
        run.end()
    return result['cpu_ns_per_fault']


def others(binary, directory, storm, rounds):
    """Storms with and without the mounted files in pairs, each first in half of the pairs."""
    took = {True: [], False: []}
    for number in range(rounds):
        for mounted in ((True, False) if number % 2 else (False, True)):
            if mounted:
                subprocess.run([binary, 'mount', directory], check=True)
            try:
                took[mounted].append(storm_ns(storm))
            finally:
                if mounted:
                    subprocess.run([binary, 'umount', directory], check=True)
    without = statistics.median(took[False])
    more = 100 * (statistics.median(w / n for w, n in zip(took[True], took[False])) - 1)
    halves = 100 * (statistics.median(took[False][::2]) / statistics.median(took[False][1::2]) - 1)
    print(f'storm: a fault takes {without:.0f} ns of CPU time; with the files mounted {more:+.2f} % (median of {rounds} pairs); every '
          f'other run without them against the rest: {halves:+.2f} %')
    if more < max(MOST_PERCENT, abs(halves)):
        return True
    print('storm: the mounted files add more cost than chance explains')
    return False


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--rsslag', default='build/rsslag')
    parser.add_argument('--storm', default='build/tests/bench/storm')
    parser.add_argument('--rounds', type=int, default=201)
    parser.add_argument('--storms', type=int, default=21)
    options = parser.parse_args()
    binary = os.path.abspath(options.rsslag)
    with tempfile.TemporaryDirectory() as parent:
        directory = os.path.join(parent, 'files')
        holds = readings(binary, directory, options.rounds)
        holds = others(binary, directory, os.path.abspath(options.storm), options.storms) and holds
    sys.exit(0 if holds else 1)


if __name__ == '__main__':
    main()
