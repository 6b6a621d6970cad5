# SPDX-License-Identifier: BSD-2-Clause
"""The values of a reading."""
import dataclasses
import typing


@dataclasses.dataclass(frozen=True, order=True)
class Amount:
    """Memory, in the kernel's base pages."""
    pages: int
    page_size: int  # bytes

    @property
    def bytes(self):
        return self.pages * self.page_size

    @property
    def kib(self):
        """kB of 1,024 bytes, as in /proc."""
        return self.pages * self.page_size // 1024


@dataclasses.dataclass(frozen=True)
class Members:
    """An amount for each counter of an address space."""
    file: Amount
    anon: Amount
    shmem: Amount
    swap: Amount


@dataclasses.dataclass(frozen=True)
class Reading:
    """One process at one moment. What this way of reading does not provide is None.

    pid, comm     comm is decoded by os.fsdecode()
    way           how it was read: 'BPF', 'file', 'status', 'smaps_rollup'
    scheme        how the kernel caches: 'thread', 'cpu', 'plain', 'unknown'
    page_size     bytes
    rss           exact: file + anon + shmem
    lag           what a reader of the flushed counters, such as /proc/PID/stat, misses
    cached_rss    what threads or CPUs cache of file, anon and shmem together
    bound_rss     the most that they may cache
    hard_bound    the process never exceeds the bound; False: it seldom does
    exact         flushed + cached, by member
    flushed       the mm's own counters
    cached        updates that threads or CPUs cache
    bound         the most that may be cached of each member
    swap          exact
    threads       of the process, as in /proc/PID/status
    moved         it changed while it was read: pages may be missing or count twice
    foreign       other processes share its mm, and what their threads cache is not included
    took_ns       duration of the reading; for all(), of the whole pass
    """
    pid: int
    comm: str
    way: str
    scheme: str
    page_size: int
    rss: Amount
    lag: typing.Optional[Amount]
    cached_rss: typing.Optional[Amount]
    bound_rss: typing.Optional[Amount]
    hard_bound: bool
    exact: typing.Optional[Members]
    flushed: typing.Optional[Members]
    cached: typing.Optional[Members]
    bound: typing.Optional[Members]
    swap: typing.Optional[Amount]
    threads: typing.Optional[int]
    moved: bool
    foreign: bool
    took_ns: int


class Readings(list):
    """The Readings of all processes that may be read, and the number of those that may not."""

    def __init__(self, readings, unreadable):
        super().__init__(readings)
        self.unreadable = unreadable  # processes that the caller may not read; 0 by BPF and by the file

    def __repr__(self):
        return f'<{len(self)} readings, {self.unreadable} processes unreadable>'
