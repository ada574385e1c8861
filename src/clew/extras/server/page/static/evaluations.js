// Evaluations: methods measured on questions, and their reports.

import { count, empty, field, fill, fresh, h, moment, number, problem, seconds } from "./dom.js";
import { get, indexPath, upload } from "./api.js";
import { allMethods, may, to } from "./state.js";
import { jobCard } from "./jobs.js";

const USUAL = ["walk", "dense", "bm25"];

export async function show(main, { parameters, signal, index }) {
  const id = parameters.get("id");
  if (id) {
    await showReport(main, index, id, signal);
    return;
  }
  const list = h("div");
  fill(main, h("div.column", {}, h("div.top-line", {}, h("h1", {}, "Evaluations")), may("write") ? await form(index, list, signal) : null, list));
  const found = await get(indexPath(index, "/evaluations"), { limit: 100 }, signal);
  fill(list, found.items.length ? found.items.map((each) => jobCard(each, { signal }))
    : empty("Nothing was measured yet", h("p", {}, "Questions with known supporting documents show which method suits these documents.")));
}

async function form(index, list, signal) {
  const methods = await allMethods();
  const file = h("input", { type: "file", accept: ".json,.jsonl,.ndjson,.parquet", required: true });
  const limit = h("input", { type: "number", min: 1, placeholder: "all" });
  const answers = h("input", { type: "checkbox" });
  const boxes = methods.map((each) => h("input", { type: "checkbox", value: each.name, checked: USUAL.includes(each.name) }));
  const told = h("div");
  const node = h("details.panel", {}, h("summary", {}, "Measure methods on questions"), h("form", { onsubmit: async (event) => {
    event.preventDefault();
    const chosen = boxes.filter((each) => each.checked).map((each) => each.value);
    const body = new FormData();
    body.append("questions", file.files[0], file.files[0].name);
    body.append("options", JSON.stringify({ name: file.files[0].name.slice(0, 200), methods: chosen, answers: answers.checked, ...(limit.value ? { limit: Number(limit.value) } : {}) }));
    try {
      if (!chosen.length) throw new Error("take at least one method");
      const job = await upload(indexPath(index, "/evaluations"), body, () => {}, signal);
      fill(told);
      node.open = false;
      list.querySelector(".empty")?.remove();
      list.prepend(jobCard(job, { signal }));
    } catch (error) {
      fill(told, problem(error));
    }
  } },
  field("File of questions", file, "JSON Lines: id, question, supporting_ids, answers; or a file of HotpotQA, MuSiQue and others as ‘clew eval’ reads them"),
  h("fieldset", {}, h("legend", {}, "Methods"), h("div.checks", {}, boxes.map((each) => h("label", {}, each, each.value)))),
  h("div.grid", {}, field("Questions, at most", limit), h("label", {}, answers, "Measure answers, too")), told,
  h("div.buttons", {}, h("button.main", {}, "Measure"))));
  return node;
}

// -- a report -------------------------------------------------------------------------------------

async function showReport(main, index, id, signal) {
  const found = await get(indexPath(index, `/evaluations/${encodeURIComponent(id)}`), { rows: "true" }, signal);
  const back = h("p", {}, h("a", { href: to("evaluations") }, "All evaluations"));
  if (!found.report) {
    fill(main, h("div.column", {}, back, jobCard(found, { signal, onEnd: () => showReport(main, index, id, signal) })));
    return;
  }
  const { report } = found;
  const names = Object.keys(report.methods);
  const metrics = [...new Set(names.flatMap((name) => Object.keys(report.methods[name].metrics)))];
  const headline = [report.headline, ...metrics.filter((each) => each !== report.headline)];
  fill(main, h("div.column.broad", {}, back,
    h("h1", { dir: "auto" }, report.dataset.name),
    h("p.hint", {}, `${count(report.dataset.questions, "question")} of ${count(report.dataset.documents, "document")}, measured ${moment(found.ended)}. Intervals are of 95 %, by bootstrap.`),
    h("section", {}, h("h2", {}, report.headline), h("ul.bars", {}, names.map((name) => bar(name, report.methods[name].metrics[report.headline])))),
    h("section", {}, h("h2", {}, "All measures"), table("Measures", ["Measure", ...names], headline.map((metric) => [metric, ...names.map((name) => estimate(report.methods[name].metrics[metric]))]))),
    Object.keys(report.methods[names[0]].by_hops).length ? h("section", {}, h("h2", {}, `By hops: ${report.headline}`), groups(report, names, "by_hops")) : null,
    Object.keys(report.methods[names[0]].by_type).length ? h("section", {}, h("h2", {}, `By type: ${report.headline}`), groups(report, names, "by_type")) : null,
    h("section", {}, h("h2", {}, "Cost of a question"), table("Cost", ["", ...names], [
      ["Median time", ...names.map((name) => (report.methods[name].search ? seconds(report.methods[name].search.p50_s) : "–"))],
      ["95 % are below", ...names.map((name) => (report.methods[name].search ? seconds(report.methods[name].search.p95_s) : "–"))],
      ["Tokens of LLMs", ...names.map((name) => (report.methods[name].search ? number(Math.round(report.methods[name].search.tokens)) : "–"))],
      ["Tokens of the context", ...names.map((name) => (report.methods[name].context_tokens === null ? "–" : number(Math.round(report.methods[name].context_tokens))))],
      ["Questions that failed", ...names.map((name) => number(report.methods[name].failed))]])),
    questions(report, names)));
}

function bar(name, value) {
  if (!value) return h("li", {}, h("span.name", {}, name), h("span.hint", {}, "not measured"));
  const share = (each) => `${Math.max(0, Math.min(100, 100 * each))}%`;
  return h("li", {}, h("span.name", {}, name),
    h("span.track", { "aria-hidden": "true" }, h("span.mean", { style: { "inline-size": share(value.mean) } }), h("span.interval", { style: { "inset-inline-start": share(value.low), "inline-size": share(value.high - value.low) } })),
    h("span.n", {}, estimate(value)));
}

const estimate = (value) => (value ? `${value.mean.toFixed(3)} (${value.low.toFixed(3)} to ${value.high.toFixed(3)})` : "–");

function table(label, heads, rows) {
  return h("div.wide", { tabindex: 0, role: "region", "aria-label": label }, h("table", { id: fresh("table") }, h("thead", {}, h("tr", {}, heads.map((each, at) => h(at ? "th.n" : "th", { scope: "col" }, each || h("span.unseen", {}, label))))),
    h("tbody", {}, rows.map(([first, ...others]) => h("tr", {}, h("th", { scope: "row" }, first), others.map((each) => h("td.n", {}, each)))))));
}

function groups(report, names, kind) {
  const values = Object.keys(report.methods[names[0]][kind]);
  return table(kind === "by_hops" ? "By hops" : "By type", ["", ...names], values.map((value) => [`${value} (${report.methods[names[0]][kind][value].n})`,
    ...names.map((name) => report.methods[name][kind][value]?.means[report.headline]?.toFixed(3) ?? "–")]));
}

function questions(report, names) {
  if (!report.rows?.length) return null;
  const rows = new Map();
  for (const each of report.rows) {
    if (!rows.has(each.question_id)) rows.set(each.question_id, {});
    rows.get(each.question_id)[each.method] = each;
  }
  const value = (each) => (!each ? "–" : each.error ? "failed" : each.scores[report.headline]?.toFixed(2) ?? "–");
  return h("details", {}, h("summary", {}, `Each question: ${report.headline}`), table("Questions", ["Question", ...names], [...rows].map(([id, found]) => [id, ...names.map((name) => value(found[name]))])));
}
