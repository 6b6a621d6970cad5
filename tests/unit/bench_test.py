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
    def measured(self, fault_ns):
        """The output and the document for a given cost of an untraced fault, and the parts that were run."""
        ran = []

        def part(name, result):
            return lambda *_: ran.append(name) or result

        here = types.SimpleNamespace(rsslag="rsslag", storm="storm", hooks="hooks", modes=["events"], rounds=3,
                                     storm_rounds=10, cost_rounds=1)
        fakes = [mock.patch.object(bench.fault, "fault_ns", lambda _: fault_ns),
                 mock.patch.object(bench, "ways", part("ways", [])),
                 mock.patch.object(bench, "run_storms", part("storms", {})),
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

    def test_the_limit_is_told_in_its_own_words(self):
        self.assertIsNone(bench.fault.why_no_ratios(bench.fault.DEAR_NS))
        self.assertIn("more than 5", bench.fault.why_no_ratios(bench.fault.DEAR_NS + 1))


if __name__ == "__main__":
    unittest.main()
