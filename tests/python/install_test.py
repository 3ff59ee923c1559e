"""What is said where the module does not load: it is not there, or it is another interpreter's."""
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(os.environ["KERNBENCH_SOURCE"])


def import_from(folder):
    done = subprocess.run([sys.executable, "-c", "import kernbench"], env={**os.environ, "PYTHONPATH": str(folder)}, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 1
    return done.stdout.strip().splitlines()[-1]


@pytest.fixture
def package(tmp_path):
    shutil.copytree(ROOT / "python" / "kernbench", tmp_path / "kernbench", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def test_a_package_without_its_module_says_how_to_build_it(package):
    assert "kernbench._core is not in" in import_from(package) and "make python" in import_from(package)


def test_a_module_of_another_interpreter_is_named(package):
    (package / "kernbench" / "_core.cpython-27-x86_64-linux-gnu.so").write_bytes(b"")
    said = import_from(package)
    assert f"does not load in {sys.executable} (Python {sys.version_info.major}.{sys.version_info.minor})" in said
    assert "_core.cpython-27-x86_64-linux-gnu.so" in said and "-DPython_EXECUTABLE" in said


def test_import_without_numpy_names_numpy_and_the_remedy(package):
    (package / "numpy.py").write_text("raise ModuleNotFoundError(\"No module named 'numpy'\", name='numpy')")
    said = import_from(package)
    assert "kernbench needs NumPy" in said and "apt-get install python3-numpy" in said and "interpreter it was built for" not in said


def test_the_command_line_is_the_packages_too():
    done = subprocess.run([sys.executable, "-m", "kernbench", "run", "--bench", "ccl-allreduce", "--topology", "small", "--verify-data"],
                          text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 0 and "OK" in done.stdout, done.stdout
