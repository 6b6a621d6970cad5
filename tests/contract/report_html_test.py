#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""report --html: a page to send. --long also opens it in a browser."""
import html.parser
import re
import shutil
import tempfile
import unittest
from pathlib import Path

import contract
from browser import Browser, needs_chromium
from contract import assert_one_error_line, long_only, rsslag
from forger import Forger, attach, reading, task, tick_end

RECORDINGS = Path(__file__).parents[2] / 'docs/recordings'
RECORDING = RECORDINGS / 'classic-6.1.rsslag'
WITH_STACKS = Path(__file__).parents[1] / 'fuzz/corpus/fuzz_recording/stacks-6.18'


class Document(html.parser.HTMLParser):
    """Collects the text of cells, and elements that would load or run something."""

    def __init__(self, text):
        super().__init__()
        self.cells, self.scripts, self.loads, self.inside = [], 0, [], None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.inside = tag
        self.scripts += tag == 'script'
        if tag in ('img', 'iframe', 'link', 'object', 'embed', 'a', 'form') or any(
                name.startswith('on') or name in ('src', 'href', 'style') for name, _ in attrs):
            self.loads.append((tag, attrs))
        if tag == 'td':
            self.cells.append('')

    def handle_endtag(self, tag):
        self.inside = None

    def handle_data(self, data):
        if self.inside == 'td':
            self.cells[-1] += data


class Page(unittest.TestCase):
    def setUp(self):
        self.directory = Path(tempfile.mkdtemp(prefix='rsslag-contract-'))
        self.addCleanup(shutil.rmtree, self.directory)

    def page(self, recording=RECORDING):
        path = self.directory / 'page.html'
        ran = rsslag('report', '--html', path, recording)
        self.assertEqual((ran.status, ran.err), (0, ''), ran)
        return path

    def test_it_is_one_file_that_loads_nothing(self):
        for recording in sorted(RECORDINGS.glob('*.rsslag')):
            path = self.page(recording)
            document = Document(path.read_text())
            self.assertEqual((document.scripts, document.loads), (2, []))
            self.assertEqual(path.stat().st_mode & 0o777, 0o600)
            path.unlink()

    def test_it_has_the_figures_of_the_report(self):
        cells = Document(self.page().read_text()).cells
        report = rsslag('report', '--json', RECORDING).document()
        for process in report['processes']:
            self.assertIn(process['comm'], cells)
            self.assertIn(str(process['pid']), cells)
            kb = f"{process['peak']['peak_max'] * report['header']['page_size'] // 1024:,} kB"
            self.assertTrue(any(kb in cell for cell in cells), kb)
        self.assertIn(f"{report['records']:,}", cells)

    def test_it_has_flame_graphs(self):
        text = self.page(WITH_STACKS).read_text()
        document = Document(text)
        self.assertEqual((document.scripts, document.loads), (3, []))
        self.assertEqual(text.count('>Pages that came<'), 1)
        self.assertRegex(text, '<title>__libc_early_init: ')
        self.assertNotIn('Flame graphs', self.page_text(RECORDING))

    def page_text(self, recording):
        (self.directory / 'page.html').unlink()
        return self.page(recording).read_text()

    def test_it_replaces_nothing_unless_that_is_asked_for(self):
        path = self.page()
        assert_one_error_line(self, rsslag('report', '--html', path, RECORDING), 2)
        self.assertEqual(rsslag('report', '--force', '--html', path, RECORDING).status, 0)
        assert_one_error_line(self, rsslag('report', '--html', path, '--diff', RECORDING, RECORDING), 2)

    def test_both_pictures_at_once(self):
        svg, page = self.directory / 'a.svg', self.directory / 'a.html'
        self.assertEqual(rsslag('report', '--svg', svg, '--html', page, RECORDING).status, 0)
        self.assertTrue(svg.exists() and page.exists())


@long_only('it opens a browser')
@needs_chromium
class InABrowser(Page):
    def opened(self, path):
        browser = Browser(path.as_uri())
        self.addCleanup(self.assert_quiet, browser, path)
        return browser

    def assert_quiet(self, browser, path):
        self.assertEqual(browser.console, [])
        self.assertEqual(browser.requests, [path.as_uri()])

    def box(self, browser):
        return browser.run('(() => { const svg = document.querySelector("section:not(.hidden) svg"); svg.scrollIntoView();'
                           ' const box = svg.getBoundingClientRect(); return {x: box.x, y: box.y, w: box.width, h: box.height}; })()')

    def times(self, browser):
        """The first and the last time on the axis of the visible chart."""
        words = browser.run('[...document.querySelectorAll("section:not(.hidden) svg text")].map(each => each.textContent)')
        return [float(word[:-2].replace(',', '')) for word in words if re.fullmatch(r'[\d,.]+ s', word)]

    def test_zoom_and_hover(self):
        with self.opened(self.page()) as browser:
            box = self.box(browser)
            whole = self.times(browser)
            self.assertEqual(whole[0], 0)
            middle = box['y'] + box['h'] / 3
            browser.mouse('mouseMoved', box['x'] + box['w'] / 2, middle)
            told = browser.run('document.querySelector("section:not(.hidden) output").textContent')
            self.assertRegex(told, r'^[\d.,]+ s · exact [\d,]+ kB.* · lag [\d,]+ kB')
            browser.drag(box['x'] + box['w'] * .4, middle, box['x'] + box['w'] * .6)
            near = self.times(browser)
            self.assertGreater(near[0], whole[0])
            self.assertLess(near[-1], whole[-1])
            browser.run('document.querySelector("section:not(.hidden) button[data-does=all]").click()')
            self.assertEqual(self.times(browser), whole)
            browser.run('document.querySelector("section:not(.hidden) svg").focus()')
            for key in ('+', 'ArrowRight'):
                browser.call('Input.dispatchKeyEvent', type='keyDown', key=key, text=key if len(key) == 1 else '')
            moved = self.times(browser)
            self.assertLess(moved[-1] - moved[0], (whole[-1] - whole[0]) * .6)
            self.assertGreater(moved[0], whole[0])

    def column(self, browser, number):
        return browser.run(f'[...document.querySelectorAll("table.able tbody tr")].map(row => +row.cells[{number}].dataset.v)')

    def test_sort_and_choose(self):
        file = self.directory / 'many'
        file.write_bytes(Forger().recording([b''.join(
            attach(100 + i, 4096 * (i + 1)) + reading(100 + i, 4096 * (i + 1), task(100 + i, 100 + i), 1) for i in range(5)) + tick_end()]))
        with self.opened(self.page(file)) as browser:
            rows = self.column(browser, 1)
            self.assertEqual(len(rows), 5)
            click = 'document.querySelectorAll("table.able th button")[1].click()'
            browser.run(click)
            self.assertEqual(self.column(browser, 1), sorted(rows, reverse=True))
            browser.run(click)
            self.assertEqual(self.column(browser, 1), sorted(rows))
            browser.run('document.querySelectorAll("table.able tbody tr")[3].click()')
            shown = browser.run('[...document.querySelectorAll("section:not(.hidden) h2")].map(each => each.textContent)')
            self.assertEqual(len(shown), 1)
            self.assertIn('[103]', shown[0])
            self.assertEqual(browser.run('document.querySelectorAll("section:not(.hidden) svg").length'), 1)

    def test_flame_graph(self):
        with self.opened(self.page(WITH_STACKS)) as browser:
            boxes = """document.querySelectorAll('.flame .panel')[0].querySelectorAll('.box')"""
            width = f"""[...{boxes}].find(box => box.querySelector('title').textContent.startsWith('__libc_early_init: ')).querySelector('rect').width.baseVal.value"""
            before, whole = browser.run(width), browser.run(f"{boxes}[0].querySelector('rect').width.baseVal.value")
            self.assertLess(before, whole)
            browser.run(f"""[...{boxes}].find(box => box.querySelector('title').textContent.startsWith('__libc_early_init: '))
                            .dispatchEvent(new MouseEvent('click', {{bubbles: true}}))""")
            self.assertAlmostEqual(browser.run(width), whole, delta=0.01)
            browser.run("document.querySelector('.flame input').focus()")
            browser.call('Input.insertText', text='early_init')
            self.assertGreater(browser.run("document.querySelectorAll('.flame .hit').length"), 0)

    def test_light_dark_and_paper(self):
        with self.opened(self.page()) as browser:
            colours = set()
            for scheme in ('light', 'dark'):
                browser.call('Emulation.setEmulatedMedia', features=[{'name': 'prefers-color-scheme', 'value': scheme}])
                colours.add(browser.run('getComputedStyle(document.body).backgroundColor'))
            self.assertEqual(len(colours), 2)
            self.assertGreater(len(browser.call('Page.printToPDF')['data']), 10_000)


if __name__ == '__main__':
    contract.main()
