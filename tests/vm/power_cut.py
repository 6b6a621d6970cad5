#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A machine that dies while it records on its own disk. The file has everything up to the last sync, a reader reports that the file
is incomplete, and its content is what live reported. Status 77, with the reason, if this cannot be tested."""
import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
SECOND = 1_000_000_000
# --sync 1s, and a chunk is open for a second at most; the rest is slack for emulated CPUs on two busy ones.
LOST_AT_MOST = 5 * SECOND
GUEST = '''modprobe ext4 && mkdir -p /run/disk && mount /dev/vda /run/disk || exit 125
exec "$0" live --format jsonl --threads none --interval 200ms --sync 1s --record /run/disk/trace.rsslag -- sh -c \
    'exec "$0" demo busy --hold >/dev/null' "$0"'''


def fail(*words):
    print('FAIL:', *words)
    sys.exit(1)


def machine_of(script):
    """The emulator among the descendants of tests/vm/run."""
    listed = subprocess.run(['ps', '-e', '-o', 'pid=,ppid=,comm='], capture_output=True, check=True, text=True).stdout
    parents, names = {}, {}
    for line in listed.splitlines():
        pid, parent, name = line.split(None, 2)
        parents[int(pid)], names[int(pid)] = int(parent), name

    def descends(pid):
        while pid in parents and pid != script:
            pid = parents[pid]
        return pid == script

    (machine,) = [pid for pid, name in names.items() if name.startswith('qemu-system') and descends(pid)]
    return machine


def die_after(seconds, rsslag, kernel, image):
    """Runs the machine and kills it. Returns the ticks that it had printed by then."""
    with tempfile.TemporaryFile('w+') as said:
        run = subprocess.Popen([HERE / 'run', '--kernel', kernel, '--disk', image, '--timeout', '240', '--append',
                                'rsslag.slow', '--', 'sh', '-c', GUEST, rsslag],
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=said)
        ticks = []
        for line in run.stdout:
            tick = json.loads(line)
            ticks.append(tick)
            if tick.get('t_ns', 0) >= seconds * SECOND:
                os.kill(machine_of(run.pid), signal.SIGKILL)
                break
        else:
            status = run.wait()
            said.seek(0)
            sys.stderr.write(said.read())
            print('FAIL: the guest ended by itself:', status, ticks[-1:])
            sys.exit(status or 1)
        rest = run.stdout.read().split(b'\n')[:-1]  # the last may be incomplete
        run.stdout.close()
        run.wait()
    return ticks + [json.loads(line) for line in rest]


def cut(seconds, rsslag, kernel, directory):
    image, file = os.path.join(directory, 'disk'), os.path.join(directory, 'trace.rsslag')
    with open(image, 'wb') as disk:
        disk.truncate(256 << 20)
    subprocess.run(['mkfs.ext4', '-q', '-F', image], check=True)
    ticks = die_after(seconds, rsslag, kernel, image)
    # Replays the journal, as the next boot would.
    repaired = subprocess.run(['e2fsck', '-fy', image], capture_output=True, check=False, text=True)
    if repaired.returncode > 1:
        fail('cannot repair the file system:', repaired.stdout, repaired.stderr)
    subprocess.run(['debugfs', '-R', f'dump /trace.rsslag {file}', image], stderr=subprocess.DEVNULL, check=True)
    if not os.path.exists(file):
        fail('the recording is missing')
    ran = subprocess.run([rsslag, 'replay', '--format', 'jsonl', file], capture_output=True, check=False, text=True)
    if ran.returncode != 0 or 'the recording is incomplete' not in ran.stderr:
        fail('replay ended with', ran.returncode, ran.stderr)
    *again, summary = [json.loads(line) for line in ran.stdout.splitlines()]
    if summary['schema'] != 'rsslag.summary/2' or summary['records'] == 0 or not again:
        fail('replay printed', summary)
    # The process runs on when the recording ends: if it had updates since its last tick, it has one more, without a reading.
    if again[-1]['readers']['stat']['rss_kb'] is None and len(again) > 1:
        again.pop()
    for one, other in zip(ticks, again):
        if one != other:
            fail('live printed', one, 'and replay', other)
    lost = ticks[-1]['t_ns'] - again[-1]['t_ns']
    if lost > LOST_AT_MOST:
        fail(f'the last {lost / SECOND:.1f} s are missing')
    print(f'killed after {ticks[-1]["t_ns"] / SECOND:.1f} s: {len(again)} of {len(ticks)} ticks and {summary["records"]} '
          f'records were read, the last {max(lost, 0) / SECOND:.1f} s are missing; {ran.stderr.strip()}')
    os.unlink(file)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--rsslag', required=True, type=os.path.abspath)
    parser.add_argument('--kernel', default='bookworm')
    parser.add_argument('--seconds', type=float, nargs='+', default=[3, 6.5, 11])
    args = parser.parse_args()
    os.environ['PATH'] += ':/usr/sbin:/sbin'
    for tool in ('mkfs.ext4', 'e2fsck', 'debugfs'):
        if not shutil.which(tool):
            print(f'skipped: power_cut: {tool} is missing')
            sys.exit(77)
    known = subprocess.run([HERE / 'kernel', args.kernel], capture_output=True, check=False, text=True)
    if known.returncode != 0:
        print('skipped: power_cut:', known.stderr.strip())
        sys.exit(77)
    with tempfile.TemporaryDirectory(prefix='rsslag-power-cut-') as directory:
        for seconds in args.seconds:
            cut(seconds, args.rsslag, args.kernel, directory)


if __name__ == '__main__':
    main()
