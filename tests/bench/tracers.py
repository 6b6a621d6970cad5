# SPDX-License-Identifier: BSD-2-Clause
"""The ways to run the storm: untraced, with the empty programs, with rsslag, and with other tracers.

Each way is a context manager that takes the storm's PID, is attached when its body starts, and stops at its end. What
it loses is listed in `lost`: a tracer that drops half the events is not twice as cheap."""
import contextlib
import dataclasses
import os
import re
import shutil
import subprocess
import tempfile
from typing import Callable, Optional

from children import Child, Perf, Rsslag, Storm, without_live, without_perf, without_tracefs


@dataclasses.dataclass
class Way:
    key: str
    title: str
    missing: Optional[str]
    start: Callable
    lost: list = dataclasses.field(default_factory=list)

    def around(self, pid):
        return self.start(pid, self.lost)


@contextlib.contextmanager
def nothing(_pid, _lost):
    yield


def empty_hooks(path):
    child = Child([path])
    child.expect(lambda line: line == 'ready')
    return child


def floor(path):
    @contextlib.contextmanager
    def start(_pid, _lost):
        with empty_hooks(path):
            yield
    return start


def live(path, mode):
    @contextlib.contextmanager
    def start(pid, lost):
        with Rsslag(path, pid, mode) as rsslag:
            yield
            _, summary = rsslag.finish()
            if summary['lost']:
                lost.append(f'{summary["lost"]} records')
    return start


def beside(rsslag, storm):
    """The storm is not traced; another process is."""
    @contextlib.contextmanager
    def start(_pid, lost):
        with Storm(storm, 1, 1) as other, live(rsslag, 'events')(other.pid, lost):
            yield
    return start


def perf_record(*options):
    @contextlib.contextmanager
    def start(pid, lost):
        with tempfile.TemporaryDirectory() as directory:
            with Perf(['record', *options, '-p', str(pid), '-o', directory + '/perf.data']) as perf:
                yield
                perf.control('disable')
                perf.stop()
                lost += re.findall(r'lost (\d+ \w+)', perf.complaint())
    return start


COUNTED = '{event} /pid == {pid}/ {{ @{name}[tid] = count(); }}'
STACKS = '{event} /pid == {pid}/ {{ @{name}[ustack] = count(); }}'
PRINTED = '{event} /pid == {pid}/ {{ printf("{name} %d %d\\n", tid, args->{field}); }}'


def bpftrace(program):
    @contextlib.contextmanager
    def start(pid, lost):
        script = ' '.join(program.format(event='tracepoint:' + event, name=event.split(':')[1], field=field, pid=pid)
                          for event, field in (('kmem:rss_stat', 'size'), ('exceptions:page_fault_user', 'address')))
        with tempfile.NamedTemporaryFile(mode='r') as out:
            # Its output goes to the file. BEGIN runs before the other probes are attached; this setting makes bpftrace
            # report on stderr that all are attached.
            notify = {**os.environ, '__BPFTRACE_NOTIFY_PROBES_ATTACHED': '1'}
            with Child(['bpftrace', '-o', out.name, '-e', script], env=notify, stderr=subprocess.STDOUT) as tracer:
                tracer.expect(lambda line: line == '__BPFTRACE_NOTIFY_PROBES_ATTACHED')
                yield
                tracer.stop()
            dropped = sum(int(number) for number in re.findall(r'Lost (\d+) events', out.read()))
            if dropped:
                lost.append(f'{dropped} events')
    return start


def without_bpftrace():
    return None if shutil.which('bpftrace') else 'bpftrace is not installed'


def ways(rsslag, storm, hooks):
    """In the order of the table; ways that are not available here give the reason."""
    no_live, no_counts = without_live(rsslag), without_live(rsslag, 'counts')
    no_perf = without_perf()
    no_bpftrace = without_bpftrace() or without_tracefs()
    return [
        Way('untraced', 'nothing', None, nothing),
        Way('floor', 'empty programs on the same hooks', None, floor(hooks)),
        Way('events', 'rsslag live --mode events', no_live, live(rsslag, 'events')),
        Way('counts', 'rsslag live --mode counts', no_counts, live(rsslag, 'counts')),
        Way('beside', 'rsslag live on another process', no_live, beside(rsslag, storm)),
        Way('stacks', 'rsslag live --stacks', no_live or without_live(rsslag, 'stacks'), live(rsslag, 'stacks')),
        Way('perf_record', 'perf record', no_perf, perf_record('-e', 'kmem:rss_stat,exceptions:page_fault_user')),
        Way('perf_stacks', 'perf record, DWARF stacks of faults', no_perf,
            perf_record('-e', 'page-faults', '-g', '--call-graph', 'dwarf')),
        Way('bpftrace_count', 'bpftrace, counting', no_bpftrace, bpftrace(COUNTED)),
        Way('bpftrace_stacks', 'bpftrace, counting by stack', no_bpftrace, bpftrace(STACKS)),
        Way('bpftrace_print', 'bpftrace, printing', no_bpftrace, bpftrace(PRINTED)),
    ]
