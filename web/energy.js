// Where the energy of a run went, and its power over time.
import { make, section, table, withTip } from "./dom.js";
import { powerOverTime } from "./charts.js";
import { colourOf } from "./colour.js";
import { energy, figure, percent, power, time } from "./format.js";

/** Parts or operations that took something, the largest first: [{name, pj, share}]. */
export function energyShares(values) {
  return Object.entries(values).map(([name, v]) => ({ name, pj: v.pj, share: v.share })).filter((v) => v.pj > 0).sort((a, b) => b.pj - a.pj);
}

function energyBar(shares) {
  const line = make("div", { class: "stack", role: "img", "aria-label": shares.map((s) => `${s.name} ${energy(s.pj)}`).join(", ") });
  for (const s of shares)
    line.append(withTip(make("i", { style: `width:${s.share * 100}%;background:${colourOf(s.name)}${s.share < 0.012 ? ";padding:0;border:0" : ""}` }, s.share > 0.07 ? s.name : ""), `${s.name}\n${energy(s.pj)}, ${percent(s.share)}`));
  return line;
}

function energyTable(title, shares) {
  return table([{ title, of: (s) => [make("i", { class: "swatch", style: `background:${colourOf(s.name)}` }), s.name], className: "name" }, { title: "Energy", of: (s) => energy(s.pj), number: true }, { title: "Share", of: (s) => percent(s.share), number: true }], shares);
}

function energyLaunches(run) {
  const launches = (run.launches ?? []).filter((l) => l.energy).slice(0, 16);
  if (launches.length === 0) return null;
  const number = (title, of) => ({ title, of, number: true });
  return [make("h3", {}, "Launches"), table([{ title: "Kernel", of: (l) => l.name, className: "name" }, number("SIP", (l) => l.sip), number("Energy", (l) => energy(l.energy.pj)),
    number("Power of its SIP", (l) => power(l.energy.average_w)), number("pJ per FLOP", (l) => (l.energy.pj_per_flop === null ? "–" : figure(l.energy.pj_per_flop)))], launches),
  run.launches.length > launches.length && make("p", { class: "note" }, `and ${run.launches.length - launches.length} more`)];
}

/** Nothing for a run whose machine has no prices. */
export function energySection(data) {
  const e = data.run.energy;
  if (!e) return null;
  const box = (label, value, note, key, exact) => make("div", { class: "figure" }, make("span", {}, label), make("b", { "data-key": key, "data-value": exact }, value), note && make("small", {}, note));
  const parts = energyShares(e.parts), operations = energyShares(e.operations);
  return section("energy", "Where the energy went", "Counted from the bytes, hops, multiply-adds and elements of the run at the prices of the machine file; static power is that of the whole machine.",
    make("div", { class: "figures" },
      box("Energy", energy(e.total_pj), `${energy(e.static_pj)} of it static`, "energy.total_pj", e.total_pj),
      box("Average power", power(e.average_w), null, "energy.average_w", e.average_w),
      box("Peak power", power(e.peak_w), `over ${time(e.window_ns * 1000)}, from ${time(e.peak_at_ns * 1000)} on`, "energy.peak_w", e.peak_w),
      e.pj_per_flop !== null && box("Per FLOP", `${figure(e.pj_per_flop)} pJ`, `${figure(e.dynamic_pj_per_flop)} pJ without static`, "energy.pj_per_flop", e.pj_per_flop)),
    energyBar(parts),
    make("div", { class: "columns" }, make("div", {}, energyTable("Part", parts)), make("div", {}, energyTable("Operation", operations))),
    make("h3", {}, "Power over time"), powerOverTime(e.power.w, e.power.stretch_ns * 1000, data.run.total_ps),
    energyLaunches(data.run),
    e.unpriced.length > 0 && make("p", { class: "note" }, `Without a price in the machine file: ${e.unpriced.join(", ")}.`));
}
