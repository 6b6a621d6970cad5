# SPDX-License-Identifier: BSD-2-Clause
"""Forged recordings: any content, with valid checksums."""
import ctypes
import ctypes.util
import struct
import unittest

FILE_MAGIC, MAGIC = b'\x89RSSLAG\n', b'\x89rslchk\n'
PROLOGUE, CHUNK = 16, 72
HEADER, ITEMS, END = 1, 2, 4  # kinds of chunks
START_NS = 1_000_000_000
MOST_PAYLOAD = 64 << 20
THREAD, CPU = 0, 1  # schemes


def library(name):
    found = ctypes.util.find_library(name)
    if not found:
        raise unittest.SkipTest(f'lib{name} is missing')
    return ctypes.CDLL(found)


def number(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7f | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def signed(value):
    """Addresses of the kernel wrap, as in the 64 bits that the format has for them."""
    value -= 2**64 if value >= 2**63 else 0
    return number(value << 1 if value >= 0 else (-value << 1) - 1)


def text(data):
    return number(len(data)) + data


def moment(since_base=0):
    return signed(since_base) + signed(0)


def item(kind, body=b''):
    return number(kind) + text(body)


def error(kind=3):
    return number(kind) + text(b'') + signed(0) + text(b'')


def members(count=0):
    return signed(count) * 4


def mm():
    return members() + number(0) + number(0) + signed(0)


def counters(address, tasks=b'', count=0, scheme=THREAD):
    return number(scheme) + number(address) + signed(1) + mm() + mm() + number(count) + tasks + signed(0)


def task(tgid, by=0, comm=b''):
    """`by`: the TID minus the TID of the previous task."""
    return signed(by) + signed(0) + signed(tgid) * 2 + text(comm) + members() + signed(0) + number(0) * 4


def attach(host_tgid, address):
    return item(15, signed(host_tgid) + counters(address, task(host_tgid, host_tgid), 1) + signed(0) * 2 + number(0))


def reading(pid, address, tasks=b'', count=0, since_base=0):
    return item(17, signed(pid) + number(1) + signed(pid) + number(0) * 2 + text(b'') + signed(0) + number(0) + number(0) * 8 +
                number(1) + counters(address, tasks, count) + number(1) + number(0) * 4 + signed(since_base) * 3)


def watermark(since_base=0):
    return item(14, signed(since_base) + moment(since_base))


def tick_end(since_base=0):
    return item(18, number(0) + moment(since_base) + bytes(8) + number(0) + signed(0))


def batch(records, keys=b'', index=b'', times=b'', address=b'', count=b'', cached=b'', raw=b''):
    """Wire records of ring 0, in the columns of docs/format.md."""
    columns = (keys, index, times, address, count, cached, b'', b'', b'', raw, b'')
    return item(2, number(0) + number(records) + b''.join(map(text, columns)))


def task_record(kind, tid, address, flags, t_ns, comm=b'evil', *, tgid=0, parent=0, old_tid=0):
    """`tgid`: 0 for a process with one task."""
    return struct.pack('<HHiQQiiiiiHHQQ16s', kind, flags, tid, t_ns, address, tgid or tid, tid, tgid or tid, parent, old_tid, 0, 0, 0, 0, comm)


class Forger:
    """Rewrites and creates recordings, with new checksums."""

    def __init__(self):
        self.zstd, self.xxhash = library('zstd'), library('xxhash')
        for function, result, arguments in ((self.xxhash.XXH3_64bits, ctypes.c_uint64, 'pz'),
                                            (self.zstd.ZSTD_decompress, ctypes.c_size_t, 'pzpz'),
                                            (self.zstd.ZSTD_compress, ctypes.c_size_t, 'pzpzi')):
            function.restype = result
            function.argtypes = [{'p': ctypes.c_char_p, 'z': ctypes.c_size_t, 'i': ctypes.c_int}[each] for each in arguments]

    def check(self, data):
        return self.xxhash.XXH3_64bits(data, len(data))

    def unpack(self, stored, size):
        out = ctypes.create_string_buffer(size)
        if self.zstd.ZSTD_decompress(out, size, stored, len(stored)) != size:
            raise AssertionError('not valid zstd data')
        return out.raw

    def pack(self, raw):
        out = ctypes.create_string_buffer(len(raw) + 1024)
        size = self.zstd.ZSTD_compress(out, len(out), raw, len(raw), 3)
        return out.raw[:size]

    def chunk(self, head, payload, raw=None):
        """`raw`: the unpacked length of the payload; None: the payload is not packed, as if packing did not make it smaller."""
        kind, _, _, records, number_, first, last, before = struct.unpack('<4I4Q', head[8:56])
        size = len(payload) if raw is None else raw
        out = MAGIC + struct.pack('<4I4Q', kind, len(payload), size, records, number_, first, last, before)
        out += struct.pack('<Q', self.check(out))
        return out + struct.pack('<Q', self.check(out + payload)) + payload

    def packed_chunk(self, kind, number_, raw, first=START_NS):
        head = MAGIC + struct.pack('<4I4Q', kind, 0, 0, 0, number_, first, first, 0)
        return self.chunk(head, self.pack(raw), len(raw))

    def header(self, version, cpus=4, words=(1, text(b'record')), scheme=THREAD, sample_period=0):
        machine = b''.join(map(signed, (scheme, 4096, cpus, cpus, cpus)))
        clocks = b''.join(map(signed, (START_NS, 10**18, 10**18, 100)))
        fields = {5: number(words[0]) + words[1], 6: machine, 7: signed(1) + signed(2) * 2, 9: clocks, 10: signed(7),
                  14: signed(version)}
        if sample_period > 0:
            fields[19] = signed(sample_period)
        return b''.join(number(field) + text(body) for field, body in fields.items())

    def recording(self, payloads, version=2, header=None, ended=True):
        """A recording with one chunk of items for each payload."""
        out = FILE_MAGIC + struct.pack('<I', version)
        out += struct.pack('<I', self.check(out) & 0xffffffff)
        header = header or self.header(version)
        out += b''.join(self.packed_chunk(HEADER, copy, header) for copy in (0, 1))
        for i, payload in enumerate(payloads):
            out += self.packed_chunk(ITEMS, i + 2, payload)
        return out + self.packed_chunk(END, len(payloads) + 2, number(0) * 2) if ended else out
