"""The code of docs/python.md runs, and mypy has nothing to say about it and the stubs."""
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(os.environ["KERNBENCH_SOURCE"])
GUIDE = ROOT / "docs" / "python.md"


def blocks():
    return re.findall(r"^```python\n(.*?)^```", GUIDE.read_text(), re.S | re.M)


def test_the_guide_runs_from_top_to_bottom(tmp_path):
    code = tmp_path / "guide.py"
    code.write_text("\n".join(blocks()))
    done = subprocess.run([sys.executable, str(code)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    assert "guide.py" in done.stdout  # the critical path shows lines of it


def test_every_name_of_the_module_has_a_stub():
    from kernbench import _core
    stubs = (ROOT / "python" / "kernbench" / "_core.pyi").read_text()
    missing = [name for name in vars(_core) if not name.startswith("__") and not re.search(rf"^(class|def) {name}\b", stubs, re.M)]
    assert missing == [], "run scripts/make_stubs.py"


@pytest.mark.skipif(shutil.which("mypy") is None, reason="mypy is not installed")
def test_mypy_accepts_the_stubs_and_the_guide(tmp_path):
    code = tmp_path / "guide.py"
    code.write_text("\n".join(blocks()))
    environment = dict(os.environ, MYPYPATH=str(ROOT / "python"))
    done = subprocess.run([shutil.which("mypy"), "--cache-dir", str(tmp_path / "cache"), "--python-executable", sys.executable,
                           str(ROOT / "python" / "kernbench" / "_core.pyi"), str(code)],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment)
    assert done.returncode == 0, done.stdout
