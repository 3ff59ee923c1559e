"""Sweeps from Python, and their figures."""
import json
import os
import pathlib
import shutil
import subprocess

import pytest

import kernbench as kb
from kernbench import _plot

PLAN = {"bench": "matmul-composite", "vary": {"variant": ["ref_ref", "load_ref"], "M": {"from": 32, "to": 64, "times": 2}},
        "columns": ["pe_exec_ns", "results.tflops"], "plot": {"x": "M", "y": "pe_exec_ns", "lines": "variant", "log": "x"}}


def test_rows_are_those_of_single_runs():
    rows = kb.sweep(PLAN, jobs=2)
    assert [(row["variant"], row["M"], row["ok"]) for row in rows] == [
        ("ref_ref", 32, True), ("ref_ref", 64, True), ("load_ref", 32, True), ("load_ref", 64, True)]
    for row in rows:
        alone = kb.run_bench("matmul-composite", M=row["M"], variant=row["variant"])
        assert row["pe_exec_ns"] == sum(launch.pe_exec_ns for launch, bound, by in alone.launches)


def test_points_of_a_folder_do_not_run_again(tmp_path):
    kb.sweep(PLAN, tmp_path)
    before = (tmp_path / "points.jsonl").read_text()
    assert len(before.splitlines()) == 4
    rows = kb.sweep({**PLAN, "columns": ["total_ns"], "plot": {"x": "M", "y": "total_ns"}}, tmp_path)
    assert (tmp_path / "points.jsonl").read_text() == before
    assert all(row["total_ns"] > 0 for row in rows)


def test_mistakes_are_refused_with_their_reason():
    with pytest.raises(kb.InputError, match="has no option 'Q'"):
        kb.sweep({"bench": "matmul-composite", "vary": {"Q": [1]}})


def mpirun_works():
    """Some containers have an mpirun that cannot start anything."""
    environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    try:
        return subprocess.run(["mpirun", "--oversubscribe", "-np", "2", "true"], env=environment, capture_output=True, timeout=60).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


@pytest.mark.skipif(not mpirun_works(), reason="there is no mpirun that works")
def test_ranks_of_mpirun_give_the_same_table(tmp_path):
    binary = os.environ["KERNBENCH_BINARY"]
    if not (pathlib.Path(binary).parent / "libkernbench_mpi.so").exists():
        pytest.skip("KernBench was built without MPI")
    plan = tmp_path / "plan.yaml"
    plan.write_text(json.dumps(PLAN))
    environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    done = subprocess.run(["mpirun", "--oversubscribe", "-np", "4", binary, "sweep", plan, "-o", tmp_path / "ranks", "--quiet"],
                          env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "4 points, 4 run now" in done.stdout
    kb.sweep(PLAN, tmp_path / "alone")
    assert (tmp_path / "ranks/results.csv").read_text() == (tmp_path / "alone/results.csv").read_text()


def test_lines_and_labels_of_a_figure():
    rows = [{"M": 1, "v": "a", "y": 2.0}, {"M": 2, "v": "a", "y": None}, {"M": 1, "v": "b", "y": 5}]
    assert _plot.lines_of(rows, {"x": "M", "y": "y", "lines": ["v"]}) == {"a": [(1, 2.0)], "b": [(1, 5)]}
    assert _plot.lines_of(rows, {"x": "M", "y": "y", "lines": ["v", "M"], "only": {"v": "b"}}) == {"b · 1": [(1, 5)]}
    assert _plot.label("pe_exec_ns") == "pe_exec (ns)"
    assert _plot.label("results.tflops") == "tflops (TFLOP/s)"
    assert _plot.label("utilization.gemm") == "utilization.gemm (0 … 1)"


def test_points_that_go_to_and_fro_are_not_joined():
    sweep = {"names": ["n"]}
    assert not _plot.is_scatter(sweep, {"": [(2, 5), (1, 6), (3, 6)]}, "n")  # varied, in whatever order
    assert _plot.is_scatter(sweep, {"": [(1, 5), (1, 6)]}, "n")
    assert not _plot.is_scatter(sweep, {"": [(1, 5), (2, 6), (4, 6)], "b": [(4, 1), (2, 1)]}, "bytes")  # measured
    assert _plot.is_scatter(sweep, {"": [(1, 5), (4, 6), (2, 6)]}, "bytes")


def test_plot_draws_or_says_what_is_missing(tmp_path, capsys):
    from kernbench._cli import main
    assert main(["plot", str(tmp_path)]) == 2
    assert "no finished sweep" in capsys.readouterr().err
    kb.sweep({key: value for key, value in PLAN.items() if key != "plot"}, tmp_path)
    assert main(["plot", str(tmp_path)]) == 2
    assert "does not say what to draw" in capsys.readouterr().err
    pytest.importorskip("matplotlib")
    kb.sweep(PLAN, tmp_path)
    assert main(["plot", str(tmp_path)]) == 0
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")
    assert "pe_exec (ns)" in (tmp_path / "plot.svg").read_text()


def test_the_figures_of_products_come_from_their_json(tmp_path):
    pytest.importorskip("matplotlib")
    committed = pathlib.Path(__file__).parents[2] / "docs/diagrams/gemm_sweep.json"
    shutil.copy(committed, tmp_path)
    points, shapes = _plot.gemm_shapes(json.loads(committed.read_text()))
    assert "512×512×512" not in shapes
    assert "8×128×128 *" in shapes and "32×64×32" in shapes, "those under a tile are marked"
    assert all(p["mac_utilization"] <= p["theory"]["mac_utilization"] for p in points)
    files = _plot.draw_gemm(tmp_path, ["svg"])
    assert [f.name for f in files] == ["gemm_stage_breakdown.svg", "gemm_mac_utilization_measured.svg",
                                       "gemm_mac_utilization_theoretical_vs_measured.svg"]
    assert all("MAC utilisation (0 … 1)" in f.read_text() for f in files[1:])
