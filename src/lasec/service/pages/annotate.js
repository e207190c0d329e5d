// The annotator's page: shows one question at a time, and sends answers in the background.

import {
  Refused, askForKey, byId, currentKey, currentModel, element, fillModels, ofModel, parse, request,
  stringify,
} from "./page.js";

const AHEAD = 5; // questions fetched before they are needed
const MOST = 50; // questions that a person can hold
const POLL = 10_000; // ms between two looks at an empty queue
const RENEW = 60_000; // ms between two renewals of the leases of a person who is at work
const IDLE = 120_000; // ms without a sign of life after which leases are left to expire
const SLOWEST = 10_000; // ms, the longest wait before a retry
const SETTLE = 150; // ms in which a question that appeared by itself takes no key
const ROOM = 20_000; // characters of an item that are shown at first
const FIELD = 40; // characters that a field takes of that, besides its text
const LONGEST = 80; // characters of a class that are shown
const READ = "lasec instructions read";
const RESERVED = "dlu";
const KEYS = [..."123456789abcdefghijklmnopqrstuvwxyz"].filter((key) => !RESERVED.includes(key));

let classes = [];
let current = null; // the question that is shown
let queue = []; // those that come next
let counts = { today: 0, waiting: 0 };
let grace = 10; // seconds in which an answer can be undone
let fetching = false;
let shownAt = 0; // when a question appeared without an action of the person
let activeAt = Date.now();
let pollTimer = 0;

// What is kept in the tab until the server has it: a reload loses nothing.

const UNSENT = `lasec unsent ${currentKey()}`; // of this key: another one is another person's
const outbox = parse(sessionStorage.getItem(UNSENT) ?? "[]"); // {model, ticket, say, label}
const keep = () => sessionStorage.setItem(UNSENT, stringify(outbox));

const past = []; // {model, question, say, said, at}: what can be undone; at: when it was acknowledged
const touched = new Map(); // ticket -> when it was last answered, undone or acknowledged here
let sending = null;
let failures = 0;
let offline = false; // until all answers of the time without a connection are sent
let retryTimer = 0;

/** Leases that were asked for before this moment know nothing of it. */
function touch({ model, ticket }) {
  if (model === currentModel()) touched.set(ticket, performance.now());
}

function put(said) {
  const entry = { model: currentModel(), ...said };
  outbox.push(entry);
  touch(entry);
  keep();
  send();
}

/** Send what is unsent, one after the other, until all is acknowledged. */
async function send() {
  clearTimeout(retryTimer);
  if (sending || !outbox.length) return;
  sending = outbox[0];
  const { model, ...body } = sending;
  try {
    const heard = await request("POST", ofModel("answers", model), ["ticket"], body);
    if (heard.ticket !== body.ticket) throw new Refused(0, "The reply is to another answer.");
    acknowledged(sending);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    if (error.status === 401 || error.status === 403) return askForKey(reasonOf(error));
    if (error.passing) return retry(error);
    refused(sending, error);
  } finally {
    sending = null;
  }
  send();
}

function acknowledged(entry) {
  outbox.shift();
  keep();
  touch(entry);
  const kept = past.findLast(
    ({ model, question }) => model === entry.model && question.ticket === entry.ticket);
  if (kept && entry.say !== "undo") kept.at = Date.now();
  reached();
}

/** The server does not take this any more: the question is closed, or its answer was learned. */
function refused(entry, error) {
  acknowledged(entry);
  if (entry.say === "undo") {
    if (entry.model === currentModel()) drop(entry.ticket);
    notice("Too late to undo: the question is closed.", true);
  } else if (error.status !== 410) {
    notice(`An answer was not accepted: ${error.message}`, true);
  }
}

/** Take a question away; if it is shown, the next one appears by itself. */
function drop(gone) {
  queue = queue.filter(({ ticket }) => ticket !== gone);
  if (current?.ticket !== gone) return;
  shownAt = performance.now();
  next();
}

function retry(error) {
  clearTimeout(retryTimer);
  failures += 1;
  offline = true;
  const wait = Math.min(SLOWEST, 500 * 2 ** (failures - 1)) * (0.75 + Math.random() / 2);
  retryTimer = setTimeout(resume, Math.max(wait, 1000 * error.retryAfter));
  const kept = outbox.length === 1 ? "1 answer is" : `${outbox.length} answers are`;
  const safe = outbox.length ? ` ${kept} kept in this tab and will be sent.` : "";
  notice(`No connection to the server: trying again.${safe}`, true);
  render();
}

function resume() {
  send();
  fetchAhead();
}

function reached() {
  failures = 0;
  if (!offline) return;
  offline = outbox.length > 0;
  notice(offline ? "Connected again: sending answers." : "Connected again. All answers are saved.");
}

const reasonOf = (error) =>
  error.status === 401
    ? "The server does not know this key. Ask the owner of the model for a new one."
    : "This key cannot answer questions. Ask the owner for an annotator's key.";

// Questions

/** Lease questions, so that some are always here before they are needed; also renews leases. */
async function fetchAhead() {
  clearTimeout(pollTimer);
  if (fetching || !currentModel() || document.hidden) return;
  fetching = true;
  const since = performance.now();
  const model = currentModel();
  const count = Math.min(MOST, AHEAD + queue.length + outbox.length + (current ? 1 : 0));
  try {
    const leased = await request("POST", ofModel("lease"), ["questions", "classes"], { count });
    if (model === currentModel()) take(leased, since);
    reached();
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    if (error.status === 401 || error.status === 403) return askForKey(reasonOf(error));
    if (error.passing) retry(error);
    else notice(error.message, true);
  } finally {
    fetching = false;
  }
  if (model !== currentModel()) fetchAhead();
  else if (!current) pollTimer = setTimeout(fetchAhead, POLL);
}

function take(leased, since) {
  const mine = outbox.filter(({ model }) => model === currentModel());
  const unsent = new Set(mine.map(({ ticket }) => ticket));
  const moved = (ticket) => unsent.has(ticket) || touched.get(ticket) >= since;
  const offered = new Map(leased.questions.map((question) => [question.ticket, question]));
  queue = queue.filter(({ ticket }) => offered.has(ticket) || moved(ticket))
    .map((question) => offered.get(question.ticket) ?? question);
  const here = new Set([current, ...queue].map((question) => question?.ticket));
  queue.push(...leased.questions.filter(({ ticket }) => !here.has(ticket) && !moved(ticket)));
  const missed = leased.questions.filter(({ ticket }) => moved(ticket) && !here.has(ticket)).length;
  counts = { today: leased.answered_today + missed, waiting: leased.waiting - missed };
  grace = leased.grace;
  showInstructions(leased.instructions ?? "");
  if (stringify(classes) !== stringify(leased.classes)) showClasses(leased.classes);
  showChange(offered.get(current?.ticket));
  if (!current && queue.length) {
    shownAt = performance.now();
    next();
    if ([document.body, byId("item")].includes(document.activeElement)) focusItem();
  } else render();
}

/** The question that is shown, if another one has its ticket now: the model was made again. */
function showChange(offered) {
  if (!offered || stringify(offered.item) === stringify(current.item)) return;
  current = offered;
  shownAt = performance.now();
  showItem();
  notice("The question has changed.", true);
}

function next() {
  current = queue.shift() ?? null;
  showItem();
  render();
}

/** Answer the question that is shown, and show the next one at once. */
function answer(say, label = null) {
  if (!current || performance.now() - shownAt < SETTLE) return;
  const said = { dont_know: "don't know", later: "later" }[say] ?? brief(String(label));
  past.push({ model: currentModel(), question: current, say, said, at: null });
  past.splice(0, past.length - 20);
  counts.today += say === "later" ? 0 : 1;
  counts.waiting -= 1;
  if (!offline) notice("");
  const { ticket } = current;
  next();
  put({ ticket, say, label });
  if (queue.length < AHEAD) fetchAhead();
}

/** The last answer, if it can still be taken back. */
function undoable() {
  const last = past.at(-1);
  const open = last && (last.at === null || Date.now() - last.at < 1000 * grace - 500);
  return open && last.model === currentModel() ? last : null;
}

function undo() {
  const last = undoable();
  if (!last) return notice("There is no recent answer to undo.");
  past.pop();
  const { ticket } = last.question;
  const unsent = outbox.findLastIndex((entry) => entry.model === last.model &&
    entry.ticket === ticket && entry.say !== "undo" && entry !== sending);
  if (unsent >= 0) {
    touch(...outbox.splice(unsent, 1));
    keep();
  } else put({ ticket, say: "undo" });
  if (current) queue.unshift(current);
  current = last.question;
  counts.today -= last.say === "later" ? 0 : 1;
  counts.waiting += 1;
  showItem();
  notice(`Undone: ${last.said}.`);
  render();
}

// What is shown

/** A value of an item: text, a link if it is an address, or fields. Items are untrusted. */
function shown(value, room, depth = 0) {
  if (typeof value === "string") return linkOr(fitted(value, room), room);
  if (value === null || typeof value !== "object" || depth > 2) return fitted(stringify(value), room);
  if (Array.isArray(value) && value.every((part) => typeof part !== "object")) {
    return fitted(value.join(", "), room);
  }
  return element("dl", {}, ...fieldsOf(value, room, depth));
}

function fieldsOf(value, room, depth) {
  const fields = [];
  for (const [name, part] of Object.entries(value)) {
    if (part === null) continue;
    room.left -= FIELD;
    if (room.left < 0) break;
    fields.push(element("div", {}, element("dt", { dir: "auto" }, fitted(name, room)),
      element("dd", { dir: "auto" }, shown(part, room, depth + 1))));
  }
  return fields;
}

/** The beginning of a text for which there is room. */
function fitted(text, room) {
  const part = text.slice(0, Math.max(0, room.left));
  room.left -= text.length;
  return part;
}

const linkOr = (text, room) => room.left >= 0 && /^https?:\/\/\S+$/i.test(text)
  ? element("a", { href: text, target: "_blank", rel: "noopener noreferrer" }, text) : text;

/** A text, or what it consists of if there is nothing to see. */
function visible(text) {
  if (/[^\p{Cc}\p{Cf}\p{Z}]/u.test(text)) return text;
  const codes = Array.from(text.slice(0, 20), (part) =>
    ` U+${part.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`);
  return text ? `(blank:${codes.join("")})` : "(empty)";
}

function brief(text) {
  const seen = visible(text);
  return seen.length > LONGEST ? `${seen.slice(0, LONGEST)} ...` : seen;
}

function contentOf(question, most = ROOM) {
  const { ticket, item } = question;
  const known = item !== null && (typeof item !== "object" ||
    Object.values(item).some((part) => part !== null));
  const room = { left: most };
  const seen = typeof item === "string" ? visible(item) : item;
  const box = element("div", { dir: "auto" }, known ? shown(seen, room) : `Question ${ticket}`);
  if (room.left >= 0) return [box];
  const all = element("button", { type: "button", id: "all" }, "Show all");
  all.onclick = () => {
    byId("item").replaceChildren(...contentOf(question, Infinity));
    focusItem();
  };
  return [box, element("p", { class: "quiet" }, "This is the beginning of a long item."), all];
}

/** Without a scroll: the start of a long item is what is read first. */
const focusItem = () => byId("item").focus({ preventScroll: true });

function showItem() {
  const box = byId("item");
  box.dataset.ticket = current?.ticket ?? "";
  if (current) box.replaceChildren(...contentOf(current));
  box.scrollTop = 0;
  scrollTo(0, 0);
}

function showEmpty() {
  if (fetching && !failures) return [element("p", { class: "quiet" }, "Loading questions ...")];
  const elsewhere = counts.waiting > 0 ? "The open questions are with other people. " : "";
  const check = element("button", { type: "button", id: "check" }, "Check now");
  check.onclick = fetchAhead;
  return [
    element("p", {}, failures ? "Waiting for the server." : "No questions right now."),
    element("p", { class: "quiet" },
      failures ? "" : `${elsewhere}This page checks again every ${POLL / 1000} seconds.`),
    check,
  ];
}

function render() {
  const waiting = Math.max(0, counts.waiting).toLocaleString("en");
  byId("progress").textContent = `${counts.today.toLocaleString("en")} done today, ${waiting} waiting`;
  const hadFocus = byId("dock").contains(document.activeElement);
  const last = undoable();
  for (const id of ["classes", "dont-know", "later"]) byId(id).hidden = !current;
  byId("undo").hidden = !current && !last;
  byId("undo").setAttribute("aria-disabled", String(!last));
  byId("last").textContent = last ? `Last answer: ${last.said}` : "";
  byId("last").hidden = byId("notice").textContent !== "";
  if (current) return;
  const empty = showEmpty();
  const text = (nodes) => nodes.map(({ textContent }) => textContent).join();
  const box = byId("item");
  if (text(empty) !== text([...box.children])) box.replaceChildren(...empty);
  if (hadFocus && (!last || !byId("undo").matches(":focus"))) focusItem();
}

function showClasses(names) {
  if (current) shownAt = performance.now(); // a key may have another class now
  classes = names;
  const texts = names.map((name) => String(name));
  const short = texts.map(brief);
  const clear = new Set(short).size === short.length; // otherwise two classes would look the same
  byId("classes").replaceChildren(...names.map((name, at) => {
    const key = KEYS[at];
    const made = element("button", { type: "button", class: "class", dir: "auto" });
    if (key) {
      made.append(element("kbd", {}, key));
      made.setAttribute("aria-keyshortcuts", key);
    }
    made.append(element("span", {}, clear ? short[at] : texts[at]));
    if (clear && short[at] !== texts[at]) made.title = texts[at].slice(0, ROOM);
    made.onclick = () => answer("label", name);
    return made;
  }));
}

/** What the owner wants annotators to know: open until this text was read and closed. */
function showInstructions(text) {
  const box = byId("instructions");
  const key = `${currentModel()}\n${text}`;
  if (box.dataset.shown === key) return;
  box.dataset.shown = key;
  byId("instructions-text").textContent = text;
  box.hidden = !text;
  box.open = localStorage.getItem(READ) !== key;
}

function notice(text, warning = false) {
  const box = byId("notice");
  if (box.textContent !== text) box.textContent = text;
  box.classList.toggle("warning", warning);
}

// Keys

function onKey(event) {
  activeAt = Date.now();
  const typing = event.target.matches?.("select, textarea, input:not([type=checkbox])");
  if (typing || event.repeat || event.altKey || byId("item").hidden) return;
  const key = event.key.toLowerCase();
  if (event.ctrlKey || event.metaKey) {
    if (key === "z" && !event.shiftKey) act(event, undo);
    return;
  }
  if (!byId("keys").checked) return;
  if (key === "u" || key === "backspace") act(event, undo);
  else if (key === "d") act(event, () => answer("dont_know"));
  else if (key === "l") act(event, () => answer("later"));
  else if (KEYS.indexOf(key) in classes) act(event, () => answer("label", classes[KEYS.indexOf(key)]));
}

function act(event, action) {
  event.preventDefault();
  action();
}

// Start

async function start() {
  try {
    const { models } = await request("GET", "/v1/models", ["models"]);
    fillModels(models.filter(({ status }) => status !== "retired"), changeModel);
    reached();
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    if (error.status === 401 || error.status === 403) return askForKey(reasonOf(error));
    retry(error);
    clearTimeout(retryTimer);
    return void setTimeout(start, Math.max(1000, 1000 * error.retryAfter));
  }
  if (!currentModel()) {
    notice("There is no model yet. This page checks again every 10 seconds.");
    return void setTimeout(start, POLL);
  }
  document.title = `${currentModel()} - questions - lasec`;
  setInterval(render, 500);
  setInterval(() => Date.now() - activeAt < IDLE && fetchAhead(), RENEW);
  resume();
}

function changeModel() {
  current = null;
  queue = [];
  classes = [];
  touched.clear();
  document.title = `${currentModel()} - questions - lasec`;
  showItem();
  fetchAhead();
  render();
}

byId("dont-know").onclick = () => answer("dont_know");
byId("later").onclick = () => answer("later");
byId("undo").onclick = undo;
byId("instructions").ontoggle = ({ target }) => target.open
  ? localStorage.removeItem(READ) : localStorage.setItem(READ, target.dataset.shown);
byId("keys").checked = localStorage.getItem("lasec keys") !== "off";
byId("keys").onchange = ({ target }) =>
  localStorage.setItem("lasec keys", target.checked ? "on" : "off");
addEventListener("keydown", onKey);
for (const sign of ["pointerdown", "scroll"]) {
  addEventListener(sign, () => { activeAt = Date.now(); }, { passive: true });
}
addEventListener("online", resume);
document.addEventListener("visibilitychange", () => document.hidden || resume());
addEventListener("beforeunload", (event) => {
  if (failures && outbox.length) event.preventDefault();
});
if (currentKey()) start();
else askForKey("");
