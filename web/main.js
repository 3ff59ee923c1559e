// Puts the page together from the data it carries.
import { make, themeButton } from "./dom.js";
import { caveats, performance } from "./tables.js";
import { comparison, titleOf } from "./compare.js";
import { energySection } from "./energy.js";
import { floorPlan } from "./plan.js";
import { nameOf, whatRan, whyThisLong } from "./summary.js";
import { timeline } from "./timeline.js";

function detailsOf(data) {
  return [whatRan(data), whyThisLong(data), floorPlan(data), timeline(data), performance(data), energySection(data), caveats(data)].filter(Boolean);
}

function show(page, runs) {
  const details = make("div", { id: "run" });
  const choose = (i) => {
    details.replaceChildren(...detailsOf(runs[i]));
    tabs.forEach((tab, k) => tab.setAttribute("aria-pressed", k === i));
  };
  const tabs = runs.map((run, i) => make("button", { type: "button", onclick: () => choose(i) }, titleOf(run, i)));
  const title = runs.length === 1 ? nameOf(runs[0]) : [...new Set(runs.map(nameOf))].join(", ");
  page.replaceChildren(make("header", {}, make("h1", {}, title), make("span", { class: "muted" }, runs.length === 1 ? runs[0].file : `${runs.length} runs`), make("span", { class: "spring" }), themeButton()));
  if (runs.length > 1) page.append(comparison(runs), make("div", { class: "row" }, make("b", {}, "Look at"), ...tabs));
  page.append(details);
  choose(0);
}

show(document.getElementById("page"), JSON.parse(document.getElementById("data").textContent).runs);
