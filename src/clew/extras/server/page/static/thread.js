// The thread of a question: drawn, and stepped through; or as a list.

import { announce, fill, fresh, h } from "./dom.js";
import { shortened } from "./text.js";

const WIDE = 176;
const HIGH = 40;
const ACROSS = 56; // between columns
const DOWN = 12; // between rows
const KINDS = {
  query: "Question", entity: "Entity", unit: "Sentence", sentence: "Sentence", chunk: "Passage",
  triple: "Triple", term: "Word", document: "Document", subchunk: "Part of a passage",
};

const keyOf = (step) => (step.layer === "query" ? "query" : `${step.layer}:${step.id}`);
export const kindOf = (layer) => KINDS[layer] || layer;

/** Show the graph of what was found; `paths` are the threads in it, of which `first` is shown. */
export function threadView(graph, paths, open, first = 0) {
  const nodes = new Map(graph.nodes.map((each) => [each.key, each]));
  const threads = paths.length ? paths.map((path) => path.steps.filter((step) => nodes.has(keyOf(step)))).map(withQuestion)
    : graph.nodes.filter((each) => each.layer !== "query").map((each) => withQuestion([each]));
  let thread = 0;
  let at = 0;
  const card = h("div.card", { "aria-live": "polite" });
  const where = h("span.hint");
  const drawing = draw(graph, (key) => jump(key));
  const scroller = h("div.drawing", { tabindex: 0, role: "group", "aria-roledescription": "graph", "aria-label": "The thread as a graph. Arrow keys step through it.", onkeydown: keyed }, drawing.svg);
  const back = h("button", { type: "button", onclick: () => step(-1) }, "Back");
  const next = h("button", { type: "button", onclick: () => step(1) }, "Next");
  const name = fresh("form");
  const narrow = window.matchMedia("(max-width: 45rem)").matches;
  const drawn = h("div", {}, scroller, h("div.stepper", {}, back, next, where), card);
  const listed = h("ol.threads", {}, threads.map((steps, number) => h("li", {},
    h("p.hint", {}, `Thread ${number + 1}`),
    h("ol.steps", {}, steps.map((each) => h("li", {}, h("span.kind", {}, kindOf(each.layer)), " ",
      h("span", { dir: "auto" }, shortened(each.text, 220)), reasonOf(each), opener(each)))))));
  const forms = [["graph", "Graph", drawn], ["list", "List", listed]];
  const choice = h("fieldset.forms", {}, h("legend.unseen", {}, "Form"), forms.map(([value, label, node]) => {
    const shown = (value === "list") === narrow;
    node.hidden = !shown;
    return h("label", {}, h("input", { type: "radio", name, value, checked: shown, onchange: () => forms.forEach((each) => { each[2].hidden = each[0] !== value; }) }), label);
  }));

  function withQuestion(steps) {
    return steps[0]?.layer === "query" ? steps : [nodes.get("query"), ...steps].filter(Boolean);
  }

  function keyed(event) {
    const moves = { ArrowRight: () => step(1), ArrowLeft: () => step(-1), ArrowDown: () => turn(1), ArrowUp: () => turn(-1), Home: () => go(thread, 0), End: () => go(thread, threads[thread].length - 1) };
    if (!moves[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    moves[event.key]();
  }

  function step(by) {
    if (at + by >= 0 && at + by < threads[thread].length) go(thread, at + by);
    else if (by > 0 && thread + 1 < threads.length) go(thread + 1, Math.min(1, threads[thread + 1].length - 1));
    else if (by < 0 && thread > 0) go(thread - 1, threads[thread - 1].length - 1);
  }

  function turn(by) {
    const other = thread + by;
    if (other >= 0 && other < threads.length) go(other, Math.min(at, threads[other].length - 1));
  }

  function jump(key) {
    const here = threads[thread].findIndex((each) => keyOf(each) === key);
    if (here >= 0) return go(thread, here);
    for (const [number, steps] of threads.entries()) {
      const found = steps.findIndex((each) => keyOf(each) === key);
      if (found >= 0) return go(number, found);
    }
    return tell(nodes.get(key), "Outside the threads");
  }

  function go(number, place, quiet = false) {
    [thread, at] = [number, place];
    const steps = threads[thread];
    const now = steps[at];
    drawing.light(steps.map(keyOf), keyOf(now));
    back.disabled = thread === 0 && at === 0;
    next.disabled = thread === threads.length - 1 && at === steps.length - 1;
    where.textContent = `Thread ${thread + 1} of ${threads.length}, step ${at + 1} of ${steps.length}`;
    tell(now, "", quiet);
  }

  function tell(now, note, quiet = false) {
    fill(card, h("p.kind", {}, kindOf(now.layer), note ? ` · ${note}` : ""), h("p", { dir: "auto" }, shortened(now.text, 700)), reasonOf(now), opener(now));
    if (quiet) return;
    const node = drawing.of(keyOf(now));
    const box = node?.getBoundingClientRect();
    const frame = scroller.getBoundingClientRect();
    if (box) scroller.scrollBy({ left: box.left - frame.left - frame.width / 2 + box.width / 2, top: box.top - frame.top - frame.height / 2 + box.height / 2 });
  }

  function reasonOf(each) {
    return each.reason ? h("p.why", {}, h("b", {}, "Why "), h("span", { dir: "auto" }, each.reason)) : null;
  }

  function opener(each) {
    return each.document_id ? h("button.link.small", { type: "button", onclick: () => open(each) }, "Open in its document") : null;
  }

  go(first < threads.length ? first : 0, 0, true);
  announce(`${threads.length} threads`);
  return h("div.thread", {}, choice, drawn, listed);
}

/** Draw boxes in columns, and lines between them. */
function draw(graph, choose) {
  const columns = new Map();
  for (const each of graph.nodes) columns.set(each.x, [...(columns.get(each.x) || []), each]);
  const order = [...columns.keys()].sort((a, b) => a - b);
  const rows = Math.max(...[...columns.values()].map((each) => each.length));
  const high = rows * (HIGH + DOWN) + 2 * DOWN;
  const wide = order.length * (WIDE + ACROSS) - ACROSS + 2 * DOWN;
  const places = new Map();
  order.forEach((x, column) => {
    const found = columns.get(x).sort((a, b) => a.y - b.y);
    const above = (high - found.length * (HIGH + DOWN) + DOWN) / 2;
    found.forEach((each, row) => places.set(each.key, [DOWN + column * (WIDE + ACROSS), above + row * (HIGH + DOWN)]));
  });
  const lines = new Map();
  const edges = graph.edges.map((each) => {
    const [x1, y1] = places.get(each.source);
    const [x2, y2] = places.get(each.target);
    const [a, b] = x2 > x1 ? [x1 + WIDE, x2] : x2 < x1 ? [x1, x2 + WIDE] : [x1 + WIDE, x2 + WIDE];
    const bend = x1 === x2 ? ACROSS / 2 : (b - a) / 2;
    const path = h("path.edge", { d: `M${a} ${y1 + HIGH / 2}C${a + bend} ${y1 + HIGH / 2} ${x1 === x2 ? b + bend : b - bend} ${y2 + HIGH / 2} ${b} ${y2 + HIGH / 2}` },
      each.text ? h("title", {}, shortened(each.text, 200)) : null);
    for (const key of [`${each.source}\n${each.target}`, `${each.target}\n${each.source}`]) lines.set(key, path);
    return path;
  });
  const boxes = new Map(graph.nodes.map((each) => {
    const [x, y] = places.get(each.key);
    return [each.key, h("g.node", { "data-layer": each.layer, transform: `translate(${x} ${y})`, onclick: () => choose(each.key) },
      h("rect", { width: WIDE, height: HIGH, rx: 6 }),
      h("text.kind", { x: 10, y: 15 }, each.rank ? `${kindOf(each.layer)} ${each.rank}` : kindOf(each.layer)),
      h("text", { x: 10, y: 31 }, shortened(each.text, 22)),
      h("title", {}, shortened([each.text, each.reason].filter(Boolean).join("\n"), 300)))];
  }));
  const svg = h("svg", { width: wide, height: high, viewBox: `0 0 ${wide} ${high}`, "aria-hidden": "true" }, h("g", {}, edges), h("g", {}, [...boxes.values()]));

  function light(keys, now) {
    svg.querySelectorAll(".on, .now").forEach((each) => each.classList.remove("on", "now"));
    keys.forEach((key, at) => {
      boxes.get(key)?.classList.add("on");
      const line = at ? lines.get(`${keys[at - 1]}\n${key}`) : null;
      if (line) {
        line.classList.add("on");
        line.parentNode.append(line);
      }
    });
    boxes.get(now)?.classList.add("now");
  }
  return { svg, light, of: (key) => boxes.get(key) };
}
