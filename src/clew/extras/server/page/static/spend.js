// What an extraction would cost, before it is begun; and what was spent, by day, key and write.

import { cost, count, dollars, field, fill, h, number, problem, seconds, spinner, total } from "./dom.js";
import { get, indexPath, post } from "./api.js";
import { may, state } from "./state.js";
import { jobCard } from "./jobs.js";

const DAYS = 30;
const FREE = { setting: "triples of names in one sentence, without an LLM", options: { triples: "cooccurrence" } };

export async function show(main, { signal, index }) {
  const plan = h("div");
  const spent = h("div", {}, spinner("Adding up the cost…"));
  const ledger = h("div");
  const wait = h("button.main", { type: "button", onclick: () => { wait.disabled = true; showPlan(plan, index, signal).finally(() => { wait.disabled = false; }); } }, "Estimate the cost");
  fill(main, h("div.column.broad", {}, h("h1", {}, "Plan and spend"),
    h("section", {}, h("h2", {}, "Plan"), h("p", {}, "Some methods read what an LLM extracts from the chunks. The plan counts the real prompts; nothing is spent by it."), h("p", {}, wait), plan),
    h("section", {}, h("h2", {}, "Spend by day"), spent),
    h("section", {}, h("h2", {}, `Writes of ${index}`), ledger)));
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
      state.about.llm ? null : h("p.hint", {}, "To extract by an LLM, start the server with --llm."), begun);
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
      fill(box, h("p.hint", {}, "Nothing was spent yet. Here you will see tokens and dollars of each day and key."));
      return;
    }
    const dollared = items.some((each) => each.usd > 0);
    fill(box, chart(items, dollared), h("details.small", {}, h("summary", {}, "As a table"), h("div.wide", { tabindex: 0, role: "region", "aria-label": "Spend by day" }, h("table", {},
      h("thead", {}, h("tr", {}, h("th", {}, "Day"), h("th", {}, "Key"), h("th.n", {}, "Requests"), h("th.n", {}, "Tokens"), h("th.n", {}, "Dollars"))),
      h("tbody", {}, [...items].reverse().map((each) => h("tr", {}, h("td", {}, each.day), h("td", { dir: "auto" }, each.name || each.key || "without a key"), h("td.n", {}, number(each.requests)), h("td.n", {}, number(each.tokens)), h("td.n", {}, each.unpriced_tokens ? `${dollars(each.usd)} and ${count(each.unpriced_tokens, "token")} without a price` : dollars(each.usd)))))))));
  } catch (error) {
    if (error.name !== "AbortError") fill(box, problem(error));
  }
}

/** Bars of the last days, those of each key upon one another. */
function chart(items, dollared) {
  const value = (each) => (dollared ? each.usd : each.tokens);
  const names = [...new Set(items.map((each) => each.name || each.key || "without a key"))];
  const last = Date.parse(`${items.reduce((most, each) => (each.day > most ? each.day : most), "")}T00:00Z`);
  const days = Array.from({ length: DAYS }, (_, at) => new Date(last - (DAYS - 1 - at) * 86400000).toISOString().slice(0, 10));
  const sums = days.map((day) => items.filter((each) => each.day === day).reduce((sum, each) => sum + value(each), 0));
  const most = Math.max(...sums) || 1;
  const [wide, high, left] = [640, 180, 56];
  const step = (wide - left) / DAYS;
  const told = (amount) => (dollared ? dollars(amount) : number(Math.round(amount)));
  const bars = days.flatMap((day, at) => {
    let above = 0;
    return names.flatMap((name, kind) => {
      const amount = items.filter((each) => each.day === day && (each.name || each.key || "without a key") === name).reduce((sum, each) => sum + value(each), 0);
      if (!amount) return [];
      const tall = (amount / most) * (high - 30);
      above += tall;
      return [h("rect", { class: `bar-${kind % 4}`, x: left + at * step + 1, y: high - 20 - above, width: step - 2, height: tall }, h("title", {}, `${day}, ${name}: ${told(amount)}`))];
    });
  });
  const text = (x, y, words, anchor) => h("text", { x, y, "text-anchor": anchor }, words);
  return h("figure", {}, h("svg.chart", { viewBox: `0 0 ${wide} ${high}`, role: "img", "aria-label": `${dollared ? "Dollars" : "Tokens"} of each of ${DAYS} days; the most of a day is ${told(most)}. The table below has all.` },
    h("line", { x1: left, x2: wide, y1: high - 20, y2: high - 20 }), h("line.grid", { x1: left, x2: wide, y1: 10, y2: 10 }),
    text(left - 6, 14, told(most), "end"), text(left - 6, high - 16, "0", "end"), text(left, high - 4, days[0], "start"), text(wide, high - 4, days.at(-1), "end"), bars),
  names.length > 1 ? h("figcaption", {}, h("ul.legend", {}, names.map((name, kind) => h("li", { dir: "auto" }, h("span", { class: `dot bar-${kind % 4}` }), name)))) : null);
}

async function showLedger(box, index, signal) {
  try {
    const { items } = await get(indexPath(index, "/spend"), { limit: 100 }, signal);
    fill(box, items.length ? h("div.wide", { tabindex: 0, role: "region", "aria-label": "Writes" }, h("table", {}, h("thead", {}, h("tr", {}, h("th", {}, "Write"), h("th.n", {}, "Generation"), h("th.n", {}, "LLM calls"), h("th", {}, "Cost"), h("th.n", {}, "Time"))),
      h("tbody", {}, items.map((each) => h("tr", {}, h("td", {}, each.kind), h("td.n", {}, number(each.generation)), h("td.n", {}, number(each.usage.llm_calls)), h("td", {}, cost(each.usage)), h("td.n", {}, seconds(total(each.usage)))))))) : h("p.hint", {}, "Nothing was written yet."));
  } catch (error) {
    if (error.name !== "AbortError") fill(box, problem(error));
  }
}
