# SPDX-License-Identifier: BSD-2-Clause
"""rsslag.snapshot/2 of quiescent processes: its shape, its sums, and the options that change it."""
import copy
import re
from pathlib import Path

import contract
from contract import Held, TracingTest, assert_snapshot, long_only, needs_schema, rsslag, snapshot


class Schema(TracingTest):
    @needs_schema
    def test_every_document_of_a_whole_machine_is_valid(self):
        ran = snapshot('--json', '-u', 'root', '--comm', '*')
        self.assertIn(ran.status, (0, 3), ran)  # 3: a process has ended in the meantime
        assert_snapshot(self, ran.document())

    @needs_schema
    def test_the_schema_is_strict(self):
        with Held('single') as held:
            document = snapshot('--json', held.pid).document()
        validator = contract.validator('snapshot')
        self.assertTrue(validator.is_valid(document))
        for change in (lambda d: d.update(more=1), lambda d: d.pop('batch'), lambda d: d['processes'][0].pop('walk'),
                       lambda d: d['processes'][0].update(verdict='fine'), lambda d: d['processes'][0].update(lag='1'),
                       lambda d: d['processes'][0].update(walked=None), lambda d: d['processes'][0]['mm'].update(x=1)):
            broken = copy.deepcopy(document)
            change(broken)
            self.assertFalse(validator.is_valid(broken))


class Reading(TracingTest):
    def test_a_quiet_process_agrees(self):
        with Held('few-pages') as held:
            ran = snapshot('--json', held.pid)
        self.assertEqual((ran.status, ran.err), (0, ''), ran)
        document = ran.document()
        assert_snapshot(self, document)
        (process,) = document['processes']
        self.assertEqual(process['pid'], held.pid)
        self.assertEqual((process['verdict'], process['walk'], process['residual']), ('agrees', 'done', 0), process)
        self.assertEqual(process['threads_count'], process['mm']['tasks'])
        self.assertEqual(process['mm']['pids'], [held.pid])
        self.assertEqual(document['failed'], [])

    def test_the_cache_is_named_by_who_holds_it(self):
        with Held('few-pages') as held:
            document = snapshot('--json', held.pid).document()
        (process,) = document['processes']
        rows = process['cached_by']
        self.assertGreater(len(rows), 0)
        if document['scheme'] == 'thread':
            self.assertTrue(all('tid' in row for row in rows), rows)
            self.assertTrue(all(row['tgid'] == held.pid for row in rows), rows)
        if document['scheme'] == 'cpu':
            numbers = [row['cpu'] for row in rows]
            self.assertEqual(numbers, sorted(set(numbers)))

    def test_readings_of_a_quiet_process_are_equal(self):
        with Held('few-pages') as held:
            first, second = snapshot('--json', '--repeat', 2, held.pid).documents()
        for key in ('flushed', 'cached', 'exact', 'lag', 'cached_by', 'start_ticks', 'mm', 'readers'):
            self.assertEqual(first['processes'][0][key], second['processes'][0][key], key)

    def test_no_walk_leaves_the_verdict_open(self):
        with Held('single') as held:
            ran = snapshot('--json', '--no-walk', held.pid)
        self.assertEqual(ran.status, 0, ran)
        assert_snapshot(self, ran.document())
        (process,) = ran.document()['processes']
        self.assertEqual((process['walk'], process['verdict']), ('skipped', 'unwalked'))
        self.assertEqual((process['walked'], process['residual'], process['residual_causes']), (None, None, []))

    @long_only('its readings race with their target')
    def test_a_moving_process_never_agrees_with_a_residual(self):
        with Held('busy', '--threads', '4') as held:
            ran = snapshot('--json', '--repeat', 50, held.pid)
        self.assertEqual(ran.status, 0, ran.err)
        for document in ran.documents():
            assert_snapshot(self, document)
            self.assertIn(document['processes'][0]['verdict'], ('agrees', 'moving', 'explained'))

    def test_processes_that_share_an_mm_carry_its_id(self):
        with Held('clone-vm') as held, Held('single') as other:
            lodger = int(held.fact('child'))
            document = snapshot('--json', held.pid, lodger, other.pid).document()
        assert_snapshot(self, document)
        by_pid = {process['pid']: process for process in document['processes']}
        self.assertEqual(by_pid[held.pid]['mm']['id'], by_pid[lodger]['mm']['id'])
        self.assertNotEqual(by_pid[held.pid]['mm']['id'], by_pid[other.pid]['mm']['id'])
        self.assertEqual(by_pid[held.pid]['exact'], by_pid[lodger]['exact'])
        self.assertEqual(by_pid[held.pid]['mm']['pids'], sorted([held.pid, lodger]))

    def test_text_lists_which_share_one_memory(self):
        with Held('clone-vm') as held:
            pids = sorted([held.pid, int(held.fact('child'))])
            said = f'{pids[0]} and {pids[1]} share one memory: each row shows all of it'
            for targets, times in (([held.pid], 1), (pids, 2)):
                self.assertEqual(snapshot(*targets).lines.count(said), times)
        with Held('single') as held:
            self.assertNotIn('share one memory', snapshot(held.pid).out)

    def test_hugetlb_pages_are_shown_in_addition_to_rss(self):
        with Held('single') as held:
            status = re.search(r'(?m)^HugetlbPages:\s+(\d+) kB$', Path(f'/proc/{held.pid}/status').read_text())
            (process,) = snapshot('--json', held.pid).document()['processes']
            self.assertEqual(process['hugetlb_kb'], int(status[1]) if status else None)
            self.assertNotIn('hugetlb', snapshot(held.pid).out)
        try:
            held = Held('hugetlb')
        except AssertionError as lacks:  # the demo names what the machine lacks
            self.skipTest(str(lacks)[:200])
        with held:
            (process,) = snapshot('--json', held.pid).document()['processes']
            self.assertEqual(process['hugetlb_kb'], int(held.fact('hugetlb_kb')))
            self.assertEqual((process['verdict'], process['residual']), ('agrees', 0), process)
            self.assertIn(f"hugetlb pages hold {process['hugetlb_kb']:,} kB more, which RSS does not count",
                          snapshot(held.pid).lines)

    def test_a_process_whose_main_thread_has_ended_is_read_all_the_same(self):
        with Held('leader-gone') as held:
            ran = snapshot('--json', held.pid)
        self.assertEqual(ran.status, 0, ran)
        assert_snapshot(self, ran.document())


class Options(TracingTest):
    def test_repeat_writes_a_line_each(self):
        with Held('single') as held:
            ran = snapshot('--json', '--repeat', 5, held.pid)
            slow = snapshot('--json', '--repeat', 3, '--interval', '150ms', held.pid)
        for run, count in ((ran, 5), (slow, 3)):
            self.assertEqual(run.status, 0, run)
            self.assertEqual(len(run.documents()), count)
            for document in run.documents():
                assert_snapshot(self, document)
        times = [document['time'] for document in slow.documents()]
        self.assertEqual(times, sorted(set(times)))

    def test_unit_changes_text_only(self):
        with Held('single') as held:
            exact = [rsslag('--unit', unit, 'snapshot', '--json', str(held.pid)).document()['processes'][0]['exact']
                     for unit in ('kB', 'MiB', 'GiB', 'pages')]
        self.assertEqual(exact, exact[:1] * 4)

    def test_check_holds_where_the_verdict_does(self):
        with Held('single') as held:
            self.assertEqual(snapshot('--check', held.pid).status, 0)
            unwalked = snapshot('--check', '--no-walk', '--json', held.pid)
        self.assertEqual(unwalked.status, 1, unwalked)
        assert_snapshot(self, unwalked.document())

    @long_only('a target that is always busy: what is read varies, and it uses all CPUs')
    def test_check_does_not_hold_where_the_target_moves(self):
        with Held('busy', '--threads', '4') as held:
            for _ in range(10):
                ran = snapshot('--check', '--json', held.pid)
                verdict = ran.document()['processes'][0]['verdict']
                self.assertEqual(ran.status, 0 if verdict in ('agrees', 'explained') else 1, ran)

    def test_demo_prints_the_same_document(self):
        ran = rsslag('demo', 'few-pages', '--json')
        self.assertEqual(ran.status, 0, ran)
        assert_snapshot(self, ran.document())


if __name__ == '__main__':
    contract.main()
