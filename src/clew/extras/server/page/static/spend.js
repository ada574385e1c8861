// What an extraction would cost, before it is begun; and what was spent, by day, key and write.

import { cost, count, dollars, field, fill, h, number, problem, seconds, spinner, total } from "./dom.js";
import { get, indexPath, post } from "./api.js";
import { may, state } from "./state.js";
import { jobCard } from "./jobs.js";

const FREE = { setting: "triples of names in one sentence, without an LLM", options: { triples: "cooccurrence" } };

export async function show(main, { signal, index }) {
  const plan = h("div");
  const spent = h("div", {}, spinner("Adding up the cost…"));
  const ledger = h("div");
  const wait = h("button.main", { type: "button", onclick: () => { wait.disabled = true; showPlan(plan, index, signal).finally(() => { wait.disabled = false; }); } }, "Estimate the cost");
  fill(main, h("div.column.broad", {}, h("h1", {}, "Plan and spend"),
    h("section", {}, h("h2", {}, "Plan"), h("p", {}, "Some methods read what an LLM extracts from the chunks. The plan counts the actual prompts and spends nothing."), h("p", {}, wait), plan),
    h("section", {}, h("h2", {}, "Spend by day"), spent),
    h("section", {}, h("h2", {}, `Writes to ${index}`), ledger)));
  await Promise.all([showSpent(spent, signal), showLedger(ledger, index, signal)]);
}

// -- before ---------------------------------------------------------------------------------------

async function showPlan(box, index, signal) {
  fill(box, spinner("Counting prompts…"));
  try {
    const found = await post(indexPath(index, "/plan"), {}, signal);
    const begun = h("div");
    const row = (each) => {
      const start = h("button", { type: "button", "aria-label": `Begin: ${each.setting}`, onclick: () => fill(begun, startForm(index, each, begun, signal)) }, "Begin…");
      return h("tr", {}, h("td", {}, each.setting, h("div.place", {}, `for ${each.methods.join(", ")}`)), h("td.n", {}, number(each.calls)),
        h("td.n.extra", {}, number(each.prompt_tokens)), h("td.n.extra", {}, number(each.completion_tokens)), h("td.n", {}, each.cost_usd === null ? "–" : dollars(each.cost_usd)), h("td.n.extra", {}, each.seconds === null ? "–" : seconds(each.seconds)),
        h("td", {}, may("write") && state.about.llm ? start : null));
    };
    fill(box,
      h("p.hint", {}, `${count(found.n_chunks, "chunk")} with ${count(found.n_tokens, "token")}; `, found.model ? `by ${found.model}; ` : "no LLM is set, so there are tokens but no price; ", `replies are ${found.basis}.`),
      h("div.wide", { tabindex: 0, role: "region", "aria-label": "Plan" }, h("table", {}, h("thead", {}, h("tr", {}, ["What is extracted", ["Calls"], ["Prompt tokens", 1], ["Reply tokens", 1], ["Cost"], ["Time", 1], " "].map((each) => (typeof each === "string" ? h("th", {}, each.trim() || h("span.unseen", {}, "Actions")) : h(each[1] ? "th.n.extra" : "th.n", {}, each[0]))))),
        h("tbody", {}, found.estimates.map(row), h("tr", {}, h("td", {}, FREE.setting, h("div.place", {}, "for agrag, bubble, paths")), h("td.n", {}, "0"), h("td.n.extra", {}, "0"), h("td.n.extra", {}, "0"), h("td.n", {}, "$0"), h("td.n.extra", {}, ""),
          h("td", {}, may("write") ? h("button", { type: "button", "aria-label": `Begin: ${FREE.setting}`, onclick: () => begin(index, FREE.options, begun, signal) }, "Begin") : null))))),
      state.about.llm ? null : h("p.hint", {}, "To extract with an LLM, start the server with --llm."), begun);
  } catch (error) {
    if (error.name !== "AbortError") fill(box, problem(error));
  }
}

async function begin(index, options, box, signal) {
  try {
    const job = await post(indexPath(index, "/jobs"), { kind: "extract", options });
    fill(box, jobCard(job, { signal }));
  } catch (error) {
    fill(box, problem(error));
  }
}

function startForm(index, estimate, box, signal) {
  const all = estimate.prompt_tokens + estimate.completion_tokens + estimate.repair_tokens;
  const priced = estimate.cost_usd !== null;
  const cap = h("input", { type: "number", min: 0, step: "any", required: true, value: priced ? Math.ceil(120 * estimate.cost_usd) / 100 : Math.ceil(1.2 * all) });
  const form = h("form.panel", { onsubmit: (event) => {
    event.preventDefault();
    begin(index, { ...estimate.options, [priced ? "budget_usd" : "budget_tokens"]: Number(cap.value) }, box, signal);
  } }, h("h3", {}, `Begin: ${estimate.setting}`), field(priced ? "Limit in dollars" : "Limit in tokens", cap, "It is never exceeded. What was extracted by then is kept, and is not paid for again."),
  h("div.buttons", {}, h("button.main", {}, "Begin"), h("button", { type: "button", onclick: () => fill(box) }, "Cancel")));
  queueMicrotask(() => cap.focus());
  return form;
}

// -- behind ---------------------------------------------------------------------------------------

async function showSpent(box, signal) {
  try {
    const { items } = await get("/spend", { limit: 1000 }, signal);
    if (!items.length) {
      fill(box, h("p.hint", {}, "Nothing has been spent yet. Tokens and dollars will be listed by day and key."));
      return;
    }
    const [value, dollared] = [(each) => (dollared ? each.usd : each.tokens), items.some((each) => each.usd > 0)];
    const most = Math.max(...items.map(value)) || 1;
    const row = (each) => h("tr", {}, h("td", {}, each.day), h("td", { dir: "auto" }, each.name || each.key || "without a key"), h("td.n", {}, number(each.requests)), h("td.n", {}, number(each.tokens)),
      h("td.n", {}, each.unpriced_tokens ? `${dollars(each.usd)} and ${count(each.unpriced_tokens, "token")} without a price` : dollars(each.usd)),
      h("td.extra", {}, h("span.bar", { "aria-hidden": "true" }, h("span", { style: { "inline-size": `${(100 * value(each)) / most}%` } }))));
    fill(box, h("div.wide", { tabindex: 0, role: "region", "aria-label": "Spend by day" }, h("table", {},
      h("thead", {}, h("tr", {}, h("th", {}, "Day"), h("th", {}, "Key"), h("th.n", {}, "Requests"), h("th.n", {}, "Tokens"), h("th.n", {}, "Dollars"), h("td.extra"))),
      h("tbody", {}, [...items].reverse().map(row)))));
  } catch (error) {
    if (error.name !== "AbortError") fill(box, problem(error));
  }
}

async function showLedger(box, index, signal) {
  try {
    const { items } = await get(indexPath(index, "/spend"), { limit: 100 }, signal);
    fill(box, items.length ? h("div.wide", { tabindex: 0, role: "region", "aria-label": "Writes" }, h("table", {}, h("thead", {}, h("tr", {}, h("th", {}, "Write"), h("th.n", {}, "Generation"), h("th.n", {}, "LLM calls"), h("th", {}, "Cost"), h("th.n", {}, "Time"))),
      h("tbody", {}, items.map((each) => h("tr", {}, h("td", {}, each.kind), h("td.n", {}, number(each.generation)), h("td.n", {}, number(each.usage.llm_calls)), h("td", {}, cost(each.usage)), h("td.n", {}, seconds(total(each.usage)))))))) : h("p.hint", {}, "Nothing has been written yet."));
  } catch (error) {
    if (error.name !== "AbortError") fill(box, problem(error));
  }
}
