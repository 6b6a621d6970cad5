# SPDX-License-Identifier: BSD-2-Clause
"""@pytest.mark.max_rss("64MiB"): the test fails if the exact RSS of its process ever exceeds the limit, to the page.

The limit is a number of bytes, or a text with B, kB, KiB, K, MiB, M, GiB or G. A test with any other limit fails.

A marked test runs alone, in a pytest of its own under `rsslag peak`. Memory of other tests does not count, but that of the
interpreter, pytest and the test's modules does. Fixtures are set up in that process only. If tracing is not possible, the test
is skipped with rsslag's reason."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import pytest

_UNITS = {'': 1, 'B': 1, 'kB': 1024, 'KiB': 1024, 'K': 1024, 'MiB': 1024**2, 'M': 1024**2, 'GiB': 1024**3, 'G': 1024**3}
_OUTPUT_LINES = 60


def pytest_addoption(parser):
    group = parser.getgroup('rsslag')
    group.addoption('--rsslag', metavar='PATH', help='the rsslag program that measures @pytest.mark.max_rss')
    group.addoption('--rsslag-outcome', metavar='FILE', help='internal: run the test in this process and write its outcome to FILE')


def pytest_configure(config):
    config.addinivalue_line('markers', 'max_rss(limit): the exact RSS of the test\'s process must not exceed the limit: "64MiB"')
    chosen = config.getoption('--rsslag')
    if chosen and not shutil.which(chosen):
        raise pytest.UsageError(f'--rsslag {chosen}: no such program')
    if config.getoption('--rsslag-outcome'):
        config.pluginmanager.register(_Outcome(config.getoption('--rsslag-outcome')))


def _bytes(limit):
    if isinstance(limit, int):
        return limit
    found = re.fullmatch(r'(\d+) ?(\w*)', limit) if isinstance(limit, str) else None
    if not found or found[2] not in _UNITS:
        pytest.fail(f'max_rss({limit!r}): the limit is a whole number of bytes, or "64MiB", "512KiB", "1GiB"', pytrace=False)
    return int(found[1]) * _UNITS[found[2]]


class _Outcome:
    """Runs in the measured process and writes the outcome of the test to a file."""

    def __init__(self, path):
        self.path, self.reports = path, []

    def pytest_runtest_logreport(self, report):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longreprtext
        self.reports.append({'outcome': report.outcome, 'when': report.when, 'reason': reason})

    def pytest_sessionfinish(self):
        with open(self.path, 'w', encoding='utf-8') as file:
            json.dump(self.reports, file)


def _program(item):
    return item.config.getoption('--rsslag') or 'rsslag'


def _run(item, limit, directory):
    """Runs the test under `rsslag peak`. Returns the finished process and the documents of the peak and the outcome, each None if
    it was not written."""
    config = item.config
    peak, outcome = os.path.join(directory, 'peak'), os.path.join(directory, 'outcome')
    # A peak is in whole pages, so the limit may be rounded down to kB.
    claim = f'peak_rss<={_bytes(limit) // 1024}kB'
    argv = [_program(item), 'peak', '--as-root', '--json', '-o', peak, '--assert', claim, '--', sys.executable, '-m',
            'pytest', '-q', '-p', 'no:cacheprovider', '--rootdir', str(config.rootpath), '--rsslag-outcome', outcome]
    if not config.pluginmanager.hasplugin('rsslag'):  # it is not installed with its entry point
        argv += ['-p', __name__]
    if config.inipath:
        argv += ['-c', str(config.inipath)]
    argv.append(f'{item.path}::{item.nodeid.partition("::")[2]}')
    ran = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                         errors='replace', cwd=config.invocation_params.dir, check=False)
    return ran, _document(peak), _document(outcome)


def _document(path):
    try:
        with open(path, encoding='utf-8') as file:
            return json.load(file)
    except (OSError, ValueError):
        return None


def _measure(item, mark):
    if len(mark.args) != 1 or mark.kwargs:
        pytest.fail('max_rss takes one limit, such as "64MiB"', pytrace=False)
    limit, = mark.args
    _bytes(limit)
    if not shutil.which(_program(item)):
        pytest.skip('max_rss: cannot find rsslag; install the package rsslag')
    with tempfile.TemporaryDirectory(prefix='pytest-rsslag-') as directory:
        ran, peak, reports = _run(item, limit, directory)
    output = '\n'.join(ran.stdout.splitlines()[-_OUTPUT_LINES:])
    if reports is None and ran.returncode == 125:
        pytest.skip(f'max_rss: {output or "rsslag failed"}')
    if reports is None:
        pytest.fail(f'its process ended without a result, with status {ran.returncode}\n{output}', pytrace=False)
    for report in reports:
        if report['outcome'] == 'failed':
            pytest.fail(f'{report["reason"]}\n{output}', pytrace=False)
    for report in reports:
        if report['outcome'] == 'skipped':
            pytest.skip(report['reason'])
    if peak is None:
        pytest.fail(f'rsslag wrote no peak:\n{output}', pytrace=False)
    for claim in peak['assertions']:
        if not claim['holds']:
            pytest.fail(f'max_rss({limit!r}): {claim["told"]}', pytrace=False)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item):
    """Runs marked tests in place of pytest's own protocol."""
    mark = item.get_closest_marker('max_rss')
    if mark is None or item.config.getoption('--rsslag-outcome'):
        return None
    hook = item.ihook
    hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for when, body in (('setup', lambda: None), ('call', lambda: _measure(item, mark)), ('teardown', lambda: None)):
        call = pytest.CallInfo.from_call(body, when)
        report = hook.pytest_runtest_makereport(item=item, call=call)
        hook.pytest_runtest_logreport(report=report)
    hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True
