// Answers and the passages that they stand on.

import { h, percent } from "./dom.js";
import { isMarkdown, readText, words } from "./markdown.js";
import { inUnits, placeOf, shortened } from "./text.js";
import { figureOf } from "./figures.js";

const LONG = 140; // characters of a statement that is printed smaller

/** Open a document at a range; the reader is loaded when it is first wanted. */
export async function openDocument(given) {
  const { openReader } = await import("./reader.js");
  return openReader(given);
}

const figuresOf = ({ figures, document_id: id, index }) => (figures || []).map((each) => figureOf(each, id, index));

/** The number of a source, which opens it. */
function marker(citation, open) {
  const title = citation.title || citation.document_id;
  return h("button.cite", { type: "button", "aria-label": `Source ${citation.number}: ${shortened(title, 80)}`, title: shortened(citation.quote, 300), onclick: () => open(citation) }, String(citation.number));
}

/** Whether an answer consists of quotes, which need no list of sources beside them. */
export const isQuoted = ({ kind }) => ["quoted", "partial", "counted", "themes"].includes(kind);

/** An answer as it is read; the number of a source is a button that opens it. */
export function answerText(answer, open) {
  const { text, citations, kind } = answer;
  if (isQuoted(answer)) {
    const labels = labelsOf(answer);
    const [first, order] = [(at) => labels.indexOf(labels[at]), citations.map((_, at) => at)];
    if (labels.length) order.sort((a, b) => first(a) - first(b) || a - b);
    return [
      kind === "partial" ? h("p.nothing", {}, "Only a part of this is known. Nothing in these documents says the rest.") : null,
      answer.is_unsure ? h("p.nothing", {}, "Not sure: this may not answer the question.") : null,
      shortAnswer(answer, open), order.map((at) => statement(citations[at], open, at ? "further" : "main", labels.length ? [first(at) === at ? labels[at] : ""] : null))];
  }
  const places = citations.flatMap((each) => (each.at.length ? each.at : [Infinity]).map((at) => [at, each]));
  const units = inUnits(text, places.map(([at]) => at));
  const inserts = places.map(([, each], number) => [units[number], marker(each, open)]).sort(([a], [b]) => a - b);
  return readText(text, { markdown: kind === "generated", inserts });
}

/** What each quote of a count or of themes is: an item, or a theme. */
function labelsOf({ text, citations, kind }) {
  if (kind === "counted") return text.split("\n").slice(1);
  if (kind !== "themes") return [];
  return text.split("\n").map((line, at) => line.slice(0, line.length - citations[at].quote.trim().replace(/\s+/g, " ").length).replace(/[\s:]+$/, ""));
}

/** A quoted statement: the first says the answer, one with a link says who or what that is about. */
function statement(cited, open, kind, item = null) {
  const label = item ? item[0] : cited.link;
  return h(`div.statement.${item ? "item" : kind}${cited.link ? ".linked" : ""}${cited.quote.length > LONG ? ".long" : ""}`, { dir: "auto" },
    label ? h("b.label", {}, label) : null,
    cited.before ? h("p.hint", {}, shortened(quoteOf({ ...cited, quote: cited.before }), 200)) : null,
    h("q", {}, quoteOf(cited)), figuresOf(cited),
    h("div.from", {}, marker(cited, open), h("button.source", { type: "button", onclick: () => open(cited) },
      h("span.title", {}, shortened(cited.title || cited.document_id, 120)),
      placeOf(cited) ? h("span.place", {}, shortened(placeOf(cited), 160)) : null)),
    unread(cited));
}

/** A short answer, with the numbers of the quotes that it is taken from; a count is taken from all. */
function shortAnswer({ short, citations, kind }, open) {
  if (!short) return null;
  const places = kind === "counted" ? [] : [...new Set(short.spans.map((span) => span.citation))];
  return h("p.short", { dir: "auto", title: `probability ${percent(short.probability)}` },
    h("b", {}, short.text), places.map((place) => marker(citations[place], open)), short.note ? h("span.hint", {}, ` ${short.note}`) : null);
}

/** The quotes that an answer cites, each a button with its number, title and place. */
export const sourceList = ({ citations }, open) => h("ol.sources", {}, citations.map((cited) =>
  h("li", {}, h("button.source", { type: "button", onclick: () => open(cited) },
    h("span.number", { "aria-hidden": "true" }, String(cited.number)),
    h("span.words", {},
      h("span.title", { dir: "auto" }, shortened(cited.title || cited.document_id, 120)),
      placeOf(cited) ? h("span.place", { dir: "auto" }, shortened(placeOf(cited), 160)) : null,
      h("q", { dir: "auto" }, shortened(quoteOf(cited), 400)), unread(cited))), figuresOf(cited))));

const quoteOf = ({ document_id: id, quote }) => (isMarkdown(id) ? words(quote) : quote);
const unread = ({ partly }) => (partly?.length ? h("span.hint", { dir: "auto" }, `This document was read in part: ${shortened(partly.join("; "), 300)}`) : null);

/** How a thread came to a passage: names on the way, and the reason of the last one. */
function why(path) {
  if (!path) return "";
  const stops = path.steps.filter((each) => each.layer !== "query" && each.layer !== "chunk" && each.layer !== "unit" && each.layer !== "sentence");
  const names = stops.map((each) => shortened(each.text, 40));
  const reasons = path.steps.map((each) => each.reason).filter((each) => each && each !== "holds it" && each !== "mentions it");
  return [names.join(" → "), reasons.at(-1)].filter(Boolean).join(": ");
}

/** The passages that were found, with their relevance and the thread to each. */
export function passageList(evidence, open, { numbers = null, badge = null } = {}) {
  const ends = new Map();
  for (const path of evidence.paths) {
    const chunk = path.steps.at(-1);
    if (chunk && !ends.has(chunk.id)) ends.set(chunk.id, path);
  }
  return h("ol.passages", {}, evidence.hits.map((hit, at) => {
    const long = hit.text.length > 240 || hit.text.split("\n").length > 4;
    const text = h(`div.text.prose.cut${long ? ".long" : ""}`, {}, readText(hit.text, { markdown: isMarkdown(hit.document_id) }));
    const more = h("button.quiet", { type: "button", "aria-expanded": "false", onclick: () => {
      const open = text.classList.toggle("cut");
      text.classList.toggle("long", open);
      more.textContent = open ? "Show all" : "Show less";
      more.setAttribute("aria-expanded", String(!open));
    } }, "Show all");
    const reason = why(ends.get(hit.chunk_id));
    return h("li", {},
      h("div.head", {},
        h("span.number", {}, String(numbers?.get(hit.chunk_id) ?? at + 1)),
        h("button.link", { type: "button", dir: "auto", onclick: () => open(hit) }, shortened(hit.title || hit.document_id, 120)),
        hit.relevance === null ? null : relevance(hit.relevance)),
      placeOf(hit) ? h("p.place", { dir: "auto" }, shortened(placeOf(hit), 200)) : null,
      text, long ? more : null,
      reason ? h("p.why", {}, h("b", {}, "Found via "), h("span", { dir: "auto" }, reason)) : null,
      badge ? badge(hit) : null);
  }));
}

function relevance(share) {
  return h("span.relevance", { title: "how probably the answer needs this passage" },
    h("span.bar", { "aria-hidden": "true" }, h("span", { style: { "inline-size": `${Math.round(100 * share)}%` } })),
    h("span.unseen", {}, "relevance "), percent(share));
}
