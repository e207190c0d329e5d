// What both pages share: the key, requests with it, and elements made of plain text.

const KEY = "lasec key";
const MODEL = "lasec model";
const TIMEOUT = 15_000;
export const LONG = 600_000; // ms, for what may take minutes: to compile, or to download
const PATIENCE = 60; // seconds, the longest wait that a server can ask for
const LONGEST = 300; // characters of a server's message that are shown
const KEPT_ALIVE = 10_000; // characters of a request that may outlive the page; browsers refuse long ones

export const byId = (id) => document.getElementById(id);

/** An element; its children are elements or text, and text is never read as HTML. */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

/** Take key and model from the address, which servers never see, and remove them from it. */
function takeFragment() {
  const given = new URLSearchParams(location.hash.slice(1));
  if (!given.has("key")) return false;
  sessionStorage.setItem(KEY, given.get("key").trim());
  if (given.has("model")) sessionStorage.setItem(MODEL, given.get("model"));
  history.replaceState(null, "", location.pathname);
  return true;
}

takeFragment();
addEventListener("hashchange", () => takeFragment() && location.reload()); // another link was opened

export const currentKey = () => sessionStorage.getItem(KEY) ?? "";
export const currentModel = () => sessionStorage.getItem(MODEL) ?? "";
export const setModel = (name) => sessionStorage.setItem(MODEL, name);

/** A request that was refused. Without a status, the server was not reached. */
export class Refused extends Error {
  constructor(status, detail, retryAfter = 0) {
    super(detail);
    this.status = status;
    this.retryAfter = retryAfter;
  }

  /** Whether the same request can succeed later. */
  get passing() {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }
}

/** JSON, with whole numbers that JavaScript would round as BigInt: no digit may change. */
export function parse(text) {
  if (!/\d{16}/.test(text)) return JSON.parse(text); // much faster
  return JSON.parse(text, (_, value, context) => {
    const rounded = typeof value === "number" && !Number.isSafeInteger(value);
    return rounded && /^-?\d+$/.test(context?.source ?? "") ? BigInt(context.source) : value;
  });
}

export const stringify = (value) => JSON.stringify(value, (_, part) =>
  typeof part === "bigint" ? JSON.rawJSON(String(part)) : part);

/** Send a request with the key; gives what is read of the reply, or throws Refused. */
async function send(method, path, read, body, timeout) {
  let reply;
  const sent = stringify(body);
  try {
    reply = await fetch(path, {
      method,
      headers: { Authorization: `Bearer ${currentKey()}`, "Content-Type": "application/json" },
      body: sent,
      keepalive: method === "POST" && sent.length < KEPT_ALIVE,
      signal: AbortSignal.timeout(timeout),
    });
    if (reply.ok) return await read(reply);
  } catch {
    throw new Refused(0, "The server cannot be reached.");
  }
  const problem = await reply.json().catch(() => null);
  const detail = typeof problem?.detail === "string" ? problem.detail : reply.statusText;
  const wait = Math.min(PATIENCE, Number(reply.headers.get("Retry-After")) || 0);
  throw new Refused(reply.status, detail.slice(0, LONGEST), wait);
}

/** The reply's JSON, which must have the fields. */
export const request = (method, path, fields = [], body = undefined, timeout = TIMEOUT) =>
  send(method, path, async (reply) =>
    known(reply.status === 204 ? {} : parse(await reply.text()), fields), body, timeout);

/** Let the browser keep a reply as a file. */
export async function download(path, name) {
  const data = await send("GET", path, (reply) => reply.blob(), undefined, LONG);
  const link = element("a", { href: URL.createObjectURL(data), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/** A reply, unless it is not the server's: others on the way answer with 200, too. */
function known(reply, fields) {
  if (fields.every((name) => (reply?.[name] ?? null) !== null)) return reply;
  throw new TypeError(`expected ${fields}`);
}

/** Show the form that asks for a key, and why; what is entered is used after a reload. */
export function askForKey(why) {
  for (const part of document.querySelectorAll("[data-needs-key]")) part.hidden = true;
  byId("key-form").hidden = false;
  byId("key-error").textContent = why;
  byId("key-form").onsubmit = (event) => {
    event.preventDefault();
    sessionStorage.setItem(KEY, byId("key").value.trim());
    location.reload();
  };
  byId("key").focus();
}

/** The models that the key sees, in a choice that is hidden if there is only one. */
export function fillModels(models, onChange) {
  const select = byId("model");
  select.replaceChildren(...models.map(({ name }) => element("option", { value: name }, name)));
  const wanted = models.some(({ name }) => name === currentModel());
  select.value = wanted ? currentModel() : (models[0]?.name ?? "");
  byId("models").hidden = models.length < 2;
  byId("only-model").textContent = models.length < 2 ? select.value : "";
  setModel(select.value);
  select.onchange = () => {
    setModel(select.value);
    onChange();
  };
}

/** The path of a part of the chosen model. */
export const ofModel = (part, model = currentModel()) =>
  `/v1/models/${encodeURIComponent(model)}${part && `/${part}`}`;
