// The page of `kernbench web`: the machine, benches to run on it, and what was saved.
import { make } from "./dom.js";
import { ask } from "./api.js";
import { MachinePage } from "./machine_page.js";
import { RunPage } from "./run_page.js";
import { RunsPage } from "./runs_page.js";

async function begin(page) {
  const state = await ask("/api/state").catch((refused) => { page.replaceChildren(make("pre", { class: "bad" }, refused.message)); return null; });
  if (!state) return;
  let chosen = { machine: state.machines[0], set: [] };
  const runs = new RunsPage(state);
  const run = new RunPage(state, () => chosen, () => runs.refresh());
  const machine = new MachinePage(state, (now) => { chosen = now; run.show(now); });
  page.replaceChildren(make("header", {}, make("h1", {}, "KernBench"), make("span", { class: "muted" }, state.kernbench), make("span", { class: "spring" }),
    make("nav", { class: "row" }, make("a", { href: "#machine-values" }, "Machine"), make("a", { href: "#run-bench" }, "Run"), make("a", { href: "#runs" }, "Runs"))),
  run.element(), runs.element(), machine.element());
  addEventListener("focus", () => runs.refresh().catch(() => {}));
  await machine.choose(state.machines[0]);
  document.body.dataset.ready = "yes";
}

begin(document.getElementById("page"));
