# SPDX-License-Identifier: BSD-2-Clause
"""`rsslag live`: its documents about quiescent and busy targets, targets that end, and their children."""
import os
import signal
import subprocess
import sys
import unittest

import contract
from contract import Children, Held, TracingTest, long_only, needs_schema
from live import Live, Told, assert_attributed, assert_trace, live

JSONL = ('--format', 'jsonl', '--threads', 'all')
COUNTS = (*JSONL, '--mode', 'counts')


def running(document):
    return document.get('state') == 'running'


def of_pid(ticks, pid):
    return [tick for tick in ticks if tick['pid'] == pid]


@needs_schema
class Targets(TracingTest):
    options = JSONL

    def test_one_at_rest_agrees_with_its_page_tables(self):
        with Held('classic') as held:
            with Live(*self.options, '--interval', '100ms', held.pid) as trace:
                for _ in range(3):
                    trace.document(running)
                trace.signal(signal.SIGINT)
                ticks, summary = assert_trace(self, trace.finish())
            (exact,) = {tick['exact']['rss'] for tick in ticks}
            snapshot = contract.snapshot('--json', held.pid).document()['processes'][0]
        self.assertEqual(ticks[0]['verdict'], 'agrees', ticks[0])
        self.assertEqual(ticks[0]['baseline'], ticks[0]['exact'])
        self.assertEqual(exact, snapshot['exact']['rss'])
        self.assertEqual(len(ticks[0]['threads']), 101)
        self.assertEqual((summary['updates'], summary['disagreements'], summary['lost']), (0, 0, 0))
        self.assertEqual(summary['processes'][0]['state'], 'running')

    def test_a_busy_one(self):
        for name in ('busy', 'churn', 'storm'):
            with Held(name) as held, Live(*self.options, '--interval', '50ms', held.pid) as trace:
                trace.document(lambda tick: tick['seq'] >= 5 and tick['updates'] > 1000 and tick['faults'] > 100)
                trace.signal(signal.SIGINT)
                ticks, summary = assert_trace(self, trace.finish(), attributed=False)
            self.assertNotIn('agrees', {tick['verdict'] for tick in ticks if tick['residual']}, name)
            if not summary['lost'] and not summary['disagreements']:
                for tick in ticks:
                    assert_attributed(self, tick)
                self.assert_lag_within_bound(ticks, summary)

    @long_only('it depends on the load whether all records of a second are kept')
    def test_nothing_of_a_busy_one_is_lost(self):
        for name in ('busy', 'churn', 'storm'):
            with Held(name) as held:
                ticks, summary = assert_trace(self, live(*self.options, '--interval', '50ms', '--duration', '1s', held.pid))
            self.assertGreater(summary['updates'], 10 if contract.emulated() else 1000, name)
            self.assertGreater(ticks[-1]['faults'], 10 if contract.emulated() else 100, name)
            self.assertEqual(summary['lost'], 0, name)
            self.assertEqual(summary['disagreements'], 0, name)
            self.assertNotIn('agrees', {tick['verdict'] for tick in ticks if tick['residual']}, name)
            self.assert_lag_within_bound(ticks, summary)

    def assert_lag_within_bound(self, ticks, summary):
        """By the records, a CPU caches less than a batch of each member at any instant: the bound is hard."""
        for tick in ticks:
            self.assertEqual(tick['bound']['hard'], tick['scheme'] != 'thread', tick)
            if tick['bound']['hard']:
                self.assertLessEqual(tick['lag'], tick['bound']['rss'])
        bound = ticks[0]['bound']
        (process,) = summary['processes']
        if not bound['hard']:
            return  # the bound of a thread is soft
        self.assertLessEqual(process['peak_lag']['pages'], bound['rss'])
        for member in ('file', 'anon', 'shmem', 'swap'):
            self.assertLessEqual(process['cached_most'][member], bound[member])

    def test_one_that_ends(self):
        with Told('exit 3') as told:
            with Live(*self.options, '--interval', '1h', told.pid) as trace:
                first = trace.document(running)
                self.assertEqual(told.tell(), 3)
                ran = trace.finish()
        ticks, summary = assert_trace(self, ran)
        self.assertEqual([tick['state'] for tick in ticks], ['running', 'exited'])
        self.assertEqual(ticks[1]['exact'], {'file': 0, 'anon': 0, 'shmem': 0, 'swap': 0, 'rss': 0})
        for key in ('pid', 'host_pid', 'start_ticks', 'uid', 'comm', 'baseline'):
            self.assertEqual(ticks[1][key], first[key], key)
        self.assertEqual(ticks[1]['mm']['id'], first['mm']['id'])
        self.assertEqual((summary['ended_mms'], summary['processes'][0]['state']), (1, 'exited'))

    def test_one_that_is_killed(self):
        with Children() as (pid,):
            with Live(*self.options, '--interval', '1h', pid) as trace:
                trace.document(running)
                os.kill(pid, signal.SIGKILL)
                ticks, _ = assert_trace(self, trace.finish())
        self.assertEqual(ticks[-1]['state'], 'exited')

    def test_one_ends_and_the_others_go_on(self):
        with Told(count=3) as told:
            with Live(*self.options, '--interval', '50ms', *told.pids) as trace:
                trace.document(running)
                for index, pid in enumerate(told.pids):
                    told.tell(index)
                    trace.document(lambda tick, pid=pid: tick['state'] == 'exited' and tick['pid'] == pid)
                ticks, summary = assert_trace(self, trace.finish())
        self.assertEqual([tick['pid'] for tick in ticks if tick['state'] == 'exited'], told.pids)
        self.assertEqual(len(summary['processes']), 3)

    def test_an_exec_in_the_trace(self):
        with Told('exec sh -c "echo there; read y; exit 0"') as told:
            with Live(*self.options, '--interval', '50ms', told.pid) as trace:
                before = trace.document(running)
                os.write(told.shells[0].stdin.fileno(), b'\n')
                self.assertEqual(told.shells[0].stdout.readline(), b'there\n')
                trace.document(lambda tick: tick['state'] == 'running' and tick['mm']['id'] != before['mm']['id'])
                told.tell()
                ticks, _ = assert_trace(self, trace.finish())
        (over,) = [tick for tick in ticks if tick['state'] == 'exec']
        self.assertEqual((over['mm']['id'], over['exact']['rss']), (before['mm']['id'], 0))
        after = [tick for tick in ticks if tick['mm']['id'] not in (before['mm']['id'], '')]
        self.assertEqual({tick['baseline']['rss'] for tick in after}, {0}, 'the mm was created during the trace')

    def test_all_processes_of_a_tick_have_its_number(self):
        with Children([b'one', b'two']) as pids:
            ticks, _ = assert_trace(self, live(*self.options, '--interval', '100ms', '--duration', '350ms', *pids))
        for pid in pids:
            self.assertEqual([tick['seq'] for tick in of_pid(ticks, pid)], list(range(len(ticks) // 2)))

    def test_without_a_walk(self):
        with Held('few-pages') as held:
            ticks, _ = assert_trace(self, live(*self.options, '--no-walk', '--duration', '100ms', held.pid))
        self.assertEqual({(tick['walk'], tick['verdict']) for tick in ticks}, {('skipped', 'unwalked')})

    def test_a_walk_at_most_once_a_second(self):
        def fresh(tick):
            return tick['walked'] is not None and tick['walked']['age_ms'] == 0

        with Held('few-pages') as held, Live(*self.options, '--interval', '50ms', held.pid) as trace:
            for _ in range(3):
                trace.document(fresh)
                trace.document(lambda tick: not fresh(tick))
            trace.signal(signal.SIGINT)
            ticks, _ = assert_trace(self, trace.finish())
        walks = [index for index, tick in enumerate(ticks) if fresh(tick)]
        for walk, following in zip(walks, walks[1:]):
            # The walk was made between the previous tick and this one. A tick that comes slightly early still walks.
            not_before = ticks[walk - 1]['t_ns'] if walk > 0 else 0
            self.assertGreaterEqual(ticks[following]['t_ns'] - not_before, 950_000_000, (ticks[walk], ticks[following]))

    def test_a_small_ring_loses_records_and_reports_it(self):
        with Held('storm') as held:
            with Live(*self.options, '--ring', '4K', '--interval', '50ms', held.pid) as trace:
                trace.document(running)
                # The ring is not read while the target runs ten rounds.
                contract.stop(trace.process.pid)
                faults = contract.minor_faults(held.pid)
                contract.wait_until(lambda: contract.minor_faults(held.pid) > faults + 20_000)
                trace.signal(signal.SIGCONT)
                trace.document(lambda tick: tick['lost'] > 0)
                contract.stop(held.pid)
                still = trace.later(2, lambda tick: tick['resyncs'] > 0 and tick['verdict'] != 'moving')
                snapshot = contract.snapshot('--json', held.pid).document()['processes'][0]
                self.assertEqual(still['exact'], snapshot['exact'])
                os.kill(held.pid, signal.SIGCONT)
                trace.signal(signal.SIGINT)
                _, summary = assert_trace(self, trace.finish(), attributed=False)
        self.assertGreater(summary['lost'], 0)
        self.assertGreater(summary['resyncs'], 0)


@needs_schema
class Commands(TracingTest):
    options = JSONL

    def trace(self, *argv, options=(), status=0):
        return assert_trace(self, live(*self.options, '--interval', '50ms', *options, '--', *argv), status=status)

    def test_a_command_from_its_first_page_to_its_last(self):
        script = 'import sys; x = bytes(1 << 22); sys.stdin.read()'
        with Live(*self.options, '--interval', '50ms', '--', sys.executable, '-c', script, stdin=subprocess.PIPE) as trace:
            trace.document(lambda tick: tick['exact']['rss'] > 1024)
            trace.process.stdin.close()
            ticks, summary = assert_trace(self, trace.finish())
        self.assertEqual({tick['baseline']['rss'] for tick in ticks}, {0})
        self.assertEqual([tick['state'] for tick in ticks][-1], 'exited')
        self.assertEqual(ticks[-1]['exact']['rss'], 0)
        self.assertEqual(summary['ended_mms'], 1)

    def test_rsslags_own_image_is_never_shown(self):
        ticks, _ = self.trace('sh', '-c', 'sleep 0.2; :')
        self.assertEqual({tick['comm'] for tick in ticks}, {'sh'})

    def test_one_that_is_over_at_once(self):
        for _ in range(5):
            ticks, _ = self.trace('true')
            self.assertEqual([tick['state'] for tick in ticks][-1], 'exited')

    def test_a_chain_of_execs(self):
        ticks, _ = self.trace('sh', '-c', 'exec sh -c "exec sleep 0.2"')
        self.assertEqual(sum(tick['state'] == 'exec' for tick in ticks), 2)
        self.assertEqual(ticks[-1]['comm'], 'sleep')

    def test_children_are_followed_only_on_request(self):
        script = 'for i in 1 2 3; do (exit 1); sh -c : & done; wait; exit 4'
        ticks, _ = self.trace('sh', '-c', script, status=4)
        self.assertEqual(len({tick['pid'] for tick in ticks}), 1)
        ticks, summary = self.trace('sh', '-c', script, options=['--follow'], status=4)
        self.assertGreaterEqual(len({tick['pid'] for tick in ticks}), 7)
        states = {(process['image'] == 0, process['state']) for process in summary['processes']}
        self.assertEqual(states, {(False, 'exited'), (True, 'exec')}, 'the memory of a fork before its exec must have a separate row')
        self.assertEqual({tick['exact']['rss'] for tick in ticks if tick['state'] == 'exited'}, {0})

    def test_a_child_that_outlives_the_command(self):
        with Live(*self.options, '--follow', '--interval', '50ms', '--', 'sh', '-c', 'sleep 300 & exit 6') as trace:
            trace.document(lambda tick: tick['state'] == 'exited' and tick['comm'] == 'sh')
            child = trace.document(lambda tick: tick['state'] == 'running' and tick['comm'] == 'sleep')
            os.kill(child['pid'], signal.SIGTERM)
            ticks, _ = assert_trace(self, trace.finish(), status=6)
        self.assertEqual(ticks[-1]['comm'], 'sleep')

    def test_what_the_duration_ends_is_the_command_too(self):
        with Live(*self.options, '--duration', '200ms', '--', 'sh', '-c', 'exec sleep 300') as trace:
            pid = trace.document()['pid']
            assert_trace(self, trace.finish())
            contract.wait_until(lambda: contract.is_gone(pid))


@long_only('the tests of the events mode with the other mode, 6 s of CPU; the steps completeness-counts and known-truth have it in the gate')
class TargetsSummedUp(Targets):
    options = COUNTS


@long_only('the tests of the events mode with the other mode, 3 s of CPU; the steps completeness-counts and known-truth have it in the gate')
class CommandsSummedUp(Commands):
    options = COUNTS


if __name__ == '__main__':
    contract.main()
