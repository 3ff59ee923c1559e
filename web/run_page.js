// Running a bench on the machine as it stands, and watching it.
import { make, section } from "./dom.js";
import { count, time } from "./format.js";
import { ask, tell } from "./api.js";

/** `["M=64", …]`: options that are not at their defaults. */
export function givenOptions(options, values) {
  return options.filter((o) => values.get(o.name) !== undefined && values.get(o.name) !== o.value).map((o) => `${o.name}=${values.get(o.name)}`);
}

/** What a choice offers. One without a default may be left out: that is an empty option, which is not sent. */
export function offered(option) {
  return option.value === "" && !option.choices.includes("") ? ["", ...option.choices] : option.choices;
}

/** How far a job is, in words. */
export function progressText(job) {
  const p = job.progress, spent = job.seconds === undefined ? "" : `${job.seconds.toFixed(1)} s`;
  if (job.state === "waiting") return "waits for the one before it";
  if (job.state !== "running" || !p) return [job.state, spent].filter(Boolean).join(", ");
  return `${p.current || "at work"}: ${count(p.done)} of ${count(p.submitted)} requests, ${time(p.now_ps)} simulated, ${count(p.events)} events, ${spent}`;
}

export class RunPage {
  /** `machine()` gives {machine, set}; `finished` is called when a job came to its end. */
  constructor(state, machine, finished) {
    Object.assign(this, { benches: state.benches, machine, finished, values: new Map() });
    this.choice = make("select", { id: "bench", "aria-label": "bench", onchange: () => this.choose(this.choice.value) }, this.benches.map((b) => make("option", { value: b.name }, b.name)));
    this.doc = make("p", { class: "note" });
    this.options = make("div", { class: "options" });
    this.verify = make("input", { type: "checkbox", id: "verify" });
    this.hazards = make("input", { type: "checkbox", id: "hazards" });
    this.on = make("span", { class: "muted", id: "runs-on" });
    this.refusal = make("pre", { class: "bad", role: "alert", hidden: true, id: "run-refusal" });
    this.jobs = make("div", { id: "jobs" });
    this.choose(this.benches[0].name);
    for (const job of state.jobs) this.watch(job.id);
  }

  element() {
    return section("run-bench", "Run a bench", null, make("div", { class: "row" }, this.choice, this.on), this.doc, this.options,
      make("div", { class: "row" }, make("label", {}, this.verify, " check the numbers"), make("label", {}, this.hazards, " look for hazards"),
        make("button", { type: "button", id: "run", class: "primary", onclick: () => this.start() }, "Run")), this.refusal, this.jobs);
  }

  show({ machine, set }) { this.on.textContent = `on ${machine}${set.length > 0 ? ` with ${set.join(" ")}` : ""}`; }

  choose(name) {
    this.bench = this.benches.find((bench) => bench.name === name);
    this.values = new Map();
    this.doc.textContent = this.bench.doc;
    this.options.replaceChildren(...this.bench.options.map((option) => this.field(option)));
  }

  field(option) {
    const note = `${option.doc}\n${option.expects}`, change = (event) => this.values.set(option.name, event.target.type === "checkbox" ? String(event.target.checked) : event.target.value.trim());
    const attributes = { name: option.name, title: note, oninput: change };
    const input = option.type === "choice" ? make("select", attributes, offered(option).map((c) => make("option", { value: c, selected: c === option.value }, c)))
      : option.type === "flag" ? make("input", { ...attributes, type: "checkbox", checked: option.value === "true" })
        : make("input", { ...attributes, value: option.value, spellcheck: "false", autocomplete: "off" });
    return make("label", { class: "field", title: note }, make("span", {}, option.name), input);
  }

  async start() {
    try {
      const { job } = await tell("/api/run", { bench: this.bench.name, options: givenOptions(this.bench.options, this.values), verify: this.verify.checked, hazards: this.hazards.checked, ...this.machine() });
      this.refusal.hidden = true;
      this.watch(job);
    } catch (refused) {
      this.refusal.hidden = false;
      this.refusal.textContent = [refused.message, refused.hint && `hint: ${refused.hint}`].filter(Boolean).join("\n");
    }
  }

  /** Shows a job until it is over. */
  async watch(id) {
    const bar = make("progress", { max: 1 }), words = make("span", {}), links = make("span", {}), command = make("code", {});
    const stop = make("button", { type: "button", onclick: () => tell(`/api/jobs/${id}/stop`, {}) }, "Stop");
    this.jobs.prepend(make("div", { class: "job", "data-job": id }, command, make("div", { class: "row" }, bar, words, stop, links)));
    for (let wait = 100; ; wait = Math.min(500, wait * 1.3)) {
      const job = await ask(`/api/jobs/${id}`).catch(() => null);
      if (!job) { words.textContent = "the server is not there any more"; break; }
      command.textContent = job.command;
      words.textContent = progressText(job);
      if (job.progress && job.progress.submitted > 0) bar.value = job.progress.done / job.progress.submitted;
      if (!["waiting", "running"].includes(job.state)) { this.over(job, bar, links, stop); break; }
      await new Promise((done) => setTimeout(done, wait));
    }
  }

  over(job, bar, links, stop) {
    bar.remove();
    stop.remove();
    if (job.run) links.append(make("a", { href: `/report?runs=${job.run}`, target: "_blank" }, "Open its report"));
    if (job.line || job.failure) links.parentNode.after(make("pre", { class: job.failure ? "bad" : null }, [job.line, job.failure].filter(Boolean).join("\n").trimEnd()));
    this.finished(job);
  }
}
