#!/usr/bin/env python3
"""Which module includes which, and how large a module is: as docs/architecture.md has it, checked on the sources alone."""
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CLI_LINES = 4500
SHARE_PERCENT = 17

# Libraries that one module wraps for all others.
LIBRARIES = {
    "CLI/": {"cli"},
    "bpf/": {"probe", "cli"},  # cli names libbpf's version
    "curses.h": {"terminal"},
    "term.h": {"terminal"},
    "sqlite3.h": {"sinks"},
    "protozero/": {"sinks"},
    "zstd.h": {"recording"},
    "libelf.h": {"procfs"},
    "gelf.h": {"procfs"},
    "prometheus/": {"metrics"},
    "microhttpd.h": {"metrics"},
}
# Kept from the modules that are pure: no clock that waits, no files, no logging.
PURE = {"core", "view", "trace", "report"}
IMPURE = {"thread", "mutex", "condition_variable", "fstream", "fcntl.h", "poll.h", "sys/mman.h"}
# Namespaces beside the module's own.
ALSO = {"core": {"wire"}}
# Made by the build.
GENERATED = re.compile(r"(.*\.skel\.h|rsslag_version\.h|rsslag_completions\.h|report_page\.h)$")

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)
NAMESPACE = re.compile(r"^namespace rsslag::(\w+)", re.M)


def table():
    """Module to the modules that it may use: the rows of the table under "Who may use whom"."""
    text = (ROOT / "docs/architecture.md").read_text()
    section = text.split("## Who may use whom", 1)[1].split("\n## ", 1)[0]
    modules = {}
    for row in re.findall(r"^\| `(\w+)` \|([^|]*)\|", section, re.M):
        modules[row[0]] = set(re.findall(r"`(\w+)`", row[1]))
    if modules.get("cli") is not None and not modules["cli"]:
        modules["cli"] = set(modules) - {"cli"}  # "all others"
    return modules


def sources(module):
    for directory in (ROOT / "userspace" / module, ROOT / "include/rsslag" / module):
        if directory.is_dir():
            yield from (path for path in sorted(directory.iterdir()) if path.suffix in (".h", ".cpp"))


def lines(module):
    return sum(len(path.read_text().splitlines()) for path in sources(module))


def where(path, text, offset):
    return f"{path.relative_to(ROOT)}:{text.count(chr(10), 0, offset) + 1}"


class Modules(unittest.TestCase):
    def setUp(self):
        self.modules = table()

    def includes(self):
        for module in self.modules:
            for path in sources(module):
                text = path.read_text()
                for found in INCLUDE.finditer(text):
                    yield module, path, found.group(1), found.group(2), where(path, text, found.start())

    def test_the_table_lists_the_modules_that_there_are(self):
        there = {path.name for path in (ROOT / "userspace").iterdir() if path.is_dir()}
        self.assertEqual(there, set(self.modules))

    def test_no_module_uses_itself_by_way_of_others(self):
        done = set()
        while len(done) < len(self.modules):
            next_ones = {module for module, uses in self.modules.items() if module not in done and uses <= done}
            self.assertTrue(next_ones, f"a circle among {sorted(set(self.modules) - done)}")
            done |= next_ones

    def test_a_module_includes_only_those_that_it_may_use(self):
        for module, _, _, name, place in self.includes():
            parts = name.split("/")
            if parts[0] != "rsslag" or name == "rsslag/abi.h":
                continue
            with self.subTest(place):
                self.assertIn(parts[1], self.modules[module] | {module}, f"{place}: {module} includes {name}")

    def test_a_private_header_is_included_where_it_lies(self):
        for _, path, kind, name, place in self.includes():
            if kind != '"' or name.startswith("rsslag/") or GENERATED.match(name):
                continue
            with self.subTest(place):
                self.assertTrue((path.parent / name).is_file(), f"{place}: {name} is private to another module")

    def test_a_library_has_its_room(self):
        for module, _, _, name, place in self.includes():
            for prefix, may in LIBRARIES.items():
                if name == prefix or (prefix.endswith("/") and name.startswith(prefix)):
                    self.assertIn(module, may, f"{place}: {module} includes {name}")

    def test_pure_modules_neither_wait_nor_log(self):
        for module, _, _, name, place in self.includes():
            if module in PURE:
                self.assertFalse(name in IMPURE or name.startswith("spdlog/"), f"{place}: {module} includes {name}")

    def test_a_module_links_only_to_those_that_it_may_use(self):
        for module, uses in self.modules.items():
            text = (ROOT / "userspace" / module / "CMakeLists.txt").read_text()
            text = re.sub(r"add_executable.*", "", text, flags=re.S)
            self.assertLessEqual(set(re.findall(r"rsslag::(\w+)", text)), uses, f"userspace/{module}/CMakeLists.txt")

    def test_namespaces_follow_modules(self):
        for module in self.modules:
            for path in sources(module):
                text = path.read_text()
                for found in NAMESPACE.finditer(text):
                    self.assertIn(found.group(1), {module} | ALSO.get(module, set()), where(path, text, found.start()))

    def test_the_command_line_is_thin(self):
        self.assertLessEqual(lines("cli"), CLI_LINES)

    def test_no_module_is_an_attic(self):
        sizes = {module: lines(module) for module in self.modules}
        whole = sum(sizes.values()) + sum(
            len(path.read_text().splitlines()) for path in (ROOT / "include/rsslag").glob("*.h"))
        for module, size in sizes.items():
            self.assertLessEqual(100 * size, SHARE_PERCENT * whole, f"{module} has {size} of {whole} lines")
        if "-v" in sys.argv:
            for module, size in sorted(sizes.items(), key=lambda each: -each[1]):
                print(f"{module:12} {size:6} {100 * size / whole:5.1f} %")


if __name__ == "__main__":
    unittest.main()
