# SPDX-License-Identifier: BSD-2-Clause
"""rsslag doctor: rsslag.doctor/1, the same content as text, and the remedy for each missing thing."""
import platform
import re
import resource
import unittest

from contract import (CONTROL, as_nobody, assert_valid, binary_for_all, environment, has_tracer, main, needs_root,
                      needs_schema, rsslag, validator, why_no_tracing)


class Doctor(unittest.TestCase):
    @needs_schema
    def test_json_is_valid(self):
        ran = rsslag('doctor', '--json')
        assert_valid(self, 'doctor', ran.document())
        self.assertTrue(validator('doctor').is_valid(ran.document()))

    def test_json_is_true_of_this_machine(self):
        ran = rsslag('doctor', '--json')
        document = ran.document()
        self.assertEqual(document['kernel'], platform.release())
        self.assertEqual(document['arch'], platform.machine())
        self.assertEqual(document['tracing'], ran.status == 0)
        self.assertEqual(ran.status, 0 if document['tracing'] else 3)
        self.assertEqual(ran.err, '')

    def test_text_names_each_thing(self):
        ran = rsslag('doctor')
        document = rsslag('doctor', '--json').document()
        self.assertEqual((ran.status, ran.err), (0 if document['tracing'] else 3, ''), ran)
        text = ran.out
        self.assertIsNone(CONTROL.search(text))
        for label in ('kernel', 'scheme', 'CPUs', 'page size', 'BTF', 'task iterator', 'lockdown', 'seccomp', 'hidepid',
                      'PROC_PAGE_MONITOR', 'locked memory limit'):
            self.assertRegex(text, rf'(?m)^{label} +\S')
        for item in document['hooks'] + document['capabilities']:
            self.assertRegex(text, rf'(?m)^{re.escape(item["name"])} +\S')
            if not item['usable'] and item in document['hooks']:
                self.assertIn(item['reason'], text)
        self.assertIn(document['kernel'], text)
        self.assertRegex(text, rf'(?m)^scheme +{document["scheme"]}\b')
        if document['batch'] is not None:
            self.assertRegex(text, rf'(?m)^batch +{document["batch"]} pages')
        if document['calibration']:
            for file, truth in document['calibration'].items():
                (line,) = re.findall(rf'(?m)^/proc/PID/{file} .*$', text)
                self.assertIn({'flushed': 'LAGS', 'exact': 'exact', 'unknown': 'unknown'}[truth], line)
        for problem in document['problems']:
            self.assertIn(problem['what'], text)
            self.assertIn(problem['remedy'], text)
        self.assertRegex(text, r'Tracing (works|does not work) here')

    def test_a_huge_limit_on_locked_memory_is_still_valid(self):
        """JSON integers stay below 2^53, even if the limit is higher."""
        limit = resource.getrlimit(resource.RLIMIT_MEMLOCK)
        try:
            resource.setrlimit(resource.RLIMIT_MEMLOCK, (1 << 60, 1 << 60))
        except (ValueError, OSError) as error:
            self.skipTest(f'cannot raise the limit: {error}')
        try:
            ran = rsslag('doctor', '--json')
        finally:
            resource.setrlimit(resource.RLIMIT_MEMLOCK, limit)
        assert_valid(self, 'doctor', ran.document())

    def test_text_in_a_plain_locale_is_ascii(self):
        self.assertTrue(rsslag('doctor', env=environment(LC_ALL='C')).raw_out.isascii())

    def test_each_hook_is_shown_if_tracing_works(self):
        if why_no_tracing():
            self.skipTest(why_no_tracing())
        document = rsslag('doctor', '--json').document()
        names = [hook['name'] for hook in document['hooks']]
        self.assertEqual(len(names), len(set(names)))
        self.assertTrue({hook['usable'] for hook in document['hooks'] if hook['name'].endswith('rss_stat')} == {True})
        self.assertEqual(document['calibration']['stat'], 'unknown' if document['scheme'] == 'plain' else 'flushed')


@needs_root
class Unprivileged(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not has_tracer():
            raise unittest.SkipTest('this rsslag was built without the tracer')

    def test_what_is_missing_is_a_right_not_a_kernel(self):
        document = as_nobody('doctor', '--json').document()
        for problem in document['problems']:
            self.assertNotRegex(problem['remedy'], r'Linux \d|CONFIG_|kernel built', problem)

    def test_it_ends_with_3_and_names_the_remedy(self):
        ran = as_nobody('doctor')
        self.assertEqual((ran.status, ran.err), (3, ''), ran)
        for word in ('CAP_BPF', 'CAP_PERFMON', 'chgrp', 'chmod', 'setcap', 'does not work'):
            self.assertIn(word, ran.out)

    def test_it_shows_which_access_the_remedy_gives(self):
        text = as_nobody('doctor').out
        self.assertRegex(text, r'(?i)members of GROUP can then|who may also become root')

    def test_its_json(self):
        ran = as_nobody('doctor', '--json')
        self.assertEqual((ran.status, ran.err), (3, ''), ran)
        document = ran.document()
        assert_valid(self, 'doctor', document)
        self.assertIs(document['tracing'], False)
        self.assertIn(document['calibration']['stat'], ('flushed', 'unknown'), 'an experiment needs no privilege')
        self.assertEqual([item['usable'] for item in document['capabilities']], [False] * 3)
        self.assertTrue(any('setcap' in problem['remedy'] for problem in document['problems'] if problem['fatal']))

    def test_the_remedy_names_the_binary_that_ran(self):
        ran = as_nobody('doctor')
        self.assertIn(f'setcap cap_bpf,cap_perfmon,cap_sys_ptrace+ep {binary_for_all()}', ran.out)


if __name__ == '__main__':
    main()
