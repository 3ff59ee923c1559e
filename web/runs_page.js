// Saved runs: look at one, or at several side by side.
import { make, section, table } from "./dom.js";
import { count, time } from "./format.js";
import { optionsText, verdict } from "./summary.js";
import { ask } from "./api.js";

/** Where the runs with these numbers are shown. */
export const reportOf = (ids) => `/report?runs=${ids.join(",")}`;

export class RunsPage {
  constructor(state) {
    this.chosen = new Set();
    this.list = make("div", { id: "saved-runs" });
    this.compare = make("a", { id: "compare", class: "button", target: "_blank", "aria-disabled": "true" }, "Compare");
    this.swept = make("div", { id: "swept" });
    this.show(state);
  }

  element() {
    return section("runs", "Saved runs", "Choose two or more to see them side by side.", make("div", { class: "row" }, this.compare), this.list, this.swept);
  }

  async refresh() { this.show(await ask("/api/state")); }

  show({ runs, sweeps }) {
    this.swept.replaceChildren(...(sweeps.length === 0 ? [] : [make("h3", {}, "Sweeps"), table([
      { title: "Folder", of: (sweep) => make("a", { href: `/sweeps/${sweep.id}`, target: "_blank" }, sweep.name), className: "name" },
      { title: "Bench", of: (sweep) => sweep.bench ?? "cannot be read", className: "name" }, { title: "Points", of: (sweep) => count(sweep.points), number: true }], sweeps)]));
    if (runs.length === 0) { this.list.replaceChildren(make("p", { class: "muted" }, "None yet: run a bench, or start with files and folders: kernbench web RUN.db FOLDER")); return; }
    const good = (cell) => (run) => (run.error ? "" : cell(run));
    this.list.replaceChildren(table([
      { title: "", of: good((run) => make("input", { type: "checkbox", "aria-label": `choose ${run.name}`, "data-run": run.id, checked: this.chosen.has(run.id), onchange: (event) => this.choose(run.id, event.target.checked) })) },
      { title: "File", of: (run) => (run.error ? run.name : make("a", { href: reportOf([run.id]), target: "_blank" }, run.name)), className: "name" },
      { title: "Bench", of: (run) => (run.error ? make("span", { class: "worse" }, run.error) : run.bench || "a program of one's own"), className: "name" },
      { title: "Options", of: good((run) => make("small", {}, optionsText(run))) }, { title: "Machine", of: good((run) => run.machine), className: "name" },
      { title: "Operations", of: good((run) => count(run.ops)), number: true }, { title: "Time", of: good((run) => time(run.total_ps)), number: true },
      { title: "", of: good((run) => make("span", { class: `badge ${verdict(run).tone}` }, verdict(run).text)) }, { title: "", of: good((run) => make("a", { href: `/runs/${run.id}.db` }, "keep")) }], runs));
  }

  choose(id, on) {
    if (on) this.chosen.add(id); else this.chosen.delete(id);
    const ids = [...this.chosen].slice(0, 8);
    this.compare.textContent = ids.length > 1 ? `Compare ${ids.length}` : "Compare";
    if (ids.length > 1) { this.compare.href = reportOf(ids); this.compare.removeAttribute("aria-disabled"); }
    else { this.compare.removeAttribute("href"); this.compare.setAttribute("aria-disabled", "true"); }
  }
}
