# SPDX-License-Identifier: BSD-2-Clause
"""The exact RSS of processes, by librsslag.

    >>> import rsslag
    >>> reading = rsslag.exact(4711)
    >>> reading.rss.bytes, reading.lag.pages, reading.way
    (106749952, 24, 'BPF')

Each size is an Amount: `.pages`, `.bytes`, `.kib`. What a way of reading does not tell is None, never 0. Functions of this
module share one handle of the library, which is opened at the first call (some 50 ms); any thread may call them, and after a
fork the child opens its own. What goes wrong is an Error, whose `remedy` says what would be right."""
import os as _os
import threading as _threading

from ._library import (BadArgument, Denied, Error, Handle, InternalError, NoMemory, NoSuchProcess, ReadError,
                       Unsupported, Way, version)
from ._reading import Amount, Members, Reading, Readings

__all__ = ['Amount', 'BadArgument', 'Denied', 'Error', 'Handle', 'InternalError', 'Members', 'NoMemory',
           'NoSuchProcess', 'ReadError', 'Reading', 'Readings', 'Unsupported', 'Way', 'all', 'exact', 'self_exact', 'version']

_lock = _threading.Lock()
_handles = {}  # by the process that opened it


def _shared():
    with _lock:
        own = _handles.get(_os.getpid())
        if own is None:
            _handles.clear()
            own = _handles[_os.getpid()] = Handle()
        return own


def _unlock_in_child():
    global _lock
    _lock = _threading.Lock()  # another thread of the parent may have held it


_os.register_at_fork(after_in_child=_unlock_in_child)


def exact(pid=None):
    """What the process of that PID holds, as a Reading; without one, this process."""
    return _shared().exact(pid)


def self_exact():
    """What this process holds: 10 us where the files of `rsslag mount` are there."""
    return _shared().self_exact()


def all():  # noqa: A001  pylint: disable=redefined-builtin
    """A Reading of each process that has memory of its own and may be read, by ascending PID. `.unreadable` of that list is how
    many more there are that this caller may not read: where it is not 0, a sum over the list is not of the machine."""
    return _shared().all()
