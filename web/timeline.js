// Section 4: host, launches, and the engines of every PE over time, on a canvas that zooms.
import { hideTip, make, section, showTip } from "./dom.js";
import { colourOf } from "./colour.js";
import { count, exactNs, ticks, time } from "./format.js";

const ORDER = ["host", "pe_cpu", "pe_scheduler", "pe_dma", "pe_gemm", "pe_math", "pe_ipcq"];

/** A track with its bars as {start, end, lane, count, kind, op, line, cause, reason, critical}. */
export function decodeTrack(track, names) {
  let at = 0;
  return track.start.map((step, i) => {
    at += step;
    return { start: at, end: at + track.length[i], lane: track.lane[i], count: track.count[i], kind: names.kinds[track.kind[i]], op: track.op[i],
      line: track.line[i], cause: track.cause[i], reason: names.reasons[track.reason[i]], critical: track.critical[i] === 1 };
  });
}

export function trackName(track) {
  return track.pe < 0 ? `host · SIP ${track.sip}` : `sip${track.sip}.cube${track.cube}.pe${track.pe} ${track.component.replace(/^pe_/, "")}`;
}

function launchRows(data) {
  const bySip = new Map();
  for (const l of data.launches) {
    if (l.phase !== "launch" || !l.done) continue;
    if (!bySip.has(l.sip)) bySip.set(l.sip, []);
    const start = l.submitted_ps + l.queued_ps;
    bySip.get(l.sip).push({ start, end: start + l.total_ps, lane: 0, count: 1, kind: "launch", launch: l, name: l.name });
  }
  return [...bySip].sort(([a], [b]) => a - b).map(([sip, bars]) => ({ name: `launches · SIP ${sip}`, bars: withLanes(bars), critical: true }));
}

/** Bars that overlap get lanes of their own. */
export function withLanes(bars) {
  const ends = [];
  for (const bar of [...bars].sort((a, b) => a.start - b.start)) {
    let lane = ends.findIndex((end) => end <= bar.start);
    if (lane < 0) lane = ends.length;
    ends[lane] = bar.end;
    bar.lane = lane;
  }
  return bars;
}

/** Rows from top to bottom: host, launches, then PE by PE. */
export function timelineRows(data) {
  const names = data.timeline, place = (t) => [t.pe < 0 ? -1 : t.sip, t.cube, t.pe, ORDER.indexOf(t.component)];
  const tracks = [...names.tracks].sort((a, b) => { const p = place(a), q = place(b); const i = p.findIndex((v, k) => v !== q[k]); return i < 0 ? a.sip - b.sip : p[i] - q[i]; });
  const rows = tracks.map((track) => { const bars = decodeTrack(track, names); return { name: trackName(track), host: track.pe < 0, bars, critical: bars.some((bar) => bar.critical) }; });
  return [...rows.filter((row) => row.host), ...launchRows(data), ...rows.filter((row) => !row.host)];
}

/** The bar under an instant, or the nearest within `slack`; bars are in order of their starts. */
export function barAt(bars, lane, instant, slack) {
  let best = null, distance = slack;
  for (const bar of bars) {
    if (bar.start > instant + slack) break;
    if (bar.lane !== lane) continue;
    const away = instant < bar.start ? bar.start - instant : instant > bar.end ? instant - bar.end : 0;
    if (away <= distance && (best === null || away < distance || bar.start > best.start)) { best = bar; distance = away; }
  }
  return best;
}

/** A window of time after zooming by `factor` around an instant; never beyond the run, never under 10 ps. */
export function zoomed(view, factor, around, total) {
  const span = Math.min(total, Math.max(10, (view.end - view.begin) * factor));
  const share = (around - view.begin) / (view.end - view.begin);
  const begin = Math.min(Math.max(0, around - share * span), total - span);
  return { begin, end: begin + span };
}

const LANE = 9, GAP = 5, AXIS = 24;

class Timeline {
  constructor(data) {
    this.data = data;
    this.rows = timelineRows(data);
    this.total = this.rows.reduce((last, row) => row.bars.reduce((end, bar) => Math.max(end, bar.end), last), Math.max(1, data.run.total_ps));
    this.view = { begin: 0, end: this.total };
    this.criticalOnly = false;
    this.canvas = make("canvas", {});
    this.spacer = make("div", {});
    this.scroller = make("div", { class: "scroller", tabindex: 0, "aria-label": "timeline: plus and minus zoom, arrows move" }, this.canvas, this.spacer);
    this.range = make("output", { class: "muted", id: "timeline-range" });
    this.ops = null;
    this.layOut();
    this.listen();
  }

  layOut() {
    this.shown = this.criticalOnly ? this.rows.filter((row) => row.critical) : this.rows;
    let y = AXIS + 4;
    for (const row of this.shown) {
      row.y = y;
      row.lanes = 1 + row.bars.reduce((most, bar) => Math.max(most, bar.lane), 0);
      row.height = row.lanes * LANE;
      y += row.height + GAP;
    }
    this.height = y + 4;
  }

  get names() { return this.width < 560 ? 0 : 190; }
  x(instant) { return this.names + ((instant - this.view.begin) / (this.view.end - this.view.begin)) * (this.width - this.names); }
  instant(x) { return this.view.begin + ((x - this.names) / (this.width - this.names)) * (this.view.end - this.view.begin); }

  draw() {
    this.width = this.scroller.clientWidth || 800;
    const visible = Math.min(this.height, 518), ratio = window.devicePixelRatio || 1;
    this.canvas.width = this.width * ratio;
    this.canvas.height = visible * ratio;
    this.canvas.style.height = visible + "px";
    this.spacer.style.height = Math.max(0, this.height - visible) + "px";
    const g = this.canvas.getContext("2d");
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    const css = getComputedStyle(document.documentElement);
    this.paint(g, visible, (name) => css.getPropertyValue(name).trim());
    this.range.textContent = `${time(this.view.begin)} – ${time(this.view.end)} (${time(this.view.end - this.view.begin)})`;
  }

  paint(g, visible, css) {
    g.fillStyle = css("--card");
    g.fillRect(0, 0, this.width, visible);
    g.font = "11px system-ui, sans-serif";
    const top = this.scroller.scrollTop, marks = ticks(this.view.begin, this.view.end, this.width / 150);
    g.fillStyle = css("--line");
    for (const t of marks) g.fillRect(Math.round(this.x(t)), AXIS - 4, 1, visible);
    for (const row of this.shown) {
      const y = row.y - top;
      if (y + row.height < AXIS || y > visible) continue;
      this.paintRow(g, row, y, css);
    }
    g.fillStyle = css("--card");
    g.fillRect(0, 0, this.width, AXIS - 2);
    g.fillStyle = css("--muted");
    for (const t of marks) {
      const text = time(t), x = this.x(t);
      if (x + g.measureText(text).width < this.width) g.fillText(text, x + 3, 14);
    }
  }

  paintRow(g, row, y, css) {
    const narrow = this.names === 0;
    g.fillStyle = css("--soft");
    g.fillRect(this.names, y, this.width - this.names, row.height);
    for (const bar of row.bars) {
      if (bar.end < this.view.begin) continue;
      if (bar.start > this.view.end) break;
      const x = Math.max(this.names, this.x(bar.start)), width = Math.max(1, Math.min(this.x(bar.end), this.width) - x);
      g.globalAlpha = bar.count > 1 ? 0.7 : 1;
      g.fillStyle = colourOf(bar.kind);
      g.fillRect(x, y + bar.lane * LANE, width > 3 ? width - 0.5 : width, LANE - 1);
      g.globalAlpha = 1;
      if (bar.critical) { g.fillStyle = css("--bad"); g.fillRect(x, y + bar.lane * LANE + LANE - 2, width, 2); }
      if (width > 60) { g.fillStyle = "#fff"; g.font = "8.5px system-ui, sans-serif"; g.fillText((bar.name ?? bar.kind) + (bar.count > 1 ? ` × ${bar.count}` : ""), x + 4, y + bar.lane * LANE + 7, width - 8); }
    }
    g.font = "11px system-ui, sans-serif";
    g.fillStyle = css("--muted");
    if (!narrow) { g.fillStyle = css("--card"); g.fillRect(0, y - 2, this.names, row.height + 4); g.fillStyle = css("--muted"); g.fillText(row.name, 8, y + Math.min(row.height, 12) - 2, this.names - 14); }
  }

  /** The row and bar under a point of the canvas. */
  at(x, y) {
    const row = this.shown.find((r) => y + this.scroller.scrollTop >= r.y && y + this.scroller.scrollTop < r.y + r.height);
    if (!row || x < this.names || y < AXIS) return null;
    const lane = Math.floor((y + this.scroller.scrollTop - row.y) / LANE), slack = (3 * (this.view.end - this.view.begin)) / this.width;
    const bar = barAt(row.bars, lane, this.instant(x), slack);
    return bar && { row, bar };
  }

  /** Where and what an operation was, if it is drawn by itself. */
  operation(id) {
    if (!this.ops) this.ops = new Map(this.rows.flatMap((row) => row.bars.filter((bar) => bar.op && bar.count === 1).map((bar) => [bar.op, { row, bar }])));
    return this.ops.get(id);
  }

  describe({ row, bar }) {
    if (bar.launch) return `${bar.name}\n${row.name}\n${exactNs(bar.start)} – ${exactNs(bar.end)}\non the PEs ${time(bar.launch.pe_exec_ps)}, network ${time(bar.launch.network_ps)}`;
    const span = `${exactNs(bar.start)} – ${exactNs(bar.end)}, ${exactNs(bar.end - bar.start)}`;
    if (bar.count > 1) return `${count(bar.count)} operations, mostly ${bar.kind}\n${row.name}\n${span}`;
    const [place, text] = bar.line >= 0 ? this.data.timeline.lines[bar.line] : [];
    const cause = bar.cause >= 0 ? this.operation(bar.cause) : null;
    const because = bar.cause < 0 ? "" : `\nwaited (${bar.reason}) for operation ${bar.cause}${cause ? `: ${cause.bar.kind} of ${cause.row.name}` : ""}`;
    return `${bar.kind} · operation ${bar.op}\n${row.name}\n${span}${place ? `\n${place}${text ? `  ${text}` : ""}` : ""}${because}${bar.critical ? "\non the critical path" : ""}`;
  }

  zoom(factor, around = (this.view.begin + this.view.end) / 2) { this.view = zoomed(this.view, factor, around, this.total); this.draw(); }
  move(share) {
    const span = this.view.end - this.view.begin, begin = Math.min(Math.max(0, this.view.begin + share * span), this.total - span);
    this.view = { begin, end: begin + span };
    this.draw();
  }
  showAll() { this.view = { begin: 0, end: this.total }; this.draw(); }

  listen() {
    const { canvas, scroller } = this;
    let drag = null;
    canvas.addEventListener("wheel", (event) => {
      if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) { event.preventDefault(); this.move((event.deltaX || event.deltaY) / 800); return; }
      if (!event.ctrlKey && !event.metaKey) return;  // plain wheels scroll
      event.preventDefault();
      this.zoom(Math.exp(event.deltaY / 250), this.instant(event.offsetX));
    }, { passive: false });
    canvas.addEventListener("pointerdown", (event) => { drag = { from: event.offsetX, view: this.view }; canvas.setPointerCapture(event.pointerId); });
    canvas.addEventListener("pointermove", (event) => {
      if (drag) { const span = drag.view.end - drag.view.begin; this.view = drag.view; this.move(((drag.from - event.offsetX) / (this.width - this.names)) * 1); hideTip(); if (span <= 0) drag = null; return; }
      const hit = this.at(event.offsetX, event.offsetY);
      if (hit) showTip(this.describe(hit), event.clientX, event.clientY);
      else hideTip();
    });
    canvas.addEventListener("pointerup", () => { drag = null; });
    canvas.addEventListener("pointerleave", hideTip);
    canvas.addEventListener("dblclick", (event) => {
      const hit = this.at(event.offsetX, event.offsetY);
      if (!hit) { this.zoom(0.4, this.instant(event.offsetX)); return; }
      const span = Math.max(10, (hit.bar.end - hit.bar.start) * 1.5), middle = (hit.bar.start + hit.bar.end) / 2;
      const begin = Math.min(Math.max(0, middle - span / 2), Math.max(0, this.total - span));
      this.view = { begin, end: Math.min(this.total, begin + span) };
      this.draw();
    });
    scroller.addEventListener("scroll", () => this.draw());
    scroller.addEventListener("keydown", (event) => {
      const act = { "+": () => this.zoom(0.5), "=": () => this.zoom(0.5), "-": () => this.zoom(2), ArrowLeft: () => this.move(-0.2), ArrowRight: () => this.move(0.2), 0: () => this.showAll() }[event.key];
      if (act) { event.preventDefault(); act(); }
    });
    new ResizeObserver(() => this.draw()).observe(scroller);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
    addEventListener("themechange", () => this.draw());
  }
}

export function timeline(data) {
  const t = data.timeline, chart = new Timeline(data);
  const button = (text, act, id) => make("button", { type: "button", id, onclick: act }, text);
  const critical = button("Critical path only", () => {
    chart.criticalOnly = !chart.criticalOnly;
    critical.setAttribute("aria-pressed", chart.criticalOnly);
    chart.layOut();
    chart.scroller.scrollTop = 0;
    chart.draw();
  });
  const kinds = [...new Set(t.tracks.flatMap((track) => track.kind))].map((k) => t.kinds[k]);
  requestAnimationFrame(() => chart.draw());
  return section("timeline", "Timeline",
    `${t.bars === t.ops ? `All ${count(t.ops)} operations.` : `${count(t.ops)} operations as ${count(t.bars)} bars: those under ${time(t.joined_below_ps)} with neighbours as close are joined.`} ` +
    "Red underlines: on the critical path. Drag to move, Ctrl and wheel or the buttons to zoom, double click for one operation, point at a bar for its story.",
    make("div", { class: "row controls" }, button("+", () => chart.zoom(0.5), "zoom-in"), button("−", () => chart.zoom(2), "zoom-out"),
      button("◀", () => chart.move(-0.3)), button("▶", () => chart.move(0.3)), button("Whole run", () => chart.showAll(), "zoom-all"), critical, chart.range),
    chart.scroller,
    make("ul", { class: "legend" }, kinds.map((kind) => make("li", {}, make("i", { style: `background:${colourOf(kind)}` }), kind))));
}
