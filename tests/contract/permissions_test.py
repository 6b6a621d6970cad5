# SPDX-License-Identifier: BSD-2-Clause
"""CAP_BPF and CAP_PERFMON are enough, as ambient and as file capabilities; nothing less is."""
import shutil
import subprocess
import unittest

import contract
from contract import (NOBODY, Children, TracingTest, assert_one_error_line, assert_snapshot, needs_root, rsslag,
                      snapshot_of_command)

SHOW_CAPABILITIES = 'grep ^Cap /proc/self/status; read x; exit 0'


def setpriv(caps):
    names = ','.join('+' + cap for cap in caps)
    return ['setpriv', f'--reuid={NOBODY}', f'--regid={NOBODY}', '--clear-groups', '--inh-caps', names,
            '--ambient-caps', names]


def with_ambient(caps, *args):
    return rsslag(*args, executable=contract.binary_for_all(), cwd='/', prefix=setpriv(caps))


@needs_root
class Ambient(TracingTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if not shutil.which('setpriv'):
            raise unittest.SkipTest('setpriv (util-linux) is missing')

    def test_two_are_enough_for_an_own_process(self):
        with Children(uid=NOBODY) as (pid,):
            ran = with_ambient(['bpf', 'perfmon'], 'snapshot', '--json', str(pid))
        self.assertEqual((ran.status, ran.err), (0, ''), ran)
        document = ran.document()
        assert_snapshot(self, document)
        self.assertIn(document['processes'][0]['walk'], ('done', 'denied'))  # a child of root is not dumpable

    def test_smaps_of_another_user_is_tried_never_assumed(self):
        with Children() as (pid,):
            ran = with_ambient(['bpf', 'perfmon'], 'snapshot', '--json', str(pid))
            text = with_ambient(['bpf', 'perfmon'], 'snapshot', str(pid))
        self.assertEqual((ran.status, text.status), (0, 0), (ran, text))
        assert_snapshot(self, ran.document())
        (process,) = ran.document()['processes']
        self.assertIn(process['walk'], ('done', 'denied'))
        self.assertTrue(text.lines[1].startswith('UNWALKED (denied)' if process['walk'] == 'denied' else 'AGREES'))

    def test_a_third_opens_everybodys_smaps(self):
        with Children() as (pid,):
            ran = with_ambient(['bpf', 'perfmon', 'sys_ptrace'], 'snapshot', '--json', str(pid))
        self.assertEqual(ran.status, 0, ran)
        self.assertEqual(ran.document()['processes'][0]['walk'], 'done')

    def test_doctor_reports_that_it_works(self):
        ran = with_ambient(['bpf', 'perfmon'], 'doctor', '--json')
        self.assertEqual(ran.status, 0, ran)
        document = ran.document()
        contract.assert_valid(self, 'doctor', document)
        self.assertEqual({item['name']: item['usable'] for item in document['capabilities']},
                         {'CAP_BPF': True, 'CAP_PERFMON': True, 'CAP_SYS_PTRACE': False})
        self.assertTrue(any('CAP_SYS_PTRACE' in problem['what'] for problem in document['problems']))

    def test_the_one_that_is_missing_is_named(self):
        for held, missing in (('bpf', 'CAP_PERFMON'), ('perfmon', 'CAP_BPF')):
            ran = with_ambient([held], 'live', '--events', '1')
            assert_one_error_line(self, ran, 3)
            self.assertIn(f'missing {missing};', ran.err)
            self.assertIn('setcap', ran.err)

    def test_a_command_inherits_none(self):
        ran, said, _ = snapshot_of_command(SHOW_CAPABILITIES, '--delay', '50ms', executable=contract.binary_for_all(),
                                           cwd='/', prefix=setpriv(['bpf', 'perfmon']))
        self.assertEqual(ran.status, 0, ran)
        caps = dict(line.split(':\t') for line in said)
        for key in ('CapInh', 'CapPrm', 'CapEff', 'CapAmb'):
            self.assertEqual(int(caps[key], 16), 0, key)


@needs_root
class File(TracingTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if not shutil.which('setcap'):
            raise unittest.SkipTest('setcap (libcap2-bin) is missing')
        done = subprocess.run(['setcap', 'cap_bpf,cap_perfmon,cap_sys_ptrace+ep', contract.binary_for_all()],
                              stderr=subprocess.PIPE, check=False)
        if done.returncode != 0:
            raise unittest.SkipTest('no file capabilities here: ' + done.stderr.decode().strip())
        cls.addClassCleanup(subprocess.run, ['setcap', '-r', contract.binary_for_all()], check=False)

    def test_they_are_enough(self):
        with Children(uid=NOBODY) as (own,), Children() as (other,):
            ran = contract.as_nobody('snapshot', '--json', str(own), str(other))
        self.assertEqual((ran.status, ran.err), (0, ''), ran)
        assert_snapshot(self, ran.document())
        self.assertEqual([process['walk'] for process in ran.document()['processes']], ['done', 'done'])

    def test_the_calibration_works_with_them(self):
        ran = contract.as_nobody('doctor', '--json')
        self.assertEqual(ran.status, 0, ran)
        self.assertNotEqual(ran.document()['calibration']['stat'], 'unknown')

    def test_a_demo_can_be_walked(self):
        ran = contract.as_nobody('demo', 'few-pages', '--json')
        self.assertEqual(ran.status, 0, ran)
        assert_snapshot(self, ran.document())
        self.assertEqual(ran.document()['processes'][0]['verdict'], 'agrees')

    def test_a_command_inherits_none(self):
        ran, said, _ = snapshot_of_command(SHOW_CAPABILITIES, '--delay', '50ms', executable=contract.binary_for_all(),
                                           cwd='/', user=NOBODY, group=NOBODY, extra_groups=[])
        self.assertEqual(ran.status, 0, ran)
        self.assertEqual(len(said), 5, said)
        for line in said:
            key, value = line.split(':\t')
            if key != 'CapBnd':
                self.assertEqual(int(value, 16), 0, key)


if __name__ == '__main__':
    contract.main()
