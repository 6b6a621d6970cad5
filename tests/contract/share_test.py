#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The files for a fleet in share/: rules, a dashboard and units, each checked by the tool that reads it."""
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import unittest

import contract
from contract import TracingTest, begun, environment, long_only
from serve_test import Serving

SHARE = contract.ROOT / 'share'
RULES = SHARE / 'prometheus' / 'rsslag.rules.yml'
OURS = re.compile(r'[\w:]*rsslag_\w+(?::\w+)?')


def run(*argv, **more):
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, timeout=contract.TIMEOUT, **more)
    return done.returncode, done.stdout.decode()


def needs(program):
    return unittest.skipUnless(shutil.which(program), f'there is no {program}')


def expressions(dashboard):
    for panel in dashboard['panels']:
        yield from (target['expr'] for target in panel['targets'])
    for variable in dashboard['templating']['list']:
        if variable['type'] == 'query':
            yield variable['query']['query']


class Rules(unittest.TestCase):
    @needs('promtool')
    def test_they_are_well_formed(self):
        status, text = run('promtool', 'check', 'rules', str(RULES))
        self.assertEqual(status, 0, text)

    @long_only('3 s of promtool; the gate checks that it accepts the rules')
    @needs('promtool')
    def test_their_results(self):
        with tempfile.TemporaryDirectory() as directory:
            path = f'{directory}/test.yml'
            template = (contract.ROOT / 'tests/contract/rsslag.rules.test.yml').read_text()
            with open(path, 'w', encoding='utf-8') as file:
                file.write(template.replace('RULES', str(RULES)))
            status, text = run('promtool', 'test', 'rules', path)
        self.assertEqual(status, 0, text)


class Names(TracingTest):
    def test_rules_and_dashboard_ask_for_what_there_is(self):
        with Serving('--listen', '127.0.0.1:0', '--trace', 'nobody-*') as serving:
            text = serving.metrics()
        served = set(re.findall(r'^# TYPE (\w+)', text, re.M))
        rules = re.sub(r'(?m)^\s*(#.*|- record:.*|.*summary:.*)$', '', RULES.read_text())
        asked = set(OURS.findall(rules))
        for expression in expressions(json.loads((SHARE / 'grafana' / 'rsslag.json').read_text())):
            asked |= set(OURS.findall(expression))
        recorded = set(re.findall(r'(?m)^ *- record: (\S+)$', RULES.read_text()))
        self.assertTrue(asked)
        self.assertEqual(asked - recorded - served, set())


class Dashboard(unittest.TestCase):
    def test_its_shape(self):
        dashboard = json.loads((SHARE / 'grafana' / 'rsslag.json').read_text())
        self.assertTrue(dashboard['title'] and dashboard['uid'] and dashboard['schemaVersion'])
        numbers = [panel['id'] for panel in dashboard['panels']]
        self.assertEqual(len(set(numbers)), len(numbers))
        for panel in dashboard['panels']:
            self.assertEqual(panel['datasource']['uid'], '${datasource}')
            self.assertLessEqual(panel['gridPos']['x'] + panel['gridPos']['w'], 24)
            self.assertTrue(panel['targets'])

    def test_its_queries_work_for_groups_of_each_kind(self):
        dashboard = json.loads((SHARE / 'grafana' / 'rsslag.json').read_text())
        kinds = next(of['query'] for of in dashboard['templating']['list'] if of['name'] == 'by').split(',')
        self.assertEqual(set(kinds), {'comm', 'exe', 'user', 'cgroup', 'unit'})
        for expression in expressions(dashboard):
            self.assertEqual([kind for kind in kinds if re.search(rf'\b{kind}\b', expression)], [], expression)
            if re.search(r'by \([^)]*\$by', expression):  # else it also sums up the machines with another --by, in one group
                self.assertRegex(expression, r'\$by(=~"\$group"|!="")')

    def test_all_is_one_pattern(self):
        """Else Grafana lists each name in each query."""
        dashboard = json.loads((SHARE / 'grafana' / 'rsslag.json').read_text())
        self.assertEqual({of.get('allValue') for of in dashboard['templating']['list'] if of.get('includeAll')}, {'.+'})

    @needs('promtool')
    def test_its_queries_can_be_parsed(self):
        rules = {'groups': [{'name': 'dashboard', 'rules': []}]}
        for number, expression in enumerate(expressions(json.loads((SHARE / 'grafana' / 'rsslag.json').read_text()))):
            if not expression.startswith('label_values'):
                rules['groups'][0]['rules'].append({'record': f'dashboard:{number}', 'expr': expression.replace('$', '')})
        with tempfile.TemporaryDirectory() as directory:
            path = f'{directory}/dashboard.yml'
            with open(path, 'w', encoding='utf-8') as file:
                json.dump(rules, file)  # JSON is YAML
            status, text = run('promtool', 'check', 'rules', path)
        self.assertEqual(status, 0, text)


class BoundingSets(unittest.TestCase):
    def test_they_contain_the_capabilities_that_the_program_may_have(self):
        """Else execve() fails with EPERM, also as root (capabilities(7))."""
        (of_file,) = re.findall(r'setcap (cap_[a-z_,]+)\+ep', (contract.ROOT / 'debian' / 'rsslag.postinst').read_text())
        for unit in SHARE.glob('rsslag-*.service'):
            (bounding,) = re.findall(r'(?m)^CapabilityBoundingSet=(.*)$', unit.read_text())
            self.assertEqual(set(of_file.upper().split(',')) - set(bounding.split()), set(), unit.name)


@needs('systemd-analyze')
class Units(unittest.TestCase):
    MOST_EXPOSED = {'rsslag-serve.service': 3.0, 'rsslag-mount.service': 4.5}

    def test_they_can_be_loaded(self):
        with tempfile.TemporaryDirectory() as directory:
            for unit in SHARE.glob('rsslag-*.*'):
                text = unit.read_text().replace('/usr/bin/rsslag', contract.binary).replace('Documentation=man:rsslag(1)\n', '')
                with open(f'{directory}/{unit.name}', 'w', encoding='utf-8') as file:
                    file.write(text)
            for unit in sorted(os.listdir(directory)):
                status, text = run('systemd-analyze', 'verify', f'{directory}/{unit}')
                self.assertEqual((status, text), (0, ''), unit)

    def test_clients_are_local_until_an_administrator_allows_others(self):
        """In the socket unit: systemd does not apply the lists of a service to the sockets that it is passed."""
        lines = (SHARE / 'rsslag-serve.socket').read_text().splitlines()
        self.assertTrue({'IPAddressDeny=any', 'IPAddressAllow=localhost'} <= set(lines))

    def test_the_mount_is_visible_to_all(self):
        """No option of its unit may create a mount namespace (systemd.exec(5)): the files would be visible only there."""
        options = re.findall(r'(?m)^(\w+)=', (SHARE / 'rsslag-mount.service').read_text())
        self.assertIn('ExecStart', options)
        namespaced = re.compile('Protect|Private|ReadOnly|ReadWrite|Inaccessible|NoExecPaths|ExecPaths|Bind|Temporary|Root|Mount|'
                                'Extension|DynamicUser')
        self.assertEqual([option for option in options if namespaced.match(option)], [])

    def test_what_they_leave_open(self):
        for name, most in self.MOST_EXPOSED.items():
            status, text = run('systemd-analyze', 'security', '--offline=true', str(SHARE / name))
            if 'nrecognized option' in text:
                self.skipTest('this systemd-analyze cannot check a file')
            found = re.search(r'exposure level for \S+: ([\d.]+)', text)
            self.assertIsNotNone(found, (status, text))
            self.assertLess(float(found[1]), most, name)


class Socket(TracingTest):
    @long_only('another process may take the port that was free')
    @needs('systemd-socket-activate')
    def test_it_is_begun_by_who_asks(self):
        with socket.create_server(('127.0.0.1', 0)) as free:
            port = free.getsockname()[1]

        def answer():
            try:
                with socket.create_connection(('127.0.0.1', port), timeout=contract.TIMEOUT) as client:
                    client.sendall(b'GET /metrics HTTP/1.0\r\n\r\n')
                    return b''.join(iter(lambda: client.recv(65536), b''))
            except ConnectionRefusedError:
                return b''

        with begun(['systemd-socket-activate', '-l', f'127.0.0.1:{port}', contract.binary, 'serve'],
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment()) as process:
            contract.wait_until(lambda: b'rsslag_build_info{' in answer())
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(contract.TIMEOUT), 0)


if __name__ == '__main__':
    contract.main()
