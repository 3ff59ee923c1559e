#!/usr/bin/env python3
"""Installs KernBench into a folder, builds the project that docs/machine-files.md shows against it, and runs it.

Usage: install_test.py BUILD_DIR CXX_COMPILER
"""
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve()
sys.path.insert(0, str(HERE.parents[1] / "docs"))
from markdown import blocks  # noqa: E402

GUIDE = HERE.parents[2] / "docs" / "machine-files.md"
COMPILER = sys.argv.pop()
BUILD = sys.argv.pop()


def run(*command, folder=None):
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))} failed:\n{done.stdout}")
    return done.stdout


class Install(unittest.TestCase):
    def test_a_users_project_finds_builds_and_runs(self):
        with tempfile.TemporaryDirectory() as temporary:
            prefix, project = pathlib.Path(temporary, "prefix"), pathlib.Path(temporary, "acme")
            run("cmake", "--install", BUILD, "--prefix", prefix)
            self.assertIn("256 PEs", run(prefix / "bin" / "kernbench", "topology", "show"))
            project.mkdir()
            script = None
            for block in blocks(GUIDE):
                for word in block.info:
                    if word.startswith("file="):
                        (project / word[len("file="):]).write_text(block.text)
                    if word == "run-with=acme":
                        script = block.text
            self.assertIsNotNone(script)
            run("cmake", "-G", "Ninja", "-S", project, "-B", project, f"-DCMAKE_PREFIX_PATH={prefix}",
                f"-DCMAKE_CXX_COMPILER={COMPILER}", "-DCMAKE_BUILD_TYPE=Debug")
            run("cmake", "--build", project)
            said = run("bash", "-euo", "pipefail", "-c", script, folder=project)
            self.assertIn("fill_cycles: cycles to fill the array", said)
            self.assertIn("impl acme.systolic", said)


if __name__ == "__main__":
    unittest.main()
