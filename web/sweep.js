// The page about a sweep: what ran, its figures, and the table.
import { make, refill, section, table, themeButton } from "./dom.js";
import { barChart, labelled, lineChart } from "./figures.js";
import { count, figure, percent } from "./format.js";

/** Numbers in text become numbers: `32`, not `ref_ref`. */
export function typed(value) {
  return typeof value === "string" && value.trim() !== "" && Number.isFinite(Number(value)) ? Number(value) : value;
}

/** Rows as objects, by name. */
export function rowsOf(sweep) {
  const keys = [...sweep.names, "ok", ...sweep.columns, "error"];
  return sweep.rows.map((row) => Object.fromEntries(keys.map((key, i) => [key, i < sweep.names.length ? typed(row[i]) : row[i]])));
}

const same = (a, b) => String(a) === String(b);

/** The lines of a figure: points of rows that are `only` so, one line for each combination of what `lines` names. */
export function seriesOf(rows, plot) {
  const series = new Map();
  for (const row of rows) {
    if (!Object.entries(plot.only ?? {}).every(([name, value]) => same(row[name], value))) continue;
    if (typeof row[plot.y] !== "number" || row[plot.x] === null || row[plot.x] === undefined) continue;
    const name = plot.lines.map((line) => row[line]).join(" · ");
    if (!series.has(name)) series.set(name, []);
    series.get(name).push([row[plot.x], row[plot.y]]);
  }
  return [...series].map(([name, points]) => ({ name, points }));
}

/**
 * Points that no line joins: several have the same place across, or the place across was measured and goes to and fro in the
 * order in which the sweep ran.
 */
export function isScatter(sweep, series, x) {
  return series.some(({ points }) => {
    const across = points.map(([at]) => at), steps = across.slice(1).map((at, i) => Math.sign(at - across[i]));
    return new Set(across).size < across.length || (!sweep.names.includes(x) && new Set(steps).size > 1);
  });
}

function drawn(sweep, rows, plot) {
  const series = seriesOf(rows, plot);
  return lineChart(series, { joined: !isScatter(sweep, series, plot.x), x: labelled(plot.x), y: labelled(plot.y), logX: plot.log_x, logY: plot.log_y, lines: plot.lines.map(labelled).join(" · ") });
}

function titleOf(sweep, plot) {
  const only = Object.entries(plot.only ?? {}).map(([name, value]) => `${name} = ${value}`).join(", ");
  return [plot.title || `${labelled(plot.y)} against ${labelled(plot.x)}`, only && make("small", { class: "muted" }, ` ${only}`)];
}

function whatVaried(sweep, rows) {
  const failed = rows.filter((row) => !row.ok).length, missing = sweep.points - rows.length;
  const values = (name) => [...new Set(rows.map((row) => String(row[name])))];
  const box = (label, value, note) => make("div", { class: "figure" }, make("span", {}, label), make("b", {}, value), note && make("small", {}, note));
  return section("what", "What ran", null,
    make("p", {}, make("b", {}, sweep.bench), ` on ${sweep.machine}`, make("span", { class: "muted" }, Object.entries(sweep.set).map(([name, value]) => ` · ${name}=${value}`))),
    make("div", { class: "figures" }, box("Points", count(rows.length), missing > 0 ? `${count(missing)} not run yet` : "all of the sweep"),
      box("Failed", count(failed), failed > 0 ? "see the table" : "none"), box("Numbers", sweep.verify ? "checked" : "not checked", sweep.verify ? "a wrong one is a failed point" : "verify: true checks them")),
    table([{ title: "What varies", of: (name) => make("code", {}, name) }, { title: "Values", of: (name) => values(name).slice(0, 16).join(", ") + (values(name).length > 16 ? ", …" : "") }], sweep.names),
    make("pre", {}, `kernbench sweep ${sweep.sweep}`));
}

function selected(options, value, onchange) {
  return make("select", { onchange: (event) => onchange(event.target.value) }, options.map((option) => make("option", { value: option, selected: same(option, value) }, option === "" ? "–" : option)));
}

/** A figure whose axes the reader chooses. What varies and is on no axis is held at one value. */
function explorer(sweep, rows) {
  const numeric = sweep.columns.filter((column) => rows.some((row) => typeof row[column] === "number"));
  if (numeric.length === 0 || sweep.names.length === 0) return null;
  const first = sweep.plots[0];
  const now = { x: first?.x ?? sweep.names.find((n) => rows.some((row) => typeof row[n] === "number")) ?? sweep.names[0], y: first?.y ?? numeric[0], lines: first?.lines?.[0] ?? "", log_x: first?.log_x ?? false, log_y: first?.log_y ?? false, held: { ...(first?.only ?? {}) } };
  const place = make("div", {});
  const show = () => {
    const free = sweep.names.filter((name) => name !== now.x && name !== now.lines && new Set(rows.map((row) => row[name])).size > 1);
    for (const name of free) now.held[name] ??= rows[0][name];
    const only = Object.fromEntries(free.map((name) => [name, now.held[name]]));
    const control = (label, options, key) => make("label", {}, label, " ", selected(options, now[key], (value) => { now[key] = value; show(); }));
    const box = (label, key) => make("label", {}, make("input", { type: "checkbox", checked: now[key], onchange: (event) => { now[key] = event.target.checked; show(); } }), " ", label);
    refill(place, make("div", { class: "row controls" }, control("Across", [...new Set([...sweep.names, ...numeric])], "x"), control("Up", numeric, "y"), control("Lines", ["", ...sweep.names], "lines"), box("log across", "log_x"), box("log up", "log_y")),
      free.length > 0 && make("div", { class: "row controls" }, free.map((name) => make("label", {}, make("code", {}, name), " ", selected([...new Set(rows.map((row) => row[name]))], now.held[name], (value) => { now.held[name] = value; show(); })))),
      drawn(sweep, rows, { ...now, lines: now.lines ? [now.lines] : [], only }));
  };
  show();
  return section("explore", "Look for yourself", "Choose what is drawn. Names that vary and are on no axis are held at one value.", place);
}

function plots(sweep, rows) {
  if (sweep.plots.length === 0) return null;
  return section("figures", sweep.plots.length > 1 ? "Figures" : "Figure", null, sweep.plots.map((plot) => [make("h3", {}, titleOf(sweep, plot)), drawn(sweep, rows, plot)]));
}

/** Measured curves beside ours, for one arrangement and kind of buffer: those of the first figure. */
function compared(sweep, rows) {
  if (sweep.compare.length === 0) return null;
  const plot = { x: "results.bytes_per_pe", y: "results.latency_ns", lines: sweep.plots[0]?.lines ?? [], only: sweep.plots[0]?.only ?? {}, log_x: true, log_y: true };
  const theirs = sweep.compare.map((curve) => ({ name: curve.name, points: curve.points, dashed: true }));
  return section("compare", "Beside other measurements", "Dashed: given with --compare.", lineChart([...seriesOf(rows, plot), ...theirs], { x: "bytes of each PE", y: "latency (ns)", logX: true, logY: true }));
}

/** Floor plans that lie beside the page. */
function wiring(sweep) {
  if (!sweep.wiring?.length) return null;
  return section("wiring", "Wiring", "Floor plans in the sweep's folder, with the links that the queues of an algorithm send over.",
    make("ul", {}, sweep.wiring.map((file) => make("li", {}, location.protocol === "file:" ? make("a", { href: file }, file) : make("code", {}, file)))));
}

const shapeOf = (p) => `${p.M}×${p.K}×${p.N}${p.under_a_tile ? " *" : ""}`;

function gemm(data) {
  const { gemm: sweep } = data;
  if (!sweep) return null;
  const points = sweep.points.filter((p) => p.variant === "load_ref" && !(p.M === 512 && p.K === 512 && p.N === 512)), shapes = points.map(shapeOf);
  const stages = [["dma_in", "DMA in"], ["fetch", "fetch"], ["gemm", "GEMM"], ["dma_out", "DMA out"]];
  const beaten = sweep.points.filter((p) => !p.within_theory).length;
  return section("gemm", "Where the matrix unit waits", `load_ref; * marks shapes under a tile of ${sweep.tile_sizes.m} × ${sweep.tile_sizes.k} × ${sweep.tile_sizes.n}: the rest of the tile is wasted.`,
    points.length > 0 && [
      make("h3", {}, "Stages: share of the time in which they hold a tile"), barChart(shapes, stages.map(([key, name]) => ({ name, values: points.map((p) => p.stages[key].occupancy) })), { y: "share of the composite (0 … 1)" }),
      make("h3", {}, "Multiply-adds against what the unit could do: an ideal pipeline, and measured"), barChart(shapes, [{ name: "theory", values: points.map((p) => p.theory.mac_utilization) }, { name: "measured", values: points.map((p) => p.mac_utilization) }], { y: "MAC utilisation (0 … 1)" })],
    table([{ title: "Shape", of: shapeOf }, { title: "Variant", of: (p) => p.variant }, { title: "On the PE (ns)", number: true, of: (p) => figure(p.pe_window_ns) }, { title: "Theory (ns)", number: true, of: (p) => figure(p.theory.ns) },
      { title: "MAC utilisation", number: true, of: (p) => percent(p.mac_utilization) }, { title: "Theory", number: true, of: (p) => percent(p.theory.mac_utilization) }, { title: "Theory is set by", of: (p) => p.theory.limited_by }], sweep.points),
    make("p", { class: beaten > 0 ? "worse" : "note" }, beaten > 0 ? `${beaten} points are faster than the theory: one of the two is wrong.` : `No point is faster than the theory: ${sweep.theory}.`),
    make("h3", {}, "Constants of the theory"), table([{ title: "Constant", of: (c) => c.name }, { title: "Value", number: true, of: (c) => `${figure(c.value)} ${c.unit}` }, { title: "From", of: (c) => c.keys.map((key, i) => [i > 0 ? ", " : "", make("code", {}, key)]) }], sweep.constants));
}

const MOST_ROWS = 2000;

function shown(value) {
  if (value === null || value === undefined) return "";
  return typeof value === "number" ? (Number.isInteger(value) ? count(value) : figure(value)) : String(value);
}

function wholeTable(sweep, rows) {
  const columns = [...sweep.names, ...sweep.columns], place = make("div", { class: "tall" });
  let by = null, down = false;
  const show = () => {
    const sorted = by === null ? rows : [...rows].sort((a, b) => (a[by] > b[by] ? 1 : a[by] < b[by] ? -1 : 0) * (down ? -1 : 1));
    const numeric = (name) => rows.some((row) => typeof row[name] === "number");
    const head = (name) => make("a", { href: "#table", title: "sort", onclick: (event) => { event.preventDefault(); down = by === name && !down; by = name; show(); } }, labelled(name), by === name ? (down ? " ↓" : " ↑") : "");
    place.replaceChildren(table([...columns.map((name) => ({ title: head(name), number: numeric(name), of: (row) => shown(row[name]) })),
      { title: "", of: (row) => (row.ok ? "" : make("span", { class: "worse" }, row.error)), className: "name" }], sorted.slice(0, MOST_ROWS)));
  };
  show();
  return section("table", "All points", rows.length > MOST_ROWS ? `The first ${count(MOST_ROWS)} of ${count(rows.length)}; all are in results.csv.` : "A click on a column sorts by it.", place);
}

export function showSweep(page, data) {
  const { sweep } = data, rows = rowsOf(sweep);
  page.replaceChildren(make("header", {}, make("h1", {}, `Sweep of ${sweep.bench}`), make("span", { class: "muted" }, sweep.sweep), make("span", { class: "spring" }), themeButton()),
    ...[whatVaried(sweep, rows), plots(sweep, rows), compared(sweep, rows), wiring(sweep), gemm(data), explorer(sweep, rows), wholeTable(sweep, rows)].filter(Boolean));
}
