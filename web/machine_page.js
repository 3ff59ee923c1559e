// The machine: its values, checked as they are typed; its floor plan; how long from one node to another.
import { make, showTip, hideTip, section, table } from "./dom.js";
import { bytes, count, figure } from "./format.js";
import { planStyle } from "./plan.js";
import { tell } from "./api.js";

/** Waits until nobody has called for a while. */
export function debounced(act, ms) {
  let timer = null;
  return (...words) => { clearTimeout(timer); timer = setTimeout(() => act(...words), ms); };
}

/** `["key=value", …]` of what differs from the file, in the order of its keys. */
export function changes(original, edited) {
  return [...edited].filter(([key, value]) => original.get(key) !== value).map(([key, value]) => `${key}=${value}`);
}

/** The path in front of what a part of the plan says of itself; null for links and outlines. */
export function nodeOf(title) {
  const path = /^([a-z_0-9.]+): /i.exec(title ?? "")?.[1];
  return path && !/^sip\d+(\.cube\d+)?$/.test(path) ? path : null;
}

const PLAN_EXTRA = " .node { cursor: pointer; } .from { stroke: var(--accent) !important; stroke-width: 5 !important; } .to { stroke: var(--bad) !important; stroke-width: 5 !important; }";

export class MachinePage {
  /** `state` is the server's; `changed` is called with {machine, set} whenever they change. */
  constructor(state, changed) {
    this.changed = changed;
    this.name = state.machines[0];
    this.original = new Map();
    this.edited = new Map();
    this.ends = { from: "", to: "" };
    this.latest = 0;
    this.choice = make("select", { id: "machine", "aria-label": "machine", onchange: () => this.choose(this.choice.value) }, state.machines.map((name) => make("option", { value: name }, name)));
    this.headline = make("span", { class: "muted", id: "headline" });
    this.refusal = make("pre", { class: "bad", id: "refusal", role: "alert", hidden: true });
    this.filter = make("input", { type: "search", placeholder: "find a value", "aria-label": "find a value", oninput: () => this.showMatching() });
    this.reset = make("button", { type: "button", hidden: true, onclick: () => this.choose(this.name) }, "Back to the file");
    this.values = make("div", { class: "values" });
    this.plan = make("div", { class: "drawing" });
    this.plan.attachShadow({ mode: "open" });
    this.facts = make("div", {});
    this.check = debounced(() => this.ask(), 250);
    this.listenToPlan();
  }

  get set() { return changes(this.original, this.edited); }

  element() {
    return make("div", {},
      section("machine-values", "Machine", "Change a value: it is checked at once, and plan and figures follow. Runs and probes use the machine as it stands here.",
        make("div", { class: "row" }, this.choice, this.headline), this.refusal,
        make("div", { class: "beside" }, make("div", {}, make("div", { class: "row" }, this.filter, this.reset), this.values),
          make("div", {}, make("div", { class: "plan" }, this.plan), this.facts))),
      this.probeSection());
  }

  async choose(name) {
    this.name = name;
    this.edited = new Map();
    this.original = new Map();
    await this.ask();
  }

  /** Asks for the machine as it stands; an older answer never replaces a newer one. */
  async ask() {
    const mine = ++this.latest, fresh = this.original.size === 0;
    try {
      const machine = await tell("/api/machine", { machine: this.name, set: this.set });
      if (mine !== this.latest) return;
      this.refusal.hidden = true;
      if (fresh) this.showValues(machine);
      this.show(machine);
      this.changed({ machine: this.name, set: this.set });
    } catch (refused) {
      if (mine !== this.latest) return;
      this.refusal.hidden = false;
      this.refusal.textContent = [refused.message, refused.hint && `hint: ${refused.hint}`].filter(Boolean).join("\n");
    }
    this.mark();
  }

  show(machine) {
    this.headline.textContent = machine.headline;
    const svg = new DOMParser().parseFromString(machine.plan, "image/svg+xml").documentElement;
    this.titles = new Map();
    for (const title of svg.querySelectorAll("title")) {
      this.titles.set(title.parentNode, title.textContent);
      const node = nodeOf(title.textContent);
      if (node) { title.parentNode.classList.add("node"); title.parentNode.dataset.node = node; }
      title.remove();
    }
    this.plan.shadowRoot.replaceChildren(svg, make("style", {}, planStyle + PLAN_EXTRA));
    this.markEnds();
    this.facts.replaceChildren(
      table([{ title: "", of: (f) => f.name }, { title: "PEs", of: (f) => count(f.pes), number: true }, { title: "Matrix", of: (f) => f.matrix, number: true }, { title: "Vector", of: (f) => f.vector, number: true },
        { title: "HBM", of: (f) => `${bytes(f.hbm_bytes)}, ${f.hbm}`, number: true }], machine.figures),
      make("p", { class: "note" }, machine.idealised.length > 0 ? `Idealised: ${machine.idealised.join(", ")}.` : "Nothing is idealised."));
  }

  showValues(machine) {
    this.inputs = new Map();
    this.values.replaceChildren(...machine.groups.map((group) => make("details", { open: group.path === "system" || group.path.endsWith("hbm") },
      make("summary", {}, group.path, " ", make("small", { class: "muted" }, group.impl)),
      group.params.map((param) => this.field(param)))));
  }

  field(param) {
    this.original.set(param.key, param.value);
    const change = (event) => { this.edited.set(param.key, event.target.value.trim()); this.check(); };
    const attributes = { name: param.key, title: `${param.doc}\n${param.expects}`, oninput: change };
    const input = param.choices.length > 0 ? make("select", attributes, param.choices.map((c) => make("option", { value: c, selected: c === param.value }, c))) : make("input", { ...attributes, value: param.value, spellcheck: "false", autocomplete: "off" });
    this.inputs.set(param.key, input);
    return make("label", { class: "field", title: `${param.doc}\n${param.expects}`, "data-key": param.key }, make("span", {}, param.key.split(".").pop()), input);
  }

  showMatching() {
    const wanted = this.filter.value.trim().toLowerCase();
    for (const group of this.values.children) {
      const fields = [...group.querySelectorAll(".field")];
      for (const field of fields) field.hidden = !field.dataset.key.toLowerCase().includes(wanted);
      group.hidden = fields.every((field) => field.hidden);
      if (wanted && !group.hidden) group.open = true;
    }
  }

  /** Changed values are seen, and those that a refusal names. */
  mark() {
    for (const [key, input] of this.inputs ?? []) {
      const value = this.edited.get(key), differs = value !== undefined && value !== this.original.get(key);
      input.classList.toggle("changed", differs);
      input.setAttribute("aria-invalid", !this.refusal.hidden && differs && this.refusal.textContent.includes(key));
    }
    this.reset.hidden = this.set.length === 0;
  }

  // ── from node to node ──

  listenToPlan() {
    const root = this.plan.shadowRoot;
    root.addEventListener("pointermove", (event) => { const title = this.titles?.get(event.target); if (title && event.target.nodeName !== "svg") showTip(title, event.clientX, event.clientY); else hideTip(); });
    this.plan.addEventListener("pointerleave", hideTip);
    root.addEventListener("click", (event) => {
      const node = nodeOf(this.titles?.get(event.target));
      if (!node) return;
      if (!this.ends.from || this.ends.to) this.setEnds(node, "");
      else { this.setEnds(this.ends.from, node); this.measure(); }
    });
  }

  setEnds(from, to) {
    this.ends = { from, to };
    this.from.value = from;
    this.to.value = to;
    this.markEnds();
  }

  markEnds() {
    for (const [element, title] of this.titles ?? []) {
      element.classList.toggle("from", Boolean(this.ends.from) && nodeOf(title) === this.ends.from);
      element.classList.toggle("to", Boolean(this.ends.to) && nodeOf(title) === this.ends.to);
    }
  }

  probeSection() {
    const typed = () => { this.ends = { from: this.from.value.trim(), to: this.to.value.trim() }; this.markEnds(); };
    this.from = make("input", { id: "probe-from", placeholder: "sip0.cube0.pe0", "aria-label": "from", spellcheck: "false", oninput: typed });
    this.to = make("input", { id: "probe-to", placeholder: "sip0.cube5.hbm_ctrl.pe0", "aria-label": "to", spellcheck: "false", oninput: typed });
    this.op = make("select", { "aria-label": "operation" }, make("option", {}, "read"), make("option", {}, "write"));
    this.size = make("input", { type: "number", min: 1, placeholder: "bytes", "aria-label": "bytes", class: "short" });
    this.measured = make("div", { id: "probe-result", "aria-live": "polite" });
    return section("probe", "From here to there", "Click two parts of the plan, or name them. A memory is read or written; anything else is sent a message.",
      make("div", { class: "row" }, this.from, "→", this.to, this.op, this.size, make("button", { type: "button", id: "measure", onclick: () => this.measure() }, "Measure")), this.measured);
  }

  async measure() {
    try {
      const result = await tell("/api/probe", { machine: this.name, set: this.set, from: this.ends.from, to: this.ends.to, op: this.op.value, bytes: Number(this.size.value) || 0 });
      this.measured.replaceChildren(...probeView(result));
    } catch (refused) {
      this.measured.replaceChildren(make("pre", { class: "bad" }, [refused.message, refused.hint].filter(Boolean).join("\n")));
    }
  }
}

/** What a probe found, as elements. */
function probeView(result) {
  const names = { wire_ns: "wires", overhead_ns: "hops and engines", serialization_ns: "serialisation", memory_ns: "memory", ack_ns: "acknowledgement" };
  const parts = Object.entries(result.parts).filter(([, ns]) => ns > 0).map(([key, ns]) => ({ name: names[key] ?? key, ns }));
  return [make("p", {}, make("b", { id: "probe-total", "data-value": result.total_ns }, `${figure(result.total_ns)} ns`), ` for a ${result.op} of ${bytes(result.bytes)}, ${result.from} → ${result.to}`),
    table([{ title: "Part", of: (p) => p.name }, { title: "ns", of: (p) => p.ns.toFixed(3), number: true }], parts),
    make("details", {}, make("summary", {}, `${count(result.hops.length)} hops`), table([{ title: "Node", of: (h) => h.node }, { title: "Leg", of: (h) => h.leg }, { title: "at ns", of: (h) => h.at_ns.toFixed(3), number: true }], result.hops))];
}
