// A document beside what led to it, at the words that are meant.

import { announce, count, fill, h, problem, spinner } from "./dom.js";
import { address, get, indexPath, part } from "./api.js";
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
  const close = h("button", { type: "button", onclick: closeReader, "aria-label": "Close the document" }, "Close");
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
  const content = h("div.text", { tabindex: 0, role: "region", "aria-label": "Text" });
  const place = h("p.place", { dir: "auto" });
  const mark = (from, to, words, scroll = true) => {
    const marked = from === null ? null : range(text, from, to);
    fill(content, slabs(text, pages, levels, marked));
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
  fill(body, h("div.tools", {}, outline, leaves, chunks, about, save), content);
  box.querySelector(".names .place").replaceWith(place);
  mark(start, end, label);
}

function pageAt(pages, at) {
  if (!pages.length) return null;
  let page = 0;
  while (page + 1 < pages.length && pages[page + 1] <= at) page += 1;
  return page + 1;
}

/** The lines of a text, those of many laid out only when they are looked at. */
function slabs(text, pages, levels, marked) {
  const breaks = new Map(pages.map((at, number) => [at, number + 1]));
  const lines = [];
  let from = 0;
  while (from < text.length) {
    const found = text.indexOf("\n", from);
    const end = found < 0 ? text.length : found;
    for (const [a, b] of pieces(text, from, end, pages)) {
      if (pages.length > 1 && breaks.has(a)) lines.push(h("div.leaf", { "data-at": a }, `Page ${breaks.get(a)}`));
      lines.push(line(text, a, b, levels.get(a), marked));
    }
    from = end + 1;
  }
  const found = [];
  for (let at = 0; at < lines.length; at += SLAB) found.push(h("div.slab", {}, lines.slice(at, at + SLAB)));
  return found.length ? found : h("p.hint", {}, "This document has no text.");
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

function line(text, a, b, heading, marked) {
  const given = { dir: "auto", "data-at": heading ? a : undefined };
  const node = h(heading ? `div.line.head.h${Math.min(heading.level, 4)}` : "div.line", given);
  const [from, to] = marked || [0, 0];
  const first = Math.max(a, Math.min(b, from));
  const last = Math.max(first, Math.min(b, to));
  if (!marked || from >= b || to <= a || first === last) node.append(text.slice(a, b));
  else node.append(text.slice(a, first), h("mark", {}, text.slice(first, last)), text.slice(last, b));
  return node;
}
