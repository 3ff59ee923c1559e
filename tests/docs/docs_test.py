#!/usr/bin/env python3
"""Documentation that runs: shell blocks marked `sh run` succeed, links lead somewhere, the picture is current.

Usage: docs_test.py KERNBENCH_BINARY [--slow]: with --slow, blocks marked `sh run slow` instead, which take minutes.
"""
import collections
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from markdown import blocks, relative_links, shown_output

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = pathlib.Path(sys.argv.pop(1)).resolve()
SLOW = "--slow" in sys.argv
if SLOW:
    sys.argv.remove("--slow")
# How many blocks of each page run: (marked `sh run`, marked `sh run slow`). Pages that are not named have none.
BLOCKS = {"README.md": (7, 0), "docs/attention.md": (8, 1), "docs/benches.md": (7, 0), "docs/collectives.md": (1, 0), "docs/energy.md": (3, 0),
          "docs/machine-files.md": (3, 0), "docs/models.md": (4, 2), "docs/run-files.md": (6, 0), "docs/seeing.md": (8, 0), "docs/sweeps.md": (1, 0)}
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "src").rglob("*.md")])


class Docs(unittest.TestCase):
    def test_shell_blocks_run(self):
        ran = collections.Counter()
        wanted = ["sh", "run", "slow"] if SLOW else ["sh", "run"]
        environment = dict(os.environ, PATH=f"{BINARY.parent}:{os.environ['PATH']}")
        for page in PAGES:
            with tempfile.TemporaryDirectory() as folder:
                for block in blocks(page):
                    if block.info != wanted:
                        continue
                    with self.subTest(block.where):
                        done = subprocess.run(["bash", "-euo", "pipefail", "-c", block.text], cwd=folder, env=environment,
                                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
                        self.assertEqual(done.returncode, 0, done.stdout)
                        self.check_comments(block.text, done.stdout)
                        ran[page.relative_to(ROOT).as_posix()] += 1
        self.assertEqual(dict(ran), {page: count[SLOW] for page, count in BLOCKS.items() if count[SLOW]})

    def check_comments(self, text, output):
        """A line `# kernbench: …` in a block, and those indented below it, are what the program says; so is `#> …`."""
        expected = [line[2:] for line in text.splitlines() if line.startswith("# kernbench: ") or line.startswith("#   ")]
        for line in expected + shown_output(text):
            self.assertIn(line, output)

    def test_links_lead_to_files(self):
        for page in PAGES:
            for target in relative_links(page):
                with self.subTest(f"{page.relative_to(ROOT)}: {target}"):
                    self.assertTrue((page.parent / target).exists())

    def test_files_shown_are_those_of_the_examples(self):
        folders = {"own-models.md": ROOT / "examples" / "own_models"}
        for page, folder in folders.items():
            for block in blocks(ROOT / "docs" / page):
                for name in [word[len("file="):] for word in block.info if word.startswith("file=")]:
                    with self.subTest(block.where):
                        self.assertEqual(block.text, (folder / name).read_text())

    def test_every_decision_is_in_the_index(self):
        index = (ROOT / "docs/adr/README.md").read_text()
        for page in (ROOT / "docs/adr").glob("[0-9]*.md"):
            self.assertIn(f"]({page.name})", index)

    def test_the_picture_is_what_the_program_draws(self):
        drawn = subprocess.run([BINARY, "topology", "draw", "-o", "-"], stdout=subprocess.PIPE, text=True, check=True).stdout
        self.assertEqual(drawn, (ROOT / "docs/images/floor-plan.svg").read_text(),
                         "draw it again: kernbench topology draw -o docs/images/floor-plan.svg")

    def test_the_picture_of_a_wiring_has_the_links_that_the_program_draws(self):
        drawn = subprocess.run([BINARY, "ccl", "plan", "--ccl", "default", "--draw", "-"], stdout=subprocess.PIPE, text=True, check=True).stdout
        coloured = lambda svg: [line for line in svg.splitlines() if "style=" in line]
        self.assertGreater(len(coloured(drawn)), 100)
        self.assertEqual(coloured(drawn), coloured((ROOT / "docs/images/wiring.svg").read_text()),
                         "draw it again: kernbench ccl plan --ccl default --draw docs/images/wiring.svg")


if __name__ == "__main__":
    unittest.main()
