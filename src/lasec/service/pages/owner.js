// The owner's page: how good the model is, what it costs, who answers, and with what.

import {
  Refused, askForKey, byId, currentKey, currentModel, element, fillModels, ofModel, request,
} from "./page.js";
import { showAnswers, startAnswers } from "./owner-answers.js";
import { startCreate } from "./owner-create.js";
import { showSources } from "./owner-sources.js";
import { cell, count, named, percent, plural, range, row, say, showTable, utc } from "./owner-text.js";

const REFRESH = 10_000; // ms
const GAP = 180; // seconds without a point after which the line is broken: the server was down
const SVG = "http://www.w3.org/2000/svg";
const HEIGHT = 240;
const LONGEST_ALARM = 400; // characters
const EDGE = { left: 48, right: 16, top: 12, bottom: 28 };

// What is asked for, and what a reply must have.
const PARTS = {
  accuracy: ["all", "recent"], budget: ["rows"], alarms: ["alarms", "total"], agreement: ["pairs", "corrected"],
  points: ["points"], sources: ["sources"],
};

let models = [];
let alarms = [];
let points = [];
let timer = 0;

function age(seconds) {
  if (seconds < 60) return "less than a minute";
  if (seconds < 3600) return plural(Math.floor(seconds / 60), "minute");
  if (seconds < 48 * 3600) return plural(Math.floor(seconds / 3600), "hour");
  return plural(Math.floor(seconds / 86_400), "day");
}

// Figures

function showAccuracy({ all, recent, unpredicted }, rows) {
  const known = all.value !== null;
  say("accuracy", known ? percent(all.value) : "no estimate yet");
  say("interval", known ? `95 % CI ${range(all.low, all.high)}, ` +
    `${plural(all.labels, "label")}, ${plural(all.rows, "row")}` : "");
  say("recent", recent.value === null ? "" : `Last ${plural(recent.rows, "row")}: ` +
    `${percent(recent.value)} (95 % CI ${range(recent.low, recent.high)}, ` +
    `${plural(recent.labels, "label")})`);
  const waiting = rows - unpredicted - all.rows;
  const covered = known ? `The estimate covers ${count(all.rows)} of ${plural(rows, "row")}: ` +
    `${count(waiting)} wait for answers.` : `${plural(waiting, "row")} wait for answers.`;
  const silent = `${plural(unpredicted, "row")} before the first label ` +
    `${unpredicted === 1 ? "has" : "have"} no prediction.`;
  say("covered", [waiting > 0 ? covered : "", unpredicted ? silent : ""].filter(Boolean).join(" "));
  const out = all.lost === 1 ? "1 label that was queried has" :
    `${count(all.lost)} labels that were queried have`;
  say("worst", !known || !all.lost ? "" : `${out} not come. Worst case, if all of them ` +
    `count as errors or none: ${range(all.worst_low, all.worst_high)}`);
}

/** What the budget allows up to now, and how it is said. */
function allowance({
  rate, rows, asked, labels_per_day: daily, asked_today: today, warm_up: early, repaid_by: end, cap,
}) {
  const ahead = early >= 1 ? `warm-up of ${count(early)}, repaid ` +
    `${end === null ? "over ten days" : `by row ${count(end)}`}` : "carried over";
  const rest = (left) => left >= 0 ? `${count(left)} left` : `${count(-left)} ahead of it (${ahead})`;
  if (daily !== null) {
    return [today, daily, `labels queried since 00:00 UTC, ${rest(daily - today)}`];
  }
  const queried = `labels queried${rows ? ` (${percent(asked / rows)} of rows)` : ""}. `;
  if (rate === null) return [asked, 0, `${queried}This algorithm has no label budget.`];
  const allowed = Math.floor(rate * rows + 1e-9);
  const share = Number((100 * rate).toPrecision(6));
  const now = rows ? `, ${rest(allowed - asked)}; at most ${count(Math.floor(cap))} so far` : "";
  return [asked, allowed, `${queried}Budget: ${share} % of rows${now}`];
}

function showBudget(budget) {
  const [spent, allowed, text] = allowance(budget);
  say("spent", budget.labels_per_day === null ? count(spent) : `${count(spent)} of ${count(allowed)}`);
  byId("bar").hidden = !allowed;
  byId("bar").max = Math.max(allowed, 1);
  byId("bar").value = Math.min(spent, allowed);
  say("left", text);
  say("answered", `${count(budget.answered)} answered, ${count(budget.lost)} lost, ` +
    `${count(budget.rows)} rows in all`);
  say("open", count(budget.open));
  say("oldest", budget.oldest === null ? "" : `The oldest has been open for ${age(budget.oldest)}.`);
}

function showAlarms(total) {
  const hidden = total - alarms.length;
  say("more-alarms", hidden > 0 ? `${plural(total, "alarm")}; ${count(hidden)} earlier not shown` : "");
  showTable("alarms", alarms.map(({ at, text }) =>
    row(cell(utc(at), "time"), cell(element("bdi", {}, text.slice(0, LONGEST_ALARM))))));
}

function showPeople({ answers, dont_know: unknown, corrected, pairs }) {
  const people = peopleOf({ answers, dont_know: unknown });
  const of = (counts, name) => cell(count(Object.hasOwn(counts, name) ? counts[name] : 0), "number");
  const agreed = (same, questions) =>
    `${count(same)} of ${count(questions)} (${percent(same / questions)})`;
  const share = (same, questions) => questions ? `${percent(same / questions)} of ${count(questions)}` : "-";
  const sum = (found, part) => found.reduce((total, pair) => total + pair[part], 0);
  showTable("people", people.map((name) => {
    const mine = pairs.filter((pair) => pair.people.includes(name));
    return row(cell(named(name)), of(answers, name), of(unknown, name),
      cell(share(sum(mine, "same"), sum(mine, "questions")), "number"), of(corrected, name));
  }));
  showTable("pairs", pairs.map(({ people: [one, other], questions, same }) =>
    row(cell([named(one), " and ", named(other)]), cell(agreed(same, questions), "number"))));
}

const peopleOf = ({ answers, dont_know: unknown }) =>
  [...new Set([...Object.keys(answers), ...Object.keys(unknown)])].sort();

// The accuracy over time

function drawn(name, attributes, ...children) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

/** The ends of the vertical axis: tens of percent that hold the whole band, 20 points at least. */
function verticalEnds(shown) {
  const low = Math.floor(10 * Math.min(...shown.map((point) => point.low)) + 1e-9);
  const high = Math.ceil(10 * Math.max(...shown.map((point) => point.high)) - 1e-9);
  return high - low >= 2 ? [low / 10, high / 10] : [Math.max(0, high - 2) / 10, Math.max(2, high) / 10];
}

/** Points without a long pause between them. */
function stretches(shown) {
  const found = [];
  for (const point of shown) {
    const last = found.at(-1)?.at(-1);
    if (last && point.at - last.at <= GAP) found.at(-1).push(point);
    else found.push([point]);
  }
  return found;
}

/** Times for the horizontal axis, at round steps, as many as there is room for. */
function timesBetween(first, last, width) {
  const most = Math.max(2, Math.floor(width / 120));
  const steps = [60, 120, 300, 600, 1200, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400];
  const step = steps.find((each) => (last - first) / each <= most) ??
    86_400 * Math.ceil((last - first) / (86_400 * most));
  const from = Math.ceil(first / step) * step;
  return Array.from({ length: Math.floor((last - from) / step) + 1 }, (_, at) => from + at * step);
}

function showChart() {
  const shown = points.filter(({ value }) => value !== null);
  const box = byId("chart");
  if (!shown.length) {
    box.replaceChildren();
    return say("caption", "The chart starts with the first labels; one point is added each minute.");
  }
  const width = Math.max(240, box.clientWidth);
  const [low, high] = verticalEnds(shown);
  const first = shown[0].at;
  const last = Math.max(shown.at(-1).at, first + 60);
  const x = (at) => EDGE.left + ((at - first) / (last - first)) * (width - EDGE.left - EDGE.right);
  const y = (share) => EDGE.top + ((high - share) / (high - low)) * (HEIGHT - EDGE.top - EDGE.bottom);
  const place = (at, share) => `${x(at).toFixed(1)},${y(share).toFixed(1)}`;
  const parts = [...grid(low, high, width, y), ...times(first, last, width, x)];
  for (const stretch of stretches(shown)) {
    const upper = stretch.map((point) => place(point.at, point.high));
    const lower = stretch.map((point) => place(point.at, point.low)).reverse();
    const middle = stretch.map((point) => place(point.at, point.value));
    parts.push(drawn("polygon", { class: "band", points: [...upper, ...lower].join(" ") }));
    parts.push(drawn("polyline", { class: "line", points: middle.join(" ") }));
  }
  const marked = alarms.filter(({ at }) => at >= first && at <= last).map(({ at }) => x(at));
  parts.push(...marked.map((middle) => drawn("path", {
    class: "alarm", d: `M${middle - 5},${EDGE.top - 10}h10l-5,9z` })));
  const now = shown.at(-1);
  parts.push(drawn("circle", { class: "point", cx: x(now.at), cy: y(now.value), r: 4 }));
  const label = `Estimated accuracy from ${utc(first)} to ${utc(last)} UTC, ` +
    `at the end ${percent(now.value)}, 95 % CI ${range(now.low, now.high)}` +
    (marked.length ? `; ${plural(marked.length, "alarm")}` : "");
  box.replaceChildren(drawn("svg", {
    viewBox: `0 0 ${width} ${HEIGHT}`, role: "img", "aria-label": label }, ...parts));
  say("caption", "Accuracy over the most recent rows, one point each minute (UTC). " +
    `Band: 95 % CI.${marked.length ? " Triangles: alarms." : ""}${low > 0 ? ` The vertical axis starts at ${Math.round(100 * low)} %.` : ""}`);
}

function grid(low, high, width, y) {
  const step = high - low > 0.5 ? 0.2 : high - low > 0.2 ? 0.1 : 0.05;
  const levels = Array.from({ length: Math.round((high - low) / step) + 1 }, (_, at) => high - at * step);
  return levels.filter((level) => level >= low - 1e-9).flatMap((level) => [
    drawn("line", { class: "grid", x1: EDGE.left, x2: width - EDGE.right, y1: y(level), y2: y(level) }),
    drawn("text", { x: EDGE.left - 8, y: y(level) + 4, "text-anchor": "end" },
      `${Math.round(100 * level)} %`),
  ]);
}

function times(first, last, width, x) {
  const days = last - first > 86_400;
  return timesBetween(first, last, width).map((at) =>
    drawn("text", {
      x: Math.min(Math.max(x(at), EDGE.left), width - EDGE.right - 16), y: HEIGHT - 6,
      "text-anchor": "middle",
    }, days ? utc(at).slice(5, 10) : utc(at).slice(11)));
}

function showPoints() {
  byId("points").replaceChildren(...points.slice(-20).reverse().map((point) =>
    row(cell(utc(point.at)), cell(count(point.rows), "number"),
      cell(point.value === null ? "-" : percent(point.value), "number"),
      cell(point.value === null ? "-" : range(point.low, point.high), "number"))));
}

// The model and its keys

/** A model that the server cannot read: there are no figures, and an alarm says why. */
function showProblem(problem) {
  say("status", "Set aside: the server cannot read this model, and takes no rows for it");
  byId("pause").hidden = true;
  showTable("alarms", [row(cell("now", "time"), cell(`Set aside: ${problem}`))]);
  say("updated", "The other models are served. The data of this one is kept: the server tries " +
    "again at its next start.");
}

function showNone() {
  fillModels([], refresh);
  byId("pause").hidden = true;
  byId("create").open = true;
  say("status", "");
  say("updated", "There is no model yet.");
}

function showModel() {
  const model = models.find(({ name }) => name === currentModel());
  const active = model.status === "active";
  say("status", active ? "Active" : model.status === "paused"
    ? "Paused: takes no rows, people can still answer" : "Retired");
  byId("pause").hidden = model.status === "retired" || !byId("keys").dataset.owner;
  say("pause", active ? "Pause" : "Resume");
  document.title = `${model.name} - lasec`;
}

async function pause() {
  const model = models.find(({ name }) => name === currentModel());
  const status = model.status === "active" ? "paused" : "active";
  if (await tried(() => request("PATCH", ofModel(""), ["status"], { status }))) refresh();
}

async function showKeys() {
  let keys;
  try {
    ({ keys } = await request("GET", "/v1/keys", ["keys"]));
  } catch (error) {
    if (error.status !== 403) throw error;
    byId("keys").dataset.owner = ""; // a viewer's key
    return;
  }
  byId("keys").dataset.owner = "yes";
  for (const part of document.querySelectorAll(".for-owner")) part.hidden = false;
  byId("key-list").replaceChildren(...keys.map(({ name, role, made }) => {
    const button = element("button", { type: "button", "aria-label": `Revoke ${name}` }, "Revoke");
    button.onclick = () => revoke(name);
    return row(cell(named(name)), cell(role), cell(utc(made)), element("td", {}, button));
  }));
}

async function revoke(name) {
  if (!confirm(`Revoke the key of \u2068${name}\u2069? Its link stops working.`)) return;
  const done = await tried(() => request("DELETE", `/v1/keys/${encodeURIComponent(name)}`));
  if (done) await tried(showKeys);
}

async function makeKey(event) {
  event.preventDefault();
  say("key-problem", "");
  const name = byId("name").value.trim();
  try {
    const { key } = await request("POST", "/v1/keys", ["key"], { name, role: "annotator" });
    const fragment = new URLSearchParams({ key, model: currentModel() });
    byId("link").value = `${location.origin}/#${fragment}`;
    byId("made-for").replaceChildren(named(name));
    say("copied", "");
    byId("made").hidden = false;
    byId("name").value = "";
    byId("link").select();
  } catch (error) {
    return say("key-problem", error.message);
  }
  await tried(showKeys);
}

async function copy() {
  byId("link").select();
  try {
    await navigator.clipboard.writeText(byId("link").value);
    say("copied", "Copied.");
  } catch {
    say("copied", "Press Ctrl+C to copy the selected link.");
  }
}

// Refresh

/** Do something, and show why if it is refused; gives whether it was done. */
async function tried(action) {
  try {
    await action();
    say("notice", "");
    return true;
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    if (error.status === 401) askForKey("The server does not know this key.");
    else if (error.status === 403) askForKey("This key cannot see the figures of models.");
    else say("notice", error.passing
      ? `${error.message} The figures are not current; trying again every 10 seconds.`
      : error.message);
    return false;
  }
}

async function load() {
  if (byId("keys").dataset.owner === undefined) await showKeys();
  ({ models } = await request("GET", "/v1/models", ["models"]));
  document.body.classList.toggle("empty", !models.length);
  if (!models.length) return showNone();
  const listed = Array.from(byId("model").options, ({ value }) => value);
  if (String(listed) !== String(models.map(({ name }) => name))) fillModels(models, refresh);
  const name = currentModel();
  const { problem } = models.find((model) => model.name === name);
  if (problem) return showProblem(problem);
  const found = await Promise.all(Object.entries(PARTS).map(([part, fields]) =>
    request("GET", ofModel(part, name), fields)));
  if (name !== currentModel()) return;
  const [accuracy, budget, { total }, agreement] = found;
  ({ alarms } = found[2]);
  ({ points } = found[4]);
  showModel();
  showAccuracy(accuracy, budget.rows);
  showBudget(budget);
  showSources(found[5]);
  showAlarms(total);
  showPeople(agreement);
  showChart();
  showPoints();
  if (byId("keys").dataset.owner) {
    await showAnswers(models.find((model) => model.name === name), peopleOf(agreement));
  }
  say("updated", `Updated ${new Date().toISOString().slice(11, 19)} UTC, every 10 seconds.`);
}

async function refresh() {
  clearTimeout(timer);
  try {
    if (!document.hidden) await tried(load);
  } finally {
    if (byId("key-form").hidden) timer = setTimeout(refresh, REFRESH);
  }
}

startAnswers(tried);
startCreate(refresh);
byId("pause").onclick = pause;
byId("new-key").onsubmit = makeKey;
byId("copy").onclick = copy;
addEventListener("resize", () => points.length && showChart());
document.addEventListener("visibilitychange", () => document.hidden || refresh());
if (currentKey()) refresh();
else askForKey("");
