// Small charts, drawn by hand: stacked bars, lines over time, a roofline.
import { make, svg, withTip } from "./dom.js";
import { colourOf } from "./colour.js";
import { count, figure, percent, power, ticks, time } from "./format.js";

/** Parts are {name, ps}; `whole` is the time the full width stands for. */
export function stack(parts, whole) {
  const bar = make("div", { class: "stack", role: "img", "aria-label": parts.map((p) => `${p.name} ${time(p.ps)}`).join(", ") });
  for (const part of parts) {
    const share = whole > 0 ? part.ps / whole : 0;
    const piece = make("i", { style: `width:${share * 100}%;background:${colourOf(part.name)}${share < 0.012 ? ";padding:0;border:0" : ""}` },
      share > 0.07 ? part.label ?? part.name : "");
    bar.append(withTip(piece, `${part.label ?? part.name}\n${time(part.ps)}, ${percent(share)}`));
  }
  return bar;
}

export function legend(parts, whole) {
  return make("ul", { class: "legend" }, parts.map((part) => make("li", {},
    make("i", { style: `background:${colourOf(part.name)}` }), `${part.name} ${time(part.ps)} `,
    make("span", { class: "muted" }, percent(whole > 0 ? part.ps / whole : 0)))));
}

const LEFT = 46, RIGHT = 12, TOP = 10, BOTTOM = 26;

/** A chart as wide as its place, letters at their own size: drawn again when the width changes. */
export function fitted(height, label, draw) {
  const place = make("div", { class: "fitted" });
  let drawn = 0;
  const redraw = (width) => {
    if (width === drawn) return;
    drawn = width;
    place.replaceChildren(svg("svg", { class: "chart", width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label }, draw(width)));
  };
  redraw(760);
  new ResizeObserver(() => redraw(Math.max(240, place.clientWidth))).observe(place);
  return place;
}

/** Shares 0 … 1 over time. Series are {name, values}; every value stands for a bucket of `bucket` ps. */
export function overTime(series, bucket) {
  return make("div", {}, fitted(230, "utilisation over time", (width) => timeLines(series, bucket, width, 230)), make("ul", { class: "legend" }, series.map((s) => make("li", {},
    make("i", { style: `background:${colourOf(s.name)}` }), s.name))));
}

function timeLines(series, bucket, width, height) {
  const buckets = Math.max(1, ...series.map((s) => s.values.length));
  const x = (i) => LEFT + (i / buckets) * (width - LEFT - RIGHT), y = (v) => TOP + (1 - Math.min(1, v)) * (height - TOP - BOTTOM);
  const parts = [0, 0.25, 0.5, 0.75, 1].map((v) => [svg("path", { class: "axis", d: `M${LEFT} ${y(v)}H${width - RIGHT}` }),
    svg("text", { x: LEFT - 6, y: y(v) + 4, "text-anchor": "end" }, `${v * 100} %`)]);
  for (const t of ticks(0, buckets * bucket, width / 130))
    parts.push(svg("text", { x: Math.min(x(t / bucket), width - RIGHT - 18), y: height - 8, "text-anchor": "middle" }, time(t)));
  for (const s of series)
    parts.push(svg("path", { d: "M" + s.values.map((v, i) => `${x(i + 0.5).toFixed(1)} ${y(v).toFixed(1)}`).join("L"), fill: "none",
      stroke: colourOf(s.name), "stroke-width": 1.8, "stroke-linejoin": "round" }, svg("title", {}, s.name)));
  return parts;
}

/** Watts over time: every value stands for a stretch of `stretch` ps, the last for what is left until `end`. */
export function powerOverTime(watts, stretch, end) {
  return fitted(200, "power over time", (width) => powerSteps(watts, stretch, end, width, 200));
}

function powerSteps(watts, stretch, end, width, height) {
  const most = Math.max(1e-12, ...watts), marks = ticks(0, most, 4), top = Math.max(most, marks[marks.length - 1]);
  const x = (t) => LEFT + 14 + (t / Math.max(1, end)) * (width - LEFT - 14 - RIGHT), y = (w) => TOP + (1 - w / top) * (height - TOP - BOTTOM);
  const parts = marks.map((w) => [svg("path", { class: "axis", d: `M${LEFT + 14} ${y(w)}H${width - RIGHT}` }), svg("text", { x: LEFT + 8, y: y(w) + 4, "text-anchor": "end" }, power(w))]);
  for (const t of ticks(0, end, width / 130)) parts.push(svg("text", { x: Math.min(x(t), width - RIGHT - 18), y: height - 8, "text-anchor": "middle" }, time(t)));
  const steps = watts.map((w, i) => `${i === 0 ? "M" : "L"}${x(i * stretch).toFixed(1)} ${y(w).toFixed(1)}H${x(i + 1 === watts.length ? end : (i + 1) * stretch).toFixed(1)}`).join("");
  parts.push(svg("path", { d: steps, fill: "none", stroke: "var(--accent)", "stroke-width": 1.8, "stroke-linejoin": "round" }, svg("title", {}, "power")));
  return parts;
}

/** What a PE can do at most at so many operations per byte, in TFLOP/s. */
export function roof(intensity, peakTflops, memoryGbs) {
  return Math.min(peakTflops, (intensity * memoryGbs) / 1000);
}

/** Per PE: points are {name, flops, bytes, ps, pes}. Both axes are logarithmic. */
export function roofline(points, peak, memory) {
  return fitted(280, "roofline", (width) => roofDrawing(points, peak, memory, width, 280));
}

function roofDrawing(points, peak, memory, width, height) {
  const dots = points.map((p) => ({ ...p, x: p.flops / p.bytes, y: p.flops / p.ps / p.pes }));  // FLOP/ps is TFLOP/s
  const ridge = (peak * 1000) / memory;
  const low = Math.floor(Math.log10(Math.min(ridge / 30, ...dots.map((d) => d.x)))), high = Math.ceil(Math.log10(Math.max(ridge * 30, ...dots.map((d) => d.x))));
  const top = Math.ceil(Math.log10(peak)), bottom = Math.min(top - 3, ...dots.map((d) => Math.floor(Math.log10(d.y))));
  const x = (v) => LEFT + ((Math.log10(v) - low) / (high - low)) * (width - LEFT - RIGHT);
  const y = (v) => TOP + ((top - Math.log10(v)) / (top - bottom)) * (height - TOP - BOTTOM - 14);
  const parts = [];
  for (let e = bottom; e <= top; e++)
    parts.push(svg("path", { class: "axis", d: `M${LEFT} ${y(10 ** e)}H${width - RIGHT}` }), svg("text", { x: LEFT - 6, y: y(10 ** e) + 4, "text-anchor": "end" }, figure(10 ** e)));
  for (let e = low; e <= high; e++)
    parts.push(svg("text", { x: x(10 ** e), y: height - 24, "text-anchor": e === low ? "start" : e === high ? "end" : "middle" }, figure(10 ** e)));
  parts.push(svg("text", { x: (LEFT + width) / 2, y: height - 6, "text-anchor": "middle" }, "FLOP per byte moved; up: TFLOP/s of each PE"));
  const start = Math.max(10 ** low, 10 ** bottom * 1000 / memory);
  parts.push(svg("path", { d: `M${x(start)} ${y(roof(start, peak, memory))}L${x(ridge)} ${y(peak)}H${width - RIGHT}`, fill: "none", stroke: "var(--muted)", "stroke-width": 2 }));
  parts.push(svg("text", { x: width - RIGHT, y: y(peak) - 5, "text-anchor": "end" }, `matrix unit ${figure(peak)} TFLOP/s`));
  parts.push(svg("text", { x: x(ridge) - 12, y: y(peak) + 18, "text-anchor": "end" }, `HBM ${figure(memory)} GB/s`));
  for (const d of dots)
    parts.push(withTip(svg("circle", { cx: x(d.x), cy: y(d.y), r: 6, fill: "var(--accent)", "fill-opacity": 0.75, stroke: "var(--card)" }),
      `${d.name}, ${count(d.pes)} PEs\n${figure(d.x)} FLOP/B, ${figure(d.y)} TFLOP/s each: ${percent(d.y / roof(d.x, peak, memory))} of the roof`));
  if (dots.length === 1)
    parts.push(svg("text", { class: "strong", x: x(dots[0].x) + 10, y: y(dots[0].y) + 4 }, `${dots[0].name}: ${figure(dots[0].y)}`));
  return parts;
}
