# SPDX-License-Identifier: BSD-2-Clause
"""What a reading is."""
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
        """kB of 1,024 bytes, as /proc has them."""
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
    """One process at one moment."""
    pid: int
    comm: str                          # undecodable bytes as os.fsdecode() has them
    way: str                           # how it was read: 'BPF', 'file', 'status', 'smaps_rollup'
    scheme: str                        # how the kernel caches: 'thread', 'cpu', 'plain', 'unknown'
    page_size: int                     # bytes
    rss: Amount                        # exact
    lag: typing.Optional[Amount]       # what /proc/PID/stat misses
    cached_rss: typing.Optional[Amount]
    bound_rss: typing.Optional[Amount]  # the most that may be cached
    hard_bound: bool                   # which is never passed, not just seldom
    exact: typing.Optional[Members]    # what it holds, by member
    flushed: typing.Optional[Members]  # of that what the process's own counters say
    cached: typing.Optional[Members]   # and what threads or CPUs hold back
    bound: typing.Optional[Members]
    swap: typing.Optional[Amount]
    threads: typing.Optional[int]
    moved: bool    # it changed each time that it was read: a little may be missing or count twice
    foreign: bool  # others hold its memory, too, and what they cache is not in it
    took_ns: int   # what reading it cost; of all(), that of them together


class Readings(list):
    """Each Reading that could be made, and how many processes more there are."""

    def __init__(self, readings, unreadable):
        super().__init__(readings)
        self.unreadable = unreadable  # that the caller may not read; 0 by BPF and by the file

    def __repr__(self):
        return f'<{len(self)} readings, {self.unreadable} processes unreadable>'
