// What the parts of the owner's page share: numbers, times and cells as text.

import { byId, element } from "./page.js";

const LONGEST = 128; // characters of a name

export const count = (number) => number.toLocaleString("en", { maximumFractionDigits: 0 });
export const percent = (share) => `${(100 * share).toFixed(1)}\u00a0%`;
export const range = (low, high) => `${(100 * low).toFixed(1)}-${percent(high)}`;
export const utc = (at) => Math.abs(at) < 8.6e12 // seconds: a date of JavaScript ends there
  ? new Date(1000 * at).toISOString().slice(0, -8).replace("T", " ") : "-";
export const plural = (number, word) => `${count(number)} ${word}${number === 1 ? "" : "s"}`;
export const say = (id, text) => { byId(id).textContent = text; };
export const cell = (text, kind = "") =>
  element("td", kind ? { class: kind } : {}, ...[text].flat());
/** A name that others gave: what it does to the direction of text ends with it. */
export const named = (text) => element("bdi", {}, text.slice(0, LONGEST));
export const row = (...cells) => element("tr", {}, ...cells);

export function showTable(name, rows) {
  byId(name).replaceChildren(...rows);
  byId(`${name}-table`).hidden = !rows.length;
  byId(`no-${name}`).hidden = rows.length > 0;
}
