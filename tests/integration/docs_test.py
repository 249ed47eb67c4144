"""The commands that README.md and docs/cli.md show print what they show there, and documents show the figures of
docs/validation.

A block of a page that has lines "$ foretoken ..." is run against a server with the bundled catalog; after each such line
comes its output, to its end or to a line "...", or nothing where the page shows none.

    docs_test.py --update    # writes what the commands print now into the pages
"""

import os
import re
import subprocess
import sys
import unittest

from support.server_process import BINARY_DIR, ServerProcess

ROOT = os.environ["FORETOKEN_SOURCE_DIR"]
sys.path.insert(0, os.path.join(ROOT, "tests", "validation"))
import report  # of tests/validation

PAGES = ["README.md", "docs/cli.md"]
BLOCK = re.compile(r"(?<=^```\n)\$ foretoken .*?(?=^```$)", re.S | re.M)
SHOWN = re.compile(r"^\$ (foretoken (?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", re.M)
REST = "...\n"


class Shown:
    """A command of a page, and what the page prints under it."""

    def __init__(self, match):
        self.command, self.text = match.group(1), match.group(2)

    def run(self, server):
        environment = {**os.environ, "FORETOKEN_SERVER": server.address,
                       "PATH": f"{BINARY_DIR}:{os.environ['PATH']}"}
        done = subprocess.run(["bash", "-c", self.command], cwd=ROOT, env=environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=120, check=False)
        return self.as_shown(done.stdout)

    def as_shown(self, printed):
        """As much of what was printed as the page shows."""
        if not self.text:
            return ""
        lines = printed.splitlines(keepends=True)
        if not self.text.endswith(REST):
            return printed
        return "".join(lines[:self.text.count("\n") - 1]) + REST


class Docs(unittest.TestCase):
    maxDiff = None

    def test_pages(self):
        with ServerProcess(store="memory:") as server:
            for page in PAGES:
                with open(os.path.join(ROOT, page), encoding="utf-8") as file:
                    blocks = BLOCK.findall(file.read())
                self.assertTrue(blocks, page)
                for shown in (Shown(match) for block in blocks for match in SHOWN.finditer(block)):
                    with self.subTest(page=page, command=shown.command):
                        self.assertEqual(shown.run(server), shown.text, "docs_test.py --update writes it anew")

    def test_figures(self):
        for path, wanted in report.documents().items():
            with self.subTest(page=path), open(os.path.join(ROOT, path), encoding="utf-8") as file:
                self.assertEqual(file.read(), wanted, "tests/validation/report.py writes it anew")

    # Without its markers README.md would show nothing, and agree with every figure.
    def test_readme_has_its_accuracy(self):
        with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as file:
            self.assertEqual(len(report.BLOCK.findall(file.read())), 1)

    def test_readme_counts_the_catalog(self):
        def entries(kind):
            return len(os.listdir(os.path.join(ROOT, "catalogs", kind)))

        with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as file:
            self.assertIn(f"{entries('hardware')} devices and {entries('models')} models", file.read())


def update():
    with ServerProcess(store="memory:") as server:
        for page in PAGES:
            path = os.path.join(ROOT, page)
            with open(path, encoding="utf-8") as file:
                text = file.read()

            def renewed(match):
                return f"$ {match.group(1)}\n{Shown(match).run(server)}"

            text = BLOCK.sub(lambda block: SHOWN.sub(renewed, block.group(0)), text)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)


if __name__ == "__main__":
    if sys.argv[1:] == ["--update"]:
        update()
    else:
        unittest.main()
