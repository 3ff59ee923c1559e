// Several runs side by side, each with its difference to the first.
import { make, section, table } from "./dom.js";
import { stack } from "./charts.js";
import { change, count, percent, time } from "./format.js";
import { largest, nameOf, optionsText, verdict } from "./summary.js";

/** Names of all lists, those with the largest value first: {name, values: [of each list, 0 where it has none]}. */
export function aligned(lists) {
  const values = new Map();
  lists.forEach((list, run) => {
    for (const { name, ps } of list) {
      if (!values.has(name)) values.set(name, lists.map(() => 0));
      values.get(name)[run] += ps;
    }
  });
  return [...values].map(([name, all]) => ({ name, values: all })).sort((a, b) => Math.max(...b.values) - Math.max(...a.values));
}

/** What `text` says at a path, with the parts of `{a: 1, b: {c: 2}}` one by one. `attrs` is no part of a key. */
function addValues(out, path, text) {
  if (!/^\{.*\}$/.test(text)) { out[path.filter((key) => key !== "attrs").join(".")] = text; return; }
  let depth = 0, begin = 1;
  for (let i = 1; i < text.length; i++) {
    if (depth === 0 && (text[i] === "," || i === text.length - 1)) {
      const part = text.slice(begin, i), colon = part.indexOf(":");
      if (colon > 0) addValues(out, [...path, part.slice(0, colon).trim()], part.slice(colon + 1).trim());
      begin = i + 1;
    } else if ("{[".includes(text[i])) depth++;
    else if ("}]".includes(text[i])) depth--;
  }
}

/** The keys of a machine's YAML, as `--set` takes them, with their values: {"cube.hbm.access_ns": "0"}. */
export function yamlValues(text) {
  const out = {}, path = [];
  for (const line of text.split("\n")) {
    const found = /^(\s*)([\w.-]+):\s*(.*)$/.exec(line);
    if (!found) continue;
    while (path.length && path[path.length - 1].indent >= found[1].length) path.pop();
    path.push({ indent: found[1].length, key: found[2] });
    if (found[3]) addValues(out, path.map((p) => p.key), found[3]);
  }
  return out;
}

function withChange(text, from, to, first) {
  if (first) return text;
  const said = change(from, to);
  return [text, " ", make("span", { class: to < from ? "better" : to > from ? "worse" : "muted" }, said)];
}

function timesTable(runs, label, lists) {
  const rows = aligned(lists).slice(0, 24);
  return table([{ title: label, of: (r) => r.name, className: "name" },
    ...runs.map((run, i) => ({ title: titleOf(run, i), number: true, of: (r) => (r.values[i] === 0 && i > 0 && r.values[0] === 0 ? "–" : withChange(time(r.values[i]), r.values[0], r.values[i], i === 0)) }))], rows);
}

export function titleOf(run, i) {
  return `${String.fromCharCode(65 + i)} · ${run.file}`;
}

function machineDifferences(runs) {
  const values = runs.map((run) => yamlValues(run.machine.yaml));
  const keys = [...new Set(values.flatMap(Object.keys))].filter((key) => new Set(values.map((v) => v[key])).size > 1);
  return keys.map((key) => ({ key, values: values.map((v) => v[key] ?? "–") }));
}

export function comparison(runs) {
  const first = runs[0], longest = Math.max(...runs.map((r) => r.path.length_ps));
  const facts = [
    ["Bench", (r) => nameOf(r)], ["Options", (r) => optionsText(r.run) || "–"], ["Verdict", (r) => verdict(r.run).text],
    ["Simulated time", (r, i) => withChange(make("b", { "data-key": `runs.${i}.total_ps`, "data-value": r.run.total_ps }, time(r.run.total_ps)), first.run.total_ps, r.run.total_ps, i === 0)],
    ["Lower bound", (r) => (r.run.lower_bound_ns ? time(r.run.lower_bound_ns * 1000) : "none")],
    ["Operations", (r, i) => withChange(count(r.run.ops), first.run.ops, r.run.ops, i === 0)],
    ["HBM busy", (r) => percent(r.run.utilization?.hbm)], ["Matrix units busy", (r) => percent(r.run.utilization?.gemm)],
    ["Hash", (r, i) => (i > 0 && r.run.hash === first.run.hash ? `${r.run.hash} (the same run)` : r.run.hash)]];
  const machines = machineDifferences(runs);
  return section("compare", `${runs.length} runs side by side`, "Differences are to the first run. Bars share one scale.",
    table([{ title: "", of: (f) => f[0] }, ...runs.map((run, i) => ({ title: titleOf(run, i), of: (f) => f[1](run, i) }))], facts),
    machines.length > 0 && [make("h3", {}, "Machines differ in"), table([{ title: "Key", of: (m) => make("code", {}, m.key) },
      ...runs.map((run, i) => ({ title: titleOf(run, i), of: (m) => m.values[i] }))], machines.slice(0, 40))],
    make("h3", {}, "Critical path by resource"),
    runs.map((run, i) => [make("div", { class: "muted" }, titleOf(run, i)), stack(largest(run.path.by_resource, 12), longest)]),
    timesTable(runs, "Resource", runs.map((r) => r.path.by_resource)),
    make("h3", {}, "Critical path by source line"), timesTable(runs, "Line", runs.map((r) => r.path.by_line)),
    make("h3", {}, "Launches, on the PEs"), timesTable(runs, "Kernel", runs.map((r) => r.launches.filter((l) => l.phase === "launch").map((l) => ({ name: `${l.name} on SIP ${l.sip}`, ps: l.pe_exec_ps })))));
}
