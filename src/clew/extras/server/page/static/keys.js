// Keys: who may do what, with which documents, and for how much.

import { announce, confirmed, count, dollars, field, fill, h, moment, number, problem } from "./dom.js";
import { get, post, remove } from "./api.js";
import { drawBar, refresh, state } from "./state.js";

const BOUNDS = [
  ["requests_per_minute", "Requests per minute", 1], ["tokens_per_day", "Tokens per day", 1], ["tokens", "Tokens in total", 1],
  ["usd_per_day", "Dollars per day", "any"], ["usd", "Dollars in total", "any"],
];

export async function show(main, { signal }) {
  const list = h("div");
  const made = h("div");
  fill(main, h("div.column.broad", {}, h("h1", {}, "Keys"), h("p.hint", {}, state.about.key ? "" : "There is no key yet: everyone on this machine has full access, and nobody else has any. Once there is a key, everyone needs one."), form(made, draw), made, list));
  await draw();

  async function draw() {
    const [{ items }, spent] = await Promise.all([get("/keys", { limit: 1000 }, signal), get("/spend", { limit: 1000 }, signal)]);
    const sums = new Map();
    for (const each of spent.items) {
      const sum = sums.get(each.key) || { tokens: 0, usd: 0 };
      sums.set(each.key, { tokens: sum.tokens + each.tokens, usd: sum.usd + each.usd });
    }
    fill(list, items.length ? h("div.wide", { tabindex: 0, role: "region", "aria-label": "Keys" }, h("table", {}, h("thead", {}, h("tr", {}, h("th", {}, "Name"), h("th", {}, "Access"), h("th", {}, "Limits"), h("th.n", {}, "Spent"), h("th.extra", {}, "Created"), h("th", {}, h("span.unseen", {}, "Actions")))),
      h("tbody", {}, items.map((each) => row(each, sums.get(each.id)))))) : null);
  }

  function row(key, spent) {
    const bounds = [key.indexes.length ? `only ${key.indexes.join(", ")}` : "", key.where ? `where ${key.where}` : "",
      ...BOUNDS.filter(([name]) => key[name] !== null).map(([name, label]) => `${label.toLowerCase()}: ${name.startsWith("usd") ? dollars(key[name]) : number(key[name])}`)].filter(Boolean);
    return h(key.revoked ? "tr.revoked" : "tr", {}, h("td", { dir: "auto" }, h("b", {}, key.name), h("div.place", {}, key.id)), h("td", {}, key.scope), h("td", { dir: "auto" }, bounds.join("; ") || "none"),
      h("td.n", {}, spent ? `${count(spent.tokens, "token")}, ${dollars(spent.usd)}` : "nothing"), h("td.extra", {}, moment(key.made)),
      h("td", {}, key.revoked ? h("span.hint", {}, `revoked ${moment(key.revoked)}`) : h("button", { type: "button", "aria-label": `Revoke ${key.name}`, onclick: async (event) => {
        if (!await confirmed(`Revoke the key “${key.name}”? Whoever uses it is locked out at once.`, "Revoke")) return;
        try {
          await remove(`/keys/${key.id}`);
          announce("Revoked");
          await draw();
        } catch (error) {
          event.target.closest("td").append(problem(error));
        }
      } }, "Revoke")));
  }
}

function form(made, draw) {
  const name = h("input", { required: true, maxlength: 100, autocomplete: "off" });
  const scope = h("select", {}, [["read", "ask and browse"], ["write", "also add and delete documents"], ["admin", "everything, including keys"]].map(([value, text]) => h("option", { value }, `${value}: ${text}`)));
  const where = h("input", { maxlength: 10000, autocomplete: "off", placeholder: "group = 'open'", spellcheck: "false" });
  const indexes = state.indexes.map((each) => h("input", { type: "checkbox", value: each.name }));
  const bounds = BOUNDS.map(([key, label, step]) => [key, h("input", { type: "number", min: 0, step, placeholder: "no limit" }), label]);
  const told = h("div");
  const node = h("details.panel", {}, h("summary", {}, "Create a key"), h("form", { onsubmit: async (event) => {
    event.preventDefault();
    const body = { name: name.value, scope: scope.value, where: where.value.trim(), indexes: indexes.filter((each) => each.checked).map((each) => each.value) };
    for (const [key, input] of bounds) if (input.value !== "") body[key] = Number(input.value);
    try {
      const isFirst = !state.about.key;
      const { key, text } = await post("/keys", body);
      fill(told);
      node.open = false;
      fill(made, shown(key, text));
      if (isFirst) {
        // From now on a key is needed here, too: go on with this one.
        await post("/session", { key: text });
        await refresh();
        drawBar();
        if (key.scope !== "admin") made.append(h("p.problem", {}, "This key cannot create others: use the command line."));
        if (key.scope !== "admin" || key.indexes.length) return;
      }
      await draw();
    } catch (error) {
      fill(told, problem(error));
    }
  } },
  state.about.key ? null : h("p.problem", {}, "This is the first key. From then on nobody has access without one, and this page continues with it: make it an admin key."),
  h("div.grid", {}, field("Name", name), field("Access", scope)),
  indexes.length ? h("fieldset", {}, h("legend", {}, "Only these indexes"), h("div.checks", {}, indexes.map((each) => h("label", {}, each, each.value)))) : null,
  field("Only documents where", where, "Only for ‘read’ keys. The holder never sees other documents"),
  h("div.grid", {}, bounds.map(([, input, label]) => field(label, input))), told,
  h("div.buttons", {}, h("button.main", {}, "Create the key"))));
  if (!state.about.key) scope.value = "admin";
  return node;
}

function shown(key, text) {
  const input = h("input", { value: text, readonly: true, spellcheck: "false", onfocus: (event) => event.target.select() });
  const copy = h("button", { type: "button", onclick: async () => {
    await navigator.clipboard.writeText(text).then(() => { copy.textContent = "Copied"; }, () => input.select());
  } }, "Copy");
  announce("The key was created and is shown only once");
  return h("section.panel", { "aria-label": "New key" }, h("h2", { dir: "auto" }, `The key of ${key.name}`), field("Key", input, "It is shown only once: save it now."), h("div.buttons", {}, copy));
}
