# SPDX-License-Identifier: BSD-2-Clause
"""The exact RSS of processes, by librsslag.

    >>> import rsslag
    >>> reading = rsslag.exact(4711)
    >>> reading.rss.bytes, reading.lag.pages, reading.way
    (106749952, 24, 'BPF')

Each size is an Amount: `.pages`, `.bytes`, `.kib`. A value that a way of reading does not provide is None, never 0. The
functions of this module share one handle of the library, which is opened at the first call (about 50 ms). Any thread may call
them, and after a fork the child opens its own handle. A failure raises a subclass of Error, whose `remedy` contains what to do
about it."""
import os as _os
import threading as _threading

from ._library import (BadArgument, Denied, Error, Handle, InternalError, NoMemory, NoSuchProcess, ReadError,
                       Unsupported, Way, version)
from ._reading import Amount, Members, Reading, Readings

__all__ = ['Amount', 'BadArgument', 'Denied', 'Error', 'Handle', 'InternalError', 'Members', 'NoMemory',
           'NoSuchProcess', 'ReadError', 'Reading', 'Readings', 'Unsupported', 'Way', 'all', 'exact', 'self_exact', 'version']

_lock = _threading.Lock()
_handles = {}  # key: PID of the process that opened it


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
    """The Reading of the process with this PID, by default of the calling process. Raises BadArgument (also for the TID of a
    thread that is not the main thread), NoSuchProcess, NoMemory, Denied, Unsupported, ReadError or InternalError."""
    return _shared().exact(pid)


def self_exact():
    """The Reading of the calling process. It takes 10 us if the files of `rsslag mount` are mounted. Raises the errors of exact()."""
    return _shared().self_exact()


def all():  # noqa: A001  pylint: disable=redefined-builtin
    """Readings: a list with one Reading for each process that has an mm and may be read, by ascending PID. Its `.unreadable` is
    the number of processes that the caller may not read: if it is not 0, a sum over the list does not cover the whole machine.
    Raises BadArgument, Denied, Unsupported, ReadError or InternalError."""
    return _shared().all()
