#!/usr/bin/env python3
"""The decisions and the output of scripts/bench, without running a measurement."""
import contextlib
import importlib.machinery
import importlib.util
import io
import pathlib
import sys
import types
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/bench"))
sys.dont_write_bytecode = True
loader = importlib.machinery.SourceFileLoader("rsslag_bench", str(ROOT / "scripts/bench"))
bench = importlib.util.module_from_spec(importlib.util.spec_from_loader("rsslag_bench", loader))
loader.exec_module(bench)

RUN_TIMES = [{"program": "rss_stat", "mode": "events", "wanted": True, "ns_net": 80.25, "least": 79.0, "most": 91.0,
              "ns_empty": 75.5, "recursion_misses": 0}]


class Bench(unittest.TestCase):
    def measured(self, fault_ns, wall=1.0, storms=lambda way, threads: (2000, 2000)):
        """The output and the document for a given cost of an untraced fault, and the parts that were run. `storms`: wall and
        CPU time of a fault, in ns, by way and number of threads."""
        ran = []

        def part(name, result):
            return lambda *_: ran.append(name) or result

        here = types.SimpleNamespace(rsslag="rsslag", storm="storm", hooks="hooks", modes=["events"], rounds=3,
                                     storm_rounds=10, cost_rounds=1)
        ways = [types.SimpleNamespace(key=key, title=key, missing=None, lost=[]) for key in ("untraced", "floor", "events")]
        results = {(way.key, threads): [dict(zip(("ns_per_fault", "cpu_ns_per_fault"), storms(way.key, threads)))] * 3
                   for way in ways for threads in (1, 2)}
        fakes = [mock.patch.object(bench.fault, "untraced_fault", lambda _: (fault_ns, wall)),
                 mock.patch.object(bench, "ways", part("ways", ways)),
                 mock.patch.object(bench, "run_storms", part("storms", results)),
                 mock.patch.object(bench, "without_live", lambda *_: None),
                 mock.patch.object(bench.cost, "without_statistics", lambda: None),
                 mock.patch.object(bench.cost, "run_time_rows", part("run times", RUN_TIMES)),
                 mock.patch.object(bench.cost, "consumer_rows", part("consumer", [])),
                 mock.patch.object(bench.cost, "idle_percent", lambda _: 1.0),
                 mock.patch.object(bench.names, "names_row", part("names", None)),
                 mock.patch.object(bench.names, "peak_row", lambda _: None),
                 mock.patch.object(bench.names, "print_names", lambda _: None),
                 mock.patch.object(bench.names, "print_peak", lambda _: None)]
        out = io.StringIO()
        with contextlib.ExitStack() as stack, contextlib.redirect_stdout(out):
            for fake in fakes:
                stack.enter_context(fake)
            document = bench.measure(here)
        return out.getvalue(), document, ran

    def test_a_machine_with_dear_faults_gets_run_times_alone_and_the_reason(self):
        out, document, ran = self.measured(25300.0)
        self.assertEqual(ran, ["run times"])
        self.assertIn("an untraced page fault costs 25.3 us here", out)
        self.assertRegex(out, r"rss_stat \(events\) +80\.2 +79\.0 +91\.0 +75\.5")
        self.assertNotIn("%", out)
        self.assertEqual((document["storm"], document["consumer"]), (None, None))
        self.assertEqual(document["fault_ns"], 25300.0)
        self.assertIn("25.3 us", document["why_no_ratios"])

    def test_other_machines_get_all_of_it(self):
        out, document, ran = self.measured(1900.0)
        self.assertEqual(ran, ["ways", "storms", "run times", "consumer", "names"])
        self.assertIn("A page fault costs 1,900 ns untraced", out)
        self.assertIsNone(document["why_no_ratios"])
        self.assertEqual(document["run_time"], RUN_TIMES)
        self.assertEqual(len(document["storm"]), 6)

    def test_a_busy_machine_gets_no_ratios(self):
        out, document, ran = self.measured(3950.0, wall=1.25)
        self.assertEqual(ran, ["run times"])
        self.assertIn("the untraced storm takes 1.25 times its CPU time, more than 1.2", out)
        self.assertNotIn("%", out)
        self.assertIn("1.25", document["why_no_ratios"])

    def test_a_machine_that_becomes_busy_gets_no_ratios(self):
        for way, threads, wall, cpu, why in (("untraced", 2, 2600, 2000, "1.30 times its CPU time"),
                                             ("floor", 1, 1622, 2000, "18.9 % faster than untraced"),
                                             ("floor", 2, 2100, 1980, "1.0 % faster than untraced")):
            with self.subTest(why):
                out, document, ran = self.measured(
                    1900.0, storms=lambda *which: (wall, cpu) if which == (way, threads) else (2000, 2000))
                self.assertEqual(ran, ["ways", "storms", "run times"])
                self.assertIn(why, out)
                self.assertNotIn("clock", out)
                self.assertIn(why, document["why_no_ratios"])
                self.assertIsNone(document["storm"])

    def test_the_limits_are_told_in_their_own_words(self):
        limits = bench.fault.DEAR_NS, bench.fault.MOST_WALL_PER_CPU
        self.assertIsNone(bench.fault.why_no_ratios(*limits))
        self.assertIn("more than 5", bench.fault.why_no_ratios(limits[0] + 1, limits[1]))
        self.assertIn("more than 1.2", bench.fault.why_no_ratios(limits[0], limits[1] + 0.01))


if __name__ == "__main__":
    unittest.main()
