#!/usr/bin/env python3
"""Installs KernBench into a folder, builds against it what the guides show, and runs it: the project of docs/machine-files.md and
examples/first_kernel with the commands of docs/first-kernel.md.

Usage: install_test.py BUILD_DIR CXX_COMPILER
"""
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve()
sys.path.insert(0, str(HERE.parents[1] / "docs"))
from markdown import blocks, shown_output  # noqa: E402

ROOT = HERE.parents[2]
GUIDE = ROOT / "docs" / "machine-files.md"
COMPILER = sys.argv.pop()
BUILD = sys.argv.pop()


def run(*command, folder=None):
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))} failed:\n{done.stdout}")
    return done.stdout


def scripts(guide, program):
    found = [block.text for block in blocks(guide) if f"run-with={program}" in block.info]
    if not found:
        raise AssertionError(f"{guide} has nothing to run with {program}")
    return found


class Install(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.temporary.cleanup)
        cls.prefix = pathlib.Path(cls.temporary.name, "prefix")
        run("cmake", "--install", BUILD, "--prefix", cls.prefix)

    def build(self, project):
        """In a folder of its own."""
        folder = pathlib.Path(self.temporary.name, project.name + "-build")
        run("cmake", "-G", "Ninja", "-S", project, "-B", folder, f"-DCMAKE_PREFIX_PATH={self.prefix}",
            f"-DCMAKE_CXX_COMPILER={COMPILER}", "-DCMAKE_BUILD_TYPE=Debug")
        run("cmake", "--build", folder)
        return folder

    def say(self, script, folder):
        said = run("bash", "-euo", "pipefail", "-c", script, folder=folder)
        for line in shown_output(script):
            self.assertIn(line, said)
        return said

    def test_the_installed_program_runs(self):
        self.assertIn("256 PEs", run(self.prefix / "bin" / "kernbench", "topology", "show"))

    def test_it_needs_no_files(self):
        empty = pathlib.Path(self.temporary.name, "empty")
        empty.mkdir()
        kernbench = self.prefix / "bin" / "kernbench"
        self.assertEqual(run(kernbench, "run", "--bench", "va-offset-verify", "n_elem=64", "--verify-data", "--quiet", folder=empty),
                         "va-offset-verify 128 PEs × 64 f16: 0.030 us: OK\n")
        self.assertTrue(run(kernbench, "run", "--bench", "ccl-allreduce", "n_elem=64", "--verify-data", "--quiet", folder=empty)
                        .startswith("intercube_allreduce (ws=2): 32 OK\n"))
        self.assertEqual(list(empty.iterdir()), [])

    def test_a_users_project_finds_builds_and_runs(self):
        project = pathlib.Path(self.temporary.name, "acme")
        project.mkdir()
        for block in blocks(GUIDE):
            for word in block.info:
                if word.startswith("file="):
                    (project / word[len("file="):]).write_text(block.text)
        folder = self.build(project)
        said = "".join(self.say(script, folder) for script in scripts(GUIDE, "acme"))
        self.assertIn("fill_cycles: cycles to fill the array", said)
        self.assertIn("impl acme.systolic", said)

    def test_models_from_outside_the_tree_are_like_those_that_ship(self):
        guide = ROOT / "docs" / "own-models.md"
        folder = self.build(ROOT / "examples" / "own_models")
        said = "".join(self.say(script, folder) for script in scripts(guide, "acme_models"))
        for name in ["systolic", "small_first", "late_fee", "first_ready", "windowed_dma"]:
            self.assertIn(f"acme.{name}", said)
        self.assertEqual(len(re.findall(r"mine\.yaml:[0-9]+:[0-9]+: a hit is slower than a miss", said)), 2)
        self.assertRegex(said, r"mine\.yaml:[0-9]+:[0-9]+: unknown key 'hit_ms'")
        with_trains, by_packets = re.findall(r"^gpt3-qkv .*", said, re.MULTILINE)
        self.assertEqual(with_trains, by_packets)
        self.assertIn("acme.first_ready: first-ready scheduling with a cap", said)
        self.assertIn("cap: hits that may pass an older burst", said)
        self.assertIn("--set cube.hbm.hit_ns=100: a hit is slower than a miss", said)

    def test_the_first_kernel_says_what_its_guide_says(self):
        folder = self.build(ROOT / "examples" / "first_kernel")
        said = "".join(self.say(script, folder) for script in scripts(ROOT / "docs" / "first-kernel.md", "first_kernel"))
        self.assertIn("axpy: y += a · x over all PEs of a SIP", said)
        self.assertTrue((folder / "realistic.json").exists())


if __name__ == "__main__":
    unittest.main()
