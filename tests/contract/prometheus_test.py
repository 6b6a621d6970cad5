#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""rsslag serve, and rsslag mount behind node_exporter, scraped by Prometheus itself."""
import os
import re
import shutil
import socket
import subprocess
import tempfile
import threading
import time
import unittest

import contract
from contract import Children, Held, TracingTest, emulated, environment, long_only, needs_root, rsslag, snapshot, wait_until
from serve_test import Serving

NODE_EXPORTER = 'prometheus-node-exporter'
SCRAPERS, A_SECOND, SECONDS = 8, 10, 30


def free_port():
    with socket.create_server(('127.0.0.1', 0)) as free:
        return free.getsockname()[1]


def promtool(*args, **more):
    return subprocess.run(['promtool', *args], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, **more)


@long_only('it runs Prometheus for a minute')
@unittest.skipUnless(shutil.which('prometheus') and shutil.which('promtool'), 'there is no prometheus')
class EngineTest(TracingTest):
    """Tests with a Prometheus that scrapes each second."""

    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix='rsslag-prometheus-')
        self.addCleanup(shutil.rmtree, self.directory)
        os.chmod(self.directory, 0o755)

    def run_beside(self, *argv):
        process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment())
        self.addCleanup(process.wait, contract.TIMEOUT)
        self.addCleanup(process.terminate)

    def begin(self, **jobs):
        """Starts Prometheus with a job for each port."""
        with open(f'{self.directory}/prometheus.yml', 'w', encoding='utf-8') as config:
            config.write('global: {scrape_interval: 1s}\nscrape_configs:\n')
            for job, port in jobs.items():
                config.write(f'  - {{job_name: {job}, static_configs: [{{targets: ["127.0.0.1:{port}"]}}]}}\n')
        self.port = free_port()
        self.run_beside('prometheus', f'--config.file={self.directory}/prometheus.yml',
                        f'--storage.tsdb.path={self.directory}/data', f'--web.listen-address=127.0.0.1:{self.port}')

    def values(self, query):
        asked = promtool('query', 'instant', f'http://127.0.0.1:{self.port}', query)
        return [float(value) for value in re.findall(rb'=> (\S+) @', asked.stdout)]

    def becomes(self, query, *values):
        last = []

        def asked():
            last[:] = self.values(query)
            return last == list(values)

        try:
            wait_until(asked)
        except AssertionError as late:
            raise AssertionError(f'{query} is {last}, not {values}') from late


class Doors(EngineTest):
    def serve(self, port):
        return Serving('--listen', f'127.0.0.1:{port}', '--top', '10000', '--max-age', '0ms')

    def test_the_sum_over_parts_is_what_a_process_holds(self):
        port = free_port()
        with Held('few-pages') as held, self.serve(port):
            (process,) = snapshot('--json', held.pid).document()['processes']
            self.begin(serve=port)
            self.becomes(f'sum(rsslag_process_resident_memory_bytes{{comm="{process["comm"]}"}})', process['walked']['rss_kb'] * 1024)
            self.becomes(f'sum(rsslag_process_resident_memory_bytes{{comm="{process["comm"]}",part="cached"}})',
                         process['cached']['rss'] * 4096)

    def test_it_is_up_again_after_a_restart_and_a_series_ends_with_its_group(self):
        port = free_port()
        with Children([b'rsslag-goes']), self.serve(port):
            self.begin(serve=port)
            self.becomes('up{job="serve"}', 1)
            self.becomes('rsslag_processes{comm="rsslag-goes"}', 1)
        self.becomes('up{job="serve"}', 0)
        with self.serve(port):
            self.becomes('up{job="serve"}', 1)
            self.becomes('rsslag_processes{comm="rsslag-goes"}')
            with Children([b'rsslag-comes']):
                self.becomes('rsslag_processes{comm="rsslag-comes"}', 1)
            self.becomes('rsslag_processes{comm="rsslag-comes"}')

    @needs_root
    @unittest.skipUnless(shutil.which(NODE_EXPORTER), 'there is no node_exporter')
    def test_the_mounted_file_shows_the_same(self):
        directory = f'{self.directory}/mounted'
        ran = rsslag('mount', directory)
        if ran.status == 3:
            self.skipTest(ran.err.strip())
        self.assertEqual(ran.status, 0, ran)
        self.addCleanup(rsslag, 'umount', directory)
        with open(f'{directory}/rss.prom', 'rb') as file:
            checked = promtool('check', 'metrics', input=file.read())
        self.assertEqual((checked.returncode, checked.stdout), (0, b''))
        serving, exporting = free_port(), free_port()
        self.run_beside(NODE_EXPORTER, '--collector.disable-defaults', '--collector.textfile',
                        f'--collector.textfile.directory={directory}', f'--web.listen-address=127.0.0.1:{exporting}')
        with Held('few-pages') as held, self.serve(serving):
            (process,) = snapshot('--json', held.pid).document()['processes']
            self.begin(serve=serving, file=exporting)
            labels = f'comm="{process["comm"]}"'
            for job in ('serve', 'file'):
                self.becomes(f'sum(rsslag_process_resident_memory_bytes{{job="{job}",{labels}}})', process['walked']['rss_kb'] * 1024)
            for metric in ('rsslag_process_resident_memory_bytes', 'rsslag_process_swap_bytes', 'rsslag_processes', 'rsslag_threads'):
                with self.subTest(metric=metric):
                    ours = f'{metric}{{job="serve",{labels}}}'
                    count = len(self.values(ours))
                    self.assertGreater(count, 0)
                    # Each series of one source has a series of the other source with the same name and labels.
                    self.becomes(f'count({ours} == ignoring(job, instance) {metric}{{job="file",{labels}}})', count)
        self.becomes(f'rsslag_processes{{{labels}}}')


@long_only('it scrapes for half a minute')
class Load(TracingTest):
    def test_eight_scrapers_ten_times_a_second(self):
        """Each scraper keeps its own schedule, independent of the others."""
        with Serving('--listen', '127.0.0.1:0') as serving:
            for _ in range(50):
                serving.metrics()
            before, took, wrong = serving.rss_kb(), [], []

            def scrape():
                begin = time.monotonic()
                for number in range(A_SECOND * SECONDS):
                    time.sleep(max(0.0, begin + number / A_SECOND - time.monotonic()))
                    asked = time.monotonic()
                    try:
                        serving.metrics()
                    except (OSError, AssertionError) as error:
                        wrong.append(error)
                    took.append(time.monotonic() - asked)

            threads = [threading.Thread(target=scrape) for _ in range(SCRAPERS)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            grew = serving.rss_kb() - before
        took.sort()
        print(f'of {len(took)} responses: median {1000 * took[len(took) // 2]:.1f} ms, 99 % {1000 * took[len(took) * 99 // 100]:.1f} ms; '
              f'grew {grew} kB')
        self.assertEqual((len(took), wrong), (SCRAPERS * A_SECOND * SECONDS, []))
        if not emulated():
            self.assertLess(took[len(took) * 99 // 100], 0.05)
        self.assertLess(grew, 1024)


if __name__ == '__main__':
    contract.main()
