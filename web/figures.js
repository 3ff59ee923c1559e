// Figures of sweeps: lines of points, and bars in groups. Colours that the colour-blind can tell apart, with a marker each.
import { make, svg, withTip } from "./dom.js";
import { fitted } from "./charts.js";
import { figure, ticks } from "./format.js";

// Okabe and Ito's colours; black becomes the ink of the page.
const COLOURS = ["#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "var(--ink)", "#B8A800"];
const MARKERS = [
  (r) => `M${-r} 0a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0`, (r) => `M${-r} ${-r}H${r}V${r}H${-r}Z`, (r) => `M0 ${-r * 1.2}L${r * 1.1} ${r}H${-r * 1.1}Z`,
  (r) => `M0 ${-r * 1.3}L${r * 1.3} 0L0 ${r * 1.3}L${-r * 1.3} 0Z`, (r) => `M0 ${r * 1.2}L${r * 1.1} ${-r}H${-r * 1.1}Z`, (r) => `M${-r / 2} ${-r * 1.2}h${r}v${r * 0.7}h${r * 0.7}v${r}h${-r * 0.7}v${r * 0.7}h${-r}v${-r * 0.7}h${-r * 0.7}v${-r}h${r * 0.7}Z`];
export const seriesColour = (i) => COLOURS[i % COLOURS.length];
const markerOf = (i) => MARKERS[i % MARKERS.length];

const UNITS = [["_ns", "ns"], ["_us", "µs"], ["_gbs", "GB/s"], ["_bytes", "bytes"], ["bytes_per_pe", "bytes"], ["bytes_per_sip", "bytes"], ["tflops", "TFLOP/s"], ["_ghz", "GHz"], ["_mb", "MiB"],
  ["tokens_per_s", "tokens/s"], ["_cycles", "cycles"], ["n_elem", "elements"], ["context", "tokens"], ["contexts", "tokens"], ["batch", "sequences"], ["batches", "sequences"], ["_nj", "nJ"], ["_pj", "pJ"], ["_w", "W"]];
const SHARES = /^utilization\.(?!busiest)|_share$|^results\.(mfu|share_of_peak)$|occupancy/;

/** `pe_exec_ns` is {name: "pe_exec", unit: "ns"}. */
export function named(path) {
  const name = path.replace(/^results\./, "");
  if (SHARES.test(path)) return { name, unit: "0 … 1" };
  const found = UNITS.find(([end]) => name.endsWith(end));
  if (!found) return { name, unit: "" };
  const short = found[0].startsWith("_") ? name.slice(0, -found[0].length) : name;
  return { name: short, unit: found[1] };
}
export function labelled(path) {
  const { name, unit } = named(path);
  return unit ? `${name} (${unit})` : name;
}

const LEAST_LEFT = 64, EDGE_RIGHT = 16, EDGE_TOP = 12, EDGE_BOTTOM = 46;

/** Ticks of a logarithmic axis: powers of ten, with 2 and 5 between them where there are few. */
export function logTicks(low, high) {
  const out = [], few = Math.log10(high / low) < 2.2;
  for (let e = Math.floor(Math.log10(low)); e <= Math.ceil(Math.log10(high)); e++)
    for (const n of few ? [1, 2, 5] : [1]) if (n * 10 ** e >= low * 0.999 && n * 10 ** e <= high * 1.001) out.push(n * 10 ** e);
  return out.length > 1 ? out : [low, high];
}

/** From values to 0 … 1. Words stand side by side, in their order. */
export function scaleOf(values, log, fromZero) {
  const numbers = values.every((v) => typeof v === "number");
  if (!numbers) {
    const words = [...new Set(values.map(String))];
    return { at: (v) => (words.indexOf(String(v)) + 0.5) / words.length, ticks: words, low: 0, high: 1 };
  }
  let low = Math.min(...values), high = Math.max(...values);
  if (log && low > 0) {
    if (low === high) { low /= 2; high *= 2; }
    const pad = (high / low) ** 0.03;
    low /= pad; high *= pad;
    return { at: (v) => Math.log(v / low) / Math.log(high / low), ticks: logTicks(low, high), low, high };
  }
  if (fromZero) { low = Math.min(0, low); high *= 1.06; }
  if (low === high) { low -= 1; high += 1; }
  const pad = fromZero ? 0 : (high - low) * 0.03;
  low -= pad; high += pad;
  return { at: (v) => (v - low) / (high - low), ticks: ticks(low, high, 6), low, high };
}

/** Few different values are the ticks themselves: those that were measured. */
function xTicks(scale, values, room) {
  const distinct = [...new Set(values)].sort((a, b) => a - b);
  const wanted = distinct.every((v) => typeof v === "number") && distinct.length <= 14 ? distinct : scale.ticks;
  let end = -Infinity;
  return wanted.filter((v) => { const at = scale.at(v) * room; if (at - end < 46) return false; end = at; return true; });
}

/** Where an axis begins: right of its name and of its longest tick. */
const edgeFor = (shown) => Math.max(LEAST_LEFT, 34 + 7.2 * Math.max(0, ...shown.map((v) => figure(v).length)));

/** Series are {name, points: [[x, y, tip]], dashed}. Without `joined` there are points alone. */
export function lineChart(series, { x, y, logX, logY, lines = "", joined = true }) {
  const xs = series.flatMap((s) => s.points.map((p) => p[0])), ys = series.flatMap((s) => s.points.map((p) => p[1]));
  if (xs.length === 0) return make("p", { class: "muted" }, "No point has both values.");
  const across = scaleOf(xs, logX, false), up = scaleOf(ys, logY, !logY), edge = edgeFor(up.ticks);
  const drawing = fitted(360, `${y} against ${x}`, (width) => {
    const room = width - edge - EDGE_RIGHT, height = 360 - EDGE_TOP - EDGE_BOTTOM;
    const px = (v) => edge + across.at(v) * room, py = (v) => EDGE_TOP + (1 - up.at(v)) * height;
    const parts = up.ticks.map((v) => [svg("path", { class: "axis", d: `M${edge} ${py(v)}H${width - EDGE_RIGHT}` }), svg("text", { x: edge - 8, y: py(v) + 4, "text-anchor": "end" }, figure(v))]);
    for (const v of xTicks(across, xs, room))
      parts.push(svg("path", { class: "axis", d: `M${px(v)} ${EDGE_TOP + height}v5` }), svg("text", { x: px(v), y: 360 - EDGE_BOTTOM + 20, "text-anchor": "middle" }, typeof v === "number" ? figure(v + 0) : v));
    parts.push(svg("text", { class: "strong", x: edge + room / 2, y: 352, "text-anchor": "middle" }, x),
      svg("text", { class: "strong", x: -(EDGE_TOP + height / 2), y: 14, transform: "rotate(-90)", "text-anchor": "middle" }, y));
    series.forEach((s, i) => {
      const colour = seriesColour(i), sorted = [...s.points].sort((a, b) => across.at(a[0]) - across.at(b[0]));
      if (joined) parts.push(svg("path", { class: "line", d: "M" + sorted.map((p) => `${px(p[0]).toFixed(1)} ${py(p[1]).toFixed(1)}`).join("L"), fill: "none", stroke: colour, "stroke-width": 2, "stroke-dasharray": s.dashed ? "6 4" : null, "stroke-linejoin": "round" }));
      for (const p of sorted)
        parts.push(withTip(svg("path", { d: markerOf(i)(4), transform: `translate(${px(p[0]).toFixed(1)} ${py(p[1]).toFixed(1)})`, fill: colour, stroke: "var(--card)", "stroke-width": 1 }), p[2] ?? `${s.name}\n${x}: ${p[0]}\n${y}: ${p[1]}`));
    });
    return parts;
  });
  return make("div", {}, drawing, series.length > 1 || series[0].name ? keyOf(series.map((s) => s.name), lines, joined) : null);
}

function keyOf(names, title, joined) {
  return make("ul", { class: "legend" }, title && make("li", { class: "muted" }, title), names.map((name, i) => make("li", {},
    svg("svg", { width: 22, height: 12, viewBox: "-11 -6 22 12", "aria-hidden": "true" }, joined && svg("path", { d: "M-11 0H11", stroke: seriesColour(i), "stroke-width": 2 }), svg("path", { d: markerOf(i)(3.6), fill: seriesColour(i) })), " ", name || "all")));
}

/** Bars side by side: groups are names, series {name, values: one for each group}. */
export function barChart(groups, series, { y, height = 320 }) {
  const high = Math.max(...series.flatMap((s) => s.values)) * 1.12 || 1, marks = ticks(0, high, 5), edge = edgeFor(marks);
  const drawing = fitted(height, y, (width) => {
    const room = width - edge - EDGE_RIGHT, tall = height - EDGE_TOP - EDGE_BOTTOM, wide = room / groups.length, bar = Math.min(34, (wide * 0.82) / series.length);
    const py = (v) => EDGE_TOP + (1 - v / high) * tall;
    const parts = marks.map((v) => [svg("path", { class: "axis", d: `M${edge} ${py(v)}H${width - EDGE_RIGHT}` }), svg("text", { x: edge - 8, y: py(v) + 4, "text-anchor": "end" }, figure(v))]);
    parts.push(svg("text", { class: "strong", x: -(EDGE_TOP + tall / 2), y: 14, transform: "rotate(-90)", "text-anchor": "middle" }, y));
    groups.forEach((group, g) => {
      const middle = edge + wide * (g + 0.5);
      const turned = wide < 78;
      parts.push(svg("text", { x: middle, y: height - EDGE_BOTTOM + 16, "text-anchor": turned ? "end" : "middle", transform: turned ? `rotate(-24 ${middle} ${height - EDGE_BOTTOM + 16})` : null }, group));
      series.forEach((s, i) => {
        const v = s.values[g], left = middle + (i - series.length / 2) * bar;
        parts.push(withTip(svg("rect", { x: left + 1, y: py(v), width: bar - 2, height: Math.max(0, py(0) - py(v)), fill: seriesColour(i) }), `${group}\n${s.name}: ${figure(v)}`));
        if (bar > 26) parts.push(svg("text", { x: left + bar / 2, y: py(v) - 4, "text-anchor": "middle" }, v.toFixed(2)));
      });
    });
    return parts;
  });
  return make("div", {}, drawing, make("ul", { class: "legend" }, series.map((s, i) => make("li", {}, make("i", { style: `background:${seriesColour(i)}` }), s.name))));
}
