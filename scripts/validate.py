#!/usr/bin/env python3
"""Compares the simulator with formulas, other simulators, published figures and itself; writes docs/validation.md.

Usage: scripts/validate.py KERNBENCH [--cheap|--check]

Everything takes minutes, and needs the Python package (PYTHONPATH=build/python) for kernels of its own. With --cheap the dear
rows stay as they are on the page. With --check nothing is written: the cheap rows are computed again, and exit code 1 if the
page says otherwise. Both need the program alone.
"""
import argparse
import csv
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "validation.md"
DATA = ROOT / "tests" / "validation" / "data"
MACHINES = ROOT / "topologies" / "validation"
SECTIONS = {
    "forms": ("Closed forms", "What can be worked out on paper from the machine file. These rows check that the program does what `docs/model.md` says."),
    "network": ("A network simulator", "BookSim 2: a mesh of 6 × 6 routers, XY routing, one-flit packets, 4 virtual channels and the 4-stage router (`mesh-6x6.yaml`).\n"
                "The six rows of zero load set the cycles of a hop as a parameter and read them back: they check the distances, not the router. The reference has\n"
                "more rows than the table: other pipelines, other numbers of channels, and loads at which it is saturated. Those are not run."),
    "systolic": ("A systolic-array simulator", "ONNXim: one core with an array of 128 × 128, HBM2, f16 (`systolic-128.yaml`; memory is not the limit there). Cycles.\n"
                 "The size of the array and its cycles a tile are taken from the reference."),
    "ring": ("A collective simulator", "ASTRA-sim 2, analytical: a ring of 50 GB/s and 500 ns a link, 4 chunks one after the other (`ring-50gbs.yaml`). Ours is four "
             "all-reduces of a quarter\neach. Nanoseconds."),
    "dram": ("A DRAM simulator", "Ramulator 2.1: one pseudo-channel of HBM3-6400, queues kept full (`hbm3-6400.yaml`; 64-byte accesses, 64 in flight). Share of "
             "the peak of 25.6 GB/s.\n"
             "The reference has 45 rows: reads or half writes, in three of its patterns, without refresh and with that of all banks, are below; refresh bank by\n"
             "bank, other mixes of reads and writes and other patterns are not run.\n"
             "The bound was set beforehand, but `cap`, the accesses in flight and the depth of the machine's queues were then chosen with this table in view:\n"
             "the rows show that the rules can be made to agree, not that they predict."),
    "prototype": ("The earlier prototype", "Times that it published for the default machine, whose router delay was chosen so that they come out. Two of them are\n"
                  "published as ranges, which accept more than a single number would."),
    "hardware": ("Real hardware", "Where figures are public and the machine can be described."),
    "self": ("Self-consistency", "The simulator beside itself."),
}


class Row:
    """A claim. `reference` and `ours` are numbers, or functions that give them; a row without `ours` says why in `reason`.

    `kind` says what the row shows: an *identity* is a formula of the model or a parameter beside itself and could hardly fail; for a
    *fitted* row a parameter was chosen with the reference in view; a *predicted* row had no such help.
    """

    def __init__(self, section, kind, what, reference, ours, bound, reason="", cheap=True):
        assert kind in ("identity", "fitted", "predicted"), kind
        self.section, self.kind, self.what, self.reference, self.ours = section, kind, what, reference, ours
        self.bound, self.reason, self.cheap = bound, reason, cheap  # bound: a share; 0: exact; a pair: from … to

    def line(self):
        if self.ours is None:
            return f"| {self.what} | {self.kind} | {number(self.reference)} | – | – | – | not run: {self.reason} |"
        ours = self.ours() if callable(self.ours) else self.ours
        if isinstance(self.bound, tuple):
            low, high = self.bound
            inside, ratio = low <= ours <= high, ours / min(max(ours, low), high)  # of the nearest number in the range
            shown, bound = f"{number(low)} … {number(high)}", "in the range"
        else:
            ratio = ours / self.reference if self.reference else float(ours == self.reference)
            inside = abs(ours - self.reference) <= self.bound * abs(self.reference) + 1e-9
            shown, bound = number(self.reference), f"{100 * self.bound:g} %" if self.bound else "exact"
        verdict = "within" if inside else f"**beyond**: {self.reason}" if self.reason else "**beyond**"
        return f"| {self.what} | {self.kind} | {shown} | {number(ours)} | {ratio:.3f} | {bound} | {verdict} |"


def number(value):
    if isinstance(value, str):
        return value
    return f"{value:,.0f}" if abs(value) >= 1e4 else f"{value:,.6g}"


class Program:
    def __init__(self, binary):
        self.binary = str(pathlib.Path(binary).resolve())

    def json(self, *words):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "out.json"
            subprocess.run([self.binary, *map(str, words), f"--json={file}"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
            return json.loads(file.read_text())

    def probe(self, source, target, *words):
        return self.json("probe", "latency", source, target, *words)

    def run(self, bench, *words):
        return self.json("run", "--bench", bench, *words, "--quiet")

    def all_reduce(self, members, size, *words):
        """Nanoseconds of a ring all-reduce of so many bytes on devices with one PE each."""
        return self.run("ccl-allreduce", "algorithm=ring_allreduce_rs", f"world_size={members}", f"n_elem={size // 2}", "dtype=f16", "--topology",
                        MACHINES / "ring-50gbs.yaml", "--set", f"system.sips.count={members}", "--set", "ccl.defaults.slot_size=262144",
                        "--set", "ccl.defaults.n_slots=2", *words)["results"]


def reference(name):
    return list(csv.DictReader((DATA / name).open()))


def forms(program):
    own = lambda size: program.probe("sip0.cube0.pe0", "sip0.cube0.hbm_ctrl.pe0", "--bytes", size)["total_ns"]
    yield Row("forms", "identity", "16 KiB from the own slice: two routers of 2.5 ns, a burst of 8, 64 ns at 256 GB/s, four wires of 1 ps; ns", 2 * 2.5 + 8 + 64 + 0.004,
              lambda: own(16384), 0)
    yield Row("forms", "identity", "1 MiB from there: the same with 4096 ns; ns", 2 * 2.5 + 8 + 4096 + 0.004, lambda: own(1 << 20), 0)
    far = lambda: program.probe("sip0.cube0.pe0", "sip0.cube1.hbm_ctrl.pe0")
    yield Row("forms", "identity", "64 B from the next cube: 9 routers there, 13 back, a crossing of 16 ns each way, a burst, 64 B at 128 GB/s, wires of 0.502 ns; ns",
              (9 + 13) * 2.5 + 2 * 16 + 8 + 0.5 + 0.502, lambda: far()["total_ns"], 0)
    yield Row("forms", "identity", "512³, both operands streamed: 256 tiles of 8 · 32 + 8 ns of HBM; ns", 256 * 264,
              lambda: program.run("matmul-composite")["launches"][0]["pe_exec_ns"], 0.002)
    step = 500 + 262144 / 8 / 50
    yield Row("forms", "identity", "ring of 8, 256 KiB at 50 GB/s and 500 ns: 14 · (500 + 655.36); ns", 14 * step, lambda: program.all_reduce(8, 262144)["time_ns"], 0.002)


def network(program):
    def hop(row, column, overhead):
        return program.probe("sip0.cube0.r0c0", f"sip0.cube0.r{row}c{column}", "--topology", MACHINES / "mesh-6x6.yaml", "--set",
                             f"cube.routers.overhead_ns={overhead}")["total_ns"]
    for start, per_hop in ((7, 5), (5, 3)):
        for row, column in ((0, 1), (2, 2), (5, 5)):
            distance = row + column
            yield Row("network", "identity", f"zero load, distance {distance}, {per_hop} cycles a hop: {start} + {per_hop} · {distance}, less {start} to inject and eject",
                      per_hop * distance, lambda r=row, c=column, o=per_hop: round(hop(r, c, o), 1), 0)
    def mean_latency(load):
        """From router to router without the cycle that a flit takes at the end; theirs may also send to themselves, and take 7 to inject and eject."""
        found = program.run("traffic", f"load={load}", "bytes=512", "messages=2000", "--topology", MACHINES / "mesh-6x6.yaml", "--set", "fabric.packet_bytes=512",
                            "--set", "cube.routers.flow=credits", "--set", "cube.routers.channels=4", "--set", "cube.routers.buffer_packets=8", "--log", "none")
        return 7 + (found["results"]["mean_ns"][0] - 1) * 35 / 36
    for found in reference("mesh_6x6_uniform.csv"):
        if found["vcs"] != "4" or not found["router"].startswith("A_") or found["status"] != "ok" or float(found["offered_flits_per_node_cycle"]) < 0.1:
            continue
        load = found["offered_flits_per_node_cycle"]
        yield Row("network", "predicted", f"uniform traffic of {load} flits per node and cycle, 4 channels: mean latency in cycles, with 7 to inject and eject",
                  float(found["avg_latency_cycles"]), lambda load=load: round(mean_latency(load), 2), 0.1,
                  "queues grow later here than there. The cause has not been examined", cheap=load in ("0.1", "0.3", "0.5"))


def systolic(program):
    for row in reference("gemm_systolic_128x128.csv"):
        m, k, n = (int(row[key]) for key in "MKN")
        yield Row("systolic", "fitted", f"{m} × {k} × {n}", int(row["cycles"]),
                  lambda m=m, k=k, n=n: program.run("matmul-composite", f"M={m}", f"K={k}", f"N={n}", "--topology", MACHINES / "systolic-128.yaml")
                  ["launches"][0]["pe_exec_ns"], 0.1,
                  "theirs takes longer by 1,089 to 1,240 cycles for the two small products and by 4,808 for the largest: part of it grows with the product. The cause has not "
                  "been examined", cheap=m <= 1024)


def ring(program):
    for row in reference("ring_allreduce.csv"):
        members, size = int(row["npus"]), int(row["bytes"])
        yield Row("ring", "identity", f"{members} devices, {size:,} bytes", int(row["simulated_ns"]), lambda n=members, s=size: 4 * program.all_reduce(n, s // 4)["time_ns"],
                  0.1, cheap=members == 8 and size <= 1 << 20)


def dram_share(program, pattern, writes, refresh):
    """Eight thousand accesses of 64 bytes by one PE."""
    words = [f"pattern={pattern.replace(' ', '_')}", f"writes={writes}", "count=8000", "--topology", MACHINES / "hbm3-6400.yaml"]
    result = program.run("memory", *words, *([] if refresh else ["--set", "cube.hbm.refresh=none"]))
    return round(result["results"]["share_of_peak"], 4)


def dram(program):
    names = {"sequential": "seq_bg", "random": "rand64", "one bank": "conf64"}
    known = {(r["pattern"], r["read_pct"], r["refresh"]): r["fraction_of_peak"] for r in reference("dram_hbm3_6400.csv")}
    for writes in (0, 50):
        for pattern in names:
            for refresh in (False, True):
                share = float(known[names[pattern], "50" if writes else "100", "AllBank" if refresh else "NoRefresh"])
                yield Row("dram", "fitted", f"{pattern}, {'half writes' if writes else 'reads'}{', refresh' if refresh else ''}", share,
                          lambda p=pattern, w=writes, r=refresh: dram_share(program, p, w, r), 0.05,
                          "here every access opens a row, 44.4 ns from read to read and 56.2 from write to write of one bank, and half of each take their mean; theirs takes "
                          "75.3 ns an access without refresh, which no mixture of the two gives. The cause is not found" if writes and pattern == "one bank" else "", cheap=False)


def crowd(readers, slices):
    """Nanoseconds from the first start to the last end of 16 KiB reads, by (cube, PE) of reader and slice."""
    import kernbench as kb
    with kb.Torch("default", data=False) as torch:
        policy = kb.DPPolicy(cube="row_wise", pe="row_wise", num_cubes=16, num_pes=8)
        x = torch.empty((128 * 128, 8192), "f16", dp=policy)

        def kernel(p, tl):
            me = (tl.program_id(1), tl.program_id(0))
            if me not in readers:
                return
            cube, pe = slices[readers.index(me)]
            tl.load(p + ((cube * 8 + pe) * 128 + me[0] * 8 + me[1]) * 16384, (8192,), "f16")

        torch.wait(torch.launch("crowd", kernel, x, grid=(8, 16)))
        log = torch.log()
        reads = log.array[[kind == "dma_read" for kind in log.column("kind")]]
    return (reads["end_ps"].max() - reads["start_ps"].min()) / 1000


def prototype(_program):
    everyone = [(cube, pe) for cube in range(16) for pe in range(8)]
    yield Row("prototype", "fitted", "16 KiB from the own slice, ns", 77, lambda: crowd([(0, 0)], [(0, 0)]), 0.02, cheap=False)
    yield Row("prototype", "fitted", "8 PEs on one slice, ns", (550, 558), lambda: crowd([(0, pe) for pe in range(8)], [(0, 0)] * 8), (550, 558), cheap=False)
    yield Row("prototype", "fitted", "128 PEs from their own slices, TB/s", 27.2, lambda: 128 * 16384 / crowd(everyone, everyone) / 1000, 0.02, cheap=False)
    yield Row("prototype", "fitted", "from the farthest cube, ns", (565, 573), lambda: crowd([(0, 0)], [(15, 7)]), (565, 573), cheap=False)


def hardware(program):
    busbw = lambda gbs: program.all_reduce(8, 1 << 26, "--set", f"system.pcie.bw_gbs={gbs}", "--set", "system.switch.overhead_ns=1000",
                                           "--set", "ccl.defaults.slot_size=1048576", "--set", "ccl.defaults.n_slots=4")["busbw_gbs"]
    yield Row("hardware", "predicted", "ring all-reduce over eight A100 (NVLink 3, 300 GB/s each way), busbw in GB/s at large sizes (nccl-tests issue 149)", 200,
              lambda: round(busbw(300), 1), 0.1, "NVLink's own packets are not in our links: the same report measures 430 to 520 GB/s both ways between two devices", cheap=False)
    yield Row("hardware", "predicted", "the same with the 237.5 GB/s each way that two devices were measured to have", 200, lambda: round(busbw(237.5), 1), 0.1,
              "what NCCL's kernels and their synchronisation cost; our ring adds nothing to the links' time", cheap=False)
    yield Row("hardware", "predicted", "Tenstorrent Wormhole (64 or 80 cores, 288 GB/s GDDR6): products, DRAM streams, collectives", "measured, by the vendor", None, 0,
              "the vendor has published measurements of all three, and none of them can be compared: its cores share six memories at the rim of a torus, while here each PE "
              "owns a slice of its cube's memory, so that no machine file describes the chip")


def same(program):
    words = ["tokens=64", "d_model=1024"]
    digest = lambda *more: program.run("gpt3-qkv", *words, *more)["sim"]["op_log_hash"]
    for name, more in (("two threads and one", ["--threads", "2"]), ("`--packets` and trains", ["--packets"]), ("`--log none` and a log", ["--log", "none"])):
        yield Row("self", "identity", f"equal hashes: {name} (1: yes)", 1, lambda m=more: int(digest("--threads", "1") == digest("--threads", "1", *m) if "--threads" not in m
                                                                                 else digest("--threads", "1") == digest(*m)), 0)
    yield Row("self", "identity", "equal hashes: a saved run and the run (1: yes)", 1, lambda: saved_is_equal(program), 0)
    product = lambda *sets: program.run("matmul-composite", "M=256", "K=256", "N=256", *[w for s in sets for w in ("--set", s)])["sim"]["total_ns"]
    faster = ["cube.hbm.hbm_to_router_bw_gbs=512", "pe.pe_gemm.tile_cycles=8", "cube.routers.overhead_ns=1", "pe.clock_ghz=2", "pe.pe_tcm.read_bw_gbs=1024",
              "system.pcie.bw_gbs=256", "pe.pe_dma.bw_gbs=1024", "pe.pe_scheduler.pipeline_depth=6"]
    yield Row("self", "identity", f"a 256³ product with one of {len(faster)} parts twice as fast: how often it was slower", 0, lambda: sum(product(s) > product() for s in faster), 0)


def saved_is_equal(program):
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "run.db"
        fresh = program.run("gpt3-qkv", "tokens=64", "d_model=1024", "--save", file)
        again = program.run("gpt3-qkv", "tokens=64", "d_model=1024", "--save", f"{file}2")
        said = subprocess.run([program.binary, "diff", str(file), f"{file}2"], check=True, stdout=subprocess.PIPE, text=True).stdout
    return int(said == "the same run\n" and fresh["sim"] == again["sim"])


def rows(program):
    for part in (forms, network, systolic, ring, dram, prototype, hardware, same):
        yield from part(program)


HEAD = """# Validation: why believe a number

Each row is a claim: what, its kind, the reference, what this simulator gives, the ratio, the bound, and the verdict; where it deviates, why, as far as
that is known. An *identity* is a formula of the model, or a parameter, beside itself, and could hardly fail; for a *fitted* row a parameter was chosen
with the reference in view; only a *predicted* row had no such help. Not every row of every reference file is here: each section says which are missing.
`make validate` builds what it needs and makes this page (minutes). The tests compute the cheap rows again, so that a
stale page fails; `python3 scripts/validate.py build/release/kernbench --check` does that by hand, and writes nothing. The machines are in [`topologies/validation/`](../topologies/validation), the reference data with its sources in
[`tests/validation/data/`](../tests/validation/data/README.md).
"""


def page(lines):
    out, last = [HEAD], None
    for row, line in lines:
        if row.section != last:
            last = row.section
            title, text = SECTIONS[last]
            out.append(f"\n## {title}\n{text}\n\n| what | kind | reference | ours | ratio | bound | verdict |\n|---|---|---|---|---|---|---|")
        out.append(line)
    beyond = sum("**beyond**" in line for _, line in lines)
    out.append(f"\n{len(lines)} rows, {sum('| within |' in line for _, line in lines)} within their bounds, {beyond} beyond, "
               f"{sum('not run' in line for _, line in lines)} not run.")
    predicted = [line for row, line in lines if row.kind == "predicted" and row.ours is not None]
    out.append(f"Of the {len(predicted)} predicted rows {sum('| within |' in line for line in predicted)} are within their bounds.\n")
    return "\n".join(out)


def check(program):
    known, stale = set(PAGE.read_text().splitlines()), []
    for machine in sorted(MACHINES.glob("*.yaml")):
        subprocess.run([program.binary, "topology", "check", str(machine)], check=True, stdout=subprocess.DEVNULL)
    stale = [line for line in (row.line() for row in rows(program) if row.cheap) if line not in known]
    for line in stale:
        print(f"docs/validation.md does not say (make validate writes it again):\n  {line}")
    return 1 if stale else 0


def kept(row):
    """The row as the page has it."""
    return next(line for line in PAGE.read_text().splitlines() if line.startswith(f"| {row.what} |"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernbench")
    parser.add_argument("--check", action="store_true", help="compute the cheap rows again and write nothing: exit code 1 if the page is stale")
    parser.add_argument("--cheap", action="store_true")
    given = parser.parse_args()
    program = Program(given.kernbench)
    if given.check:
        return check(program)
    lines = []
    for row in rows(program):
        lines.append((row, kept(row) if given.cheap and not row.cheap else row.line()))
        print(lines[-1][1], flush=True)
    PAGE.write_text(page(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
