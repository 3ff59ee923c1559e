"""What happened: traces, op log, critical path, hazards; the functional runner; benches."""
import json
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import kernbench as kb


def double(x, tl):
    mine = tl.shard(x)
    tl.store(mine.ptr, tl.load(mine.ptr, mine.shape, mine.dtype) * 2)


@pytest.fixture
def torch():
    with kb.Torch("small") as context:
        x = context.from_numpy(np.ones((32, 64), np.float32), dp=kb.DPPolicy(cube="column_wise", pe="column_wise"), name="x")
        context.wait(context.launch("double", double, x))
        yield context


def test_the_op_log_is_an_array(torch):
    log = torch.log()
    array = log.array
    assert len(array) == len(log) and array.dtype.names[:3] == ("partition", "id", "kind")
    assert (array["end_ps"] >= array["start_ps"]).all()
    reads = log.where(kind="dma_read")
    assert len(reads) == 32 and (reads["amount"] == 64 * 4).all()  # 32 PEs, 32 × 2 elements of 4 B each
    line = double.__code__.co_firstlineno + 2
    assert set(reads["line"]) == {line} and "look_test.py" in log.files
    assert set(log.column("kind")) == set(log.kinds)
    summary = log.summary()
    assert summary.dma_read_count == 32 and summary.math_count == 32 and summary.gemm_count == 0


def test_the_op_log_goes_to_pandas_and_to_a_file(torch, tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = torch.log().to_pandas()
    assert isinstance(frame, pandas.DataFrame) and (frame.kind == "dma_read").sum() == 32
    torch.save(tmp_path / "a.db")
    again = kb.OpLog.open(tmp_path / "a.db")
    assert again.hash() == torch.hash() and len(again) == len(torch.log())
    assert again.compare(torch.log())


def test_energy_adds_up_exactly(torch):
    assert torch.energy() is None and torch.result().energy is None  # no prices in this machine
    machine = kb.Machine("small", ["energy.hbm_read_pj_per_byte=2.5", "energy.vector.simple_pj=0.4", "energy.static.pe_w=1"])
    with kb.Torch(machine) as priced:
        x = priced.zeros((32, 64), "f32", dp=kb.DPPolicy(cube="column_wise", pe="column_wise"))
        priced.wait(priced.launch("double", double, x))
        energy = priced.energy()
    assert energy.parts["hbm"] == 32 * 256 * 2500 and energy.parts["vector"] == 32 * 64 * 400
    assert sum(energy.parts.values()) == sum(energy.operations.values()) == energy.total_fj
    assert energy.static_fj == energy.total_fj - energy.dynamic_fj
    assert energy.peak_w >= energy.average_w > 32 and energy.pj_per_flop is None
    assert "energy.tcm_read_pj_per_byte" in energy.unpriced and json.loads(energy.to_json())["total_fj"] == energy.total_fj
    assert "total" in str(energy) and len(energy.windows_w) >= 1


def test_a_saved_run_shows_itself(torch, tmp_path):
    run = torch.save_run(tmp_path / "a.db")
    assert run.hash == torch.hash() and run.total_ns == torch.result().total_ns and run.facts["ops"] == len(torch.log())
    assert run.query("SELECT count(*) FROM ops WHERE kind = 'dma_read'") == [(32,)]
    assert "what limits it" in run.explain() and "a.db" in repr(run)
    inline = run._repr_html_()
    assert inline.startswith("<iframe") and 'sandbox="allow-scripts"' in inline and "&lt;!doctype html&gt;" in inline
    assert run.report(tmp_path / "page.html") == str(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text().startswith("<!doctype html>")
    with pytest.raises(kb.InputError, match="nowhere"):
        run.query("SELECT * FROM nowhere")
    with pytest.raises(kb.InputError, match="missing.db"):
        kb.SavedRun(tmp_path / "missing.db")


def test_benches_are_saved_and_shown_side_by_side(tmp_path):
    one, two = (kb.run_bench("va-offset-verify", "small", n_elem=n, save=tmp_path / f"{n}.db").saved for n in (64, 128))
    assert one.facts["bench"] == "va-offset-verify" and one.hash != two.hash
    page = kb.report(one, two)
    assert "64.db" in page and "128.db" in page and "iframe" in kb.show(one, two)._repr_html_()
    assert kb.run_bench("va-offset-verify", "small", n_elem=64).saved is None
    with pytest.raises(kb.InputError):
        kb.run_bench("va-offset-verify", "small", save="/no/such/folder/run.db")


def test_the_lower_bound_of_ones_own_program(torch):
    result = torch.result()
    (trace, bound, resource), = result.launches
    assert trace.name == "double" and 0 < bound <= trace.pe_exec_ns and resource
    assert torch.lower_bound_ns() == result.lower_bound_ns == bound


def test_the_critical_path_names_lines_of_this_file(torch):
    path = torch.critical_path()
    assert sum(ns for _, ns, _ in path.by_resource) == pytest.approx(path.length_ns)
    assert any(name.startswith("look_test.py:") for name, _, _ in path.by_line)
    assert "look_test.py" in str(path)


def test_hazards_are_found():
    def clash(x, tl):
        tl.store(x, tl.full(4, tl.program_id(0), "f32"))

    with kb.Torch("small") as torch:
        x = torch.zeros((2, 4), "f32", dp=kb.DPPolicy(num_cubes=1, num_pes=2, pe="row_wise"))
        torch.launch("clash", clash, x)  # both PEs write the first row
        torch.synchronize()
        hazards = torch.hazards()
        assert hazards and "look_test.py" in hazards[0].text and hazards[0].kind == "write-write"


def test_the_functional_runner():
    def ring_sum(t, n, rank, world_size, tl):
        mine = total = tl.load(t, (n,), "f32")
        for _ in range(world_size - 1):
            tl.send("E", mine)
            mine = tl.recv("W", (n,), "f32")
            total = total + mine
        tl.store(t, total)

    inputs = [np.full(8, r, np.float32) for r in range(4)]
    result = kb.run_functional(ring_sum, 4, "ring_1d", inputs, 8)
    assert all((array == 6).all() for array in result.arrays) and result.rounds == 3 and result.messages == 12

    def stuck(t, tl):
        tl.recv("W", (8,), "f32")

    with pytest.raises(kb.SimulationError, match="rank 0"):
        kb.run_functional(stuck, 2, "ring_1d", inputs[:2])


def test_probes():
    near, far = (kb.probe("sip0.cube0.pe0", f"sip0.cube{cube}.hbm_ctrl.pe0", "small") for cube in (0, 1))
    assert 0 < near["total_ns"] < far["total_ns"] and far["formula_ns"] == far["total_ns"]
    assert kb.probe("sip0.cube0.pe0", "sip0.cube0.hbm_ctrl.pe0", "small", op="write", bytes=4096)["bytes"] == 4096
    with pytest.raises(kb.InputError, match="cube9"):
        kb.probe("sip0.cube9.pe0", "host", "small")


def test_a_result_shows_itself_in_a_notebook():
    result = kb.run_bench("va-offset-verify", "small", n_elem=64)
    assert "<table>" in result._repr_html_() and f"<pre>{result.line}</pre>" in result._repr_html_()  # its lines stay lines
    assert "va-offset-verify" in result.line


def test_a_shipped_bench_runs():
    result = kb.run_bench("va-offset-verify", "small", verify=True, n_elem=64)
    assert result.ok and "OK" in result.line and result.total_ns > 0 and result.lower_bound_ns > 0
    assert json.loads(result.to_json())["bench"] == "va-offset-verify" and len(result.log) > 0
    with pytest.raises(kb.InputError, match="matmul"):
        kb.run_bench("matmul-composit")


BENCH = '''
import numpy as np
import kernbench as kb

@kb.bench(name="times-two", description="doubles a vector", options={"n": 64, "fail": False})
def times_two(torch, options, report):
    x = torch.from_numpy(np.ones(options.n, np.float32))
    def kernel(x, tl):
        tl.store(x, tl.load(x, (options.n,), "f32") * 2)
    torch.launch("kernel", kernel, x)
    if options.fail:
        raise ValueError("on purpose")
    if report.verify:
        report.compare("x", x.numpy(), np.full(options.n, 2, np.float32))
    report.line(f"times-two {options.n}: {report.verdict}")
'''


def test_a_bench_of_ones_own_runs_from_the_command_line(tmp_path):
    (tmp_path / "mine.py").write_text(BENCH)
    run = lambda *words: subprocess.run([sys.executable, "-m", "kernbench", *words], cwd=tmp_path, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
    done = run("run", "--bench", "mine.py:times-two", "--verify-data", "n=32", "--quiet")
    assert (done.returncode, done.stdout) == (0, "times-two 32: OK\n"), done.stderr
    done = run("run", "--bench", "mine.py:times-two", "fail=true")
    assert done.returncode == 1 and "on purpose" in done.stderr and "mine.py" in done.stderr
    done = run("run", "--bench", "mine.py:nothing")
    assert done.returncode == 2 and "times-two" in done.stderr
    done = run("run", "--bench", "mine.py:times-two", "m=3")
    assert done.returncode == 2 and "n" in done.stderr


def test_what_a_bench_raises_leaves_as_its_own_class(tmp_path):
    @kb.bench(name="raises-zero", options={})
    def raises(torch):
        torch.zeros(4)
        1 / 0

    with pytest.raises(ZeroDivisionError):
        kb.run_bench("raises-zero", "small")


def test_a_collective_of_ones_own():
    @kb.collective("py_ring_sum", topology="ring_1d", description="everybody's tensor goes round")
    def py_ring_sum(call, tl):
        shard = tl.shard(call.input)
        n = shard.shape[0]
        mine = total = tl.load(shard.ptr, (n,), shard.dtype)
        for _ in range(call.world_size - 1):
            tl.send("E", mine)
            mine = tl.recv("W", (n,), shard.dtype)
            total = total + mine
        tl.store(shard.ptr, total)

    assert "py_ring_sum" in kb.collectives()
    with kb.Torch("small") as torch:
        torch.configure(overrides=["defaults.algorithm=py_ring_sum", "algorithms.py_ring_sum.world_size=4"])
        torch.distributed.init_process_group()
        seen = {}

        def fn(rank):
            torch.ahbm.set_device(rank)
            x = torch.full((16,), rank + 1, "i32")
            torch.distributed.all_reduce(x)
            seen[rank] = int(x.numpy()[5])

        torch.multiprocessing.spawn(fn, nprocs=4)
        assert seen == dict.fromkeys(range(4), 10)


def test_the_command_line_prints_through_sys_stdout(capsys):
    from kernbench.cli.main import main
    assert main(["list", "benches"]) == 0
    assert "ccl-allreduce" in capsys.readouterr().out
    assert main(["run", "--bench", "nothing"]) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and "nothing" in captured.err
    assert main(["--help"]) == 0 and "Commands" in capsys.readouterr().out
