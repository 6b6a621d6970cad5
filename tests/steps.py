#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The steps of scripts/test, of the gate and of --long.

A step belongs to the gate if it cannot fail by chance: tests/README.md has the rule. Within a step, the ctest label `gate`
(tests/contract/CMakeLists.txt) selects themes; `long_only` of tests/contract/contract.py and RSSLAG_LONG_ONLY of
tests/long_only.h exclude single tests."""
import argparse
import os
import shlex
import shutil
import sys
import time

from runner import ROOT, Step, run_all, say

GATE_MINUTES = 15
RSSLAG = 'build/rsslag'
LONG = (('RSSLAG_TEST_LONG', '1'),)
VM_PROGRAMS = ('qemu-system-x86_64', 'busybox', 'cpio', 'modprobe')
# The commands whose failures the gate injects: none depends on the time.
READING = [word for name in ('snapshot', 'maps', 'mem', 'report', 'report-svg', 'report-diff', 'replay', 'export-jsonl', 'export-csv',
                             'export-sqlite', 'export-perfetto') for word in ('--command', name)]
# The live tests of the gate: quiescent processes, exact to the page.
QUIESCENT = 'Workloads/Agreement.*:Agreement.*:Bracket.*:Residual.*:Classic.*:FewPages.*:PerCpu.*:Exited.*:*Permission*'
# Of these, what the gate runs on this kernel only. Under emulation, to start many threads takes 20 s, to try permissions 16 s, and each
# other test 1 s; --long runs all of them in all guests.
NOT_IN_A_GUEST = '*many_threads:*Permission*:*/single:*/memfd:*/file_private:*/file_shared:*/populate:*/mlock:*/free:*/ksm:*/hugetlb'


def only_root():
    return '' if os.geteuid() == 0 else 'loading BPF programs and changing users needs root'


def no_machines():
    absent = [program for program in VM_PROGRAMS if not shutil.which(program, path=os.environ['PATH'] + ':/usr/sbin:/sbin')]
    return f'{", ".join(absent)} not installed' if absent else ''


def clang(part):
    """Returns a function that gives the reason why clang's runtime `part` cannot be used, or an empty string."""
    def missing():
        found = any((ROOT / '/usr/lib').glob(f'llvm-*/lib/clang/*/lib/linux/libclang_rt.{part}-x86_64.a'))
        return '' if found and shutil.which('clang++') else f'clang has no {part} runtime here (libclang-rt-dev)'
    return missing


def sh(text):
    return ('bash', '-c', f'set -u; . scripts/lib.sh; LOG=$(mktemp); trap \'rm -f "$LOG"\' EXIT; {text}')


def build(name, preset, usual, *targets, **more):
    return Step(name, sh(f'configure_and_build {preset} {" ".join(targets)}'), usual, 3600, **more)


def ctest(directory, *arguments, each):
    """Verbose, so that the log has the reasons of skips. `each`: time limit of one test in seconds, for tests that hang."""
    return ('ctest', '--test-dir', directory, '-V', '--no-tests=error', '-j2', '--timeout', str(each), *arguments)


def contract(label, jobs, each):
    """The themes with a label, then those that run apart from the others."""
    rest, apart = (shlex.join(ctest('build', '-L', label, f'-j{jobs}', *of, each=each)) for of in (('-LE', 'apart'), ('-L', 'apart')))
    return ('bash', '-c', f'{rest}; status=$?; {apart} && exit $status')


def python(*arguments):
    return ('python3', '-B', *arguments)


def completeness(mode, threads):
    return python('tests/live/completeness.py', '--rsslag', RSSLAG, '--storm', 'build/tests/bench/storm', '--mode', mode,
                  '--threads', threads)


def known_truth(*arguments):
    return python('tests/live/known_truth.py', '--rsslag', RSSLAG, '--known-pages', 'build/tests/bench/known_pages', *arguments)


def live(*arguments):
    return ('build/tests/live/live_test', '--rsslag', str(ROOT / RSSLAG), *arguments)


def fuzz_sample(seed):
    return sh(f'build/tests/fuzz/sample_recording 3000 {seed} tests/fuzz/corpus/fuzz_recording/*')


def machine(suite, cpus, memory, timeout, *arguments):
    return ('tests/vm/step', suite, str(cpus), str(memory), str(timeout), *arguments)


def gate():
    """Groups in their order; the steps of a group run concurrently."""
    built = {'needs': ('build',)}
    tracing = {'needs': ('build',), 'missing': only_root}
    in_machine = {'needs': ('build',), 'missing': no_machines}
    return [
        # The kernels of the guests are fetched while the build runs.
        [build('build', 'ci', 300), Step('guests', sh('for suite in bookworm trixie; do tests/vm/kernel $suite >/dev/null || exit 77; done'), 30, 900,
                                         missing=no_machines)],
        # A guest uses one CPU most of the time. This one has the `thread` scheme.
        [Step('unit', ctest('build', '-L', 'unit', '-j3', each=400), 45, 900, **built), Step('format', sh('formatted'), 10, 300),
         Step('vm-bookworm', machine('bookworm', 4, 2048, 600, '--live-only', f'--gtest_filter={QUIESCENT}-{NOT_IN_A_GUEST}',
                                     '--scheme', 'thread', '--status', 'flushed'), 50, 700, **in_machine)],
        [Step('contract', contract('gate', 3, each=400), 140, 1500, **built)],
        # Samples of the steps `inject`, `fuzz` and `soak`. `live` and `soak` mostly wait. This guest has the caches of 32 CPUs, which would
        # disturb the other one: it took twice as long at the same time.
        [Step('live', live(f'--gtest_filter={QUIESCENT}'), 40, 600, **tracing),
         Step('soak-sample', python('tests/live/soak.py', '--rsslag', RSSLAG, '--sample', '30'), 40, 600, **tracing),
         Step('inject-sample', python('tests/inject/inject.py', RSSLAG, '--seconds', '10', *READING), 20, 600, **tracing),
         Step('fuzz-sample', fuzz_sample(1), 35, 900, **built), Step('fuzz-sample-2', fuzz_sample(2), 35, 900, **built),
         Step('vm-trixie-32', machine('trixie', 32, 2048, 600, '--live-only', '--gtest_filter=FewPages*:PerCpu*:*per_cpu:*few_pages:*classic',
                                      '--scheme', 'cpu', '--status', 'exact'), 50, 700, **in_machine)],
        [Step('completeness-events', completeness('events', '1'), 7, 300, **tracing)],
        [Step('completeness-counts', completeness('counts', '1'), 7, 300, **tracing)],
        [Step('known-truth', known_truth('--gate'), 8, 400, **tracing)],
    ]


def everything_else():
    """Groups, as gate()."""
    built = {'needs': ('build',), 'environment': LONG}
    tracing = {'needs': ('build',), 'missing': only_root, 'environment': LONG}
    in_machine = {'needs': ('build',), 'missing': no_machines}
    two_mms = [[Step(f'completeness-{mode}-2', completeness(mode, '2'), 10, 600, **tracing)] for mode in ('events', 'counts')]
    def guest(name, suite, scheme, status, after=''):
        return Step(name, machine(suite, 4, 3072, 14400, '--long', '--themes', 'all', '--scheme', scheme, '--status', status), 3600, 14600,
                    after=after, **in_machine)
    # Two guests at a time.
    guests = [
        guest('vm-bullseye', 'bullseye', 'thread', 'flushed'), guest('vm-bookworm-all', 'bookworm', 'thread', 'flushed'),
        guest('vm-trixie', 'trixie', 'cpu', 'exact', after='vm-bullseye'), guest('vm-sid', 'sid', 'cpu', 'exact', after='vm-bookworm-all'),
        # Names of anonymous memory, which no kernel of a suite supports.
        Step('vm-names', machine('names', 2, 2048, 3600, '--themes', 'names', '--gtest_filter=FewPages*', '--scheme', 'thread', '--status',
                                 'flushed'), 600, 3700, after='vm-trixie', **in_machine),
        Step('power-cut', python('tests/vm/power_cut.py', '--rsslag', RSSLAG), 200, 1800, after='vm-sid', **in_machine)]
    return [
        [build('build', 'ci', 300)],
        # Including the tests that are not in the gate.
        [Step('unit-all', ctest('build', '-L', 'unit', each=1500), 70, 1800, **built)],
        [Step('contract-all', contract('contract', 2, each=3600), 1500, 7200, **built)],
        [Step('live-all', live(), 700, 3600, **{**tracing, 'environment': LONG + (('RSSLAG_TEST_TRACE_SECONDS', '600'),)})],
        *two_mms,
        [Step('known-truth-long', known_truth('--long', '--times', '50', '--narrow'), 1700, 7200, **tracing)],
        [Step('inject', python('tests/inject/inject.py', RSSLAG, '--sites', '--seconds', '600'), 2200, 7200, **tracing)],
        [build('build-no-probe', 'no-probe', 300, 'rsslag', 'workload')],
        [Step('tests-no-probe', ctest('build-no-probe', '-L', 'contract', each=1500), 200, 3600, needs=('build-no-probe',))],
        [build('build-asan', 'asan', 700, 'unit_tests', 'fuzzers', missing=clang('fuzzer'))],
        [Step('tests-asan', ctest('build-asan', '-LE', 'live|contract', each=3000), 250, 3600, needs=('build-asan',), missing=clang('asan'))],
        [Step('fuzz', ('tests/fuzz/all', 'build-asan', '120'), 700, 3600, needs=('build-asan',), missing=clang('fuzzer'))],
        [Step('bench', sh(f'configure_and_build ci snapshot_bench && build/tests/bench/snapshot_bench --rsslag "$PWD/{RSSLAG}"'), 200, 1800,
              **tracing)],
        [Step('bench-mount', python('tests/bench/mount.py', '--rsslag', RSSLAG, '--storm', 'build/tests/bench/storm'), 100, 1800, **tracing)],
        [Step('kills', python('tests/contract/recording_test.py', RSSLAG, 'Killed'), 300, 3600,
              **{**tracing, 'environment': LONG + (('RSSLAG_TEST_KILLS', '200'),)})],
        # Each of these uses one CPU most of the time.
        [Step('packages', ('scripts/package', '--into', 'build/packages'), 2500, 14400, missing=only_root),
         Step('bare', ('scripts/package', '--bare', '--into', 'build/packages'), 1400, 14400, after='packages', missing=only_root),
         Step('tidy', sh("configure_and_build tidy rsslag_skeletons && scripts/tidy build-tidy --deep"), 2500, 14400, **built),
         Step('budgets', python('tests/contract/recording_budgets_test.py', RSSLAG), 900, 5400,
              after='tidy', **{**built, 'environment': LONG + (('RSSLAG_TEST_BUDGETS', 'all'),)}),
         Step('vm-selftest', ('tests/vm/selftest',), 600, 3600, after='budgets', missing=no_machines)],
        # `soak` mostly waits.
        [Step('soak', python('tests/live/soak.py', '--rsslag', str(ROOT / RSSLAG)), 3700, 5400, **tracing), *guests],
    ]


def parse(names):
    parser = argparse.ArgumentParser(prog='scripts/test', description='Builds and tests: by default the gate.')
    parser.add_argument('--long', action='store_true', help='all steps and tests that are not in the gate')
    parser.add_argument('--only', metavar='NAME[,NAME]', type=lambda text: text.split(','), help='only these steps and the builds that they need')
    parser.add_argument('--resume', action='store_true', help='keep the outcomes of steps that have run on this tree; needs a clean tree')
    parser.add_argument('--repeat', type=int, default=1, metavar='N', help='run N times in a row')
    parser.add_argument('--list', action='store_true', help='list the steps and their usual seconds')
    options = parser.parse_args()
    for name in options.only or ():
        if name not in names:
            parser.error(f'no step {name}: --list shows all steps')
    return options


def chosen(groups, names):
    """The steps `names` and those that they need, each once, in the order of `groups`."""
    steps = [step for group in groups for step in group]
    needed = {need for step in steps if step.name in names for need in step.needs} | set(names)
    seen = set()
    result = []
    for group in groups:
        group = [step for step in group if step.name in needed and step.name not in seen]
        seen.update(step.name for step in group)
        if group:
            result.append(group)
    return result


def main():
    both = gate() + everything_else()
    options = parse({step.name for group in both for step in group})
    if options.list:
        for title, groups in (('gate', gate()), ('--long', everything_else())):
            print(f'{title}:')
            for step in (step for group in groups for step in group):
                print(f'  {step.name:24} {step.usual:5} s')
        return 0
    groups = chosen(both, options.only) if options.only else everything_else() if options.long else gate()
    begun = time.monotonic()
    runner = run_all(groups * options.repeat, options.resume)
    passed = runner.table()
    if not options.long and not options.only:
        took = time.monotonic() - begun
        say(f'the gate took {took // 60:.0f}:{took % 60:02.0f} of {GATE_MINUTES}:00')
    return 0 if passed else 1


if __name__ == '__main__':
    sys.exit(main())
