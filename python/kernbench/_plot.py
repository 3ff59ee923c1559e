"""`kernbench plot DIR`: draws what the sweep in DIR says to plot, and the figures of its harness."""
import argparse
import json
import pathlib
import sys

# Okabe and Ito's colours, which the colour-blind can tell apart; with a marker each, so that paper without colour does too.
COLOURS = ["#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#000000", "#F0E442"]
MARKERS = ["o", "s", "^", "D", "v", "P", "X", "*"]
UNITS = {"_ns": "ns", "_us": "µs", "_gbs": "GB/s", "_bytes": "bytes", "bytes_per_pe": "bytes", "tflops": "TFLOP/s", "_ghz": "GHz", "_mb": "MiB",
         "tokens_per_s": "tokens/s", "_cycles": "cycles", "n_elem": "elements", "context": "tokens", "contexts": "tokens", "batch": "sequences",
         "batches": "sequences"}
STAGES = {"dma_in": "DMA in", "fetch": "fetch", "gemm": "GEMM", "dma_out": "DMA out"}


def label(name):
    """`pe_exec_ns` is `pe_exec (ns)`."""
    short = name.removeprefix("results.")
    if name.startswith("utilization.") or short in ("mfu", "share_of_peak") or short.endswith("_share"):
        return f"{short} (0 … 1)"
    for end, unit in UNITS.items():
        if short.endswith(end):
            return f"{(short.removesuffix(end) if end.startswith('_') else short).rstrip('_') or short} ({unit})"
    return short


def lines_of(rows, plot):
    """{name of the line: [(x, y)]}, in the order of the rows; points without a number are left out."""
    lines = {}
    for row in rows:
        if any(str(row[name]) != str(value) for name, value in plot.get("only", {}).items()):
            continue
        x, y = row[plot["x"]], row[plot["y"]]
        if isinstance(x, (int, float)) and isinstance(y, (int, float)):
            lines.setdefault(" · ".join(str(row[name]) for name in plot["lines"]), []).append((x, y))
    return lines


def is_scatter(sweep, lines, x):
    """Points that no line joins: several have the same place across, or the place across was measured and goes to and fro in
    the order in which the sweep ran. The same rule as in `web/sweep.js`."""
    for points in lines.values():
        across = [at for at, _ in points]
        directions = {after > before for before, after in zip(across, across[1:])}
        if len(set(across)) < len(across) or (x not in sweep["names"] and len(directions) > 1):
            return True
    return False


def pyplot_of():
    """matplotlib without a window, the same picture each time."""
    import matplotlib
    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "kernbench"
    from matplotlib import pyplot
    return pyplot


def save(figure, stem, formats):
    """Writes the figure in each format and returns the files."""
    files = [stem.with_name(f"{stem.name}.{kind}") for kind in formats]
    for file in files:
        figure.savefig(file, dpi=150, metadata={"Date": None} if file.suffix == ".svg" else None)
    pyplot_of().close(figure)
    return files


def plain_numbers(axis):
    """Sizes as they were measured, not as powers of two."""
    from matplotlib import ticker
    axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:,.10g}"))


def draw_plot(sweep, rows, plot, folder, formats):
    """One figure that the sweep's file names."""
    figure, axes = pyplot_of().subplots(figsize=(7, 4.5), layout="constrained")
    lines = lines_of(rows, plot)
    style = "none" if is_scatter(sweep, lines, plot["x"]) else "-"
    for i, (name, points) in enumerate(lines.items()):
        axes.plot(*zip(*sorted(points)), label=name, linestyle=style, color=COLOURS[i % len(COLOURS)], marker=MARKERS[i % len(MARKERS)], markersize=5)
    if (plot["x"], plot["y"]) == ("results.bytes_per_pe", "results.latency_ns"):
        for i, curve in enumerate(sweep.get("compare", [])):
            axes.plot(*zip(*curve["points"]), label=curve["name"], color=COLOURS[(len(lines) + i) % len(COLOURS)], linestyle="--", marker="x")
    axes.set_xlabel(label(plot["x"]))
    axes.set_ylabel(label(plot["y"]))
    only = ", ".join(f"{name} = {value}" for name, value in plot.get("only", {}).items())
    axes.set_title((plot.get("title") or f"{sweep['bench']} on {sweep['machine']}") + (f"\n{only}" if only else ""), fontsize="medium")
    axes.grid(True, alpha=0.3)
    if plot["log_x"]:
        axes.set_xscale("log", base=2)
        plain_numbers(axes.xaxis)
    if plot["log_y"]:
        axes.set_yscale("log")
        plain_numbers(axes.yaxis)
    if len(lines) > 1 or any(lines):
        axes.legend(title=", ".join(plot["lines"]), fontsize="small")
    return save(figure, folder / plot["name"], formats)


def bars(axes, groups, series):
    """Bars side by side: `series` is {name: a value for each group}."""
    width = 0.8 / len(series)
    for i, (name, values) in enumerate(series.items()):
        at = [g + (i - (len(series) - 1) / 2) * width for g in range(len(groups))]
        drawn = axes.bar(at, values, width * 0.92, label=name, color=COLOURS[i], hatch=["", "//", "..", "xx"][i], edgecolor="white", linewidth=0.5)
        if len(series) <= 2:
            axes.bar_label(drawn, [f"{value:.2f}" for value in values], fontsize="x-small", padding=1)
    axes.set_xticks(range(len(groups)), groups, rotation=20, ha="right")
    axes.set_xlabel("M × K × N  (*: a dimension is under its tile)")
    axes.grid(True, axis="y", alpha=0.3)
    axes.set_axisbelow(True)
    if len(series) > 1:
        axes.legend(fontsize="small", ncols=len(series))


def gemm_shapes(sweep):
    """The points of the figures, and their names."""
    points = [p for p in sweep["points"] if p["variant"] == "load_ref" and (p["M"], p["K"], p["N"]) != (512, 512, 512)]
    return points, [f"{p['M']}×{p['K']}×{p['N']}{' *' if p['under_a_tile'] else ''}" for p in points]


def draw_gemm(folder, formats=("png", "svg", "pdf")):
    """The three figures of `gemm_sweep.json`, in `gemm_plots` beside it."""
    folder = pathlib.Path(folder)
    sweep = json.loads((folder / "gemm_sweep.json").read_text("utf-8"))
    points, shapes = gemm_shapes(sweep)
    measured = [p["mac_utilization"] for p in points]
    tile = sweep["tile_sizes"]
    constants = "  ".join(f"{c['name']} {c['value']:g} {c['unit']}".strip() for c in sweep["constants"] if c["unit"])
    figures = {
        "gemm_stage_breakdown": ("How much of the composite each stage holds a tile", "share of the composite (0 … 1)",
                                 {name: [p["stages"][key]["occupancy"] for p in points] for key, name in STAGES.items()}),
        "gemm_mac_utilization_measured": ("Multiply-adds against the unit's peak, as simulated", "MAC utilisation (0 … 1)", {"measured": measured}),
        "gemm_mac_utilization_theoretical_vs_measured": ("Multiply-adds against the unit's peak: an ideal pipeline, and as simulated", "MAC utilisation (0 … 1)",
                                                         {"theory": [p["theory"]["mac_utilization"] for p in points], "measured": measured}),
    }
    (folder / "gemm_plots").mkdir(exist_ok=True)
    files = []
    for name, (title, up, series) in figures.items():
        figure, axes = pyplot_of().subplots(figsize=(8, 4.5), layout="constrained")
        bars(axes, shapes, series)
        axes.set_ylabel(up)
        axes.set_ylim(0, max(max(values) for values in series.values()) * 1.15)
        axes.set_title(f"{title}\nload_ref, tile {tile['m']} × {tile['k']} × {tile['n']}; {constants}", fontsize="small")
        files += save(figure, folder / "gemm_plots" / name, formats)
    return files


def draw(folder, formats=("png", "svg", "pdf")):
    """Draws what the sweep in a folder names, and the figures of its harness; returns the files."""
    from ._sweep import read_results
    folder = pathlib.Path(folder)
    files = []
    if (folder / "sweep.json").exists():
        sweep = json.loads((folder / "sweep.json").read_text("utf-8"))
        rows = read_results(folder) if sweep["plots"] else []
        for plot in sweep["plots"]:
            files += draw_plot(sweep, rows, plot, folder, formats)
    if (folder / "gemm_sweep.json").exists():
        files += draw_gemm(folder, formats)
    return files


def main(argv):
    parser = argparse.ArgumentParser(prog="kernbench plot", description="Draws what a sweep says to plot, as PNG, SVG and PDF in its folder.")
    parser.add_argument("folder", metavar="DIR", help="the folder of a sweep")
    arguments = parser.parse_args(argv)

    def refuse(what, hint):
        print(f"kernbench: {arguments.folder}: {what}\n  hint: {hint}", file=sys.stderr)
        return 2

    folder = pathlib.Path(arguments.folder)
    try:
        plots = json.loads((folder / "sweep.json").read_text("utf-8"))["plots"] if (folder / "sweep.json").exists() else None
    except (OSError, ValueError, KeyError):
        return refuse("sweep.json is damaged, or of an older version", "run the sweep again: no point runs twice")
    if plots is None and not (folder / "gemm_sweep.json").exists():
        return refuse("there is no finished sweep in this folder", "run 'kernbench sweep FILE.yaml -o DIR' first")
    if not plots and not (folder / "gemm_sweep.json").exists():
        return refuse("the sweep does not say what to draw", "add 'plot: {x: …, y: …}' to its file and run it again: no point runs twice")
    try:
        files = draw(arguments.folder)
    except ImportError as error:
        return refuse(f"figures need matplotlib: {error}", "apt-get install python3-matplotlib")
    print("\n".join(map(str, files)))
    return 0
