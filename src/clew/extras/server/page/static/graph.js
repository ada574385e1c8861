// The graph of an index, its entities, and names that stand for others.

import { announce, count, empty, field, fill, h, number, percent, problem, spinner } from "./dom.js";
import { get, indexPath, part, post, remove } from "./api.js";
import { may, to } from "./state.js";
import { openDocument } from "./evidence.js";
import { shortened } from "./text.js";
import { GraphCanvas } from "./canvas.js";
import { icon } from "./icons.js";
import { HUES, hue } from "./hues.js";

const STEP = 60; // pixels that an arrow key moves
const TEXTS = 8;
const TYPES = ["person", "place", "organization", "work", "event", "product", "date", "number", "code", "concept"];
const GROUPINGS = { theme: ["Theme", (node) => node.theme], type: ["Type", (node) => node.type] }; // what colours mean

export async function show(main, { parameters, signal, index }) {
  const aliases = parameters.get("tab") === "aliases";
  const tab = (name, label, is) => h("a", { href: to("graph", { tab: name }), "aria-current": is ? "page" : undefined }, label);
  const body = h("div");
  fill(main, h("div.column.full", {},
    h("div.top-line", {}, h("h1", {}, "Graph"), h("nav.tabs", { "aria-label": "Parts" }, tab("", "Entities", !aliases), tab("aliases", "Names to merge", aliases))), body));
  fill(body, spinner("Drawing…"));
  await (aliases ? showAliases(body, index, signal) : showGraph(body, index, signal, parameters.get("entity")));
}

async function showGraph(body, index, signal, wanted) {
  const [first, { items: themes }] = await Promise.all([get(indexPath(index, "/graph"), { limit: 1000 }, signal), get(indexPath(index, "/themes"), { limit: HUES }, signal)]);
  let graph = first;
  if (!graph.nodes.length) {
    fill(body, empty("There are no entities yet", h("p", {}, "Entities are the names, titles and terms of documents."), h("p", {}, h("a", { href: to("documents") }, "Upload documents"))));
    return;
  }
  const canvas = h("canvas", { "aria-hidden": "true" });
  const box = h("div.canvas", { tabindex: 0, role: "application", "aria-label": "Graph of entities. Arrow keys move, plus and minus zoom, 0 shows all. Find entities with the field above, and read their texts in the panel beside.", onkeydown: keyed }, canvas);
  const side = h("section.side", { "aria-label": "Entity", tabindex: -1 });
  const search = h("input", { type: "search", autocomplete: "off", placeholder: "a name", oninput: later, onkeydown: (event) => { if (event.key === "Enter") { event.preventDefault(); found.querySelector("button")?.click(); } } });
  const found = h("ul.found");
  const size = h("select", { onchange: () => load(Number(size.value)) }, sizes().map(([value, text]) => h("option", { value, selected: value === 1000 }, text)));
  const by = h("select", { onchange: () => { hidden.clear(); draw(); } }, Object.entries(GROUPINGS).map(([value, [text]]) => h("option", { value }, text)));
  const legend = h("fieldset.legend", {});
  const key = h("details", { open: true }, h("summary", {}, "Colours"), legend);
  const hidden = new Set(); // groups that are not shown
  let drawing = null;
  let parts = null;
  fill(body,
    h("div.finding.two", {}, h("div.search", {}, field("Find an entity", search), found), field("Shown", size), field("Colour by", by)),
    h("div.split", {}, h("div.stage", {}, box,
      h("div.zoom", {}, h("button", { type: "button", "aria-label": "Zoom in", title: "Zoom in", onclick: () => drawing.zoom(1.5) }, icon("plus")), h("button", { type: "button", "aria-label": "Zoom out", title: "Zoom out", onclick: () => drawing.zoom(1 / 1.5) }, icon("minus")), h("button", { type: "button", "aria-label": "Show all", title: "Show all", onclick: () => drawing.fit() }, icon("fit")))), h("div", {}, key, side)));
  const names = new Map(themes.map((each) => [each.id, each.name]));
  make();
  rest();
  if (wanted) await choose(wanted);

  function sizes() {
    const known = [[200, "200 most frequent"], [1000, "1,000 most frequent"], [5000, "5,000 most frequent"]].filter(([value]) => value < graph.n_entities || value === 1000);
    return graph.n_entities <= 1000 ? [[1000, `all ${number(graph.n_entities)}`], ...(graph.n_entities > 200 ? [known[0]] : [])] : graph.n_entities <= 5000 ? [...known.filter(([value]) => value < 5000), [5000, `all ${number(graph.n_entities)}`]] : known;
  }

  function make() {
    parts?.abort();
    parts = new AbortController();
    signal.addEventListener("abort", () => parts.abort());
    drawing = new GraphCanvas(canvas, graph, { colourOf, onChoose: (node) => (node ? choose(node.id, false) : rest()), signal: parts.signal });
    canvas.drawing = drawing; // for measurements
    drawLegend();
  }

  function colourOf(node) {
    const group = GROUPINGS[by.value][1](node);
    return hidden.has(group) ? "" : hue(groups().indexOf(group));
  }

  /** The groups that have a colour, the largest first; the others are one. */
  function groups() {
    const of = GROUPINGS[by.value][1];
    if (groups.of !== of || groups.graph !== graph) {
      const counts = new Map();
      for (const each of graph.nodes) counts.set(of(each), (counts.get(of(each)) || 0) + 1);
      const order = by.value === "theme" ? themes.map((each) => each.id).filter((id) => counts.has(id)) : [...counts.keys()].sort((a, b) => counts.get(b) - counts.get(a));
      Object.assign(groups, { of, graph, counts, order: order.filter((each) => each !== "" && each !== "other") });
    }
    return groups.order;
  }

  function draw() {
    drawing.recolour(colourOf);
    drawLegend();
  }

  /** What each colour means; each group can be taken away. */
  function drawLegend() {
    const order = groups();
    const others = [...groups.counts.keys()].filter((each) => !order.includes(each));
    const line = (group, colour, words, n) => h("label", {}, h("input", { type: "checkbox", checked: !hidden.has(group), style: { "accent-color": `var(${colour})` }, onchange: (event) => {
      for (const each of group === null ? others : [group]) hidden[event.target.checked ? "delete" : "add"](each);
      drawing.recolour(colourOf);
    } }), h("span", { dir: "auto" }, words), h("span.hint", {}, number(n)));
    fill(legend, h("legend.unseen", {}, "Groups shown in the graph"),
      order.map((each, at) => line(each, hue(at), names.get(each) || each, groups.counts.get(each))),
      others.length && order.length ? line(null, hue(-1), "other", others.reduce((sum, each) => sum + groups.counts.get(each), 0)) : null);
    key.hidden = !order.length;
  }

  async function load(limit) {
    const chosen = drawing.chosen >= 0 ? drawing.nodes[drawing.chosen].id : null;
    graph = await get(indexPath(index, "/graph"), { limit }, signal);
    make();
    if (chosen) drawing.look(chosen);
    else rest();
    announce(`${count(graph.nodes.length, "entity", "entities")} shown`);
  }

  function rest() {
    key.open = true;
    fill(side, h("p.hint", {}, `${number(graph.nodes.length)} of ${count(graph.n_entities, "entity", "entities")}, ${count(graph.edges.length, "link")}: two entities are linked where a text mentions both. Choose an entity to read its texts.`),
      h("h2", {}, "Most frequent"), h("p", {}, graph.nodes.slice(0, 24).map((each) => chip(each))));
  }

  function chip(each) {
    return h("button.chip", { type: "button", dir: "auto", onclick: () => choose(each.id) }, shortened(each.name, 40));
  }

  async function choose(id, look = true) {
    fill(found);
    key.open = false;
    const shown = look ? drawing.look(id) : true;
    fill(side, spinner("Reading…"));
    try {
      const entity = await get(indexPath(index, `/entities/${part(id)}`), { limit: TEXTS }, signal);
      fill(side, entityView(entity, shown));
      side.scrollTo(0, 0);
      announce(`${entity.name}: ${count(entity.texts.total, "text")}`);
    } catch (error) {
      if (error.name !== "AbortError") fill(side, problem(error));
    }
  }

  function entityView(entity, shown) {
    const list = h("ol.texts", {}, entity.texts.items.map(textOf));
    const more = h("button.quiet", { type: "button", hidden: entity.texts.total <= TEXTS, onclick: async () => {
      const next = await get(indexPath(index, `/entities/${part(entity.id)}`), { offset: list.children.length, limit: 50 }, signal);
      list.append(...next.texts.items.map(textOf));
      more.hidden = list.children.length >= next.texts.total;
    } }, "More texts");
    return [
      h("h2", { dir: "auto" }, entity.name),
      h("p.hint", {}, [entity.type === "other" ? null : entity.type, count(entity.texts.total, "text"), shown ? null : "not drawn"].filter(Boolean).join(" · ")),
      may("write") ? editor(entity) : null,
      entity.descriptions.map((each) => h("p", { dir: "auto" }, each)),
      entity.title_of.length ? h("p", {}, "Title of ", entity.title_of.map((id, at) => [at ? ", " : "", h("button.link", { type: "button", dir: "auto", onclick: () => openDocument({ index, id }) }, shortened(id, 80))])) : null,
      entity.triples.length ? [h("h3", {}, "Stated relations"), h("ul.plain", {}, entity.triples.slice(0, 20).map((each) => h("li", { dir: "auto" }, `${each.subject} — ${each.relation} — ${each.object}${each.validity.length ? ` (${each.validity.join("; ")})` : ""}`)))] : null,
      entity.neighbours.length ? [h("h3", {}, "In the same texts"), h("p", {}, entity.neighbours.slice(0, 24).map((each) => chip(each)))] : null,
      h("h3", {}, "Texts"), list, more,
    ];
  }

  function editor(entity) {
    const told = h("div");
    const known = entity.type === "other" ? "" : entity.type;
    const name = h("input", { value: entity.name, maxlength: 1000, dir: "auto" });
    const type = h("input", { value: known, list: "types", maxlength: 40 });
    const apart = h("input", { type: "checkbox", checked: entity.entry.apart });
    const into = h("input", { placeholder: "another entity", maxlength: 1000, dir: "auto" });
    const save = async (event, does, id) => {
      event.preventDefault();
      try {
        await does();
        await load(Number(size.value));
        await choose(id);
      } catch (error) {
        fill(told, problem(error));
      }
    };
    const edited = () => ({
      entity: entity.id, apart: apart.checked,
      ...(name.value.trim() === entity.name ? {} : { name: name.value.trim() }),
      ...(type.value.trim() === known ? {} : { type: type.value.trim() }),
    });
    const other = () => into.value.trim();
    return h("details.small", {}, h("summary", {}, "Edit"), told,
      h("form", { onsubmit: (event) => save(event, () => post(indexPath(index, "/vocabulary"), edited()), entity.id) },
        field("Name", name), field("Type", type), h("datalist", { id: "types" }, TYPES.map((value) => h("option", { value }))),
        h("label", {}, apart, "Never merge it"), h("div.buttons", {}, h("button.main", {}, "Save"))),
      h("form", { onsubmit: (event) => save(event, () => post(indexPath(index, "/aliases"), { name: entity.id, into: other() }), other()) },
        field("Merge into", into), h("div.buttons", {}, h("button", {}, "Merge"))));
  }

  function textOf(each) {
    return h("li", {}, h("p", { dir: "auto" }, shortened(each.text, 400)),
      h("button.link.small", { type: "button", dir: "auto", onclick: () => openDocument({ index, id: each.document_id, start: each.start, end: each.end, label: "Text" }) }, shortened(each.title || each.document_id, 80), each.page ? `, page ${each.page}` : ""));
  }

  function keyed(event) {
    if (event.target !== box || event.ctrlKey || event.metaKey || event.altKey) return;
    const moves = { ArrowLeft: () => drawing.move(STEP, 0), ArrowRight: () => drawing.move(-STEP, 0), ArrowUp: () => drawing.move(0, STEP), ArrowDown: () => drawing.move(0, -STEP), "+": () => drawing.zoom(1.25), "=": () => drawing.zoom(1.25), "-": () => drawing.zoom(0.8), 0: () => drawing.fit() };
    if (!moves[event.key]) return;
    event.preventDefault();
    moves[event.key]();
  }

  function later() {
    clearTimeout(later.timer);
    later.timer = setTimeout(async () => {
      const text = search.value.trim();
      if (!text) return fill(found);
      const { items, total } = await get(indexPath(index, "/entities"), { find: text, limit: 8 }, signal);
      announce(total ? `${count(total, "entity", "entities")} found` : "No entity has this name");
      return fill(found, items.length ? items.map((each) => h("li", {}, h("button.link", { type: "button", dir: "auto", onclick: () => choose(each.id) }, shortened(each.name, 60)), h("span.hint", {}, ` ${number(each.n_texts)}`))) : h("li.hint", {}, "No entity has this name."));
    }, 160);
  }
}

// -- names that stand for others ----------------------------------------------------------------

const REASONS = { vectors: "they are similar in meaning", spelling: "they are spelt similarly", initials: "one is the initials of the other", "shorter form": "one is a shorter form of the other" };

async function showAliases(body, index, signal) {
  const told = h("div");
  const list = h("div");
  const passed = new Set(); // proposals that were set aside, as long as the view is open
  fill(body, h("p.lead", {}, "Two names may mean the same thing. Read texts of both before you merge them; a merge can be undone."), told, list);
  draw(await get(indexPath(index, "/aliases"), {}, signal));

  async function change(does, words) {
    try {
      draw(await does());
      fill(told);
      announce(words);
    } catch (error) {
      fill(told, problem(error));
    }
  }

  function draw(found) {
    const proposed = found.proposed.filter((each) => !passed.has(`${each.name}\n${each.into}`));
    const merged = Object.entries(found.merged);
    fill(list,
      h("h2", {}, "Proposed ", h("span.hint", {}, number(proposed.length))),
      proposed.length ? h("ul.pairs", {}, proposed.slice(0, 60).map((each) => pair(each))) : h("p.hint", {}, "No two names look alike."),
      h("h2", {}, "Merged ", h("span.hint", {}, number(merged.length))),
      merged.length ? h("ul.plain", {}, merged.map(([key, into]) => h("li.merged", {}, h("b", { dir: "auto" }, found.names[key] || key), " stands for ", h("b", { dir: "auto" }, found.names[into] || into), " ",
        may("write") ? h("button", { type: "button", onclick: () => change(() => remove(`${indexPath(index, "/aliases")}?name=${part(key)}`), "Split") }, "Split again") : null))) : h("p.hint", {}, "No names have been merged yet."));
  }

  function pair(each) {
    const texts = h("div.both");
    const fold = h("details.small", { ontoggle: async () => {
      if (!fold.open || texts.firstChild) return;
      fill(texts, spinner("Reading…"));
      const sides = await Promise.all([each.name, each.into].map((name) => get(indexPath(index, `/entities/${part(name)}`), { limit: 3 }, signal)));
      fill(texts, sides.map((side) => h("div", {}, h("h3", { dir: "auto" }, side.name), h("p.hint", {}, count(side.texts.total, "text")), side.texts.items.map((text) => h("p", { dir: "auto" }, shortened(text.text, 300))))));
    } }, h("summary", {}, "Texts of both"), texts);
    const merge = () => change(() => post(indexPath(index, "/aliases"), { name: each.name, into: each.into }), `${each.name} stands for ${each.into}`);
    const node = h("li.panel", {},
      h("div.head", {}, h("p", {}, h("b", { dir: "auto" }, each.name), " → ", h("b", { dir: "auto" }, each.into)),
        may("write") ? [h("button.main", { type: "button", "aria-label": `Merge ${each.name} into ${each.into}`, onclick: merge }, "Merge"),
          h("button", { type: "button", "aria-label": `Set aside ${each.name} and ${each.into}`, onclick: () => { passed.add(`${each.name}\n${each.into}`); node.remove(); } }, "Not the same")] : null),
      h("p.hint", {}, `${percent(each.score)} alike: ${REASONS[each.reason] || each.reason}`), fold);
    return node;
  }
}
