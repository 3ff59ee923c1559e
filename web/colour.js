// Colours of resources and kinds of operation: the same everywhere on the page, readable with white letters.

const KNOWN = {
  gemm: "#3566c4", tile_gemm: "#3566c4", math: "#7a4fb5", tile_math: "#7a4fb5", memory: "#b36a12", HBM: "#b36a12", hbm: "#b36a12",
  fabric: "#12807f", "busiest link": "#2b9fc0", dma_read: "#12807f", tile_dma_in: "#12807f", load_scalar: "#12807f",
  dma_write: "#2f9163", tile_dma_out: "#2f9163", tcm_read: "#9a6a9a", tcm_write: "#c05a8a", queue: "#b8433f",
  ipcq_send: "#b8433f", ipcq_recv: "#cf7f62", control: "#5d6b7a", program: "#5d6b7a", host_launch: "#46556a", host_map: "#77879a",
  host_write: "#4f7f9a", host_read: "#5f6f9a", launch: "#3566c4", write: "#4f7f9a", read: "#5f6f9a",
  sram: "#826c1c", tcm: "#9a6a9a", routers: "#12807f", ucie: "#2b9fc0", pcie: "#4a7d2f", matrix: "#3566c4", vector: "#7a4fb5", static: "#5d6b7a", other: "#77879a",
  map: "#826c1c", unmap: "#a9864a", install: "#92527a", start: "#5d6b7a", operand: "#12807f", issue: "#826c1c", engine: "#3566c4", credit: "#b8433f",
};
const OTHERS = ["#826c1c", "#4a7d2f", "#92527a", "#3f7aa6", "#a0522d", "#5b62a8"];

export function colourOf(name) {
  if (KNOWN[name]) return KNOWN[name];
  if (name.startsWith("wait")) return "#8a8f98";
  let sum = 0;
  for (const letter of name) sum = (sum * 31 + letter.codePointAt(0)) >>> 0;
  return OTHERS[sum % OTHERS.length];
}

const HEAT = [[0, [70, 130, 180]], [0.35, [87, 168, 120]], [0.65, [232, 178, 60]], [1, [206, 52, 48]]];

/** From calm blue over green and yellow to red; load is 0 … 1. */
export function heat(load) {
  const at = Math.min(1, Math.max(0, load));
  const upper = Math.max(1, HEAT.findIndex(([stop]) => stop >= at));
  const [from, a] = HEAT[upper - 1], [to, b] = HEAT[upper];
  const share = (at - from) / (to - from);
  return `rgb(${a.map((c, i) => Math.round(c + (b[i] - c) * share)).join(",")})`;
}

export const heatGradient = `linear-gradient(90deg, ${HEAT.map(([stop]) => `${heat(stop)} ${stop * 100}%`).join(", ")})`;

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/** The load of a frame, 0 … 1, from its letter; frames beyond the end are idle. */
export function loadAt(letters, frame) {
  return frame < letters.length ? LETTERS.indexOf(letters[frame]) / 63 : 0;
}

export function meanLoad(letters, frames) {
  let sum = 0;
  for (let i = 0; i < letters.length; i++) sum += loadAt(letters, i);
  return frames > 0 ? sum / frames : 0;
}
