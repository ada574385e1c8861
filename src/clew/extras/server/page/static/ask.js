// Questions and their answers, in conversations.

import { announce, cost, count, fill, growing, h, percent, problem, seconds, sentence, spinner, total } from "./dom.js";
import { get, indexPath, stream } from "./api.js";
import { state, titleOf, to } from "./state.js";
import { askingOptions } from "./options.js";
import { readText } from "./markdown.js";
import { answerText, isQuoted, openDocument, passageList, sourceList } from "./evidence.js";

const MOST_TURNS = 20; // that a question is told of
const talks = new Map(); // the conversation with each index, as long as the page is open

function talkWith(index) {
  if (!talks.has(index)) talks.set(index, { turns: [] });
  return talks.get(index);
}

export async function show(main, { parameters, index }) {
  const talk = talkWith(index);
  const options = await askingOptions(index, parameters);
  const list = h("ol.turns", {}, talk.turns.map((each) => each.node));
  const input = h("textarea", { id: "question", rows: 1, maxlength: 20000, placeholder: "Ask a question", "aria-label": "Question", enterkeyhint: "send", value: parameters.get("q") || "" });
  const button = h("button.main", { type: "submit" }, "Ask");
  const fresh = h("button.quiet", { type: "button", onclick: () => {
    talk.running?.abort();
    talks.delete(index);
    history.replaceState(null, "", to("ask"));
    show(main, { parameters: new URLSearchParams(), index });
  } }, "New conversation");
  const told = h("div");
  const form = h("form.ask", { onsubmit: submit }, h("div.line", {}, input, button), told, h("div.under", {}, options.node, fresh));
  const start = h("div.start", {}, h("h1", {}, "What do you want to know?"), h("p.lead", {}, about(index)));
  const ideas = h("div.ideas");
  const talkHead = h("h1.unseen", {}, "Conversation");
  fill(main, h("div.column", {}, start, talkHead, list, form, ideas));
  const grow = growing(input);
  shape();
  suggest();
  if (window.matchMedia("(min-width: 60rem)").matches || input.value) input.focus();

  function shape() {
    const talking = talk.turns.length > 0;
    start.hidden = ideas.hidden = talking;
    fresh.hidden = talkHead.hidden = !talking;
    form.classList.toggle("low", talking);
    input.placeholder = talking ? "Ask a follow-up" : "Ask a question";
    const running = Boolean(talk.running);
    button.textContent = running ? "Stop" : "Ask";
    button.classList.toggle("stop", running);
  }

  async function suggest() {
    if (talk.turns.length) return;
    const found = await get(indexPath(index, "/entities"), { limit: 8 });
    if (!found.items.length || talk.turns.length) return;
    fill(ideas, h("p", {}, "These documents are mostly about ", found.items.map((each, at) => [at ? ", " : "", h("a", { href: to("graph", { entity: each.id }), dir: "auto" }, each.name)]), "."));
  }

  async function submit(event) {
    event.preventDefault();
    if (talk.running) {
      talk.running.abort();
      return;
    }
    const question = input.value.trim();
    if (!question) {
      fill(told, problem("Enter a question first"));
      input.focus();
      return;
    }
    fill(told);
    const body = options.read();
    const address = to("ask", { q: question, method: body.method, where: body.where });
    history.replaceState(null, "", address);
    input.value = "";
    grow();
    const before = talk.turns.filter((each) => each.answer).slice(-MOST_TURNS);
    const history_ = before.map((each) => ({ question: each.question, answer: each.answer.text }));
    const turn = newTurn(index, question, { ...body, history: history_ }, address);
    talk.turns.push(turn);
    list.append(turn.node);
    talk.running = turn.stop;
    shape();
    turn.node.scrollIntoView({ block: "start", behavior: calm() });
    await turn.done;
    talk.running = null;
    shape();
  }
}

const isNone = ({ kind }) => kind === "none" || kind === "refused";
const calm = () => (window.matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth");

function about(index) {
  const found = state.indexes.find((each) => each.name === index);
  const how = state.about.llm ? "An LLM writes the answers, and every sentence is checked against its sources." : "Answers are quotes, with their places in the documents.";
  return `${count(found.n_documents, "document")} in ${titleOf(index)}. ${how}`;
}

/** One question, and its answer as it comes. */
function newTurn(index, question, body, address) {
  const stop = new AbortController();
  const status = h("div.state", {}, spinner("Looking for passages…"));
  const text = h("div.answer");
  const notes = h("div");
  const sources = h("div.aside");
  const folds = h("div.folds");
  const meta = h("p.meta");
  const node = h("li.turn", {}, h("h2", { dir: "auto" }, question), status, notes, text, sources, meta, folds);
  const turn = { node, question, stop, answer: null };
  let evidence = null;
  let graph = null;
  let written = "";

  const open = (place) => openDocument({
    index, id: place.document_id, start: place.start, end: place.end, page: place.page,
    label: place.number ? `Source ${place.number}` : "Passage",
  });

  const on = {
    evidence(found) {
      evidence = found;
      fill(status, spinner(state.about.llm && found.hits.length ? `${count(found.hits.length, "passage")} found, writing…` : `${count(found.hits.length, "passage")} found…`));
      announce(`${count(found.hits.length, "passage")} found`);
      drawFolds();
    },
    graph(found) {
      graph = found;
      drawFolds();
    },
    text({ text: piece }) {
      written = piece === null ? "" : written + piece;
      fill(text, h("div.coming", {}, readText(written, { markdown: true })));
    },
    answer(found) {
      turn.answer = found;
      evidence = found.evidence;
      finish(found);
    },
    error(told) {
      fill(status, problem(told.message));
    },
  };

  function drawFolds(answer = null) {
    const none = answer && isNone(answer);
    const numbers = new Map((answer?.context.passages || []).map((each) => [each.chunk_id, each.number]));
    const kept = [...folds.querySelectorAll("details")].map((each) => each.open);
    const passages = h("details.fold", { open: kept[0] || false },
      h("summary", {}, none ? "Nearest passages" : "Passages", h("span.n", {}, String(evidence.hits.length))),
      evidence.hits.length ? passageList(evidence, open, { numbers }) : h("p.hint", {}, "No passage was found."));
    const box = h("div");
    const thread = graph && graph.nodes.length > 1 && !none ? h("details.fold", { open: kept[1] || false, ontoggle: draw },
      h("summary", {}, "The thread", h("span.n", {}, String(evidence.paths.length || graph.nodes.length))), box) : null;
    async function draw() {
      if (!thread.open || box.firstChild) return;
      const { threadView } = await import("./thread.js");
      fill(box, threadView(graph, evidence.paths, open, turn.answer?.citations[0]?.path ?? 0));
    }
    const rows = evidence.tables.map((each) => h("details.fold", {}, h("summary", {}, each.name, h("span.n", {}, String(each.rows.length))),
      h("div.wide", { tabindex: 0, role: "region", "aria-label": each.name }, h("table", {}, h("thead", {}, h("tr", {}, each.columns.map((name) => h("th", {}, name)))),
        h("tbody", {}, each.rows.map((row) => h("tr", {}, row.map((cell) => h("td", { dir: "auto" }, cell)))))))));
    fill(folds, passages, thread, rows);
    if (thread?.open) draw();
  }

  function finish(answer) {
    const titles = new Map(answer.context.passages.map((each) => [each.number, each.title]));
    answer.citations.forEach((each) => { Object.assign(each, { title: titles.get(each.number) || "", index }); });
    fill(status);
    const none = isNone(answer);
    const what = answer.kind === "generated" ? "No source says" : "No source says what the LLM answered";
    const unsupported = answer.unsupported.length ? h("div.unsupported", {}, h("b", {}, what), h("ul", {}, answer.unsupported.map((each) => h("li", { dir: "auto" }, each)))) : null;
    if (none) {
      node.classList.add("none");
      fill(text, unsupported, h("p.nothing", {}, "Nothing in these documents answers this."),
        answer.kind === "refused" && answer.text ? h("p", { dir: "auto" }, answer.text) : null,
        h("p.hint", {}, evidence.hits.length ? "Rephrase the question, choose another method, or add documents." : "Rephrase the question, or add documents."));
      announce("Nothing in these documents answers this");
    } else {
      fill(text, unsupported, answerText(answer, open));
      fill(sources, answer.citations.length && !isQuoted(answer) ? sourceList(answer, open) : null);
      announce(`Answered, with ${count(answer.citations.length, "source")}`);
    }
    const { usage } = answer;
    const asked = evidence.query !== question ? ["searched for “", h("span", { dir: "auto" }, evidence.query), "”"] : null;
    const parts = [
      none || evidence.support === null ? null : h("span", { title: "how probably the passages answer the question" }, `probability ${percent(evidence.support)}`),
      answer.kind === "named" ? "names from the graph" : answer.kind === "themes" ? answer.kind : null,
      `by ${evidence.method}`, evidence.where ? ["where ", h("code", {}, evidence.where)] : null,
      seconds(total(usage)), cost(usage), asked,
    ].filter(Boolean);
    fill(meta, parts.map((each, at) => [at ? " · " : "", each]), " · ", copyLink(address));
    fill(notes, evidence.notes.map((each) => h("p.note", {}, sentence(each))));
    drawFolds(answer);
  }

  turn.done = stream(indexPath(index, "/ask"), { question, stream: true, graph: true, ...body }, on, stop.signal).then(
    () => {
      if (!turn.answer && !status.querySelector(".problem")) fill(status, problem("The answer was cut off: ask again"));
    },
    (error) => {
      if (error.name === "AbortError") {
        fill(status, h("p.hint", {}, "Stopped."));
        announce("Stopped");
      } else {
        fill(status, problem(error));
      }
    },
  );
  return turn;
}

function copyLink(address) {
  const button = h("button.quiet", { type: "button", onclick: async () => {
    const whole = new URL(address, location.origin).href;
    try {
      await navigator.clipboard.writeText(whole);
      button.textContent = "Copied";
    } catch {
      button.replaceWith(h("input.address", { value: whole, readonly: true, "aria-label": "Link to this question", onfocus: (event) => event.target.select() }));
    }
  } }, "Copy link");
  return button;
}
