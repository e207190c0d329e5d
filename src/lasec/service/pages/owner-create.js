// The form for a new model on the owner's page.

import { LONG, Refused, byId, element, request, setModel, stringify } from "./page.js";
import { say } from "./owner-text.js";

const KINDS = [["number", "Number"], ["category", "Category"], ["text", "Text"]];

function addColumn() {
  const name = element("input", {
    "aria-label": "Column name", autocomplete: "off", maxlength: 200, placeholder: "name" });
  const kind = element("select", { "aria-label": "Kind of column" },
    ...KINDS.map(([value, text]) => element("option", { value }, text)));
  byId("columns").append(element("div", { class: "row column" }, name, kind));
  return name;
}

function showKind() {
  for (const kind of ["text", "columns", "numbers"]) {
    byId(`of-${kind}`).hidden = byId("kind").value !== kind;
  }
}

function showLabelers() {
  for (const kind of ["people", "judge"]) {
    const fields = byId(`of-${kind}`);
    fields.hidden = fields.disabled = byId("labelers").value !== kind;
  }
}

/** The columns that have a name, and how each is read. */
function columns() {
  const found = Array.from(byId("columns").children, (made) =>
    [made.querySelector("input").value.trim(), made.querySelector("select").value]);
  return Object.fromEntries(found.filter(([name]) => name));
}

function rows() {
  const kind = byId("kind").value;
  if (kind === "numbers") return { features: Number(byId("features").value) };
  if (kind === "text") return { columns: { text: "text" } };
  const found = columns();
  if (!Object.keys(found).length) throw new Refused(422, "Name at least one column.");
  return { columns: found };
}

function budget() {
  const text = (id) => byId(id).value.trim();
  const number = (id) => Number(byId(id).value);
  if (byId("labelers").value === "people") {
    const amount = number("amount");
    return byId("unit").value === "day" ? { labels_per_day: amount } : { rate: amount / 100 };
  }
  const judge = { name: text("judge-name"), price: number("judge-price"),
    hook: text("judge-hook"), secret: text("judge-secret") };
  const people = { name: "people", price: number("people-price") };
  return { sources: [judge, people], money: number("money"), money_per: byId("money-per").value };
}

function settings() {
  const classes = byId("new-classes").value.split(",").map((name) => name.trim()).filter(Boolean);
  if (new Set(classes).size < 2) throw new Refused(422, "Give two or more classes.");
  return {
    name: byId("new-name").value.trim(), classes, ...rows(), ...budget(),
    asking: { overlap: Number(byId("overlap").value) / 100 },
  };
}

/** How a program answers for a judge to whom nothing is posted. */
function answers({ sources: [judge] = [] }) {
  return !judge || judge.hook ? "" : `
for question in model.questions(status="judging"):
    model.tell(question.id, "...", by=${stringify(judge.name)})`;
}

/** What a program sends for this model. */
function example(body) {
  const of = { number: 1.5, category: "a", text: "..." };
  const sent = body.features ? Array(Math.min(body.features, 8)).fill(0.5)
    : Object.fromEntries(Object.entries(body.columns).map(([name, kind]) => [name, of[kind]]));
  return `from lasec.client import Client

client = Client(${stringify(location.origin)}, key="...")
model = client.model(${stringify(body.name)})
decision = model.ask(${stringify(sent)}, id="row-1")${answers(body)}`;
}

/** Let the form work; `show` shows the new model. */
export function startCreate(show) {
  byId("kind").onchange = showKind;
  byId("labelers").onchange = showLabelers;
  byId("unit").onchange = () => { byId("amount").value = byId("unit").value === "day" ? 50 : 10; };
  byId("add").onclick = () => addColumn().focus();
  byId("new-model").onsubmit = async (event) => {
    event.preventDefault();
    say("new-problem", "");
    byId("make").disabled = true;
    try {
      const body = settings();
      say("making", "Creating the model.");
      await request("POST", "/v1/models", ["name"], body, LONG);
      setModel(body.name);
      say("example", example(body));
      byId("send").hidden = false;
      byId("new-model").reset();
      showKind();
      showLabelers();
      await show();
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      say("new-problem", error.message);
    } finally {
      byId("make").disabled = false;
      say("making", "");
    }
  };
  addColumn();
  showKind();
  showLabelers();
}
