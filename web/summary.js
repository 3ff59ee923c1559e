// Sections 1 and 2: what ran and how it went; why it took this long.
import { breakable, make, section, table } from "./dom.js";
import { colourOf } from "./colour.js";
import { legend, stack } from "./charts.js";
import { count, exactNs, percent, time } from "./format.js";

/** {text, tone}: what became of a run. */
export function verdict(run) {
  if (run.failure) return { text: "the program failed", tone: "bad" };
  if (!run.ok) return { text: run.verified === false ? "wrong numbers" : "a check failed", tone: "bad" };
  if (run.verified) return { text: "numbers verified", tone: "good" };
  return { text: "numbers not checked", tone: "" };
}

export function nameOf(data) {
  return data.run.bench || data.file;
}

export function optionsText(run) {
  return Object.entries(run.options ?? {}).filter(([, value]) => value !== null).map(([key, value]) => `${key}=${value}`).join(" ");
}

/**
 * {sip, share}: of the launches of a SIP, their bounds in sum over their times on the PEs in sum, for the SIP with the largest
 * sum of bounds. No launch is faster than its bound, so the share is 1 at most. null if nothing bounds the run.
 */
export function boundShare(data) {
  const sips = new Map();
  for (const launch of data.launches.filter((l) => l.phase === "launch" && l.done)) {
    const sum = sips.get(launch.sip) ?? { sip: launch.sip, bound: 0, spent: 0 };
    sum.bound += launch.lower_bound_ps ?? 0;
    sum.spent += launch.pe_exec_ps;
    sips.set(launch.sip, sum);
  }
  const most = [...sips.values()].reduce((a, b) => (a && a.bound >= b.bound ? a : b), null);
  return most && most.bound > 0 && most.spent > 0 ? { sip: most.sip, share: most.bound / most.spent } : null;
}

function figureBox(label, value, note, key, exact) {
  return make("div", { class: "figure" }, make("span", {}, label), make("b", { "data-key": key, "data-value": exact }, value), note && make("small", {}, breakable(note)));
}

function copyButton(text) {
  return make("button", { type: "button", onclick: (event) => {
    navigator.clipboard?.writeText(text).then(() => { event.target.textContent = "Copied"; }, () => { event.target.textContent = "Select it"; });
  } }, "Copy");
}

export function whatRan(data) {
  const { run, machine } = data, said = verdict(run), share = boundShare(data);
  const launches = data.launches.filter((l) => l.phase === "launch");
  const first = data.path.by_resource[0];
  const wall = run.wall ? `${run.kernbench ? "KernBench " + run.kernbench + ", " : ""}simulated in ${run.wall.seconds.toFixed(2)} s` : null;
  return section("what", "What ran", null,
    make("p", {}, make("span", { class: `badge ${said.tone}` }, said.text), " ",
      data.hazards.length > 0 && make("span", { class: "badge warn" }, `${count(data.hazards.length)} hazard${data.hazards.length > 1 ? "s" : ""}`)),
    make("p", {}, make("b", {}, machine.source), ` · ${machine.headline}`, make("br"),
      make("span", { class: "muted" }, [optionsText(run), wall].filter(Boolean).join(" · "))),
    run.failure && make("pre", { class: "bad" }, run.failure),
    (run.complaints ?? []).length > 0 && make("pre", { class: "bad" }, run.complaints.join("\n")),
    make("div", { class: "figures" },
      figureBox("Simulated time", time(run.total_ps), exactNs(run.total_ps), "sim.total_ns", run.sim?.total_ns),
      figureBox("Lower bound of the launches", run.lower_bound_ns ? time(run.lower_bound_ns * 1000) : "none",
        run.lower_bound_ns ? `${share === null ? "" : `${percent(share.share)} of the time that the launches of SIP ${share.sip} were on its PEs; set `}by ${run.bound_by || "?"}` : "nothing bounds it", "lower_bound_ns", run.lower_bound_ns),
      figureBox("Most of the time", first ? first.name : "–", first && `${percent(first.share)} of the critical path`, "critical_path.0.resource", first?.name),
      figureBox("Operations", count(run.ops), `${count(launches.length)} kernel launch${launches.length === 1 ? "" : "es"}`, "ops", run.ops),
      figureBox("Hash", run.hash, "equal hashes: the same run", "sim.op_log_hash", run.hash)),
    run.ops_kept < run.ops && make("p", { class: "note" }, `The saved run keeps ${count(run.ops_kept)} of ${count(run.ops)} operations (--save-ops): timeline and engine loads show those alone.`),
    run.line && make("pre", {}, run.line.trimEnd()),
    run.command && [make("h3", {}, "To run it again"), make("div", { class: "copy" }, make("pre", {}, run.command), copyButton(run.command))]);
}

/** At most `most` shares; what is left is one more. */
export function largest(shares, most) {
  if (shares.length <= most) return shares;
  const rest = shares.slice(most - 1);
  return [...shares.slice(0, most - 1), { name: `${rest.length} others`, ps: rest.reduce((sum, s) => sum + s.ps, 0), share: rest.reduce((sum, s) => sum + s.share, 0) }];
}

function pathOverTime(path) {
  const begin = path.pieces[0][0];
  let at = begin;
  const parts = [];
  for (const [from, to, what] of path.pieces) {
    if (from > at) parts.push({ name: "wait", label: "not shown", ps: from - at });
    parts.push({ name: what, ps: to - from });
    at = to;
  }
  return stack(parts, path.length_ps);
}

/** The source line above its place; requests of the host have no line. */
function lineCell(line) {
  if (line.text) return [make("code", {}, line.text), make("small", { class: "muted" }, breakable(line.name))];
  return [breakable(line.name), make("small", { class: "muted" }, /:\d+$/.test(line.name) ? "" : "host request")];
}

export function whyThisLong(data) {
  const { path } = data;
  if (path.length_ps === 0) return section("why", "Why this long", "Nothing of this run was finished, so it has no critical path.");
  const most = Math.max(...path.by_line.map((l) => l.ps));
  const rows = path.by_line.filter((l, i) => i < 6 || (i < 24 && l.share >= 0.001));
  return section("why", "Why this long",
    "The critical path: the chain of operations, each waiting for the one before, that ends with the run. Only what makes it shorter makes the run faster.",
    make("h3", {}, "By resource"), stack(path.by_resource, path.length_ps), legend(path.by_resource, path.length_ps),
    path.pieces.length <= 600 && path.pieces.length > 1 && [make("h3", {}, "From begin to end"), pathOverTime(path)],
    make("h3", {}, "By source line"),
    table([
      { title: "Line", of: lineCell, className: "line" },
      { title: "Time", of: (l) => time(l.ps), number: true },
      { title: "Share", of: (l) => percent(l.share), number: true },
      { title: "", of: (l) => make("div", { class: "bar", style: `width:${(l.ps / most) * 100}%` }), className: "barcell" }], rows),
    path.by_line.length > rows.length && make("p", { class: "note" }, `and ${count(path.by_line.length - rows.length)} more, ${time(path.by_line.slice(rows.length).reduce((sum, l) => sum + l.ps, 0))} together`),
    make("h3", {}, "By what it waited for"),
    make("ul", { class: "legend" }, path.by_reason.map((r) => make("li", {}, make("i", { style: `background:${colourOf(r.name)}` }), `${r.name} ${time(r.ps)} `, make("span", { class: "muted" }, percent(r.share))))));
}
