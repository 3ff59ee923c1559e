"""Why the package does not load: NumPy is missing, it was not built, or it was built for another interpreter."""
import pathlib
import sys


def explain(error):
    here = pathlib.Path(__file__).parent
    built = sorted(file.name for file in here.glob("_core*.so"))
    mine = f"{sys.executable} (Python {sys.version_info.major}.{sys.version_info.minor})"
    if isinstance(error, ModuleNotFoundError) and error.name == "numpy":
        return f"kernbench needs NumPy, which {mine} does not have: install it (Debian: apt-get install python3-numpy; elsewhere: pip install numpy)"
    if not built:
        return f"kernbench._core is not in {here}: build it with `make python`, or install with `pip install --no-build-isolation .`"
    return (f"kernbench._core does not load in {mine}: {error}. There is {', '.join(built)}: use the interpreter it was built for, "
            "or build it for this one with -DPython_EXECUTABLE=…")
