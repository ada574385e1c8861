// The options of a question: the method, its parameters, and a filter of documents.

import { field, fill, fresh, h } from "./dom.js";
import { allMethods, describe } from "./state.js";

const GROUPS = { own: "Clew's own", paper: "From papers", baseline: "Baselines" };

/** A choice of one method. */
export function methodSelect(methods, chosen, given = {}) {
  const groups = Object.entries(GROUPS).map(([group, label]) => h("optgroup", { label },
    methods.filter((each) => each.group === group).map((each) =>
      h("option", { value: each.name, selected: each.name === chosen }, each.default ? `${each.name} (default)` : each.name))));
  return h("select", given, groups);
}

/** A field for a filter, with what can be asked for. */
export function filterField(index, value = "") {
  const input = h("input", { type: "text", name: "where", value, autocomplete: "off", spellcheck: "false", placeholder: "year >= 1890 and tags has 'ship'" });
  const help = h("div.fields");
  const fold = h("details.small", { ontoggle: async () => {
    if (!fold.open || help.firstChild) return;
    const found = await describe(index);
    fill(help, ["id", "title"].map((name) => line(name, [])), found.fields.map((each) => line(each.name, each.values, each.n_documents)),
      h("p.hint", {}, "Compare with = != < <= > >=, has, like 'log/*', in ('a', 'b'); join by and, or, not. Dates are written without quotes: 2024-05."));
  } }, h("summary", {}, "Fields of these documents"), help);

  function line(name, values, documents) {
    const shown = /^[\p{L}_][\p{L}\p{N}_.:-]*$/u.test(name) ? name : `\`${name}\``;
    return h("p", {}, h("code", {}, shown), documents === undefined ? " in every document" : ` in ${documents}: `,
      values.slice(0, 6).map((each) => h("button.chip", { type: "button", onclick: () => insert(`${shown} = ${literal(each)}`) }, String(each))));
  }
  function insert(text) {
    input.value = input.value.trim() ? `${input.value.trim()} and ${text}` : text;
    input.focus();
    input.dispatchEvent(new Event("input", { bubbles: true }));
  }
  return { input, node: h("div", {}, field("Only documents where", input), fold) };
}

function literal(value) {
  if (value === null || typeof value !== "string") return String(value);
  return /^\d{4}-\d{2}(-\d{2}(T[\d:.+Z-]*)?)?$/.test(value) ? value : `'${value.replaceAll("'", "''")}'`;
}

/** Controls of all that a question takes; `read()` has what was changed. */
export async function askingOptions(index, parameters) {
  const methods = await allMethods();
  const usual = methods.find((each) => each.default).name;
  const named = parameters.get("method");
  const select = methodSelect(methods, methods.some((each) => each.name === named) ? named : usual, { name: "method" });
  const about = h("p.hint");
  const rows = h("div.grid");
  const where = filterField(index, parameters.get("where") || "");
  const tokens = h("input", { type: "number", min: 1, max: 1000000, placeholder: "4000", name: "context_tokens" });
  const fold = h("details.options", { open: Boolean(named || parameters.get("where")) },
    h("summary", {}, "Search options", h("span.chosen")),
    h("div.inside", {},
      h("div.grid", {}, field("Method", select), field("Maximum tokens of passages", tokens)), about,
      where.node,
      h("details.small", {}, h("summary", {}, "Parameters of the method"), rows)));

  function drawn() {
    const method = methods.find((each) => each.name === select.value);
    about.textContent = method.summary;
    fill(rows, method.parameters.map((each) => field(each.name, control(each), each.description)));
    told();
  }
  function told() {
    const parts = [select.value === usual ? "" : select.value, where.input.value.trim() ? `where ${where.input.value.trim()}` : ""].filter(Boolean);
    fold.querySelector(".chosen").textContent = parts.length ? `: ${parts.join(", ")}` : "";
  }
  select.addEventListener("change", drawn);
  where.input.addEventListener("input", told);
  drawn();

  function read() {
    const given = {};
    for (const each of rows.querySelectorAll("[data-name]")) {
      const value = valueOf(each);
      if (value !== undefined) given[each.dataset.name] = value;
    }
    // Where no method is chosen the server also counts, and answers about all documents.
    const body = select.value !== usual || Object.keys(given).length ? { method: select.value } : {};
    if (where.input.value.trim()) body.where = where.input.value.trim();
    if (tokens.value) body.context_tokens = Number(tokens.value);
    if (Object.keys(given).length) body.parameters = given;
    return body;
  }
  return { node: fold, read };
}

function control({ name, default: usual, choices }) {
  const given = { "data-name": name, "data-usual": JSON.stringify(usual), id: fresh("parameter") };
  if (choices.length) return h("select", given, choices.map((each) => h("option", { selected: each === usual }, each)));
  if (typeof usual === "boolean") return h("input", { ...given, type: "checkbox", checked: usual });
  if (typeof usual === "number") return h("input", { ...given, type: "number", step: "any", value: usual });
  return h("input", { ...given, type: "text", value: usual ?? "" });
}

function valueOf(each) {
  const usual = JSON.parse(each.dataset.usual);
  let value = each.value;
  if (each.type === "checkbox") value = each.checked;
  else if (each.type === "number") value = each.value === "" ? usual : Number(each.value);
  else if (value === "" && usual === null) value = null;
  return value === usual ? undefined : value;
}
