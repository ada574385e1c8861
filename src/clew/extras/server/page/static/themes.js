// What the documents say as a whole: a map of themes, each as large as what it covers.

import { announce, count, empty, fill, h, number, spinner } from "./dom.js";
import { get, indexPath } from "./api.js";
import { to } from "./state.js";
import { openDocument } from "./evidence.js";
import { HUES, hue } from "./hues.js";
import { shortened } from "./text.js";

const MOST = 60; // themes on a map
const SIZES = [11.5, 18]; // pixels of a tile's name
const [PADDING, LETTER, LINE] = [30, 0.68, 1.3]; // pixels around a name; of a font's size, the widths of a letter and heights of a line

export async function show(main, { signal, index }) {
  const body = h("div");
  fill(main, h("div.column.full", {}, h("h1", {}, "Themes"), body));
  fill(body, spinner("Loading themes…"));
  const whole = await read("");
  if (!whole.items.length) {
    fill(body, empty("There are no themes yet", h("p", {}, h("a", { href: to("documents") }, "Upload documents"))));
    return;
  }
  const path = h("nav.path", { "aria-label": "Place on the map" });
  const map = h("div.map", { role: "group", "aria-label": "Map of themes, sized by their number of passages", onkeydown: (event) => { if (event.key === "Escape" && above.length) { event.preventDefault(); rise(above.length - 1); } } });
  const side = h("section.side", { "aria-label": "Theme" });
  const above = []; // the themes that the map is inside of, the widest first
  let drawn = whole;
  fill(body, path, h("div.split", {}, map, side));
  draw(whole);
  rest();
  window.addEventListener("resize", () => { draw(drawn); if (!above.length) rest(); }, { signal });

  function read(parent) {
    return get(indexPath(index, "/themes"), { parent, limit: MOST }, signal);
  }

  function draw(found) {
    drawn = found;
    const { items: shown, total } = found;
    const tiles = squarify(shown.map((each) => each.n_chunks));
    fill(map, shown.map((theme, at) => tile(theme, above.length ? whole.items.indexOf(above[0]) : at, tiles[at])));
    fill(path, [null, ...above].map((theme, at) => [at ? " › " : "", at === above.length
      ? h("b", { dir: "auto" }, theme ? theme.name : "All themes")
      : h("button.link", { type: "button", dir: "auto", onclick: () => rise(at) }, theme ? theme.name : "All themes")]),
    total > shown.length ? h("span.hint", {}, ` ${number(shown.length)} of ${number(total)}`) : null);
  }

  function tile(theme, place, { x, y, width, height }) {
    const about = `${theme.name}: ${covers(theme)}`;
    const [wide, high] = [width * map.clientWidth - PADDING, height * map.clientHeight - PADDING];
    const longest = Math.max(...theme.name.split(/[ -]/).map((word) => word.length));
    const size = Math.max(SIZES[0], Math.min(SIZES[1], wide / (LETTER * longest)));
    const lines = Math.floor(high / (LINE * size));
    const style = { "--hue": `var(${hue(place)})`, "font-size": `${size}px`, "inset-inline-start": `${100 * x}%`, "inset-block-start": `${100 * y}%`, "inline-size": `${100 * width}%`, "block-size": `${100 * height}%` };
    return h("button.tile", { type: "button", title: about, "aria-label": about, style, onclick: () => choose(theme) },
      lines < 1 || wide < 3 * size ? null : h("span.name", { dir: "auto", style: { "-webkit-line-clamp": lines } }, theme.name),
      lines < 6 || wide < 90 ? null : h("span.n", {}, count(theme.n_chunks, "passage")));
  }

  async function choose(theme) {
    describe(theme);
    announce(`${theme.name}: ${covers(theme)}`);
    if (!theme.children.length) return;
    const parts = await read(theme.id);
    above.push(theme);
    draw(parts);
    map.querySelector("button").focus();
  }

  async function rise(to) {
    above.length = to;
    const theme = above[to - 1];
    draw(theme ? await read(theme.id) : whole);
    if (theme) describe(theme);
    else rest();
    map.querySelector("button").focus();
  }

  /** Say what to do, and name the themes whose names have no room on the map. */
  function rest() {
    const names = [...map.children].map((node) => node.querySelector(".name"));
    const isCut = (name) => !name || name.scrollHeight > name.clientHeight || name.scrollWidth > name.clientWidth;
    const line = (theme, at) => h("li", {}, h("span.dot", { style: { background: `var(${hue(at)})` } }), h("button.link", { type: "button", dir: "auto", onclick: () => choose(theme) }, theme.name), h("span.hint", {}, number(theme.n_chunks)));
    fill(side, h("p.hint", {}, `${count(whole.total, "theme")}. Choose a theme to see its parts and read its sentences; Escape goes back.`),
      h("ul.plain.list", {}, whole.items.map((theme, at) => (isCut(names[at]) ? line(theme, at) : null))));
  }

  function describe(theme) {
    fill(side, h("h2", { dir: "auto" }, theme.name), h("p.hint", {}, covers(theme)),
      h("h3", {}, "Sentences"), h("ol.texts", {}, theme.sentences.map(sentenceOf)),
      theme.entities.length ? [h("h3", {}, "Names"), h("p", { dir: "auto" }, theme.entities.slice(0, 12).join(", "))] : null,
      theme.relations.length ? [h("h3", {}, "Named together"), h("ul.plain", {}, theme.relations.map((each) => h("li", { dir: "auto" }, `${each.subject} — ${each.relation ? `${each.relation} — ` : ""}${each.object} (${number(each.count)})`)))] : null,
      h("h3", {}, "Documents"), h("ul.plain", {}, theme.documents.slice(0, 12).map((id) => h("li", {}, h("button.link", { type: "button", dir: "auto", onclick: () => openDocument({ index, id }) }, shortened(id, 60))))));
    side.scrollTo(0, 0);
  }

  function sentenceOf(each) {
    return h("li", {}, h("p", { dir: "auto" }, shortened(each.text, 400)),
      h("button.link.small", { type: "button", dir: "auto", onclick: () => openDocument({ index, id: each.document_id, start: each.start, end: each.end, label: "Sentence" }) }, shortened(each.section || each.document_id, 80)));
  }
}

function covers(theme) {
  const dates = [...new Set([theme.since, theme.until])].filter(Boolean).join(" to ");
  return [count(theme.n_documents, "document"), count(theme.n_chunks, "passage"), theme.children.length ? count(theme.children.length, "part") : null, dates].filter(Boolean).join(" · ");
}

/** Places for sizes, the largest first, in a square of side 1 (Bruls, Huizing and van Wijk 2000). */
export function squarify(sizes) {
  const whole = sizes.reduce((sum, each) => sum + each, 0);
  const areas = sizes.map((each) => each / whole);
  const places = [];
  let [x, y, width, height] = [0, 0, 1, 1];
  while (places.length < areas.length) {
    const side = Math.min(width, height);
    let row = [];
    for (const area of areas.slice(places.length)) {
      if (row.length && worst([...row, area], side) > worst(row, side)) break;
      row = [...row, area];
    }
    const sum = row.reduce((total, each) => total + each, 0);
    const thick = sum / side;
    let along = 0;
    for (const area of row) {
      const long = area / thick;
      places.push(width >= height ? { x, y: y + along, width: thick, height: long } : { x: x + along, y, width: long, height: thick });
      along += long;
    }
    if (width >= height) [x, width] = [x + thick, width - thick];
    else [y, height] = [y + thick, height - thick];
  }
  return places;
}

/** How far the longest of some places in a row is from a square. */
function worst(row, side) {
  const sum = row.reduce((total, each) => total + each, 0);
  return Math.max(...row.map((area) => Math.max((side * side * area) / (sum * sum), (sum * sum) / (side * side * area))));
}
