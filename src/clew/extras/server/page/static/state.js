// What all views share: who asks, which indexes there are, and how a view is reached.

import { ROOT, get, indexPath } from "./api.js";

export const state = { about: null, indexes: [], index: "" };

const rank = { read: 0, write: 1, admin: 2 };
export const may = (scope) => rank[state.about.scope] >= rank[scope];

/** Ask anew which indexes there are, and who asks. */
export async function refresh() {
  [state.about, { items: state.indexes }] = await Promise.all([get(""), get("/indexes", { limit: 1000 })]);
}

/** What people call an index. */
export const titleOf = (name) => state.indexes.find((each) => each.name === name)?.title || name;

const methods = new Map();

/** The methods of retrieval, asked for once. */
export async function allMethods() {
  if (!methods.size) for (const each of (await get("/methods", { limit: 1000 })).items) methods.set(each.name, each);
  return [...methods.values()];
}

/** Ask what an index holds. */
export const describe = (index, signal) => get(indexPath(index), {}, signal);

/** The address of a view, of the index at hand. */
export function to(view, parameters = {}) {
  const given = { index: state.index, ...parameters };
  const query = new URLSearchParams(Object.entries(given).filter(([, value]) => value));
  return `${ROOT}${view}${query.size ? `?${query}` : ""}`;
}

// -- the frame around the views, which draws them: it registers itself -----------------------------

let frame = null;

export function setFrame(given) {
  frame = given;
}

export function go(address, { replace = false } = {}) {
  history[replace ? "replaceState" : "pushState"](null, "", address);
  return frame.draw();
}

export const drawBar = () => frame.drawBar();
