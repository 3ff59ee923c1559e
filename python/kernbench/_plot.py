"""`kernbench plot DIR`: draws what the sweep in DIR says to plot."""
import argparse
import json
import pathlib
import sys

# Okabe and Ito's colours, which the colour-blind can tell apart; with a marker each, so that paper without colour does too.
COLOURS = ["#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#000000", "#F0E442"]
MARKERS = ["o", "s", "^", "D", "v", "P", "X", "*"]
UNITS = {"_ns": "ns", "_us": "µs", "_gbs": "GB/s", "_bytes": "bytes", "tflops": "TFLOP/s", "_ghz": "GHz", "_mb": "MiB"}


def label(name):
    """`pe_exec_ns` is `pe_exec (ns)`."""
    short = name.removeprefix("results.")
    for end, unit in UNITS.items():
        if short.endswith(end):
            return f"{short.removesuffix(end).rstrip('_') or short} ({unit})"
    return f"{short} (0 … 1)" if name.startswith("utilization.") else short


def lines_of(rows, plot):
    """{name of the line: [(x, y)]}, in the order of the rows; points without a number are left out."""
    lines = {}
    for row in rows:
        x, y = row[plot["x"]], row[plot["y"]]
        if isinstance(x, (int, float)) and isinstance(y, (int, float)):
            lines.setdefault(str(row[plot["lines"]]) if plot["lines"] else "", []).append((x, y))
    return lines


def draw(folder, formats=("png", "svg", "pdf")):
    """Writes the figure in each format and returns the files."""
    import matplotlib
    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "kernbench"  # the same picture each time
    from matplotlib import pyplot
    from ._sweep import read_results
    folder = pathlib.Path(folder)
    sweep = json.loads((folder / "sweep.json").read_text())
    plot = sweep["plot"]
    figure, axes = pyplot.subplots(figsize=(7, 4.5), layout="constrained")
    for i, (name, points) in enumerate(lines_of(read_results(folder), plot).items()):
        axes.plot(*zip(*points), label=name, color=COLOURS[i % len(COLOURS)], marker=MARKERS[i % len(MARKERS)], markersize=5)
    axes.set_xlabel(label(plot["x"]))
    axes.set_ylabel(label(plot["y"]))
    axes.set_title(f"{sweep['bench']} on {sweep['machine']}")
    axes.grid(True, alpha=0.3)
    if plot["log_x"]:
        axes.set_xscale("log", base=2)
    if plot["log_y"]:
        axes.set_yscale("log")
    if plot["lines"]:
        axes.legend(title=plot["lines"], fontsize="small")
    files = [folder / f"plot.{kind}" for kind in formats]
    for file in files:
        figure.savefig(file, dpi=150, metadata={"Date": None} if file.suffix == ".svg" else None)
    pyplot.close(figure)
    return files


def main(argv):
    parser = argparse.ArgumentParser(prog="kernbench plot", description="Draws what a sweep says to plot: plot.png, .svg, .pdf in its folder.")
    parser.add_argument("folder", metavar="DIR", help="the folder of a sweep")
    arguments = parser.parse_args(argv)

    def refuse(what, hint):
        print(f"kernbench: {arguments.folder}: {what}\n  hint: {hint}", file=sys.stderr)
        return 2

    try:
        sweep = json.loads((pathlib.Path(arguments.folder) / "sweep.json").read_text())
    except (OSError, ValueError):
        return refuse("there is no finished sweep in this folder", "run 'kernbench sweep FILE.yaml -o DIR' first")
    if sweep.get("plot") is None:
        return refuse("the sweep does not say what to draw", "add 'plot: {x: …, y: …}' to its file and run it again: no point runs twice")
    try:
        files = draw(arguments.folder)
    except ImportError as error:
        return refuse(f"figures need matplotlib: {error}", "apt-get install python3-matplotlib")
    print("\n".join(map(str, files)))
    return 0
