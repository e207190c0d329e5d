// Answers on the owner's page: review, correct and download them, and instruct annotators.

import { byId, currentModel, download, element, ofModel, request } from "./page.js";
import { cell, named, row, say, showTable, utc } from "./owner-text.js";

const PAGE = 10; // answers that are shown together
const ROOM = 160; // characters of an item that are shown
const STATUS = {
  held: "Not learned yet", told: "Learned", recorded: "Second answer, not learned",
  sent: "Learned (application)",
};

let tried = null; // how the page says that a request was refused
let classes = [];
let shownModel = "";
let after = ""; // where the page that is shown begins
let next = "";
let editing = false; // then nothing is shown anew

const pathOf = (query) => ofModel(`labels?${new URLSearchParams(query)}`);
const whose = () => (byId("whose").value ? { by: byId("whose").value } : {});
const isolated = (text) => `\u2068${text}\u2069`;

/** Show the answers and instructions of the chosen model. */
export async function showAnswers(model, people) {
  if (shownModel !== model.name) forget(model.name);
  classes = model.classes;
  showWhose(people);
  say("kept", "Answers of people and labels sent by applications. The server deletes them " +
    `${Number((model.retain / 86_400).toPrecision(3))} days after their question is closed: ` +
    "download them before.");
  await Promise.all([showPage(), showInstructions()]);
}

function forget(name) {
  const before = shownModel;
  shownModel = name;
  if (!before) return; // somebody may have begun to write before the first model was here
  after = "";
  editing = false;
  byId("whose").value = "";
  say("corrected", "");
  delete byId("instructions").dataset.changed;
  say("instructed", "");
}

function showWhose(people) {
  const listed = Array.from(byId("whose").options, ({ value }) => value).slice(1);
  if (String(listed) === String(people)) return;
  const chosen = byId("whose").value;
  const options = people.map((name) => element("option", { value: name }, name));
  byId("whose").replaceChildren(element("option", { value: "" }, "Everyone"), ...options);
  byId("whose").value = people.includes(chosen) ? chosen : "";
}

async function showPage() {
  if (editing) return;
  const model = currentModel();
  const query = { newest: true, limit: PAGE, after, ...whose() };
  const found = await request("GET", pathOf(query), ["labels"]);
  if (editing || model !== currentModel()) return;
  next = found.next;
  showTable("answers", found.labels.map(answerRow));
  byId("older").hidden = found.labels.length < PAGE;
  byId("newest").hidden = !after;
}

function answerRow(label) {
  const button = element("button", {
    type: "button", "aria-label": `Correct the answer to question ${label.ticket}` }, "Correct");
  const made = row(
    cell(utc(label.at), "time"), cell(element("bdi", {}, itemText(label)), "item"),
    cell(label.by === null ? "application" : named(label.by), "from"),
    cell(answerText(label), "label"),
    cell(statusText(label), "status"), element("td", {}, button));
  button.onclick = () => edit(label, made);
  return made;
}

/** The beginning of an item, in one line. */
function itemText({ item, id, ticket }) {
  const parts = item !== null && typeof item === "object"
    ? Object.entries(item).map(([name, part]) =>
      `${name}: ${part !== null && typeof part === "object" ? JSON.stringify(part) : part}`)
    : [item];
  const text = item === null ? `Question ${ticket}${id === null ? "" : ` (${id})`}` : parts.join("; ");
  return text.length > ROOM ? `${text.slice(0, ROOM)} ...` : text;
}

const answerText = ({ label, given, corrected_at: at }) => at === null ? [named(String(label))]
  : [named(String(label)), " (corrected, was ", named(String(given)), ")"];

function statusText({ status, label, learned }) {
  if (learned === null || learned === label) return STATUS[status] ?? status;
  return ["Learned ", named(String(learned)), " before the correction"];
}

/** Put a choice of classes below the row of an answer. */
function edit(label, made) {
  editing = true;
  for (const other of byId("answers").querySelectorAll("button")) other.disabled = true;
  const choice = element("select", { "aria-label": "Corrected label" },
    ...classes.map((name, at) => element("option", { value: at }, String(name))));
  choice.value = classes.indexOf(label.label);
  const save = element("button", { type: "button", class: "primary" }, "Save");
  const cancel = element("button", { type: "button" }, "Cancel");
  save.onclick = () => correct(label, classes[choice.value]);
  cancel.onclick = () => done();
  const warning = label.learned === null ? [] : [element("p", { class: "quiet" },
    `The model has learned ${isolated(label.learned)} and cannot unlearn it. A correction changes ` +
    "the exported label; the model and its accuracy estimate stay as they are.")];
  made.after(element("tr", { class: "edit" }, element("td", { colspan: 6 }, ...warning,
    element("div", { class: "row" }, choice, save, cancel))));
  choice.focus();
}

async function done() {
  editing = false;
  await tried(showPage);
}

async function correct({ ticket, by }, label) {
  await tried(async () => {
    const body = { ticket, label, ...(by === null ? {} : { by }) };
    const { detail } = await request("POST", ofModel("corrections"), ["detail"], body);
    say("corrected", `Question ${ticket} is now ${isolated(label)}. ${detail}`);
  });
  await done();
}

async function save(format) {
  say("saved", "Downloading ...");
  const query = { format, ...whose() };
  const worked = await tried(() => download(pathOf(query), `${currentModel()}-labels.${format}`));
  say("saved", worked ? "Downloaded." : "");
}

async function showInstructions() {
  const model = currentModel();
  const { text } = await request("GET", ofModel("instructions"), ["text"]);
  const box = byId("instructions");
  if (model === currentModel() && !box.dataset.changed) box.value = text;
}

async function instruct(event) {
  event.preventDefault();
  const text = byId("instructions").value.trim();
  const worked = await tried(() => request("PUT", ofModel("instructions"), ["text"], { text }));
  if (!worked) return;
  delete byId("instructions").dataset.changed;
  say("instructed", text ? "Saved. Annotators see it with their next question."
    : "Saved. Annotators see no instructions.");
}

/** Let the controls work; `attempt` does something, and says why if it is refused. */
export function startAnswers(attempt) {
  tried = attempt;
  const turn = (to) => () => { after = to(); tried(showPage); };
  byId("older").onclick = turn(() => next);
  byId("newest").onclick = turn(() => "");
  byId("whose").onchange = turn(() => "");
  byId("save-csv").onclick = () => save("csv");
  byId("save-jsonl").onclick = () => save("jsonl");
  byId("instruct").onsubmit = instruct;
  byId("instructions").oninput = () => { byId("instructions").dataset.changed = "yes"; };
}
