// Methods side by side on one question: what each finds, and which passages they share.

import { announce, cost, count, fill, growing, h, percent, problem, seconds, sentence, spinner, total } from "./dom.js";
import { indexPath, post } from "./api.js";
import { allMethods, to } from "./state.js";
import { filterField, methodSelect } from "./options.js";
import { answerText, openDocument, passageList } from "./evidence.js";

const USUAL = ["walk", "dense", "bm25"];
const MOST = 4;

export async function show(main, { parameters, signal, index }) {
  const methods = await allMethods();
  const given = (parameters.get("methods") || "").split(",").filter((each) => methods.some((method) => method.name === each)).slice(0, MOST);
  const input = h("textarea", { rows: 1, maxlength: 20000, "aria-label": "Question", placeholder: "Ask several methods one question", value: parameters.get("q") || "" });
  const chosen = h("div.grid.methods");
  const where = filterField(index, parameters.get("where") || "");
  const answers = h("input", { type: "checkbox" });
  const told = h("div");
  const result = h("div");
  let running = null;
  const form = h("form.ask", { onsubmit: submit }, h("div.line", {}, input, h("button.main", {}, "Compare")),
    h("div.chosen-methods", {}, chosen, h("div.buttons", {},
      h("button", { type: "button", onclick: () => add("hybrid") }, "Add a method"), h("label", {}, answers, "With answers"))),
    h("details.options", {}, h("summary", {}, "Filter"), h("div.inside", {}, where.node)), told);
  fill(main, h("div.column.full", {}, h("div.top-line", {}, h("h1", {}, "Compare methods")), form, result));
  (given.length > 1 ? given : USUAL).forEach(add);
  fill(result, h("p.lead", {}, "Two to four methods answer the same question, and you see which passages they share."));
  growing(input);

  function add(name) {
    if (chosen.children.length >= MOST) return fill(told, problem("Four methods at most"));
    const number_ = chosen.children.length + 1;
    const select = methodSelect(methods, name, { "aria-label": `Method ${number_}` });
    const row = h("div.method", {}, select, h("button", { type: "button", "aria-label": "Remove this method", onclick: () => { if (chosen.children.length > 2) row.remove(); else fill(told, problem("Two methods at least")); } }, "×"));
    chosen.append(row);
    return fill(told);
  }

  async function submit(event) {
    event.preventDefault();
    const question = input.value.trim();
    const names = [...chosen.querySelectorAll("select")].map((each) => each.value);
    if (!question) return fill(told, problem("Enter a question first"));
    if (new Set(names).size < names.length) return fill(told, problem("Choose different methods"));
    fill(told);
    running?.abort();
    running = new AbortController();
    signal.addEventListener("abort", () => running.abort());
    history.replaceState(null, "", to("compare", { q: question, methods: names.join(","), where: where.input.value.trim() }));
    const columns = names.map((name) => ({ name, found: null, node: h("section.method-column", { "aria-label": name }, h("h2", {}, name), spinner("Searching…")) }));
    const summary = h("p.lead");
    fill(result, summary, h("div.columns", { tabindex: 0, role: "region", "aria-label": "Methods", "data-n": names.length }, columns.map((each) => each.node)));
    await Promise.all(columns.map((each) => ask(each, question)));
    if (running.signal.aborted) return null;
    return drawAll(columns, summary);
  }

  async function ask(column, question) {
    const body = { method: column.name, ...(where.input.value.trim() ? { where: where.input.value.trim() } : {}) };
    try {
      if (answers.checked) {
        column.answer = await post(indexPath(index, "/ask"), { question, ...body }, running.signal);
        column.found = column.answer.evidence;
      } else {
        column.found = await post(indexPath(index, "/search"), { query: question, ...body }, running.signal);
      }
      draw(column, []);
    } catch (error) {
      if (error.name !== "AbortError") fill(column.node, h("h2", {}, column.name), problem(error));
    }
  }

  function drawAll(columns, summary) {
    const whole = columns.filter((each) => each.found);
    const owners = new Map();
    for (const each of whole) for (const hit of each.found.hits) owners.set(hit.chunk_id, [...(owners.get(hit.chunk_id) || []), each.name]);
    whole.forEach((each) => draw(each, whole, owners));
    const shared = [...owners.values()].filter((each) => each.length === whole.length).length;
    const single = [...owners.values()].filter((each) => each.length === 1).length;
    summary.textContent = whole.length > 1 ? `${count(owners.size, "passage")} in all: ${shared} found by all ${whole.length}, ${single} by only one.` : "";
    announce(summary.textContent);
  }

  function draw(column, whole, owners = null) {
    const { found, answer } = column;
    const open = (place) => openDocument({ index, id: place.document_id, start: place.start, end: place.end, label: "Passage" });
    const badge = owners ? (hit) => {
      const others = owners.get(hit.chunk_id).filter((each) => each !== column.name);
      const all = others.length === whole.length - 1;
      return h("p.shared", { "data-all": all ? "" : undefined }, others.length ? (all && whole.length > 2 ? "found by all" : `also by ${others.join(", ")}`) : "only here");
    } : null;
    const nothing = answer && !answer.citations.length && (answer.kind === "none" || answer.kind === "refused");
    fill(column.node, h("h2", {}, column.name),
      h("p.meta", {}, [found.support === null ? null : `${percent(found.support)} support`, count(found.hits.length, "passage"), seconds(total((answer || found).usage)), cost((answer || found).usage)].filter(Boolean).join(" · ")),
      answer ? h("div.answer.small", {}, nothing ? h("p.nothing", {}, "Nothing in these documents answers this.") : answerText(answer, open)) : null,
      found.notes.map((each) => h("p.hint", {}, sentence(each))),
      found.hits.length ? passageList(found, open, { badge }) : h("p.hint", {}, "No passages."));
  }
}
