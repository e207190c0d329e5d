// What both pages share: the key, requests with it, and elements made of plain text.

const KEY = "lasec key";
const MODEL = "lasec model";
const TIMEOUT = 15_000;

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

/** Send a request with the key; gives the reply's JSON, or throws Refused. */
export async function request(method, path, body) {
  let reply;
  try {
    reply = await fetch(path, {
      method,
      headers: { Authorization: `Bearer ${currentKey()}`, "Content-Type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
      keepalive: method === "POST",
      signal: AbortSignal.timeout(TIMEOUT),
    });
    if (reply.ok) return reply.status === 204 ? null : await reply.json();
  } catch {
    throw new Refused(0, "The server cannot be reached.");
  }
  const problem = await reply.json().catch(() => ({}));
  const wait = Number(reply.headers.get("Retry-After")) || 0;
  throw new Refused(reply.status, problem.detail ?? reply.statusText, wait);
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
