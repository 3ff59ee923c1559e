// Numbers as people read them. Times come in picoseconds.

const THIN = "\u202f";

function digits(value, most) {
  return value.toLocaleString("en-US", { maximumFractionDigits: most });
}

/** `12.345 ns`, `1.044 µs`, `3.2 ms`: four digits or so. */
export function time(ps) {
  const size = Math.abs(ps);
  if (size >= 1e12) return digits(ps / 1e12, 3) + " s";
  if (size >= 1e9) return digits(ps / 1e9, 3) + " ms";
  if (size >= 1e6) return digits(ps / 1e6, 3) + " µs";
  if (size >= 1e3) return digits(ps / 1e3, size < 1e5 ? 2 : 1) + " ns";
  return digits(ps, 0) + " ps";
}

function scaled(value, units) {
  let unit = 0;
  while (Math.abs(value) >= 1000 && unit + 1 < units.length) { value /= 1000; unit++; }
  return digits(value, Math.abs(value) >= 100 ? 1 : 3) + " " + units[unit];
}

/** Picojoules in the unit that fits: `1.234 µJ`. */
export function energy(pj) {
  return scaled(pj, ["pJ", "nJ", "µJ", "mJ", "J", "kJ", "MJ"]);
}

/** Watts likewise. */
export function power(watts) {
  return watts === 0 ? "0 W" : Math.abs(watts) < 1 ? scaled(watts * 1e6, ["µW", "mW", "W"]) : scaled(watts, ["W", "kW", "MW"]);
}

/** All digits of it, in ns. */
export function exactNs(ps) {
  return digits(ps / 1e3, 3) + " ns";
}

export function count(n) {
  return digits(n, 0);
}

export function percent(share) {
  if (share === null || share === undefined || Number.isNaN(share)) return "–";
  const value = share * 100;
  return (Math.abs(value) >= 99.95 || value === 0 ? digits(value, 0) : value.toFixed(Math.abs(value) < 0.1 ? 2 : 1)) + THIN + "%";
}

export function bytes(n) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (n >= 1024 && unit + 1 < units.length) { n /= 1024; unit++; }
  return digits(n, n < 100 && unit > 0 ? 1 : 0) + " " + units[unit];
}

/** Three digits: `1.96`, `3,802`. */
export function figure(n) {
  const size = Math.abs(n);
  return digits(n, size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 4);
}

/** `+12.3 %`, `−4 %`, `same`; `× 2,048` where a percentage says little. */
export function change(from, to) {
  if (from === to) return "same";
  if (!from) return "new";
  const share = (to - from) / from;
  if (share > 9) return "×" + THIN + digits(to / from, 0);
  return (share > 0 ? "+" : "−") + percent(Math.abs(share));
}

/** Instants for the ticks of an axis: 1, 2 or 5 times a power of ten apart, about `wanted` of them. */
export function ticks(begin, end, wanted) {
  const span = end - begin;
  if (!(span > 0)) return [begin];
  const raw = span / Math.max(1, wanted), power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((n) => n * power).find((s) => s >= raw);
  const out = [];
  for (let i = Math.ceil(begin / step); i * step <= end; i++) out.push(i * step);
  return out;
}
