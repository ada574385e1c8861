// A document beside what led to it, at the words that are meant.

import { announce, count, fill, h, problem, spinner } from "./dom.js";
import { icon } from "./icons.js";
import { address, get, indexPath, part } from "./api.js";
import { figureOf } from "./figures.js";
import { blocks, isMarkdown, linesOf, tableNode, tables, writer } from "./markdown.js";
import { inUnits, placeOf, range, shortened } from "./text.js";

const LONGEST = 3000; // characters of a line that are drawn in one piece
const SLAB = 40; // lines that are laid out together, when they are looked at
const box = document.getElementById("reader");
const kept = new Map(); // the documents that were read last
let opener = null;
let asked = 0;

/** Open a document; `start` and `end` count code points. */
export async function openReader({ index, id, start = null, end = null, label = "" }) {
  const turn = (asked += 1);
  if (!box.contains(document.activeElement)) opener = document.activeElement;
  const heading = h("h2", { tabindex: -1, dir: "auto" }, shortened(id, 200));
  const body = h("div.body", {}, spinner("Opening…"));
  const close = h("button", { type: "button", onclick: closeReader, "aria-label": "Close the document" }, icon("close"), "Close");
  fill(box, h("div.top", {}, h("div.names", {}, heading, h("p.place", { dir: "auto" }, label)), close), body);
  box.hidden = false;
  document.body.classList.add("reading");
  heading.focus({ preventScroll: true });
  try {
    const found = await fetched(index, id);
    if (turn === asked) draw(found, { index, heading, body, start, end, label });
  } catch (error) {
    if (turn === asked) fill(body, problem(error));
  }
}

export function closeReader() {
  asked += 1;
  box.hidden = true;
  fill(box);
  document.body.classList.remove("reading");
  if (opener?.isConnected) opener.focus();
}

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && !box.hidden && !document.querySelector("dialog[open]")) closeReader();
});

async function fetched(index, id) {
  const key = `${index}\n${id}`;
  const found = kept.get(key) || await get(indexPath(index, `/documents/${part(id)}`));
  kept.delete(key);
  kept.set(key, found);
  if (kept.size > 8) kept.delete(kept.keys().next().value);
  return found;
}

/** Forget what was read of documents that change. */
export const forget = () => kept.clear();

function draw(found, { index, heading, body, start, end, label }) {
  const { text } = found;
  heading.textContent = shortened(found.title || found.id, 200);
  const pages = inUnits(text, found.pages);
  const heads = inUnits(text, found.headings.map((each) => each.start));
  const levels = new Map(heads.map((at, number) => [at, found.headings[number]]));
  const shown = inUnits(text, (found.figures || []).map((each) => each.start)).map((at, number) => [at, () => figureOf(found.figures[number], found.id, index)]);
  const content = h("div.text.prose", { tabindex: 0, role: "region", "aria-label": "Text" });
  const place = h("p.place", { dir: "auto" });
  const raw = h("input", { type: "checkbox", onchange: () => mark(start, end, label) });
  const mark = (from, to, words, scroll = true) => {
    const marked = from === null ? null : range(text, from, to);
    fill(content, slabs(found, pages, levels, marked, raw.checked, shown));
    const chunk = from === null ? null : found.chunks.find((each) => each.start <= from && from < each.end);
    place.textContent = [words, chunk ? placeOf({ section: chunk.section, page: pageAt(pages, marked[0]) }) : ""].filter(Boolean).join(": ");
    const target = content.querySelector("mark");
    if (!target) return;
    if (scroll) {
      for (let again = 0; again < 3; again += 1) target.scrollIntoView({ block: "center" });
      window.requestAnimationFrame(() => target.scrollIntoView({ block: "center" }));
    }
    announce(`${words || "Quote"} shown in ${shortened(found.title || found.id, 80)}`);
  };
  const go = (at) => {
    const node = content.querySelector(`[data-at="${at}"]`);
    for (let again = 0; again < 3; again += 1) node?.scrollIntoView({ block: "start" });
  };
  const outline = heads.length ? h("details.small", {}, h("summary", {}, count(heads.length, "section")),
    h("ul.outline", {}, found.headings.map((each, number) => h("li", { style: { "padding-inline-start": `${Math.min(each.level - 1, 5)}em` } },
      h("button.link", { type: "button", dir: "auto", onclick: () => go(heads[number]) }, shortened(each.title, 120)))))) : null;
  const leaves = pages.length > 1 ? h("label.jump", {}, "Page ", h("select", { onchange: (event) => go(pages[event.target.value]) },
    pages.map((_, number) => h("option", { value: number }, String(number + 1))))) : null;
  const chunks = h("details.small", {}, h("summary", {}, count(found.chunks.length, "chunk")),
    h("ol.outline", {}, found.chunks.map((each) => h("li", {},
      h("button.link", { type: "button", onclick: () => mark(each.start, each.end, "Chunk") }, `${each.start} to ${each.end}`),
      h("span.hint", {}, ` ${count(each.n_tokens, "token")}${each.section ? `, ${shortened(each.section, 80)}` : ""}`)))));
  const data = Object.entries(found.metadata);
  const about = h("details.small", {}, h("summary", {}, "About"),
    h("dl", {}, [["Id", found.id], ...(found.source && found.source !== found.id ? [["Source", found.source]] : []), ...data].map(([name, value]) => [
      h("dt", { dir: "auto" }, shortened(name, 60)), h("dd", { dir: "auto" }, shortened(Array.isArray(value) ? value.join(", ") : String(value ?? "–"), 500))])));
  const save = h("a.small", { href: address(indexPath(index, `/files/${part(found.id)}`)), download: "" }, "Download");
  const written = isMarkdown(found.id) ? h("label.small", {}, raw, "As written") : null;
  fill(body, h("div.tools", {}, outline, leaves, chunks, about, written, save), content);
  box.querySelector(".names .place").replaceWith(place);
  mark(start, end, label);
}

function pageAt(pages, at) {
  if (!pages.length) return null;
  let page = 0;
  while (page + 1 < pages.length && pages[page + 1] <= at) page += 1;
  return page + 1;
}

/** A text in pieces, those of which are laid out that are looked at; Markdown and tables as they are read, unless `raw`. */
function slabs({ text, id }, pages, levels, marked, raw, shown) {
  const put = writer(text, marked);
  const nodes = isMarkdown(id) && !raw ? blocks(text, put) : [...pagesOf(text, pages, levels, put, raw, shown)];
  const most = isMarkdown(id) && !raw ? SLAB / 4 : SLAB;
  const found = [];
  for (let at = 0; at < nodes.length; at += most) found.push(h("div.slab", {}, nodes.slice(at, at + most)));
  return found.length ? found : h("p.hint", {}, "This document has no text.");
}

function* pagesOf(text, pages, levels, put, raw, shown) {
  const starts = pages.length ? pages : [0];
  const lines = [...linesOf(text)].flatMap(([from, end]) => [...pieces(text, from, end, pages)]);
  let at = 0;
  for (const [number, start] of starts.entries()) {
    const own = [];
    for (; at < lines.length && !(lines[at][0] >= starts[number + 1]); at += 1) own.push(lines[at]);
    if (starts.length > 1 && own.length) yield h("div.leaf", { "data-at": start }, `Page ${number + 1}`);
    if (raw) yield* own.map(([a, b]) => line(a, b, levels.get(a), put));
    else for (const { rows, a, b } of tables(text, own)) {
      yield rows ? tableNode(put, text, rows) : line(a, b, levels.get(a), put);
      for (const [at, picture] of shown) if (a <= at && at < b) yield picture();
    }
  }
}

function* pieces(text, from, end, pages) {
  const cuts = pages.filter((each) => each > from && each < end);
  for (const stop of [...cuts, end]) {
    while (stop - from > LONGEST) {
      const space = text.lastIndexOf(" ", from + LONGEST);
      let to = space > from ? space + 1 : from + LONGEST;
      if (/[\udc00-\udfff]/.test(text[to])) to += 1;
      yield [from, to];
      from = to;
    }
    yield [from, stop];
    from = stop;
  }
}

function line(a, b, heading, put) {
  const node = h(heading ? `div.line.head.h${Math.min(heading.level, 4)}` : "div.line", { dir: "auto", "data-at": heading ? a : undefined });
  if (a < b) put(node, a, b);
  return node;
}
