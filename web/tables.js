// Sections 5 and 6: roofline, stages, utilisation, collectives; hazards, queues, idealisations, the machine file.
import { breakable, make, section, table } from "./dom.js";
import { legend, overTime, roofline, stack } from "./charts.js";
import { bytes, count, figure, percent, time } from "./format.js";

const DTYPE_BYTES = { f64: 8, i64: 8, u64: 8, f32: 4, i32: 4, u32: 4, f16: 2, bf16: 2, i16: 2, u16: 2, f8e4m3: 1, f8e5m2: 1, i8: 1, u8: 1, bool: 1 };

/** A row in the columns of nccl-tests, from what a collective's bench says; nothing for other benches. */
export function collectiveRow(run) {
  const r = run.results ?? {};
  if (r.algbw_gbs === undefined || r.size_bytes === undefined) return null;
  const wrong = run.verified === null || run.verified === undefined ? "not checked" : run.verified ? "0" : "some";
  return { size: r.size_bytes, count: DTYPE_BYTES[r.dtype] ? r.size_bytes / DTYPE_BYTES[r.dtype] : null, type: r.dtype ?? "–", redop: String(run.options?.op ?? "–").toLowerCase(),
    root: r.root ?? -1, time_us: r.time_ns / 1000, algbw: r.algbw_gbs, busbw: r.busbw_gbs, wrong };
}

function collectiveTable(run) {
  const row = collectiveRow(run);
  if (!row) return null;
  const number = (title, of) => ({ title, of, number: true });
  return [make("h3", {}, `Collective: ${run.results.algorithm ?? run.bench}`),
    table([number("size (B)", (r) => count(r.size)), number("count", (r) => (r.count === null ? "–" : count(r.count))), { title: "type", of: (r) => r.type }, { title: "redop", of: (r) => r.redop },
      number("root", (r) => r.root), number("time (µs)", (r) => r.time_us.toFixed(3)), number("algbw (GB/s)", (r) => r.algbw.toFixed(3)), number("busbw (GB/s)", (r) => r.busbw.toFixed(3)), number("#wrong", (r) => r.wrong)], [row])];
}

/** Launches of one kernel on one SIP as one row, their times added up: {…the first of them, times}. */
export function groupedLaunches(launches) {
  const groups = new Map();
  for (const l of launches) {
    const key = `${l.name} ${l.sip} ${l.pes} ${l.done} ${l.bound_by}`, group = groups.get(key);
    if (!group) { groups.set(key, { ...l, times: 1 }); continue; }
    group.times++;
    for (const sum of ["total_ps", "queued_ps", "network_ps", "pe_exec_ps", "lower_bound_ps"]) group[sum] += l[sum];
  }
  return [...groups.values()].sort((a, b) => b.total_ps - a.total_ps);
}

const MOST_LAUNCHES = 16;

function launchTable(data) {
  const launches = data.launches.filter((l) => l.phase === "launch");
  if (launches.length === 0) return make("p", { class: "note" }, "No kernel was launched.");
  const grouped = launches.length > MOST_LAUNCHES, all = grouped ? groupedLaunches(launches) : launches, rows = all.slice(0, 2 * MOST_LAUNCHES);
  const number = (title, of) => ({ title, of, number: true });
  return [grouped && make("p", { class: "note" }, "Launches of one kernel on one SIP are one row, their times added up; the longest come first."),
    table([{ title: "Kernel", of: (l) => l.name, className: "name" }, ...(grouped ? [number("Launches", (l) => count(l.times))] : []), number("SIP", (l) => l.sip), number("PEs", (l) => count(l.pes)),
      number("Total", (l) => (l.done ? time(l.total_ps) : "not done")), number("Queued", (l) => time(l.queued_ps)), number("Network", (l) => time(l.network_ps)), number("On the PEs", (l) => time(l.pe_exec_ps)),
      number("Bound", (l) => (l.lower_bound_ps && l.pe_exec_ps ? percent(l.lower_bound_ps / l.pe_exec_ps) : "–")), { title: "Bound by", of: (l) => breakable(l.bound_by || "–"), className: "name" }], rows),
    all.length > rows.length && make("p", { class: "note" }, `and ${count(all.length - rows.length)} more rows`)];
}

function stages(data) {
  const requests = new Map();
  for (const l of data.launches) requests.set(l.phase, (requests.get(l.phase) ?? 0) + l.total_ps);
  const host = [...requests].map(([name, ps]) => ({ name, ps })).filter((p) => p.ps > 0).sort((a, b) => b.ps - a.ps);
  const kinds = data.phases.map((k) => ({ kind: k.kind, phases: k.phases.map((p) => ({ name: p.resource, ps: p.ps })), ps: k.phases.reduce((sum, p) => sum + p.ps, 0) })).filter((k) => k.ps > 0 && !k.kind.startsWith("host_") && k.kind !== "program");
  const most = Math.max(1, ...kinds.map((k) => k.ps));
  return [host.length > 0 && [make("h3", {}, "Requests of the host, added up"), stack(host, host.reduce((s, p) => s + p.ps, 0)), legend(host, host.reduce((s, p) => s + p.ps, 0))],
    kinds.length > 0 && make("h3", {}, "Stages of operations, added up over all PEs"),
    kinds.sort((a, b) => b.ps - a.ps).map((k) => [make("div", { class: "muted" }, `${k.kind} ${time(k.ps)}`), stack(k.phases, most)])];
}

export function performance(data) {
  const { run, machine } = data;
  const points = data.launches.filter((l) => l.phase === "launch" && l.done && l.macs > 0 && l.bytes > 0 && l.pe_exec_ps > 0 && l.pes > 0)
    .slice(0, 200).map((l) => ({ name: l.name, flops: 2 * l.macs, bytes: l.bytes, ps: l.pe_exec_ps, pes: l.pes }));
  const u = run.utilization ?? {};
  const engines = ["gemm", "math", "dma_read", "dma_write", "hbm"].filter((key) => typeof u[key] === "number");
  return section("performance", "How well the machine was used", null,
    make("div", { class: "figures" }, engines.map((key) => make("div", { class: "figure" }, make("span", {}, key === "hbm" ? "HBM" : key), make("b", { "data-key": `utilization.${key}`, "data-value": u[key] }, percent(u[key])))),
      typeof u.link_max === "number" && make("div", { class: "figure" }, make("span", {}, "busiest link"), make("b", { "data-key": "utilization.link_max", "data-value": u.link_max }, percent(u.link_max)), make("small", {}, breakable(u.busiest_link ?? "")))),
    make("p", { class: "note" }, "While kernels ran. The chart below is over the whole run, with the host's copies."),
    data.utilization.series.length > 0 && [make("h3", {}, "Over time"), overTime(data.utilization.series, data.utilization.bucket_ps)],
    make("h3", {}, "Launches"), launchTable(data),
    collectiveTable(run),
    make("div", { class: "columns" },
      points.length > 0 && make("div", {}, make("h3", {}, "Roofline of a PE"), roofline(points, machine.pe_gemm_tflops, machine.pe_hbm_gbs)),
      make("div", {}, stages(data))));
}

function linkTable(links, total, last) {
  const number = (title, of) => ({ title, of, number: true });
  return table([{ title: "Link", of: (l) => breakable(l.name), className: "name" }, number("Carried", (l) => bytes(l.bytes)), number("GB/s", (l) => figure(l.bandwidth_gbs)), number("Busy", (l) => percent(l.busy_ps / Math.max(1, total))),
    last], links);
}

export function caveats(data) {
  const total = data.run.total_ps, waited = data.deepest_queues.filter((l) => l.deepest_wait_ps > 0).slice(0, 12), ideal = data.machine.idealised;
  const longest = { title: "Longest wait", of: (l) => time(l.deepest_wait_ps), number: true };
  const looked = data.run.hazards !== null;
  return section("caveats", "What to keep in mind", null,
    make("h3", {}, "Hazards"),
    data.hazards.length > 0 ? table([{ title: "Kind", of: (h) => make("span", { class: "badge warn" }, h.kind) }, { title: "What", of: (h) => make("code", {}, h.text) }, { title: "Times", of: (h) => count(h.occurrences), number: true }], data.hazards)
      : make("p", {}, looked ? "None found." : "Not looked for in this run; kernbench run --hazards does."),
    make("h3", {}, "Deepest queues"),
    waited.length > 0 ? linkTable(waited, total, longest) : make("p", {}, "Nothing waited for a link."),
    data.push_back && data.push_back.stalled_ns > 0 && make("p", {}, `${count(data.push_back.links)} links stood idle for want of room in the next router, ${time(1000 * data.push_back.stalled_ns)} in all, most ${data.push_back.most_at}.`),
    data.push_back && data.push_back.packets > 0 && make("p", {}, `${count(data.push_back.packets)} packets found more than ${count(data.push_back.buffer_packets)} before them in a router, at ${count(data.push_back.links)} links, most at ${data.push_back.most_at}: hardware would have held up their senders.`),
    make("h3", {}, "Busiest links"), data.busiest_links.length > 0 ? linkTable(data.busiest_links.slice(0, 12), total, longest) : make("p", {}, "Nothing was sent."),
    data.memories.length > 0 && [make("h3", {}, "Busiest memories"), table([{ title: "Memory", of: (m) => breakable(m.name), className: "name" }, { title: "Read", of: (m) => bytes(m.read_bytes), number: true },
      { title: "Written", of: (m) => bytes(m.written_bytes), number: true }, { title: "Busy", of: (m) => percent(m.busy_ps / Math.max(1, total)), number: true }], data.memories.slice(0, 12))],
    make("h3", {}, "Idealised in this machine"),
    ideal.length > 0 ? make("ul", {}, ideal.map((text) => make("li", {}, text))) : make("p", {}, "Nothing."),
    make("details", {}, make("summary", {}, "The machine file"), make("pre", {}, data.machine.yaml)));
}
