// Makes elements. Text is always set as text, never as HTML.

export function make(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

export function svg(name, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}

function fill(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** New content for an element. What is false or not there is left out, as by `make`. */
export function refill(element, ...children) {
  element.replaceChildren();
  return fill(element, {}, children);
}

/** A long path may break after its dots and arrows, nowhere else. */
export function breakable(text) {
  return String(text).split(/(?<=[./→])/).flatMap((part, i) => (i > 0 ? [make("wbr"), part] : [part]));
}

/** Columns are {title, of: row → text or node, number?, className?}. */
export function table(columns, rows) {
  const classes = (c) => [c.number ? "number" : "", c.className ?? ""].join(" ").trim() || null;
  return make("div", { class: "wide" }, make("table", {},
    make("thead", {}, make("tr", {}, columns.map((c) => make("th", { class: classes(c) }, c.title)))),
    make("tbody", {}, rows.map((row) => make("tr", {}, columns.map((c) => make("td", { class: classes(c) }, c.of(row))))))));
}

export function section(id, title, note, ...children) {
  return make("section", { id }, make("h2", {}, title), note && make("p", { class: "note" }, note), ...children);
}

const tip = () => document.getElementById("tip");

export function showTip(text, x, y) {
  const box = tip();
  box.textContent = text;
  box.hidden = false;
  const { width, height } = box.getBoundingClientRect();
  box.style.left = Math.max(4, Math.min(x + 14, innerWidth - width - 6)) + "px";
  box.style.top = Math.max(4, y + 18 + height > innerHeight ? y - height - 12 : y + 18) + "px";
}

export function hideTip() {
  tip().hidden = true;
}

/** Shows a text while the pointer is over an element. */
export function withTip(element, text) {
  element.addEventListener("pointermove", (event) => showTip(text, event.clientX, event.clientY));
  element.addEventListener("pointerleave", hideTip);
  return element;
}

export function themeButton() {
  const dark = () => (document.documentElement.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const button = make("button", { type: "button", class: "controls", onclick: () => {
    document.documentElement.dataset.theme = dark() ? "light" : "dark";
    button.textContent = dark() ? "Light" : "Dark";
    dispatchEvent(new Event("themechange"));
  } }, dark() ? "Light" : "Dark");
  return button;
}
