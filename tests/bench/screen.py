#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The cost of the screen: the CPU time of rsslag while it draws ten frames a second, for 100 and 10,000 threads, and that of top
with 1,000 processes and one table a second. Also measures the CPU time of the drawing thread alone, and of the same trace as
lines. Repeats this with ten ticks a second, where reading the threads takes most of the time. Needs root and tmux."""
import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / 'tests/contract'))
sys.dont_write_bytecode = True
import contract  # noqa: E402
from contract import Children, Held, environment  # noqa: E402
from panes import Pane  # noqa: E402

SECONDS = 10
HERTZ = os.sysconf('SC_CLK_TCK')


def ticks(path):
    fields = Path(path, 'stat').read_text(encoding='utf-8', errors='replace').rpartition(') ')[2].split()
    return int(fields[11]) + int(fields[12])


def drawing(pid):
    (task,) = [task for task in Path(f'/proc/{pid}/task').iterdir() if (task / 'comm').read_text() == 'screen\n']
    return task


def percent(*paths):
    """CPU of each process over SECONDS, in percent of a core."""
    before = [ticks(path) for path in paths]
    begin = time.monotonic()
    time.sleep(SECONDS)  # the time that is measured
    took = time.monotonic() - begin
    return [100 * (ticks(path) - old) / HERTZ / took for path, old in zip(paths, before)]


def on_screen(columns, rows, *words):
    with Pane(columns, rows) as pane:
        pane.rsslag(*words)
        pane.until('q quit')
        pane.until(lambda text: 'lost 0' in text or 'rsslag top' in text)
        pid = pane.rsslag_pid()
        return percent(f'/proc/{pid}', drawing(pid))


def without(*words):
    with subprocess.Popen([contract.binary, *(str(word) for word in words)], stdout=subprocess.PIPE, env=environment()) as run:
        run.stdout.readline()
        with open(os.devnull, 'wb') as sink, subprocess.Popen(['cat'], stdin=run.stdout, stdout=sink):
            (cpu,) = percent(f'/proc/{run.pid}')
            run.terminate()
    return cpu


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--rsslag', default=ROOT / 'build/rsslag')
    contract.binary = str(parser.parse_args().rsslag)
    good = True

    def promise(what, value, limit):
        nonlocal good
        good = good and value <= limit
        print(f'{what:<58} {value:5.1f} %  <= {limit} %  {"holds" if value <= limit else "DOES NOT HOLD"}')

    for name, size, limit in (('classic', '100', 5), ('many-threads', '10,000', 15)):
        with Held(name) as held:
            for rows, columns in ((36, 120), (60, 200)):
                for interval in ('1s', '100ms'):
                    live = ('live', '-p', held.pid, '--interval', interval)
                    whole, drawn = on_screen(columns, rows, *live)
                    what = f'{size} threads, {columns}x{rows}, a tick each {interval}'
                    if interval == '1s':
                        promise(what, whole, limit)
                    else:
                        print(f'{what:<58} {whole:5.1f} %')
                    lines = without(*live, '--format', 'lines')
                    print(f'{"":<12}of that drawing {drawn:5.1f} %; as lines it is {lines:5.1f} %')
    with Children([b'idle'] * 1000):
        whole, drawn = on_screen(120, 36, 'top')
        promise('top on 1,000 processes, 1 Hz: all of it', whole, 10)
        print(f'{"":<12}of that drawing {drawn:5.1f} %')
    sys.exit(0 if good else 1)


if __name__ == '__main__':
    main()
