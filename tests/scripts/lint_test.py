#!/usr/bin/env python3
"""Which sources scripts/lint.py --changed looks at, in repositories of the test's own."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import lint


class ChangedFiles(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name).resolve() / "tree"
        self.root.mkdir()
        self.git("init", "-q", "-b", "main")
        for name in ("a", "b"):
            self.commit(f"{name}.cpp", f'#include "{name}.hpp"\n')
        self.commit("a.hpp", "\n")
        self.commit("b.hpp", '#include "a.hpp"\n')
        self.addCleanup(setattr, lint, "ROOT", lint.ROOT)
        lint.ROOT = self.root

    def git(self, *words, cwd=None):
        subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *words], cwd=cwd or self.root, check=True,
                       stdout=subprocess.DEVNULL, env={**os.environ, "GIT_CONFIG_GLOBAL": os.devnull})

    def commit(self, name, text):
        (self.root / name).write_text(text)
        self.git("add", name)
        self.git("commit", "-q", "-m", name)

    def changed(self):
        files = lint.changed_files()
        return None if files is None else sorted(file.name for file in files)

    def test_on_main_the_last_commit_counts(self):
        self.assertEqual(self.changed(), ["b.hpp"])

    def test_on_a_branch_everything_since_main_counts_with_what_is_not_committed(self):
        self.git("checkout", "-q", "-b", "work")
        self.commit("a.cpp", "int a;\n")
        self.commit("c.cpp", "int c;\n")
        self.commit("notes.md", "no source\n")
        (self.root / "b.cpp").write_text("int b;\n")
        (self.root / "new.hpp").write_text("\n")
        self.assertEqual(self.changed(), ["a.cpp", "b.cpp", "c.cpp", "new.hpp"])

    def test_a_shallow_clone_has_no_base(self):
        clone = self.root.parent / "clone"
        self.git("clone", "-q", "--depth", "1", f"file://{self.root}", str(clone), cwd=self.root.parent)
        lint.ROOT = clone
        self.assertIsNone(self.changed())

    def test_header_is_looked_at_through_the_source_of_its_name(self):
        commands = {self.root / f"{name}.cpp": f"c++ -I{self.root}" for name in ("a", "b")}
        reached = lambda name: [source.name for source in lint.sources_that_reach([self.root / name], commands)]
        self.assertEqual(reached("a.hpp"), ["a.cpp"])  # b.cpp includes it too
        self.assertEqual(reached("b.hpp"), ["b.cpp"])
        self.assertEqual(reached("unused.hpp"), [])


if __name__ == "__main__":
    unittest.main()
