# SPDX-License-Identifier: BSD-2-Clause
"""Growth of the last 30 s on the screen: by mapping and by thread, adding up to the growth."""
import os
import re
import subprocess
import tempfile
import time

import contract
from contract import TracingTest, begun, environment, interpreter, long_only, rsslag
from names_test import PRELUDE
from panes import Pane, needs_tmux

# For each line of input a new thread allocates that many KiB, and does not end.
GROWS = PRELUDE + '''
def grow(kib):
    libc.prctl(15, b'worker-07', 0, 0, 0)
    touched(mapped(kib << 10, SHARED | ANONYMOUS), kib << 10)
    print('grown', flush=True)
    threading.Event().wait()
print('ready', flush=True)
for line in sys.stdin:
    if line.startswith('populate'):
        mapped(4 * MiB, PRIVATE | ANONYMOUS | POPULATE)
        print('grown', flush=True)
    else:
        threading.Thread(target=grow, args=(int(line),), daemon=True).start()
'''


def amounts(text):
    """The growth that the screen shows, and the rows of its left list, in kB."""
    lines = text.split('\n')
    (at,) = [number for number, line in enumerate(lines) if 'GREW BY' in line]
    number = r'([−-]?[\d,]+)'
    grew = re.search(rf'GREW BY {number} kB', lines[at]).group(1)
    rows = {}
    for line in lines[at + 2:]:
        row = re.match(rf' *{number}  (\S.*?)(?:  .*)?$', line[:75])
        if row is None:
            break
        rows[row.group(2).strip()] = kb(row.group(1))
    return kb(grew), rows


def kb(text):
    return int(text.replace('−', '-').replace(',', ''))


@long_only('it reads a screen through tmux')
@needs_tmux
class Growth(TracingTest):
    def setUp(self):
        self.held = subprocess.Popen([interpreter(), '-c', GROWS], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(self.held.wait)
        self.addCleanup(self.held.kill)
        self.addCleanup(self.held.stdout.close)
        self.addCleanup(self.held.stdin.close)
        self.assertEqual(self.held.stdout.readline(), b'ready\n')

    def tell(self, line):
        self.held.stdin.write(line + b'\n')
        self.held.stdin.flush()
        self.assertEqual(self.held.stdout.readline(), b'grown\n')

    def grown(self, pane):
        """Waits until the screen shows all of the growth. Checks it against the sum."""
        def told(text):
            # A number with a mark before it is not settled yet.
            return re.search(r'GREW BY [\d,]+ kB', text) and re.search(r'\d worker-07', text) and amounts(text)[0] >= 8192 + 4096
        text = pane.until(told)
        grew, rows = amounts(text)
        self.assertEqual(grew, sum(rows.values()), text)
        # The last fold of its CPU may include a page of it.
        self.assertLessEqual(rows['shmem'], 8192)
        self.assertGreaterEqual(rows['shmem'] + rows.get('(mapping not known yet)', 0), 8192, text)
        # The last batches of the CPUs may not be settled before their next records.
        self.assertGreaterEqual(rows['no fault: populated'] + rows.get('(mapping not known yet)', 0), 4096, text)
        self.assertLess(abs(rows.get('(mapping not known yet)', 0)), 1024)
        self.assertNotIn('no record reports this', rows)
        # That thread's faults are the shared pages, plus its stack and what Python allocates for it.
        (by_thread,) = re.findall(r'([\d,]+) +\d+ worker-07', text)
        self.assertGreaterEqual(kb(by_thread), rows['shmem'])
        self.assertLess(kb(by_thread), 8192 + 1024)

    def test_what_grew_by_mapping_and_by_thread(self):
        with Pane(120, 36) as pane:
            pane.rsslag('live', '-p', self.held.pid, '--interval', '200ms')
            pane.until(lambda text: 'AGREES' in text and 'g grew' in text)
            pane.type('g')
            pane.until('GREW BY')
            self.tell(b'8192')
            self.tell(b'populate')
            self.grown(pane)
            begin = time.monotonic()
            pane.key('Escape')
            pane.until(lambda text: 'GREW BY' not in text)
            pane.type('g')
            pane.until(lambda text: 'GREW BY 0 kB in the last 30 s' in text and 'shmem' not in text)
            self.assertGreater(time.monotonic() - begin, 25)
            pane.type('q')
            pane.until('traced ')

    def test_a_replay_shows_the_same(self):
        with tempfile.TemporaryDirectory() as directory:
            file = f'{directory}/trace.rsslag'
            with begun([contract.binary, 'record', '-o', file, '--interval', '200ms', '-p', self.held.pid],
                       stderr=subprocess.DEVNULL, env=environment()) as tracer:
                contract.wait_until(lambda: os.path.exists(file) and rsslag('report', '--json', file).status == 0 and
                                    rsslag('report', '--json', file).document()['processes'])
                self.tell(b'8192')
                self.tell(b'populate')
                tracer.terminate()
                self.assertEqual(tracer.wait(contract.TIMEOUT), 0)
            with Pane(120, 36) as pane:
                pane.rsslag('replay', file)
                pane.until('END of')
                pane.type('g')
                self.grown(pane)
                pane.type('q')


if __name__ == '__main__':
    contract.main()
