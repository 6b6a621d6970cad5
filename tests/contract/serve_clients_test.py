#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""`rsslag serve` with hostile and silent clients: it keeps serving, with bounded memory and rights."""
import os
import re
import socket
import tempfile
import time
import unittest

import contract
from capabilities_test import allowed as allowed_here
from contract import Crowd, TracingTest, long_only, wait_until
from serve_test import Serving

DEADLINE = 10  # seconds after which serve closes a connection without a request
TCP_REPAIR = 19
REQUEST = b'GET /metrics HTTP/1.1\r\nX: '


def try_to_send(connection, data):
    try:
        connection.sendall(data)
        return True
    except OSError:
        return False  # it was closed


def is_open(connection):
    """Whether the connection is open: there is neither data nor an end of file."""
    connection.setblocking(False)
    try:
        connection.recv(4096)
        return False
    except BlockingIOError:
        return True
    except OSError:
        return False


def vanish(connection):
    """Closes the connection without a FIN or RST: for the other side it stays open forever."""
    try:
        connection.setsockopt(socket.IPPROTO_TCP, TCP_REPAIR, 1)
    except OSError:
        return False
    connection.close()
    return True


class Clients(TracingTest):
    def setUp(self):
        self.serving = Serving('--listen', '127.0.0.1:0', '--top', '10000')
        self.addCleanup(self.serving.__exit__)
        self.serving.metrics()

    def connected(self, count):
        made = [socket.create_connection((self.serving.host, self.serving.port), timeout=contract.TIMEOUT) for _ in range(count)]
        for each in made:
            self.addCleanup(each.close)
        return made

    def sockets(self):
        directory = f'/proc/{self.serving.process.pid}/fd'
        count = 0
        for fd in os.listdir(directory):
            try:
                count += os.readlink(f'{directory}/{fd}').startswith('socket:')
            except FileNotFoundError:
                pass  # closed in the meantime
        return count

    def answers_at_once(self):
        """Checks that serve answers long before it closes the waiting connections at their deadline."""
        asked = time.monotonic()
        self.serving.metrics()
        self.assertLess(time.monotonic() - asked, DEADLINE / 2)

    @long_only('it depends on timing: silent connections are closed after a while')
    def test_more_silent_connections_than_the_limit(self):
        silent = self.connected(600)
        self.answers_at_once()
        # The oldest connection was closed; the newest one can still send a request.
        wait_until(lambda: not is_open(silent[0]))
        self.assertTrue(is_open(silent[-1]))
        silent[-1].setblocking(True)
        silent[-1].sendall(b'GET / HTTP/1.1\r\nHost: x\r\n\r\n')
        self.assertTrue(silent[-1].recv(4096).startswith(b'HTTP/1.1 200 '))

    @long_only('it depends on timing: silent connections are closed after a while')
    def test_two_hundred_of_each_kind_at_once(self):
        before = self.serving.rss_kb()
        slow, huge, half_open = self.connected(200), self.connected(200), self.connected(200)
        for each in slow:
            try_to_send(each, REQUEST)
        self.answers_at_once()
        gone = sum(vanish(each) for each in half_open)
        self.answers_at_once()
        headers = REQUEST + b'y' * 10_000_000
        for each in huge:
            self.assertFalse(try_to_send(each, headers))  # the server does not read all of it
        self.answers_at_once()
        for each in slow:
            try_to_send(each, b'y')
        self.answers_at_once()
        with tempfile.TemporaryDirectory() as directory, Crowd(directory, [b'rsslag-c%d' % number for number in range(400)]):
            wait_until(lambda: len(self.serving.metrics()) > 300_000)  # more than the kernel buffers of a connection
            for each in self.connected(200):  # a whole request, but the answer is not read
                each.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                try_to_send(each, b'GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n')
            self.answers_at_once()
            grew = self.serving.rss_kb() - before
        print(f'{gone} half-open; grew {grew} kB')
        self.assertLess(grew, 16 * 1024)  # 512 connections with 16 kB of headers and 16 kB of an answer each
        # No connection is kept for longer than the deadline, even if a byte arrives now and then.
        late = self.connected(5)
        for each in late:
            self.assertTrue(try_to_send(each, REQUEST))
        wait_until(lambda: not any([try_to_send(each, b'y') for each in late]))
        self.answers_at_once()
        wait_until(lambda: self.sockets() == 1)  # the listening socket

    def test_rights_are_dropped(self):
        """serve keeps CAP_BPF and CAP_PERFMON, to start an iterator for each reading; --by exe and --trace also keep CAP_SYS_PTRACE."""
        bpf, perfmon, sys_ptrace = 1 << 39, 1 << 38, 1 << 19
        for arguments, allowed in (((), bpf | perfmon), (('--by', 'exe'), bpf | perfmon | sys_ptrace),
                                   (('--trace', 'rsslag-nobody*'), bpf | perfmon | sys_ptrace)):
            with Serving('--listen', '127.0.0.1:0', *arguments) as serving:
                serving.metrics()
                for task in os.listdir(f'/proc/{serving.process.pid}/task'):
                    with open(f'/proc/{serving.process.pid}/task/{task}/status', encoding='ascii') as file:
                        held = [int(of, 16) for of in re.findall(r'(?m)^Cap(?:Inh|Prm|Eff|Amb):\s+(\w+)$', file.read())]
                    self.assertEqual(len(held), 4)
                    self.assertEqual([of & ~allowed_here(allowed) for of in held], [0] * 4, arguments)


if __name__ == '__main__':
    contract.main()
