#!/usr/bin/python3
"""Runs the benchmarks beside their SimPy peers and prints one table of rates and ratios.

Usage: bench/run.py BUILD_DIR [--repetitions N] [--only NAME] [--table FILE]

Engines take turns, so that a disturbance of the machine meets all of them; each rate is the best of the repetitions.
With --table the table is written to a file as well, for bench/performance.py. Exit code 1 if the checksums of a workload differ.
"""
import argparse
import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent

# The cases WORKLOAD/kernbench and WORKLOAD/bare of kernbench_benchmarks beside peers/WORKLOAD.py: unit, and the least ratio to SimPy and to the
# bare queue (None: there is none) that we hold ourselves to. All engines give the same checksum. Where there is a case WORKLOAD/heap, which does
# the work of WORKLOAD/bare on std::priority_queue, its rate is shown without a target.
CASES = [
    ("hold", "timeout", 40, 0.65),
    ("pipeline", "hop", 200, 0.65),
    ("ring", "message", 100, 0.65),
    ("tile-pipeline", "record", 50, None),
]

# Beside a case that does other work or sums in another order, so that checksums are not compared: workload, what is shown, unit, our
# case, the other one, what that is, least ratio.
LIBRARY_CASES = [
    ("recording", "recording", "command", "kernbench", "hold", "timeouts of hold", 0.25),
    ("op-log", "op-log append", "record", "kernbench", "array", "plain array", 0.5),
    ("gemm", "GEMM 1024³ f16", "MAC", "kernbench", "openblas", "OpenBLAS sgemm", 0.5),
    ("gemm", "its replay", "MAC", "replay", "openblas", "OpenBLAS sgemm", 0.5),
    ("qkv", "run gpt3-qkv", "MAC", "kernbench", "openblas", "OpenBLAS sgemm", 0.5),
]

ROW = "{:<16} {:<8} {:>11}  {:<17} {:>11} {:>7} {:>9}  {}"


def run_native(binary, workload):
    """The Google Benchmark cases of a workload, in turns: [(engine, rate, checksum)]. A case of seconds is not repeated."""
    out = subprocess.run(
        [binary, f"--benchmark_filter=^{workload}/", "--benchmark_format=json", "--benchmark_min_time=0.05",
         f"--benchmark_repetitions={1 if workload == 'qkv' else 10}", "--benchmark_enable_random_interleaving=true"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if out.returncode != 0:
        sys.exit(f"{binary} failed on {workload}:\n{out.stderr}")
    return [(case["name"].split("/")[1], case["items_per_second"], case["label"])
            for case in json.loads(out.stdout)["benchmarks"] if case["run_type"] == "iteration"]


def run_peer(workload):
    """The SimPy peer, with the interpreter that has apt's SimPy 3."""
    out = subprocess.run(["/usr/bin/python3", HERE / "peers" / f"{workload.replace('-', '_')}.py"], stdout=subprocess.PIPE, text=True,
                         check=True)
    result = json.loads(out.stdout)
    return [("simpy", result["rate"], result["checksum"])]


def measure(binary, workload, repetitions):
    """Best rate per engine, and the set of all checksums."""
    rates, checksums = {}, set()
    for _ in range(repetitions):
        for engine, rate, checksum in run_peer(workload) + run_native(binary, workload):
            rates[engine] = max(rates.get(engine, 0.0), rate)
            checksums.add(checksum)
    return rates, checksums


def print_row(name, unit, ours, other, others, least, remark):
    ratio = ours / others
    missed = least is not None and ratio < least
    print(ROW.format(name, unit, human(ours), other, human(others), f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.2f}",
                     "" if least is None else f">= {least}", ", ".join(filter(None, [missed and "missed", remark]))).rstrip(), flush=True)


def compare_with_peers(binary, repetitions, only):
    """False if the checksums of a workload differ."""
    all_equal = True
    for workload, unit, least_simpy, least_bare in CASES:
        if only not in (None, workload):
            continue
        rates, checksums = measure(binary, workload, repetitions)
        equal = len(checksums) == 1
        all_equal &= equal
        remark = "checksums equal" if equal else "checksums DIFFER: " + " ".join(sorted(checksums))
        print_row(workload, unit, rates["kernbench"], "SimPy", rates["simpy"], least_simpy, remark)
        if least_bare:
            print_row("", "", rates["kernbench"], "bare event queue", rates["bare"], least_bare, "")
        if "heap" in rates:
            print_row("", "", rates["kernbench"], "binary heap", rates["heap"], None, "")
    return all_equal


def compare_with_library(binary, repetitions, only):
    for workload, title, unit, ours, other, other_title, least in LIBRARY_CASES:
        if only not in (None, workload):
            continue
        rates = {}
        for _ in range(repetitions):
            for engine, rate, _ in run_native(binary, workload):
                rates[engine] = max(rates.get(engine, 0.0), rate)
        print_row(title, unit, rates[ours], other_title, rates[other], least, "1 thread" if other == "openblas" else "")


def compare_all_reduce(binary, repetitions):
    """A verified all-reduce over 256 PEs, everything included, beside SimPy's bare ring of as many messages; and what a
    message costs on a machine eight times as large."""
    ring, simpy = 0.0, 0.0
    for _ in range(repetitions):
        simpy = max(simpy, run_peer("ring")[0][1])
        ring = max(ring, native_rates(binary, "^all_reduce_ring/2/", 1)[0]["all_reduce_ring/2"][0])
    print_row("256-rank ring", "message", ring, "SimPy's ring", simpy, 10, "all-reduce of 8 elements, verified; wall time")
    for shape, remark in (("ring", " (target <= 2)"), ("tree", ", its messages cross the machine")):
        cases, _ = native_rates(binary, f"^all_reduce_{shape}/", 1, 1)
        small, large = (1e6 / cases[f"all_reduce_{shape}/{sips}"][0] for sips in (2, 16))
        print(f"all-reduce, {shape}, verified: {small:.2f} us per message at 256 PEs, {large:.2f} us at 2,048 (16 SIPs): "
              f"x {large / small:.2f}{remark}", flush=True)


def show_record_size(binary):
    """What a record of the op log takes, whatever it is of."""
    out = subprocess.run([binary, "--benchmark_filter=^tile-pipeline/", "--benchmark_format=json", "--benchmark_min_time=0.01"],
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True)
    print(f"a record of the op log: {json.loads(out.stdout)['context']['bytes_per_record']} bytes (target <= 64)", flush=True)


def native_rates(binary, pattern, repetitions, each=5):
    """Cases by name: best rate, and checksum; and what the program says of itself."""
    best, context = {}, {}
    for _ in range(repetitions):
        out = subprocess.run(
            [binary, f"--benchmark_filter={pattern}", "--benchmark_format=json", "--benchmark_min_time=0.05",
             f"--benchmark_repetitions={each}", "--benchmark_enable_random_interleaving=true"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if out.returncode != 0:
            sys.exit(f"{binary} failed on {pattern}:\n{out.stderr}")
        result = json.loads(out.stdout)
        context = result["context"]
        for case in result["benchmarks"]:
            if case["run_type"] != "iteration":
                continue
            name = "/".join(case["name"].split("/")[:2])
            rate = max(case["items_per_second"], best.get(name, (0, ""))[0])
            best[name] = (rate, case["label"])
    return best, context


def compare_fabric(binary, repetitions):
    """Packets over links beside bare events; False if the two ways of moving messages differ in any time."""
    cases, context = native_rates(binary, "^(stream|neighbour)/|^(hold|pipeline)/bare/", repetitions)
    hold, pipeline = cases["hold/bare"][0], cases["pipeline/bare"][0]
    print(f"\nfabric: packet-hops of 128 PEs reading 4 KiB at a time, 8 in flight; {context['bytes_per_packet']} bytes per packet "
          f"in flight\nbare events: hold {human(hold)}, pipeline {human(pipeline)}")
    row = "{:<42} {:>12} {:>8} {:>9} {:>11}  {}"
    print(row.format("workload", "packet-hops", "x hold", "target", "x pipeline", "times"))
    all_equal = True
    for workload, title, least in [("stream", "own slices", ">= 0.5"), ("neighbour", "slices of the next cube", "")]:
        equal = cases[f"{workload}/packets"][1] == cases[f"{workload}/runs"][1]
        all_equal &= equal
        for way, name in [("packets", "packet by packet"), ("runs", "in one piece")]:
            rate = cases[f"{workload}/{way}"][0]
            print(row.format(f"{title}, {name}", human(rate), f"{rate / hold:.2f}", least, f"{rate / pipeline:.2f}",
                             "equal" if equal else "DIFFER"), flush=True)
    return all_equal


def compare_host_write(binary):
    """A tensor written by the host; False if the two ways of moving messages differ in any time."""
    cases, _ = native_rates(binary, "^host_write/", 1)
    packets, runs = cases["host_write/packets"], cases["host_write/runs"]
    equal = packets[1] == runs[1]
    print(f"\nfabric: the host writes 128 x 2.36 MB to the slices of a SIP: {1e9 / packets[0]:.1f} ns per packet-hop packet by packet, "
          f"{1e9 / runs[0]:.3f} ns in one piece, x {runs[0] / packets[0]:.0f}; times {'equal' if equal else 'DIFFER'}", flush=True)
    return equal


def show_fabric_scale(binary, repetitions):
    cases, _ = native_rates(binary, "^(packets|runs)_at/", repetitions)
    print("\nfabric: wall time per packet-hop, all PEs reading from their own slices (16 SIPs: target <= 1.5 x 1 SIP)")
    row = "{:>6} {:>8} {:>22} {:>18}"
    print(row.format("SIPs", "PEs", "packet by packet", "in one piece"))
    for sips in (1, 2, 4, 8, 16):
        cells, missed = [], False
        for way in ("packets", "runs"):
            rate = cases[f"{way}_at/{sips}"][0]
            growth = cases[f"{way}_at/1"][0] / rate
            missed |= sips == 16 and growth > 1.5
            cells.append(f"{1e9 / rate:.1f} ns  x {growth:.2f}")
        print(row.format(sips, sips * 128, *cells) + ("  missed" if missed else ""), flush=True)


def human(rate):
    if rate >= 1e9:
        return f"{rate / 1e9:.1f} G/s"
    return f"{rate / 1e6:.2f} M/s" if rate >= 1e6 else f"{rate / 1e3:.1f} k/s"


class Tee:
    """Writes to several files."""

    def __init__(self, *files):
        self.files = files

    def write(self, text):
        for file in self.files:
            file.write(text)

    def flush(self):
        for file in self.files:
            file.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build_dir", type=pathlib.Path)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--only", help="run this workload only")
    parser.add_argument("--table", type=pathlib.Path, help="also write what is printed to this file")
    args = parser.parse_args()
    if args.table:
        sys.stdout = Tee(sys.stdout, args.table.open("w"))

    binary = args.build_dir / "kernbench_benchmarks"
    print(ROW.format("workload", "unit", "KernBench", "beside", "its rate", "ratio", "target", ""))
    all_equal = compare_with_peers(binary, args.repetitions, args.only)
    compare_with_library(binary, args.repetitions, args.only)
    if args.only in (None, "all-reduce"):
        compare_all_reduce(binary, args.repetitions)
    if args.only in (None, "tile-pipeline"):
        show_record_size(binary)
    if args.only in (None, "fabric"):
        all_equal &= compare_fabric(binary, args.repetitions)
        all_equal &= compare_host_write(binary)
        show_fabric_scale(binary, args.repetitions)
    if args.only in (None, "scale"):
        print("\nscale: what a machine costs to build", flush=True)
        print(subprocess.run([args.build_dir / "kernbench_scale"], stdout=subprocess.PIPE, text=True, check=True).stdout, end="", flush=True)
    return 0 if all_equal else 1


if __name__ == "__main__":
    sys.exit(main())
