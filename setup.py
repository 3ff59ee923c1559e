"""`pip install --no-build-isolation .`: builds the module with CMake for the interpreter that runs this."""
import pathlib
import re
import shutil
import subprocess
import sys

from setuptools import Extension, find_packages, setup
from setuptools.command.build_ext import build_ext

ROOT = pathlib.Path(__file__).resolve().parent


class CMakeBuild(build_ext):
    def build_extension(self, extension):
        build = ROOT / "build" / "pip"
        subprocess.run(["cmake", "-G", "Ninja", "-S", ROOT, "-B", build, "-DCMAKE_BUILD_TYPE=Release", "-DKERNBENCH_TESTS=OFF",
                        "-DCMAKE_UNITY_BUILD=ON", "-DCMAKE_UNITY_BUILD_BATCH_SIZE=0", f"-DPython_EXECUTABLE={sys.executable}"], check=True)
        subprocess.run(["cmake", "--build", build, "--target", "kernbench_python"], check=True)
        module = next((build / "python" / "kernbench").glob("_core*.so"))
        target = pathlib.Path(self.get_ext_fullpath(extension.name))
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(module, target)


version = re.search(r"project\(kernbench VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text("utf-8")).group(1)
setup(name="kernbench",
      version=version,
      description="Discrete-event simulator of multi-package AI accelerators",
      license="Apache-2.0",
      python_requires=">=3.9",
      install_requires=["numpy"],
      package_dir={"": "python"},
      packages=find_packages("python"),
      package_data={"kernbench": ["py.typed", "*.pyi"]},
      ext_modules=[Extension("kernbench._core", sources=[])],
      cmdclass={"build_ext": CMakeBuild},
      entry_points={"console_scripts": ["kernbench = kernbench._cli:main"]})
