// Markdown and tables as they are read. Each piece of text keeps its place, so that quotes can be
// marked in it. Tags of HTML are shown and never obeyed, and no picture is loaded.

import { h } from "./dom.js";

const LONGEST = 20_000; // characters in which marks are looked for
const INLINE = new RegExp([
  /\\([!-/:-@[-`{-~])/, // 1: an escaped sign
  /(`+)(?!`)([\s\S]{1,2000}?)(?<!`)\2(?!`)/, // 3: code
  /!?\[((?:[^[\]\\]|\\.|!?\[[^[\]]{0,300}\]){0,500})\](?:\(\s*<?([^\s<>()]*(?:\([^\s()]*\)[^\s<>()]*)?)>?(?:\s+"[^"]{0,300}")?\s*\)|\[[^\]]{0,300}\])/, // 4, 5: a link or a picture
  /<(https?:[^\s<>]+)>/, // 6
  /\bhttps?:[^\s<>"]{3,1000}[^\s<>"'.,;:!?)\]`*|]/,
  /(\*\*|__)(?=\S)([\s\S]{0,2000}?\S)\7(?![*_])/, // 8: strong
  /(?<![\p{L}\p{N}_])_(?=[^\s_])([^_]{0,1000}[^\s_])_(?![\p{L}\p{N}_])/, // 9: emphasis
  /\*(?=[^\s*])([^*]{0,1000}[^\s*])\*/, // 10
  /~~(?=\S)([^~]{1,1000})~~/, // 11: struck out
  /&(amp|lt|gt|quot|nbsp);/, // 12
  /<\/?[a-z][^<>]{0,1000}>|<!--[\s\S]{0,2000}?-->/, // a tag
].map((each) => each.source).join("|"), "giu");
const ENTITIES = { amp: "&", lt: "<", gt: ">", quot: "\"", nbsp: "\u00a0" };
const HEADING = /^ {0,3}(#{1,6})(?:[ \t]+(.*?))??(?:[ \t]+#+)?[ \t]*$/;
const FENCE = /^ {0,3}(`{3,}|~{3,})[^`]*$/;
const RULE = /^ {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*$/;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^([ \t]*)([-*+]|\d{1,9}[.)])(?:[ \t]+|$)/;
const UNDERLINE = /^ {0,3}(=+|-+)[ \t]*$/;
const DIVIDER = /^[ \t|:-]*-[ \t|:-]*$/;
const FRONT = /^---[ \t]*\n[\s\S]*?\n(?:---|\.\.\.)[ \t]*(?:\n|$)/;
const LEAD = /^\s*(?:(?:#{1,6}|[-*+]|\d{1,9}[.)])\s+)?/; // of a line that is quoted
const NUMBER = /^[-+−]?[$€£]?[\d.,\u00a0 ]*\d[\d.,]*\s?[%‰]?$/;

/** Whether a document is in Markdown, by its id. */
export const isMarkdown = (id) => /\.(md|markdown)(#.*)?$/i.test(id);

/** A function that appends the characters a to b to a node: those in `marked` as marks, with the nodes of `inserts` at their places. */
export function writer(text, marked = null, inserts = []) {
  const waiting = [...inserts];
  const [from, to] = marked || [0, 0];
  const flush = (node, at) => { while (waiting.length && waiting[0][0] <= at) node.append(waiting.shift()[1]); };
  function put(node, a, b, as = null) {
    flush(node, a);
    const stops = as === null ? [from, to, ...waiting.map(([at]) => at)].filter((each) => each > a && each < b) : [];
    let last = a;
    for (const stop of [...new Set(stops.sort((x, y) => x - y)), b]) {
      const piece = as ?? text.slice(last, stop);
      const next = waiting.length && waiting[0][0] === stop ? waiting.shift()[1] : null;
      const space = piece.lastIndexOf(" ") + 1;
      if (last >= from && last < to) node.append(h("mark", {}, piece), next || "");
      else if (!next || piece.length - space > 24 || space === piece.length) node.append(piece, next || "");
      else node.append(piece.slice(0, space), h("span.together", {}, piece.slice(space), next));
      flush(node, stop);
      last = stop;
    }
  }
  put.flush = flush;
  return put;
}

/** What is quoted of a line: without the sign of an item or a heading, and the cells of a row set apart. */
function quote(text, put, node, a, b) {
  const from = a + LEAD.exec(text.slice(a, b))[0].length;
  const row = text[from] === "|" && cells(text, from, b);
  (row || [[from, b]]).forEach((range, at) => {
    if (at) node.append(" · ");
    inline(text, put, node, [range]);
  });
}

/** A text as it is read: nodes for its paragraphs, lists and tables. */
export function readText(text, { markdown, marked = null, inserts = [] }) {
  const put = writer(text, marked, inserts);
  return markdown ? blocks(text, put) : [...plain(text, put)];
}

/** The words of a text in Markdown, without its marks. */
export function words(text) {
  const node = h("span");
  quote(text, writer(text), node, 0, text.length);
  return node.textContent;
}

function* plain(text, put) {
  for (const { rows, a, b } of tables(text, [...linesOf(text)])) {
    if (rows) yield tableNode(put, text, rows);
    else if (a < b) {
      const node = h("p", { dir: "auto" });
      put(node, a, b);
      put.flush(node, b);
      yield node;
    }
  }
}

/** The lines of a text, as ranges. */
export function* linesOf(text, from = 0, end = text.length) {
  while (from < end) {
    const found = text.indexOf("\n", from);
    const stop = found < 0 || found > end ? end : found;
    yield [from, stop];
    from = stop + 1;
  }
}

/** Lines of one number of cells that follow each other, as tables; the others as they are. */
export function* tables(text, lines) {
  for (let at = 0; at < lines.length; at += 1) {
    const rows = [];
    let next = at;
    for (let look = at; look < lines.length; look += 1) {
      if (rows.length && look === next + 1 && lines[look][0] === lines[look][1]) continue; // one empty line
      const row = cells(text, ...lines[look]);
      if (!row || (rows.length && row.length !== rows[0].length)) break;
      rows.push(row);
      next = look;
    }
    if (rows.length > 1) {
      yield { rows, a: lines[at][0], b: lines[next][1] };
      at = next;
    } else yield { a: lines[at][0], b: lines[at][1] };
  }
}

/** The ranges of the cells of a line, null if it is no row. */
function cells(text, a, b) {
  if (b - a > 4000) return null;
  const line = text.slice(a, b);
  if (!/^[ \t]*\||[ \t]\|(?:[ \t]|$)/.test(line)) return null;
  const found = [];
  let from = a;
  for (const { index } of line.matchAll(/(?<!\\)\|/g)) {
    found.push([from, a + index]);
    from = a + index + 1;
  }
  found.push([from, b]);
  const blank = ([x, y]) => !text.slice(x, y).trim();
  if (/^[ \t]*\|/.test(line)) {
    found.shift();
    if (found.length && blank(found.at(-1))) found.pop();
  }
  return found.length > 1 ? found.map(([x, y]) => trimmed(text, x, y)) : null;
}

function trimmed(text, a, b) {
  const line = text.slice(a, b);
  return line.trim() ? [a + line.length - line.trimStart().length, b - line.length + line.trimEnd().length] : [b, b];
}

/** A table of rows of ranges; numbers stand on the right. */
export function tableNode(put, text, rows, head = null, write = (node, range) => put(node, ...range)) {
  const right = rows[0].map((_, at) => {
    const values = rows.slice(head ? 0 : 1).map((row) => text.slice(...row[at])).filter(Boolean);
    return values.length && values.every((each) => NUMBER.test(each));
  });
  const cell = (kind) => (range, at) => {
    const node = h(`${kind}${right[at] ? ".n" : ""}`, { dir: "auto" });
    write(node, range);
    put.flush(node, range[1]);
    return node;
  };
  return h("div.wide", { tabindex: 0, role: "group", "aria-label": "Table" }, h("table", {},
    head ? h("thead", {}, h("tr", {}, head.map(cell("th")))) : null,
    h("tbody", {}, rows.map((row) => h("tr", {}, row.map(cell("td")))))));
}

// -- Markdown -----------------------------------------------------------------------------------

/** The blocks of a text in Markdown. */
export function blocks(text, put) {
  const front = FRONT.exec(text);
  const start = front ? front[0].length : 0;
  const above = front ? [code(text, [...linesOf(text, 0, start)], put, "pre.front")] : [];
  return [...above, ...parse(text, [...linesOf(text, start)], put)];
}

function* parse(text, lines, put, deep = 0) {
  const line = (at) => text.slice(lines[at][0], Math.min(lines[at][1], lines[at][0] + 4000));
  const blank = (at) => !line(at).trim();
  let at = 0;
  while (at < lines.length) {
    const [a] = lines[at];
    const first = line(at);
    let found;
    if (blank(at)) at += 1;
    else if ((found = FENCE.exec(first))) {
      let end = at + 1;
      while (end < lines.length && !(line(end).trim().startsWith(found[1]) && /^[`~]+$/.test(line(end).trim()))) end += 1;
      yield code(text, lines.slice(at + 1, end).map((each) => strip(text, each, indent(first))), put);
      at = end + 1;
    } else if (/^(?: {4}|\t)/.test(first)) {
      let end = at + 1;
      while (end < lines.length && (blank(end) || /^(?: {4}|\t)/.test(line(end)))) end += 1;
      while (blank(end - 1)) end -= 1;
      yield code(text, lines.slice(at, end).map((each) => strip(text, each, 4)), put);
      at = end;
    } else if ((found = HEADING.exec(first))) {
      const from = a + first.indexOf("#") + found[1].length;
      yield heading(found[1].length, a, put, text, [trimmed(text, from, from + first.slice(from - a).replace(/[ \t]+#+[ \t]*$/, "").length)]);
      at += 1;
    } else if (RULE.test(first)) {
      yield h("hr");
      at += 1;
    } else if (QUOTE.test(first) && deep < 8) {
      let end = at;
      while (end < lines.length && QUOTE.test(line(end))) end += 1;
      yield h("blockquote", {}, ...parse(text, lines.slice(at, end).map(([x, y], i) => [x + QUOTE.exec(line(at + i))[0].length, y]), put, deep + 1));
      at = end;
    } else if (ITEM.test(first) && deep < 8) {
      const [list, end] = listAt(text, lines, at, put, deep);
      yield list;
      at = end;
    } else if ((found = tableAt(text, lines, at))) {
      const { head, rows, end } = found;
      yield tableNode(put, text, rows, head, (node, range) => inline(text, put, node, [range]));
      at = end;
    } else {
      let end = at + 1;
      let level = 0;
      for (; end < lines.length && !blank(end); end += 1) {
        const next = line(end);
        if ((found = UNDERLINE.exec(next))) { level = found[1][0] === "=" ? 1 : 2; break; }
        if (HEADING.test(next) || FENCE.test(next) || QUOTE.test(next) || RULE.test(next) || (ITEM.test(next) && !/^\s*\d+[.)]/.test(next)) || tableAt(text, lines, end)) break;
      }
      const ranges = lines.slice(at, end);
      if (level) yield heading(level, a, put, text, ranges);
      else {
        const node = h("p", { dir: "auto" });
        inline(text, put, node, ranges);
        put.flush(node, ranges.at(-1)[1]);
        yield node;
      }
      at = level ? end + 1 : end;
    }
  }
}

function heading(level, at, put, text, ranges) {
  const node = h(`h${Math.min(level + 2, 6)}`, { "data-at": at, dir: "auto" });
  inline(text, put, node, ranges);
  put.flush(node, ranges.at(-1)[1]);
  return node;
}

function code(text, lines, put, kind = "pre") {
  const node = h("code");
  lines.forEach(([a, b], at) => {
    put(node, a, b);
    if (at + 1 < lines.length) node.append("\n");
  });
  return h(kind, { tabindex: 0 }, node);
}

/** A line without the blanks of some columns. */
function strip(text, [a, b], columns) {
  let from = a;
  for (let wide = 0; wide < columns && from < b; from += 1) {
    if (text[from] === " ") wide += 1;
    else if (text[from] === "\t") wide += 4;
    else break;
  }
  return [from, b];
}

const indent = (line) => /^[ \t]*/.exec(line)[0].replaceAll("\t", "    ").length;

function listAt(text, lines, at, put, deep) {
  const line = (each) => text.slice(lines[each][0], Math.min(lines[each][1], lines[each][0] + 4000));
  const first = ITEM.exec(line(at));
  const [ordered, margin] = [/\d/.test(first[2]), indent(line(at))];
  const items = [];
  let wide = 0;
  let gap = false;
  for (; at < lines.length; at += 1) {
    const here = line(at);
    const item = ITEM.exec(here);
    if (!here.trim()) {
      gap = true;
      items.at(-1).push(lines[at]);
    } else if (item && indent(here) < margin + Math.max(wide, 2) && indent(here) >= margin && /\d/.test(item[2]) === ordered && !RULE.test(here)) {
      wide = item[2].length + 1;
      items.push([[lines[at][0] + item[0].length, lines[at][1]]]);
      gap = false;
    } else if (indent(here) >= margin + Math.min(wide, 2)) {
      items.at(-1).push(strip(text, lines[at], margin + wide));
      gap = false;
    } else if (gap || item || HEADING.test(here) || FENCE.test(here) || QUOTE.test(here) || RULE.test(here)) break;
    else items.at(-1).push(lines[at]);
  }
  const given = ordered ? { start: parseInt(first[2], 10) } : {};
  return [h(ordered ? "ol" : "ul", given, items.map((each) => h("li", {}, ...parse(text, each, put, deep + 1)))), at];
}

/** A table that begins at a line: with a head and a divider, or, where a text is cut in it, without. */
function tableAt(text, lines, at) {
  const head = cells(text, ...lines[at]);
  if (!head || at + 1 >= lines.length) return null;
  const divided = DIVIDER.test(text.slice(...lines[at + 1])) && cells(text, ...lines[at + 1]);
  const bare = /^\s*\|/.test(text.slice(...lines[at]));
  if (!divided && !(bare && cells(text, ...lines[at + 1])?.length === head.length)) return null;
  const rows = [];
  let end = at + (divided ? 2 : 0);
  for (; end < lines.length; end += 1) {
    const row = DIVIDER.test(text.slice(...lines[end])) ? null : cells(text, ...lines[end]);
    if (!row) break;
    rows.push(head.map((_, column) => row[column] || [lines[end][1], lines[end][1]]));
  }
  return rows.length ? { head: divided ? head : null, rows, end } : null;
}

/** Append what stands in some ranges, its marks obeyed: lines are joined by spaces. */
export function inline(text, put, node, ranges) {
  const starts = [];
  let whole = "";
  for (const [a, b] of ranges) {
    starts.push([whole.length, a, b - a]);
    whole += `${text.slice(a, b)}\n`;
  }
  whole = whole.slice(0, -1);
  const write = (into, from, to, as = null) => {
    if (as !== null) {
      const [start, a] = starts.findLast(([start]) => start <= from);
      put(into, a + from - start, a + to - start, as);
      return;
    }
    for (const [start, a, long] of starts) {
      if (start > to) break;
      const [x, y] = [Math.max(from, start), Math.min(to, start + long)];
      if (x < y) put(into, a + x - start, a + y - start);
      if (start + long >= from && start + long < to) {
        if (/ {2}$|\\$/.test(whole.slice(start, start + long))) into.append(h("br"));
        else put(into, a + long, a + long + 1, " ");
      }
    }
  };
  if (whole.length > LONGEST) write(node, 0, whole.length);
  else marks(whole, write, node, 0, whole.length);
}

function marks(text, write, node, from, to) {
  const within = text.slice(0, to);
  let last = from;
  const span = (kind, start, long, given = {}) => {
    const inner = h(kind, given);
    marks(text, write, inner, start, start + long);
    node.append(inner);
  };
  INLINE.lastIndex = from;
  for (let found; (found = INLINE.exec(within)); INLINE.lastIndex = last) {
    const start = found.index;
    const end = start + found[0].length;
    write(node, last, start);
    const [whole, escaped, , coded, label, address, pointed, , strong, em, other, struck, entity] = found;
    if (escaped) write(node, start + 1, end);
    else if (coded !== undefined) {
      const inner = h("code");
      write(inner, ...trimmed(text, start + found[2].length, end - found[2].length));
      node.append(inner);
    } else if (label !== undefined) {
      if (whole[0] === "!") span("span.picture", start + 2, label.length);
      else if (isSafe(address)) span("a", start + 1, label.length, outwards(address));
      else span("span", start + 1, label.length);
    } else if (pointed || /^https?:/i.test(whole)) {
      const inner = h("a", outwards(pointed || whole));
      write(inner, start + (pointed ? 1 : 0), end - (pointed ? 1 : 0));
      node.append(inner);
    } else if (strong) span("strong", start + 2, strong.length);
    else if (em || other) span("em", start + 1, (em || other).length);
    else if (struck) span("s", start + 2, struck.length);
    else if (entity) write(node, start, end, ENTITIES[entity.toLowerCase()]);
    else {
      const inner = h("span.tag");
      write(inner, start, end);
      node.append(inner);
    }
    last = end;
  }
  write(node, last, to);
}

const isSafe = (address) => /^(?:https?|mailto):/i.test(address || "");
const outwards = (href) => ({ href, target: "_blank", rel: "noopener noreferrer", title: href });
