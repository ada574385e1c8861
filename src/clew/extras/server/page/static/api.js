// Requests. The page is only another client of the REST interface.

/** Where the page stands: a proxy may have put it below a path. */
export const ROOT = new URL("../", import.meta.url).pathname;
const AT = `${ROOT}api/v1`;

export class Refused extends Error {
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** A part of a path, with its slashes. */
export const part = (text) => encodeURIComponent(text);
export const indexPath = (index, rest = "") => `/indexes/${part(index)}${rest}`;
export const address = (path) => `${AT}${path}`;

async function refusal(reply) {
  let told = null;
  try {
    told = (await reply.json()).error;
  } catch {
    // Not from Clew: a proxy's page.
  }
  if (reply.status === 401) document.dispatchEvent(new CustomEvent("clew:unauthorized"));
  return asError(reply.status, told);
}

const asError = (status, told) => new Refused(status, told?.code || "error", told?.message || `the server answered with status ${status}`);

async function send(method, path, body, signal, headers = {}) {
  const given = { method, signal, headers, credentials: "same-origin" };
  if (body !== undefined) {
    given.body = body instanceof FormData ? body : JSON.stringify(body);
    if (!(body instanceof FormData)) headers["Content-Type"] = "application/json";
  }
  let reply;
  try {
    reply = await fetch(address(path), given);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused(0, "unreachable", "the server cannot be reached: check that it is running");
  }
  if (!reply.ok) throw await refusal(reply);
  return reply;
}

async function json(method, path, body, signal) {
  const reply = await send(method, path, body, signal);
  return reply.status === 204 ? null : reply.json();
}

/** GET with parameters; those that are empty are left out. */
export function get(path, parameters = {}, signal) {
  const query = new URLSearchParams(Object.entries(parameters).filter(([, value]) => value !== "" && value !== undefined && value !== null));
  return json("GET", query.size ? `${path}?${query}` : path, undefined, signal);
}

export const post = (path, body, signal) => json("POST", path, body, signal);
export const remove = (path, signal) => json("DELETE", path, undefined, signal);

/** POST, and call `on[kind]` for each event of the reply. */
export async function stream(path, body, on, signal) {
  const reply = await send("POST", path, body, signal, { Accept: "text/event-stream" });
  const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
  let waiting = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    waiting += value;
    const events = waiting.split("\n\n");
    waiting = events.pop();
    for (const each of events) tell(each, on);
  }
}

function tell(text, on) {
  let kind = "message";
  let data = "";
  for (const line of text.split("\n")) {
    if (line.startsWith("event: ")) kind = line.slice(7);
    else if (line.startsWith("data: ")) data += line.slice(6);
  }
  if (data && on[kind]) on[kind](JSON.parse(data));
}

/** POST files, telling how many bytes went; resolves to the reply. Ended by `signal`. */
export function upload(path, form, onProgress, signal) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", address(path));
    request.responseType = "json";
    request.upload.addEventListener("progress", (event) => onProgress(event.loaded, event.total));
    request.addEventListener("load", () => {
      if (request.status < 300) resolve(request.response);
      else {
        if (request.status === 401) document.dispatchEvent(new CustomEvent("clew:unauthorized"));
        reject(asError(request.status, request.response?.error));
      }
    });
    request.addEventListener("error", () => reject(new Refused(0, "unreachable", "the upload was interrupted: try again")));
    request.addEventListener("abort", () => reject(new DOMException("cancelled", "AbortError")));
    signal?.addEventListener("abort", () => request.abort());
    request.send(form);
  });
}
