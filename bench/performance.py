#!/usr/bin/env python3
"""Measures what runs cost and writes docs/performance.md.

Usage: bench/performance.py KERNBENCH [--table FILE] [--large] [--check]

FILE holds what bench/run.py printed: the rates beside others. With --large also what needs gigabytes and minutes; else these rows stay
as they are on the page. With --check nothing is timed and nothing written: what does not depend on the computer (messages,
records) is computed again for the cheap rows, and exit code 1 if the page says otherwise.
"""
import argparse
import datetime
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "performance.md"
SIP = 128  # PEs


class Run:
    """A run of the program: what it does, in units of what, and how much that is to compute. `count`: how many units, from its JSON."""

    def __init__(self, what, words, unit, count, cheap=True):
        self.what, self.words, self.unit, self.count, self.cheap = what, words, unit, count, cheap


def ring(world, cheap=True, more=""):
    sips = max(1, world // SIP)
    words = f"--bench ccl-allreduce algorithm=ring_allreduce_rs world_size={world} n_elem={world} --set system.sips.count={sips} --log none{more}"
    return Run(f"ring all-reduce, {world:,} ranks", words, "message", sent, cheap)


def hazards(world):
    row = ring(world)
    return Run(row.what + ", with its log and hazards", row.words.replace("--log none", "--log memory --hazards"), row.unit, row.count)


def mesh(world, cheap=True):
    words = f"--bench ccl-allreduce algorithm=mesh_allreduce world_size={world} n_elem=512 --set system.sips.count={max(1, world // SIP)} --log none"
    return Run(f"mesh all-reduce, {world:,} ranks", words, "message", sent, cheap)


def tree(world, cheap=True):
    words = f"--bench ccl-allreduce algorithm=tree_allreduce world_size={world} n_elem=512 --set system.sips.count={max(1, world // SIP)} --log none"
    return Run(f"tree all-reduce, {world:,} ranks", words, "message", sent, cheap)


def neighbour(sips, cheap=True):
    words = f"--bench ccl-neighbour --set system.sips.count={sips} --log none"
    return Run(f"every PE sends 1 KiB to the next, {sips * SIP:,} PEs", words, "message", sent, cheap)


def largest():
    """256 SIPs of 32 cubes of 16 PEs: as many as there can be."""
    words = ("--bench ccl-neighbour --set system.sips.count=256 --set sip.cube_mesh.w=8 --set sip.cube_mesh.h=4 "
             "--set cube.pe_layout.pe_per_corner=4 --log none")
    return Run("every PE sends 1 KiB to the next, 131,072 PEs", words, "message", sent, False)


def decode(steps, cheap=True):
    words = ("--bench llama model=llama3-70b phase=decode batch=8 context=8192 "
             f"steps={steps} --set system.sips.count=8 --log none")
    return Run(f"decode step of Llama 3 70B, 8 SIPs, {steps} of them", words, "record", records, cheap)


def sent(result):
    return result["op_log_summary"]["ipcq_send_count"]


def records(result):
    return result["op_log_summary"]["record_count"]


def bursts(result):
    return result["dram"]["all"]["reads"] + result["dram"]["all"]["writes"]


def random_reads(what, more):
    words = f"--bench memory --topology realistic pattern=random {more} --log none"
    return Run(what, words, "burst", bursts)


# Cheap ones take about a second each.
TABLES = {
    "expect": ("What to expect", "With `--threads 1`. Time is that of the processor, everything included: starting, recording, simulating, summing up.", [
        Run("product 512³ on one PE, streamed", "--bench matmul-composite M=512 K=512 N=512", "record", records),
        Run("Q, K and V of GPT-3 on a SIP, 8 tokens", "--bench gpt3-qkv tokens=8", "record", records),
        Run("a layer of Llama 3 8B, decode, context 2,048, 2 SIPs", "--bench llama model=llama3-8b --log none", "record", records, False),
        Run("feed-forward of Llama 3 70B, 512 tokens, 8 SIPs",
            "--bench tp-mlp hidden=8192 ffn=28672 tokens=512 --set system.sips.count=8 --log none", "record", records, False),
    ]),
    "growth": ("How cost grows", "Messages between PEs; a message of the ring is a load, a send, a receive, a sum and a store.", [
        ring(64), ring(256), hazards(256), ring(1024, False), tree(256), tree(1024), tree(16384, False), mesh(1024),
        neighbour(1), neighbour(8), neighbour(64), largest(),
    ]),
    "memory": ("A memory that schedules", "Bursts of 64 bytes at random in one slice of `realistic` ([ADR 46](adr/0046-one-decision-a-burst.md)).\nMost of a "
               "lone access is its command, its messages and its record.", [
                   random_reads("random 64-byte reads, 64 a command", "rows=64 in_flight=512 count=2000000"),
                   random_reads("random 4 KiB reads", "bytes=4096 count=20000"),
                   random_reads("random 64-byte reads, each a command", "count=200000")]),
    "repeats": ("What comes again", "Steps that come again in the same state are taken over ([ADR 43](adr/0043-repeats-are-taken-over.md)); "
                "the program of every step is recorded all the same.", [
                    Run("8 decode steps of a small model, 2 SIPs", "--bench llama model=custom context=64 batch=2 steps=8 --topology small "
                        "--set system.sips.count=2 --log none", "record", records),
                    Run("the same, all simulated", "--bench llama model=custom context=64 batch=2 steps=8 --topology small "
                        "--set system.sips.count=2 --log none --no-skip", "record", records),
                    decode(1, False), decode(64, False)]),
}


def run(kernbench, words):
    """Its JSON, and the processor's time in seconds."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "result.json"
        process = subprocess.Popen([kernbench, "run", *words.split(), "--threads", "1", "--quiet", f"--json={out}"], stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            sys.exit(f"kernbench run {words} ended with {process.returncode}")
        return json.loads(out.read_text()), usage.ru_utime + usage.ru_stime


def facts(row, result):
    """What depends on the machine alone that is simulated."""
    return f"{row.count(result):,} {row.unit}s"


def line(row, result, seconds):
    count, memory = row.count(result), result["wall"]["peak_rss_mb"]
    events = result["wall"]["events"]
    return (f"| {row.what} | {facts(row, result)} | {seconds:.2f} s | {1e6 * seconds / count:.2f} us | {events / count:.1f} | "
            f"{events / seconds / 1e6:.2f} M/s | {memory:,.0f} MB |")


HEAD = "| run | work | time | for each | events for each | events | memory |\n|---|---|---|---|---|---|---|"


def known_lines():
    """The lines of the page by what they are about."""
    return {m[1]: m[0] for m in re.finditer(r"^\| ([^|]+) \|.*$", PAGE.read_text(), re.M)} if PAGE.exists() else {}


def computer():
    model = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
    return f"{model[1] if model else 'an unknown processor'}, {os.cpu_count()} cores"


def page(kernbench, large, table):
    known, lines = known_lines(), []
    for title, text, rows in TABLES.values():
        lines += [f"\n## {title}", text, "", HEAD]
        for row in rows:
            if not row.cheap and not large:
                lines += [known[row.what]] if row.what in known else []
                continue
            print(f"kernbench run {row.words}", file=sys.stderr, flush=True)
            result, seconds = run(kernbench, row.words)
            lines.append(line(row, result, seconds))
        lines += ["", "```sh", *(f"kernbench run {row.words}" for row in rows), "```"]
    return INTRODUCTION.format(computer=computer(), date=datetime.date.today()) + "\n".join(lines) + "\n" + beside(table) + memory(lines)


INTRODUCTION = """# Performance: what runs cost

`make bench` makes this page: with what it prints beside others, and with runs of the program as a user would start them.
Measured on {computer}, {date}. Times depend on the computer and on what else it does, by a third either way; the
work does not, and the tests compute it again for the cheap rows. `record` is an operation in the op log, 64 bytes if it is kept.
"""


def memory(lines):
    """What fits, from the rows: bytes that another PE, or another message, takes."""
    def of(row):
        cells = next(text for text in lines if text.startswith(f"| {row.what} |")).split(" | ")
        return int(cells[1].split()[0].replace(",", "")), 1e6 * float(cells[-1].split()[0].replace(",", ""))
    def growth(small, large):
        (n1, b1), (n2, b2) = of(small), of(large)
        return (b2 - b1) / (n2 - n1)
    pe, message = growth(neighbour(64), largest()), growth(ring(256), ring(1024))
    return f"""
## Memory, and what fits
A record of the op log takes 64 bytes with `--log memory` and none with `--log none`; with `--log disk` it is in a file, whose pages the system counts as
memory of the process until somebody else needs the room; a command of a program 64 to 72 with its result, for as
long as the log may ask for it. Without a log a PE that takes part in the neighbour exchange costs {pe / 1e3:.0f} kB (its engines, queues, ways, links and
program): the largest machine there can be, of 131,072 PEs, fits. A ring of W ranks has 2 W (W − 1) messages; from 256 to 1,024 ranks each
costs {message:.0f} bytes, ranks included, so that 16 GB hold a ring of about {round((16e9 / message / 2) ** 0.5, -2):,.0f} ranks.
"""


def beside(table):
    if table is None:
        found = re.search(r"\n## Beside others\n.*?(?=\n## )", PAGE.read_text() + "\n## ", re.S) if PAGE.exists() else None
        return found[0] + "\n" if found else ""
    return f"""
## Beside others
What a user would write instead, on the same computer. **SimPy**: the same model as processes in Python; checksums of all times are equal, so it is the same
work. **A bare event queue**: KernBench's own event queue (a timing wheel) with the same events and no processes around it. **A binary heap**: the same
with `std::priority_queue`. **OpenBLAS** computes the numbers of a product in one thread, in another order of sums. **The 256-rank ring** is everything a
verified all-reduce does (recording, memories, links, numbers) beside SimPy passing as many bare messages round a ring. Cycle-stepping simulators of
systolic arrays (ONNXim) and simulators of collectives without kernels and memories (ASTRA-sim) do less or other work for each event; their speed was not
measured here, and [validation](validation.md) sets their results beside ours. `>=`, `<=` and "target" give what we hold ourselves to, and a figure that
does not reach its target is marked *missed*. Rates and ratios depend on the processor: one that is quick at interpreting Python brings SimPy closer.
Moving a message in one piece is not always faster than packet by packet: it is slower where the packets of several streams cross the same links, as
for the slices of the next cube below.

```
{table.read_text().rstrip()}
```
"""


def check(kernbench):
    known, stale = known_lines(), []
    for _, _, rows in TABLES.values():
        for row in rows:
            if row.what not in known and row.cheap:
                stale.append(f"there is no row '{row.what}'")
            elif row.cheap:
                result, _ = run(kernbench, row.words)
                if f"| {facts(row, result)} |" not in known[row.what]:
                    stale.append(f"'{row.what}' is {facts(row, result)}")
    for what in stale:
        print(f"docs/performance.md is stale: {what}", file=sys.stderr)
    if stale:
        print("run `make bench`, or bench/performance.py build/release/kernbench", file=sys.stderr)
    return 1 if stale else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kernbench")
    parser.add_argument("--table", type=pathlib.Path)
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    if args.check:
        return check(args.kernbench)
    PAGE.write_text(page(args.kernbench, args.large, args.table))
    return 0


if __name__ == "__main__":
    sys.exit(main())
