# SPDX-License-Identifier: BSD-2-Clause
"""Text output: the sentence first, and the same numbers as in the JSON."""
import re

import contract
from contract import Held, TracingTest, environment, rsslag, snapshot

MINUS = '\u2212'
NUMBER = rf'[-{MINUS}]?[\d,]+(?:\.\d+)?'


def number(text):
    return float(text.replace(',', '').replace(MINUS, '-'))


class Text(TracingTest):
    """Text and JSON of one quiescent demo, so that two runs print the same."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.held = Held('few-pages')
        cls.addClassCleanup(cls.held.__exit__)
        cls.document = snapshot('--json', cls.held.pid).document()
        (cls.process,) = cls.document['processes']
        cls.page_kb = cls.document['page_size'] // 1024

    def text(self, *args):
        ran = rsslag(*args, 'snapshot', '--all', str(self.held.pid))
        self.assertEqual((ran.status, ran.err), (0, ''), ran)
        return ran.out

    def kb(self, pages):
        return f'{pages * self.page_kb:,}'

    def row(self, text, label):
        found = re.search(rf'^{label}  .*$', text, re.MULTILINE)
        self.assertIsNotNone(found, f'{label} in:\n{text}')
        return [number(cell) for cell in re.findall(NUMBER, found.group()[len(label):])]

    def test_the_sentence_comes_first_and_is_true(self):
        first = self.text().splitlines()[0]
        says = self.process['readers']['stat']['rss_kb']
        self.assertTrue(first.startswith(f'/proc/{self.held.pid}/stat says {says:,} kB'), first)
        self.assertIn(f'this process holds {self.kb(self.process["exact"]["rss"])} kB', first)
        lag = self.process['lag']
        if lag > 0:
            share = 100 * lag / self.process['exact']['rss']
            who = {'thread': 'thread', 'cpu': 'CPU'}[self.document['scheme']]
            hiding = sum(any(row[m] for m in ('file', 'anon', 'shmem')) for row in self.process['cached_by'])
            self.assertRegex(first, rf'{self.kb(lag)} kB \({share:.1f} %\) is cached in {hiding} {who}s?\b')
            percent = 100 * self.process['cached']['rss'] / self.process['bound']['rss']
            most = 'what this scheme allows' if self.process['bound']['hard'] else 'the soft bound'
            self.assertIn(f'{percent:.0f} % of {most}', first)

    def test_a_program_is_named_only_as_calibration_shows_its_file(self):
        first = self.text().splitlines()[0]
        if self.process['lag'] <= 0:
            self.skipTest('nothing lags here')
        truth = self.document['calibration']
        self.assertEqual(truth['stat'], 'flushed')
        if (truth['statm'], truth['status']) == ('exact', 'exact'):
            self.assertIn('statm and status (ps, top, htop) are exact on this kernel', first)
        if (truth['statm'], truth['status']) == ('flushed', 'flushed'):
            self.assertIn('and so do ps, top and htop', first)

    def test_the_verdict_comes_second(self):
        second = self.text().splitlines()[1]
        self.assertTrue(second.startswith(self.process['verdict'].upper()), second)
        self.assertIn(self.process['walked']['file'], second)

    def test_each_reader_with_its_distance(self):
        text = self.text()
        exact = self.process['exact']['rss'] * self.page_kb
        readers = self.process['readers']
        for label, says in (('stat field 24', readers['stat']['rss_kb']), ('statm resident', readers['statm']['rss_kb']),
                            ('status VmRSS', readers['status']['rss_kb']),
                            (f'{self.process["walked"]["file"]} Rss', self.process['walked']['rss_kb'])):
            self.assertEqual(self.row(text, label), [says, says - exact], text)
        self.assertEqual(self.row(text, 'status VmHWM'), [readers['status']['hwm_kb']], text)
        self.assertRegex(text, r'(?m)^status VmHWM +~ ')

    def test_flushed_cached_and_exact_by_member(self):
        for unit, factor in (('kB', self.page_kb), ('pages', 1)):
            text = self.text('--unit', unit)
            for member in ('anon', 'file', 'shmem', 'rss'):
                self.assertEqual(self.row(text, member),
                                 [self.process[kind][member] * factor for kind in ('flushed', 'cached', 'exact')], text)

    def test_who_caches_largest_first(self):
        lines = self.text('--unit', 'pages').splitlines()
        start = next(i for i, line in enumerate(lines) if re.match(r' +(TID|CPU) ', line))
        shown = []
        for line in lines[start + 1:]:
            cells = line.split()
            who = int(cells[0])
            numbers = cells[-5:-1] if 'tid' in self.process['cached_by'][0] else cells[1:5]
            shown.append((who, [number(cell) for cell in numbers]))
        expected = {row.get('tid', row.get('cpu')): [row['rss'], row['anon'], row['file'], row['shmem']]
                    for row in self.process['cached_by']}
        self.assertEqual(dict(shown), expected)
        sizes = [abs(numbers[0]) for _, numbers in shown]
        self.assertEqual(sizes, sorted(sizes, reverse=True))

    def test_every_unit_shows_the_same(self):
        exact = self.process['exact']['rss'] * self.document['page_size']
        for unit, size in (('kB', 1024), ('MiB', 1 << 20), ('GiB', 1 << 30), ('pages', self.document['page_size'])):
            first, _, _, _, head, *_ = self.text('--unit', unit).splitlines()
            found = re.search(rf'holds ({NUMBER}) {unit}\b', first)
            self.assertIsNotNone(found, first)
            digits = len(found.group(1).partition('.')[2])
            self.assertAlmostEqual(number(found.group(1)), exact / size, delta=0.5 * 10 ** -digits + 1e-9)
            self.assertIn(f'SAYS {unit}', head)

    def test_several_processes_each_begin_with_their_sentence(self):
        with Held('single') as other:
            ran = snapshot(self.held.pid, other.pid)
        self.assertEqual(ran.status, 0, ran)
        sentences = [line for line in ran.lines if ' holds ' in line]
        self.assertEqual(len(sentences), 2, ran.out)

    def test_a_unit_may_follow_the_command(self):
        ran = snapshot('--unit', 'pages', self.held.pid)
        self.assertIn(f'{self.process["exact"]["rss"]:,} pages', ran.lines[0])

    def test_without_utf8_text_is_ascii(self):
        for name in ('C', 'POSIX'):
            ran = snapshot(self.held.pid, env=environment(LC_ALL=name))
            self.assertEqual(ran.status, 0, ran)
            self.assertTrue(ran.raw_out.isascii(), ran.raw_out)

    def test_color_never_and_no_color(self):
        for ran in (rsslag('--color', 'never', 'snapshot', str(self.held.pid)),
                    snapshot(self.held.pid, env=environment(NO_COLOR='1'))):
            self.assertEqual(ran.status, 0, ran)
            self.assertNotIn('\x1b', ran.out)

    def test_a_demo_ends_what_it_started(self):
        ran = rsslag('demo', 'single')
        self.assertEqual((ran.status, ran.err), (0, ''), ran)
        pid = int(re.match(r'/proc/(\d+)/stat says ', ran.out).group(1))
        with self.assertRaises(FileNotFoundError):
            open(f'/proc/{pid}/stat', encoding='ascii')


if __name__ == '__main__':
    contract.main()
