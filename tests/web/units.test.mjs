// Units of the page's own code, with node's test runner: node --test tests/web
import assert from "node:assert/strict";
import test from "node:test";
import { bytes, change, energy, exactNs, percent, power, ticks, time } from "../../web/format.js";
import { heat, loadAt, meanLoad } from "../../web/colour.js";
import { roof } from "../../web/charts.js";
import { energyShares } from "../../web/energy.js";
import { boundShare, largest, verdict } from "../../web/summary.js";
import { aligned, yamlValues } from "../../web/compare.js";
import { loadsByPart, shownLoad } from "../../web/plan.js";
import { barAt, decodeTrack, timelineRows, withLanes, zoomed } from "../../web/timeline.js";
import { changes, nodeOf } from "../../web/machine_page.js";
import { givenOptions, offered, progressText } from "../../web/run_page.js";
import { collectiveRow, groupedLaunches } from "../../web/tables.js";
import { labelled, logTicks, scaleOf } from "../../web/figures.js";
import { isScatter, rowsOf, seriesOf } from "../../web/sweep.js";

test("times have the unit that fits", () => {
  assert.equal(time(999), "999 ps");
  assert.equal(time(12_345), "12.35 ns");
  assert.equal(time(1_043_762), "1.044 µs");
  assert.equal(time(3_200_000_000), "3.2 ms");
  assert.equal(exactNs(3_645_521), "3,645.521 ns");
});

test("shares, sizes and changes", () => {
  assert.equal(percent(0.6259), "62.6\u202f%");
  assert.equal(percent(1), "100\u202f%");
  assert.equal(percent(undefined), "–");
  assert.equal(bytes(2048), "2 KiB");
  assert.equal(change(100, 100), "same");
  assert.equal(change(100, 75), "−25.0\u202f%");
  assert.equal(change(0, 75), "new");
  assert.equal(change(2, 4096), "×\u202f2,048");
});

test("energies and powers have the unit that fits", () => {
  assert.equal(energy(12.5), "12.5 pJ");
  assert.equal(energy(1_234_567), "1.235 µJ");
  assert.equal(power(0.25), "250 mW");
  assert.equal(power(160.126), "160.1 W");
});

test("parts that took energy, the largest first", () => {
  assert.deepEqual(energyShares({ hbm: { pj: 1, share: 0.25 }, sram: { pj: 0, share: 0 }, tcm: { pj: 3, share: 0.75 } }).map((s) => s.name), ["tcm", "hbm"]);
});

test("ticks are round and inside", () => {
  assert.deepEqual(ticks(0, 1000, 5), [0, 200, 400, 600, 800, 1000]);
  assert.deepEqual(ticks(130, 170, 4), [130, 140, 150, 160, 170]);
});

test("letters of load are 0 … 63 of 63, idle beyond the end", () => {
  assert.equal(loadAt("A_", 0), 0);
  assert.equal(loadAt("A_", 1), 1);
  assert.equal(loadAt("A_", 7), 0);
  assert.equal(meanLoad("__", 4), 0.5);
  assert.equal(heat(0), "rgb(70,130,180)");
  assert.equal(heat(1), "rgb(206,52,48)");
});

test("the roof is memory first, then the matrix unit", () => {
  assert.equal(roof(10, 8, 256), 2.56);
  assert.equal(roof(1000, 8, 256), 8);
});

test("a part is coloured by the chosen engine, else by its busiest", () => {
  const parts = loadsByPart({ frames: 2, rows: [{ node: 7, what: "gemm", name: "pe", load: "_A" }, { node: 7, what: "dma_read", name: "pe", load: "A_" }, { link: 3, what: "link", name: "a → b", load: "_" }] });
  assert.deepEqual([...parts.keys()], ["n7", "l3"]);
  const { rows } = parts.get("n7");
  assert.equal(shownLoad(rows, 0, "gemm"), 1);
  assert.equal(shownLoad(rows, 1, "gemm"), 0);
  assert.equal(shownLoad(rows, 1, "all"), 1);
  assert.equal(shownLoad(rows, null, "all"), 0.5);
  assert.equal(shownLoad(rows, 0, "math"), null);
});

test("zooming keeps the instant under the pointer and stays inside the run", () => {
  assert.deepEqual(zoomed({ begin: 0, end: 1000 }, 0.5, 500, 1000), { begin: 250, end: 750 });
  assert.deepEqual(zoomed({ begin: 0, end: 1000 }, 2, 500, 1000), { begin: 0, end: 1000 });
  assert.deepEqual(zoomed({ begin: 0, end: 20 }, 0.01, 0, 1000), { begin: 0, end: 10 });
});

test("the bar under the pointer is found, or the nearest", () => {
  const bars = [{ start: 0, end: 10, lane: 0 }, { start: 20, end: 30, lane: 0 }, { start: 22, end: 40, lane: 1 }];
  assert.equal(barAt(bars, 0, 5, 1), bars[0]);
  assert.equal(barAt(bars, 0, 19, 2), bars[1]);
  assert.equal(barAt(bars, 0, 15, 2), null);
  assert.equal(barAt(bars, 1, 25, 0), bars[2]);
});

test("bars that overlap lie in lanes", () => {
  assert.deepEqual(withLanes([{ start: 0, end: 10 }, { start: 5, end: 8 }, { start: 10, end: 12 }]).map((b) => b.lane), [0, 1, 0]);
});

test("starts of a track are differences", () => {
  const track = { sip: 0, cube: 0, pe: 0, component: "pe_dma", start: [5, 10], length: [2, 3], lane: [0, 0], count: [1, 4], kind: [0, 0], op: [9, 8], line: [-1, 0], cause: [-1, 9], reason: [0, 0], critical: [1, 0] };
  const bars = decodeTrack(track, { kinds: ["dma_read"], reasons: ["issue"] });
  assert.deepEqual(bars.map((b) => [b.start, b.end, b.count, b.critical]), [[5, 7, 1, true], [15, 18, 4, false]]);
  const rows = timelineRows({ timeline: { kinds: ["dma_read"], reasons: ["issue"], tracks: [track, { ...track, cube: -1, pe: -1, component: "host" }] },
    launches: [{ phase: "launch", done: true, sip: 0, name: "k", submitted_ps: 1, queued_ps: 1, total_ps: 5 }] });
  assert.deepEqual(rows.map((r) => r.name), ["host · SIP 0", "launches · SIP 0", "sip0.cube0.pe0 dma"]);
});

test("verdicts", () => {
  assert.equal(verdict({ ok: false, failure: "deadlock" }).tone, "bad");
  assert.equal(verdict({ ok: true, verified: true }).tone, "good");
  assert.equal(verdict({ ok: true, verified: null }).text, "numbers not checked");
});

test("a SIP's bounds are compared with the time of the same SIP's launches", () => {
  const launch = (bound, ps, sip = 0) => ({ phase: "launch", done: true, sip, lower_bound_ps: bound, pe_exec_ps: ps });
  assert.deepEqual(boundShare({ launches: [launch(1000, 4000)] }), { sip: 0, share: 0.25 });
  assert.deepEqual(boundShare({ launches: [launch(1000, 4000), launch(3000, 4000)] }), { sip: 0, share: 0.5 });  // (1000 + 3000) / 8000
  // Two launches of SIP 0 and a long one of SIP 1: 1900 + 1900 over 2000 + 2000, not over the longest launch (3200).
  assert.deepEqual(boundShare({ launches: [launch(1900, 2000), launch(1900, 2000), launch(100, 3200, 1)] }), { sip: 0, share: 0.95 });
  assert.equal(boundShare({ launches: [{ ...launch(1000, 4000), phase: "deploy" }, { ...launch(1000, 4000), done: false }] }), null);
  assert.equal(boundShare({ launches: [] }), null);
});

test("points that go to and fro are not joined", () => {
  const sweep = { names: ["n", "v"] }, series = (...points) => [{ name: "", points }];
  assert.equal(isScatter(sweep, series([2, 5], [1, 6], [3, 6]), "n"), false);  // varied, in whatever order
  assert.equal(isScatter(sweep, series([1, 5], [1, 6], [2, 6]), "n"), true);
  assert.equal(isScatter(sweep, series([1, 5], [2, 6], [4, 6]), "bytes"), false);  // measured, and grows with what varies
  assert.equal(isScatter(sweep, series([4, 5], [2, 6], [1, 6]), "bytes"), false);
  assert.equal(isScatter(sweep, series([1, 5], [4, 6], [2, 6]), "bytes"), true);
  assert.equal(isScatter(sweep, series([1, 5]), "bytes"), false);
});

test("what is left is one more share", () => {
  assert.deepEqual(largest([{ name: "a", ps: 3, share: 0.5 }, { name: "b", ps: 2, share: 0.25 }, { name: "c", ps: 1, share: 0.25 }], 2),
    [{ name: "a", ps: 3, share: 0.5 }, { name: "2 others", ps: 3, share: 0.5 }]);
});

test("runs are aligned by name, machines by key", () => {
  assert.deepEqual(aligned([[{ name: "a", ps: 1 }], [{ name: "b", ps: 5 }, { name: "a", ps: 2 }]]), [{ name: "b", values: [0, 5] }, { name: "a", values: [1, 2] }]);
  assert.deepEqual(yamlValues("cube:\n  hbm: {kind: hbm, attrs: {access_ns: 30, at: [1, 2], more: {x: 5}}}\npe:\n  clock_ghz: 1"),
    { "cube.hbm.kind": "hbm", "cube.hbm.access_ns": "30", "cube.hbm.at": "[1, 2]", "cube.hbm.more.x": "5", "pe.clock_ghz": "1" });
});

test("a collective has a row of nccl-tests, other benches none", () => {
  const row = collectiveRow({ verified: true, options: { op: "SUM" }, results: { size_bytes: 2048, dtype: "f16", time_ns: 1043.762, algbw_gbs: 1.962, busbw_gbs: 3.802 } });
  assert.deepEqual([row.count, row.redop, row.wrong], [1024, "sum", "0"]);
  assert.equal(collectiveRow({ results: { tflops: 3 } }), null);
});

test("launches of one kernel are one row with the sum of their times", () => {
  const launch = (name, ps) => ({ name, sip: 0, pes: 8, done: true, bound_by: "x", total_ps: ps, queued_ps: 1, network_ps: 0, pe_exec_ps: ps, lower_bound_ps: 2 });
  assert.deepEqual(groupedLaunches([launch("a", 5), launch("b", 20), launch("a", 7)]).map((g) => [g.name, g.times, g.total_ps, g.queued_ps, g.lower_bound_ps]), [["b", 1, 20, 1, 2], ["a", 2, 12, 2, 4]]);
});

test("only values that differ from the file are sent", () => {
  assert.deepEqual(changes(new Map([["a.x", "1"], ["a.y", "2"]]), new Map([["a.x", "1"], ["a.y", "3"]])), ["a.y=3"]);
  assert.deepEqual(givenOptions([{ name: "M", value: "512" }, { name: "N", value: "512" }], new Map([["M", "64"], ["N", "512"]])), ["M=64"]);
});

test("a choice that may be left out has an empty option, which is not sent", () => {
  const kind = { name: "buffer_kind", value: "", choices: ["tcm", "hbm"] };
  assert.deepEqual(offered(kind), ["", "tcm", "hbm"]);
  assert.deepEqual(givenOptions([kind], new Map([["buffer_kind", "tcm"]])), ["buffer_kind=tcm"]);
  assert.deepEqual(givenOptions([kind], new Map([["buffer_kind", ""]])), []);
  assert.deepEqual(offered({ name: "variant", value: "ref_ref", choices: ["ref_ref", "load_ref"] }), ["ref_ref", "load_ref"]);
});

test("nodes of the plan are those with a path, not links or outlines", () => {
  assert.equal(nodeOf("sip0.cube0.pe0: 8.19 TFLOP/s"), "sip0.cube0.pe0");
  assert.equal(nodeOf("sip0.cube0.r0c0 → sip0.cube0.r0c1: 512 GB/s"), null);
  assert.equal(nodeOf("sip0.cube3: 8 PEs"), null);
  assert.equal(nodeOf(undefined), null);
});

test("progress is told in words", () => {
  assert.equal(progressText({ state: "waiting" }), "waits for the one before it");
  assert.equal(progressText({ state: "done", seconds: 1.25 }), "done, 1.3 s");
  assert.equal(progressText({ state: "running", seconds: 2, progress: { current: "launch q", done: 3, submitted: 7, now_ps: 1_500_000, events: 12000 } }), "launch q: 3 of 7 requests, 1.5 µs simulated, 12,000 events, 2.0 s");
});

test("axes of sweeps have units, and ticks that fit", () => {
  assert.equal(labelled("results.latency_ns"), "latency (ns)");
  assert.equal(labelled("cube.hbm.hbm_to_router_bw_gbs"), "cube.hbm.hbm_to_router_bw (GB/s)");
  assert.equal(labelled("utilization.gemm"), "utilization.gemm (0 … 1)");
  assert.equal(labelled("results.bytes_per_pe"), "bytes_per_pe (bytes)");
  assert.equal(labelled("variant"), "variant");
  assert.deepEqual(logTicks(10, 100000), [10, 100, 1000, 10000, 100000]);
  assert.deepEqual(logTicks(3, 30), [5, 10, 20]);
  assert.equal(scaleOf([1, 100], true).at(10).toFixed(3), "0.500");
  assert.equal(scaleOf(["a", "b"], false).at("b"), 0.75);
});

test("lines of a sweep: rows that are so, one line for each combination", () => {
  const sweep = { names: ["v", "M"], columns: ["t_ns"], rows: [["a", "32", true, 5, null], ["b", "32", true, 7, null], ["a", "64", true, 9, null], ["b", "64", false, null, "no"]] };
  const rows = rowsOf(sweep);
  assert.equal(rows[0].M, 32);
  assert.deepEqual(seriesOf(rows, { x: "M", y: "t_ns", lines: ["v"] }), [{ name: "a", points: [[32, 5], [64, 9]] }, { name: "b", points: [[32, 7]] }]);
  assert.deepEqual(seriesOf(rows, { x: "M", y: "t_ns", lines: [], only: { v: "b" } }), [{ name: "", points: [[32, 7]] }]);
});
