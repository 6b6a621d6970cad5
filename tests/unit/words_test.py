#!/usr/bin/env python3
"""Checks that files use the terms of docs/words.md, and none of the words that it excludes. Reads only sources."""
import collections
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = "docs/words.md"
TERMS = "Terms in use"
NOT_USED = "Not used"

PRODUCT = ("bpf", "include", "userspace", "docs", "README.md", "CONTRIBUTING.md")
CODE = ("bpf", "include", "userspace", "docs/schema")
# Recordings are binary, with some lines of text in their headers.
EXCLUDED = ("docs/recordings",)

# A space in a pattern also matches the end of a line and the comment marker of the next one.
SPACE = r"\s+(?:(?://[/!]?<?|\*|#|\.\\\")\s*)?"


def section(heading):
    """The text below this heading of the page, and the number of its first line."""
    text = (ROOT / PAGE).read_text()
    before, rest = text.split(f"\n## {heading}\n", 1)
    return rest.split("\n## ", 1)[0], before.count("\n") + 3


def rows(heading):
    """The cells of each row of the table below this heading. In a cell, \\| means |."""
    for line in section(heading)[0].splitlines():
        if not line.startswith("| ") or line.startswith("|---"):
            continue
        cells = re.split(r"(?<!\\)\|", line)[1:-1]
        yield [cell.strip().replace(r"\|", "|") for cell in cells]


def table(heading):
    return list(rows(heading))[1:]  # the first row has the names of the columns


def texts(places):
    """Path and text of each text file below this path."""
    for place in places:
        top = ROOT / place
        for path in sorted(top.rglob("*")) if top.is_dir() else [top]:
            name = path.relative_to(ROOT).as_posix()
            if not path.is_file() or "__pycache__" in path.parts or name.startswith(EXCLUDED):
                continue
            try:
                yield name, path.read_text(encoding="utf-8")
            except UnicodeDecodeError:
                continue


def without_patterns(name, text):
    """The page itself contains the words. Its lines of that section are replaced by blank lines, to keep the line numbers."""
    if name != PAGE:
        return text
    listed = section(NOT_USED)[0]
    return text.replace(listed, "\n" * listed.count("\n"))


def whole_words(*patterns):
    """One expression for all patterns. The name of the matching group is _ and the number of the pattern."""
    groups = (f"(?P<_{number}>{pattern.replace(' ', SPACE)})" for number, pattern in enumerate(patterns))
    return re.compile(rf"(?<!\w)(?:{'|'.join(groups)})(?!\w)", re.I)


def quoted(cell):
    return re.findall(r"`([^`]+)`", cell)


def allowed(text, start, end, exceptions):
    """Whether the match is within one of the texts in which the word is allowed."""
    for exception in exceptions:
        first = text.find(exception, max(0, start - len(exception)))
        while 0 <= first <= start:
            if end <= first + len(exception):
                return True
            first = text.find(exception, first + 1)
    return False


class Words(unittest.TestCase):
    def test_terms_are_unique_and_in_alphabetical_order(self):
        terms = [row[0] for row in table(TERMS)]
        self.assertGreater(len(terms), 30)
        self.assertEqual(terms, sorted(set(terms)))

    def test_every_row_is_complete(self):
        for heading, needed in ((TERMS, (0, 2)), (NOT_USED, (0, 1))):
            for row in table(heading):
                with self.subTest(row):
                    self.assertEqual(len(row), 3)
                    self.assertTrue(all(row[cell] for cell in needed), row)

    def test_the_name_of_a_term_is_used_in_the_code(self):
        words = set()
        for _, text in texts(CODE):
            words.update(re.findall(r"\w+", text))
        for term, names, _ in table(TERMS):
            for name in quoted(names):
                self.assertTrue(name in words, f"{PAGE}: the code has no {name}, the name of the term '{term}'")

    def test_an_exception_has_a_reason_and_is_needed(self):
        everything = [text for _, text in texts(PRODUCT)]
        for pattern, _, exceptions in table(NOT_USED):
            for exception in quoted(exceptions):
                with self.subTest(exception):
                    self.assertRegex(exceptions, "`" + re.escape(exception) + "`: +\\S", "it has no reason")
                    self.assertRegex(exception, whole_words(quoted(pattern)[0]), "it does not contain the word")
                    self.assertTrue(any(exception in text for text in everything), "no file contains it")

    def test_no_file_contains_a_word_that_is_not_used(self):
        listed = table(NOT_USED)
        words = whole_words(*(quoted(row[0])[0] for row in listed))
        hits = []
        for name, text in texts(PRODUCT):
            text = without_patterns(name, text)
            for found in words.finditer(text):
                _, instead, exceptions = listed[int(found.lastgroup[1:])]
                if allowed(text, found.start(), found.end(), quoted(exceptions)):
                    continue
                line = text.count("\n", 0, found.start()) + 1
                hits.append((name, line, f"'{' '.join(found.group().split())}', not used: {instead}"))
        if "-v" in sys.argv:
            for place, count in collections.Counter(name.rpartition("/")[0] or name for name, *_ in hits).most_common():
                print(f"{count:6} {place}")
        if hits:
            lines = "\n".join(f"{name}:{line}: {what}" for name, line, what in hits)
            self.fail(f"{len(hits)} words that {PAGE} does not allow:\n{lines}")


if __name__ == "__main__":
    unittest.main()
