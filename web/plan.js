// Section 3: the floor plan of the machine, coloured by load, with a slider over time.
import { hideTip, make, section, showTip } from "./dom.js";
import { heat, heatGradient, loadAt, meanLoad } from "./colour.js";
import { percent, time } from "./format.js";

/** Colours of the page in place of the drawing's own. */
export const planStyle = `
:host { display: block; }
svg { width: 100%; height: auto; min-width: 640px; display: block; fill: var(--ink); }
.page { fill: var(--ground); } .muted { fill: var(--muted); } .sip { fill: var(--sip); stroke: var(--line); } .cube { fill: var(--cube); stroke: var(--wire); }
.io { fill: var(--soft); stroke: var(--line); } .hbm { fill: var(--idle); stroke: var(--wire); } .slice { fill-opacity: 1; } .on { fill: var(--ink); }
.link { stroke: var(--wire); } .cross { stroke: var(--wire); } .iolink { stroke: var(--wire); } .wire { stroke: var(--wire); } .router { fill: var(--muted); stroke: var(--card); }`;

/** Which parts of the drawing stand for what: {"n12": [elements], "l3": […], "c0-1": […]}. */
function parts(root) {
  const found = new Map();
  for (const element of root.querySelectorAll("[style]")) {
    const name = /var\(--([nlc][\d-]+)\)/.exec(element.getAttribute("style"))?.[1];
    if (!name) continue;
    element.removeAttribute("style");
    if (!found.has(name)) found.set(name, []);
    found.get(name).push(element);
  }
  return found;
}

/** Loads by part: a PE has one for each engine, a link or memory one. */
export function loadsByPart(load) {
  const out = new Map();
  for (const row of load.rows) {
    const key = row.link === undefined ? `n${row.node}` : `l${row.link}`;
    if (!out.has(key)) out.set(key, { name: row.name, rows: [] });
    out.get(key).rows.push({ what: row.what, load: row.load, mean: meanLoad(row.load, load.frames) });
  }
  return out;
}

/** The load that colours a part: of the chosen engine, else of the busiest. `frame` null: on average. */
export function shownLoad(rows, frame, engine) {
  const chosen = rows.filter((row) => row.what === "link" || row.what === "memory" || engine === "all" || row.what === engine);
  if (chosen.length === 0) return null;
  return Math.max(...chosen.map((row) => (frame === null ? row.mean : loadAt(row.load, frame))));
}

/** The busiest PE of each cube, for machines that are drawn in outline. */
function cubeLoads(byPart, frame, engine) {
  const out = new Map();
  for (const { name, rows } of byPart.values()) {
    const at = /^sip(\d+)\.cube(\d+)\.(?:pe\d+$|hbm_ctrl)/.exec(name);
    const load = at && shownLoad(rows, frame, engine);
    if (load) out.set(`c${at[1]}-${at[2]}`, Math.max(out.get(`c${at[1]}-${at[2]}`) ?? 0, load));
  }
  return out;
}

class Painter {
  constructor(drawing, load, outline) {
    this.parts = parts(drawing);
    this.byPart = loadsByPart(load);
    this.outline = outline;
    this.keys = new Map([...this.parts].flatMap(([key, elements]) => elements.map((element) => [element, key])));
    this.titles = new Map();  // taken out: the browser would show them beside ours
    for (const title of drawing.querySelectorAll("title")) {
      this.titles.set(title.parentNode, title.textContent);
      title.remove();
    }
    this.state = { frame: null, engine: "all", relative: false };
  }
  /** What red stands for: always busy, or as busy as the busiest part. */
  full() {
    const { frame, engine, relative } = this.state;
    if (!relative) return 1;
    return Math.max(...[...this.byPart.values()].map((part) => shownLoad(part.rows, frame, engine) ?? 0)) || 1;
  }
  paint() {
    const { frame, engine } = this.state, full = this.full();
    for (const [key, elements] of this.parts) {
      if (key[0] === "c") continue;
      const part = this.byPart.get(key), load = part ? shownLoad(part.rows, frame, engine) : null;
      for (const element of elements) this.colour(element, key[0] === "l" ? "stroke" : "fill", load && load / full, Boolean(part));
    }
    const cubes = this.outline ? cubeLoads(this.byPart, frame, engine) : new Map();
    for (const [key, elements] of this.parts)
      if (key[0] === "c") for (const element of elements) element.style.fill = cubes.has(key) ? heat(cubes.get(key) / full) : "";
  }
  colour(element, what, load, known) {
    const isPe = element.parentNode.classList.contains("pe"), isSlice = element.parentNode.classList.contains("slice");
    element.style[what] = load ? heat(load) : isPe || isSlice ? "var(--idle)" : "";
    if (what === "stroke") element.style.strokeWidth = load && known ? "2.6" : "";
  }
  tipOf(element) {
    const title = this.titles.get(element), part = this.byPart.get(this.keys.get(element));
    if (!title || element.nodeName === "svg") return null;
    const { frame } = this.state;
    const loads = (part?.rows ?? []).map((row) => `${row.what} ${percent(frame === null ? row.mean : loadAt(row.load, frame))} busy`);
    return [title, ...loads].join("\n");
  }
}

function drawingOf(data) {
  const host = make("div", { class: "drawing" }), root = host.attachShadow({ mode: "open" });
  root.append(document.getElementById(`plan-${data.plan}`).content.cloneNode(true));
  root.append(make("style", {}, planStyle));
  return { host, root };
}

function controls(data, painter) {
  const { load } = data, engines = [...new Set(load.rows.map((row) => row.what))].filter((what) => what !== "link" && what !== "memory").sort();
  const output = make("output", {}, "whole run, on average");
  const range = make("input", { type: "range", min: -1, max: Math.max(0, load.frames - 1), value: -1, "aria-label": "time" });
  const move = () => {
    const frame = Number(range.value);
    painter.state.frame = frame < 0 ? null : frame;
    output.textContent = frame < 0 ? "whole run, on average" : `${time(frame * load.frame_ps)} – ${time(Math.min((frame + 1) * load.frame_ps, data.run.total_ps))}`;
    painter.paint();
  };
  range.addEventListener("input", move);
  let timer = null;
  const play = make("button", { type: "button", onclick: () => {
    if (timer) { clearInterval(timer); timer = null; play.textContent = "Play"; return; }
    play.textContent = "Stop";
    timer = setInterval(() => { range.value = Number(range.value) + 1 >= load.frames ? -1 : Number(range.value) + 1; move(); }, 60);
  } }, "Play");
  const select = make("select", { "aria-label": "engine", onchange: (event) => { painter.state.engine = event.target.value; painter.paint(); } },
    make("option", { value: "all" }, "PEs: busiest engine"), engines.map((engine) => make("option", { value: engine }, `PEs: ${engine}`)));
  const top = make("span", { class: "muted" }, "always busy");
  const relative = make("button", { type: "button", "aria-pressed": false, onclick: () => {
    painter.state.relative = !painter.state.relative;
    relative.setAttribute("aria-pressed", painter.state.relative);
    top.textContent = painter.state.relative ? "the busiest part" : "always busy";
    painter.paint();
  } }, "More contrast");
  return [make("div", { class: "row" }, select, make("span", { class: "muted" }, "idle"),
    make("span", { class: "scale", style: `background:${heatGradient}` }), top, relative),
    make("div", { class: "slider" }, play, range, output)];
}

export function floorPlan(data) {
  const { host, root } = drawingOf(data);
  const outline = root.querySelectorAll(".pe").length === 0 || root.textContent.includes("SIPs in outline");
  const painter = new Painter(root, data.load, outline);
  painter.paint();
  root.addEventListener("pointermove", (event) => {
    const text = painter.tipOf(event.target);
    if (text) showTip(text, event.clientX, event.clientY);
    else hideTip();
  });
  host.addEventListener("pointerleave", hideTip);
  return section("plan", "Where the load was",
    "PEs by their busiest engine, HBM slices and links by what went through them. Move the slider to see a stretch of the run; at its left end, the whole run on average.",
    controls(data, painter), make("div", { class: "plan" }, host),
    data.load.left_out > 0 && make("p", { class: "note" }, `${data.load.left_out} parts with the least load are left out, so that the page stays small.`));
}
