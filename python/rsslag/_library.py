# SPDX-License-Identifier: BSD-2-Clause
"""librsslag.so.0 by ctypes: rsslag.h in Python."""
import ctypes
import dataclasses
import enum
import functools
import operator
import os

from ._reading import Amount, Members, Reading, Readings


class Way(enum.IntFlag):
    """The ways in which a process can be read: enum rsslag_way."""
    BPF = 1
    FILE = 2
    STATUS = 4
    ROLLUP = 8


class Error(Exception):
    """A failure. `what`: what failed and why. `remedy`: what to do about it, may be empty. `code`: an errno or 0."""

    def __init__(self, what, remedy='', code=0):
        super().__init__(f'{what}; {remedy}' if remedy else what)
        self.what, self.remedy, self.code = what, remedy, code


class BadArgument(Error, ValueError):
    """An argument is invalid, e.g. the TID of a thread in place of a PID."""


class NoSuchProcess(Error):
    """There is no process with that PID."""


class NoMemory(Error):
    """The process has no mm: a zombie, or a kernel thread."""


class Denied(Error):
    """The calling process has no permission."""


class Unsupported(Error):
    """This machine does not support it, or librsslag is not installed."""


class ReadError(Error):
    """Reading failed."""


class InternalError(Error):
    """The library has a bug, or memory is exhausted."""


_ERRORS = {1: BadArgument, 2: NoSuchProcess, 3: NoMemory, 4: Denied, 5: Unsupported, 6: ReadError}

_MEMBERS, _FLUSHED, _CACHED, _LAG, _BOUND, _SWAP, _THREADS = 1, 2, 4, 8, 16, 32, 64
_MOVED, _FOREIGN, _HARD_BOUND = 1, 2, 4


class CMembers(ctypes.Structure):
    _fields_ = [(field.name, ctypes.c_int64) for field in dataclasses.fields(Members)]


class CReading(ctypes.Structure):
    _fields_ = ([('size', ctypes.c_uint32), ('pid', ctypes.c_int32)] +
                [(name, ctypes.c_uint32) for name in ('way', 'scheme', 'known', 'marks')] +
                [(name, ctypes.c_int64)
                 for name in ('page_size', 'rss', 'cached_rss', 'lag', 'bound_rss', 'threads', 'took_ns')] +
                [(name, CMembers) for name in ('exact', 'flushed', 'cached', 'bound')] +
                [('comm', ctypes.c_char * 16)])


class CError(ctypes.Structure):
    _fields_ = [('size', ctypes.c_uint32), ('status', ctypes.c_int32), ('err', ctypes.c_int32),
                ('what', ctypes.c_char * 500), ('remedy', ctypes.c_char * 500)]


class COptions(ctypes.Structure):
    _fields_ = [('size', ctypes.c_uint32), ('ways', ctypes.c_uint32), ('directory', ctypes.c_char_p)]


@functools.lru_cache(maxsize=None)
def _library():
    try:
        library = ctypes.CDLL('librsslag.so.0')
    except OSError as missing:
        raise Unsupported(f'cannot load librsslag: {missing}', 'install the package librsslag0') from None
    handle, reading, error = ctypes.c_void_p, ctypes.POINTER(CReading), ctypes.POINTER(CError)
    out = ctypes.POINTER(ctypes.c_void_p)
    for name, result, *arguments in (
            ('open', ctypes.c_int, ctypes.POINTER(COptions), out, error),
            ('close', None, handle),
            ('why_not', ctypes.c_int, handle, ctypes.c_uint32, error),
            ('exact', ctypes.c_int, handle, ctypes.c_int, reading, error),
            ('exact_self', ctypes.c_int, handle, reading, error),
            ('all', ctypes.c_int, handle, out, error),
            ('list_count', ctypes.c_size_t, handle),
            ('list_unreadable', ctypes.c_size_t, handle),
            ('list_get', ctypes.c_int, handle, ctypes.c_size_t, reading, error),
            ('list_free', None, handle),
            ('way_name', ctypes.c_char_p, ctypes.c_uint32),
            ('scheme_name', ctypes.c_char_p, ctypes.c_uint32),
            ('version', ctypes.c_char_p)):
        function = getattr(library, 'rsslag_' + name)
        function.restype, function.argtypes = result, arguments
    return library


def version():
    """The version of the library: "0.9.0"."""
    return _library().rsslag_version().decode()


def _call(name, *arguments):
    error = CError(ctypes.sizeof(CError))
    status = getattr(_library(), 'rsslag_' + name)(*arguments, ctypes.byref(error))
    if status != 0:
        kind = _ERRORS.get(status, InternalError)
        raise kind(error.what.decode(errors='replace'), error.remedy.decode(errors='replace'), error.err)


def _reading_of(raw):
    def amount(pages):
        return Amount(pages, raw.page_size)

    def members(which, known):
        if not raw.known & known:
            return None
        return Members(*(amount(getattr(which, name)) for name, _ in CMembers._fields_))

    def known(value, bit):
        return amount(value) if raw.known & bit else None

    return Reading(
        pid=raw.pid, comm=os.fsdecode(raw.comm), way=_library().rsslag_way_name(raw.way).decode(),
        scheme=_library().rsslag_scheme_name(raw.scheme).decode(), page_size=raw.page_size, rss=amount(raw.rss),
        lag=known(raw.lag, _LAG), cached_rss=known(raw.cached_rss, _CACHED), bound_rss=known(raw.bound_rss, _BOUND),
        hard_bound=bool(raw.marks & _HARD_BOUND), exact=members(raw.exact, _MEMBERS),
        flushed=members(raw.flushed, _FLUSHED), cached=members(raw.cached, _FLUSHED), bound=members(raw.bound, _BOUND),
        swap=known(raw.exact.swap, _SWAP), threads=raw.threads if raw.known & _THREADS else None,
        moved=bool(raw.marks & _MOVED), foreign=bool(raw.marks & _FOREIGN), took_ns=raw.took_ns)


class Handle:
    """An open handle of the library. `ways`: the Ways that may be used, or-ed; None: all. `directory`: of the files of `rsslag
    mount`; None: /run/rsslag. Any thread may use the handle until it is closed. After a fork the child must open its own."""

    def __init__(self, ways=None, directory=None):
        self._handle = None
        library = _library()
        options = COptions(ctypes.sizeof(COptions), int(ways or 0), os.fsencode(directory) if directory else None)
        handle = ctypes.c_void_p()
        _call('open', ctypes.byref(options), ctypes.byref(handle))
        self._handle, self._close = handle, library.rsslag_close

    def close(self):
        handle, self._handle = self._handle, None
        if handle:
            self._close(handle)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        self.close()

    def exact(self, pid=None):
        """The Reading of the process with this PID, by default of the calling process. Errors as rsslag.exact()."""
        if pid is None:
            return self.self_exact()
        if not -2**31 <= operator.index(pid) < 2**31:  # ctypes would truncate it
            raise BadArgument(f'{pid} is not a PID')
        raw = CReading(ctypes.sizeof(CReading))
        _call('exact', self._open(), pid, ctypes.byref(raw))
        return _reading_of(raw)

    def self_exact(self):
        """The Reading of the calling process."""
        raw = CReading(ctypes.sizeof(CReading))
        _call('exact_self', self._open(), ctypes.byref(raw))
        return _reading_of(raw)

    def all(self):
        """The Readings of all processes, as rsslag.all()."""
        found = ctypes.c_void_p()
        _call('all', self._open(), ctypes.byref(found))
        try:
            return Readings((self._at(found, index) for index in range(_library().rsslag_list_count(found))),
                            unreadable=_library().rsslag_list_unreadable(found))
        finally:
            _library().rsslag_list_free(found)

    def why_not(self, way):
        """None if this handle can use `way`, else the Error with the reason. Raises BadArgument if the handle is closed or `way`
        is not a single Way."""
        try:
            _call('why_not', self._open(), int(way))
        except BadArgument:
            raise
        except Error as error:
            return error
        return None

    def _open(self):
        if not self._handle:
            raise BadArgument('the handle is closed')
        return self._handle

    @staticmethod
    def _at(found, index):
        raw = CReading(ctypes.sizeof(CReading))
        _call('list_get', found, index, ctypes.byref(raw))
        return _reading_of(raw)
