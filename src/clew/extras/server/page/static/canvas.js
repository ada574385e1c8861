// A graph of some thousand nodes on a canvas. Places come from the server.
// While it is moved, a picture that was drawn before is moved; it is drawn anew when it rests.

const MARGIN = 0.5; // of the picture beyond each side, in widths
const REST_MS = 110;
const SLICE_MS = 7; // of one frame, for drawing anew
const BATCH = 300; // lines of one stroke
const MOST_LABELS = 240; // in the picture, of which a quarter is seen
const CELL = 64; // pixels of a cell of the grid in which labels look for room
const LARGE = 5; // radius of a node that labels do not cover
const FIRST = 12_000; // pixels for each name that covers such nodes where there is no other room

/** Boxes that are taken, found by cells of a grid. */
class Room {
  constructor() {
    this.boxes = [];
    this.cells = new Map();
  }

  *around([left, above, right, below]) {
    for (let x = Math.floor(left / CELL); x <= Math.floor(right / CELL); x += 1) {
      for (let y = Math.floor(above / CELL); y <= Math.floor(below / CELL); y += 1) yield 65536 * x + y;
    }
  }

  isFree(box) {
    for (const key of this.around(box)) {
      for (const other of this.cells.get(key) || []) if (box[0] < other[2] && other[0] < box[2] && box[1] < other[3] && other[1] < box[3]) return false;
    }
    return true;
  }

  take(box) {
    this.boxes.push(box);
    for (const key of this.around(box)) {
      if (!this.cells.has(key)) this.cells.set(key, []);
      this.cells.get(key).push(box);
    }
  }
}

export class GraphCanvas {
  /** `colourOf` gives the name of a node's colour, "" for one that is not shown; `onChoose` is called with a node, or null. */
  constructor(canvas, graph, { colourOf, onChoose, signal }) {
    this.canvas = canvas;
    this.pen = canvas.getContext("2d");
    this.picture = null;
    this.painted = null; // the view that the picture has
    this.nodes = graph.nodes;
    this.places = new Map(graph.nodes.map((each, at) => [each.id, at]));
    this.near = graph.nodes.map(() => []);
    this.edges = new Int32Array(2 * graph.edges.length);
    graph.edges.forEach((each, at) => {
      const [a, b] = [this.places.get(each.source), this.places.get(each.target)];
      this.edges[2 * at] = a;
      this.edges[2 * at + 1] = b;
      this.near[a].push(b);
      this.near[b].push(a);
    });
    this.radii = graph.nodes.map((each) => 1.4 + Math.min(11, 1.15 * Math.sqrt(each.n_texts - 0.6)));
    this.order = graph.nodes.map((_, at) => at).sort((a, b) => this.radii[b] - this.radii[a] || a - b);
    this.onChoose = onChoose;
    this.kinds = graph.nodes.map(colourOf);
    this.chosen = -1;
    this.over = -1;
    this.frames = []; // how long the last ones took to draw, in ms
    this.fit();
    this.watch(signal);
  }

  /** Colour the nodes anew, and hide those without a colour. */
  recolour(colourOf) {
    this.kinds = this.nodes.map(colourOf);
    this.colours();
    this.redraw();
  }

  // -- where is looked ------------------------------------------------------------------------

  fit() {
    this.measure();
    this.view = { x: 0, y: 0, scale: 0.45 * Math.min(this.wide, this.high) };
    this.redraw();
  }

  measure() {
    const box = this.canvas.getBoundingClientRect();
    const dense = Math.min(window.devicePixelRatio || 1, 2);
    [this.wide, this.high, this.dense] = [Math.max(box.width, 1), Math.max(box.height, 1), dense];
    this.canvas.width = Math.round(this.wide * dense);
    this.canvas.height = Math.round(this.high * dense);
    this.colours();
  }

  colours() {
    const probe = document.createElement("span");
    this.canvas.parentNode.append(probe);
    this.colour = (name) => {
      probe.style.setProperty("color", `var(${name})`);
      return getComputedStyle(probe).color;
    };
    const names = ["--ink", "--soft", "--line", "--accent", "--sheet", "--edge", ...new Set(this.kinds.filter(Boolean))];
    const found = Object.fromEntries(names.map((name) => [name, this.colour(name)]));
    probe.remove();
    this.colour = (name) => found[name];
  }

  move(dx, dy) {
    this.view.x -= dx / this.view.scale;
    this.view.y -= dy / this.view.scale;
    this.moved();
  }

  zoom(by, x = this.wide / 2, y = this.high / 2) {
    const { view } = this;
    const scale = Math.max(60, Math.min(60000, view.scale * by));
    const [wx, wy] = this.world(x, y);
    view.scale = scale;
    view.x = wx - (x - this.wide / 2) / scale;
    view.y = wy - (y - this.high / 2) / scale;
    this.moved();
  }

  /** Look at a node, near enough to read its neighbours. */
  look(id) {
    const at = this.places.get(id);
    this.chosen = at ?? -1;
    if (at !== undefined) {
      this.view.x = this.nodes[at].x;
      this.view.y = this.nodes[at].y;
      this.view.scale = Math.max(this.view.scale, 1.3 * Math.min(this.wide, this.high));
    }
    this.redraw();
    return at !== undefined;
  }

  world(x, y) {
    return [this.view.x + (x - this.wide / 2) / this.view.scale, this.view.y + (y - this.high / 2) / this.view.scale];
  }

  screen(at) {
    return [(this.nodes[at].x - this.view.x) * this.view.scale + this.wide / 2, (this.nodes[at].y - this.view.y) * this.view.scale + this.high / 2];
  }

  /** How much larger nodes are than where all are seen. */
  get growth() {
    return Math.max(0.55, Math.min(2.2, (this.view.scale / (0.45 * Math.min(this.wide, this.high))) ** 0.4));
  }

  // -- drawing --------------------------------------------------------------------------------

  moved() {
    this.painting = null;
    this.ask();
    clearTimeout(this.rest);
    this.rest = setTimeout(() => this.redraw(), REST_MS);
  }

  redraw() {
    clearTimeout(this.rest);
    const painting = this.painting = this.paint();
    const go = () => {
      if (this.painting !== painting) return; // it was moved meanwhile
      const until = performance.now() + SLICE_MS;
      while (performance.now() < until) if (painting.next().done) return this.ask();
      requestAnimationFrame(go);
    };
    go();
    this.ask();
  }

  ask() {
    this.asked ||= requestAnimationFrame(() => {
      this.asked = 0;
      const before = performance.now();
      this.frame();
      this.frames.push(performance.now() - before);
      if (this.frames.length > 600) this.frames.shift();
    });
  }

  /** Draw what is seen, and what is around it, into a new picture; others may work in between. */
  *paint() {
    const { dense, nodes, edges } = this;
    const view = { ...this.view };
    const [left, above] = [MARGIN * this.wide, MARGIN * this.high];
    const [right, below] = [this.wide + 2 * left, this.high + 2 * above];
    const picture = document.createElement("canvas");
    picture.width = Math.round(right * dense);
    picture.height = Math.round(below * dense);
    const pen = picture.getContext("2d");
    pen.setTransform(dense, 0, 0, dense, 0, 0);
    const place = (at) => [(nodes[at].x - view.x) * view.scale + this.wide / 2 + left, (nodes[at].y - view.y) * view.scale + this.high / 2 + above];
    const outside = (x, y) => x < 0 || y < 0 || x > right || y > below;
    pen.globalAlpha = Math.max(0.16, Math.min(0.55, 1600 / (edges.length + 1)));
    pen.lineWidth = 0.8;
    const lines = new Map(); // those within one kind have its colour
    for (let at = 0; at < edges.length; at += 2) {
      const [one, other] = [this.kinds[edges[at]], this.kinds[edges[at + 1]]];
      if (!one || !other) continue;
      const name = one === other ? one : "--edge";
      if (!lines.has(name)) lines.set(name, []);
      lines.get(name).push(at);
    }
    for (const [name, found] of [...lines].sort(([a]) => (a === "--edge" ? -1 : 1))) {
      pen.strokeStyle = this.colour(name);
      for (let from = 0; from < found.length; from += BATCH) {
        pen.beginPath();
        for (const at of found.slice(from, from + BATCH)) {
          const [x1, y1] = place(edges[at]);
          const [x2, y2] = place(edges[at + 1]);
          if (outside(x1, y1) && outside(x2, y2)) continue;
          pen.moveTo(x1, y1);
          pen.lineTo(x2, y2);
        }
        pen.stroke();
        yield;
      }
    }
    pen.globalAlpha = 1;
    const [discs, names] = [new Room(), new Room()];
    const kinds = new Map();
    nodes.forEach((_, at) => {
      const [x, y] = place(at);
      const name = this.kinds[at];
      if (!name || outside(x, y)) return;
      if (!kinds.has(name)) kinds.set(name, []);
      const radius = this.radii[at] * this.growth;
      kinds.get(name).push([x, y, radius]);
      if (radius >= LARGE) discs.take([x - 0.8 * radius, y - 0.8 * radius, x + 0.8 * radius, y + 0.8 * radius]);
    });
    pen.lineWidth = 1;
    pen.strokeStyle = this.colour("--sheet");
    for (const [name, found] of kinds) {
      pen.fillStyle = this.colour(name);
      for (let from = 0; from < found.length; from += BATCH) {
        pen.beginPath();
        for (const [x, y, radius] of found.slice(from, from + BATCH)) {
          pen.moveTo(x + radius, y);
          pen.arc(x, y, radius, 0, 7);
        }
        pen.fill();
        pen.stroke();
        yield;
      }
    }
    const seen = [left, above, left + this.wide, above + this.high];
    const first = (this.wide * this.high) / FIRST;
    let written = 0;
    for (const [tried, at] of this.order.entries()) {
      if (written >= MOST_LABELS) break;
      if (tried % 20 === 19) yield;
      const [x, y] = place(at);
      if (!this.kinds[at] || outside(x, y)) continue;
      if (this.name(pen, at, [x, y], seen, names, discs, written < first)) written += 1;
    }
    [this.picture, this.painted, this.labels] = [picture, view, names.boxes];
  }

  /** Write a node's name beside it, above or below; say whether there was room. One that is wanted covers discs. */
  name(pen, at, [x, y], seen, names, discs, wanted = false) {
    const { name } = this.nodes[at];
    const text = name.length > 32 ? `${name.slice(0, 31)}…` : name;
    const radius = this.radii[at] * this.growth;
    const size = Math.round(Math.max(11, Math.min(17, 9.5 + 0.55 * radius)));
    pen.font = `${radius > 8 ? 600 : 400} ${size}px system-ui, sans-serif`;
    const wide = pen.measureText(text).width;
    const [away, half] = [radius + 3, size / 2 + 1];
    const starts = [[x + away, y - half], [x - away - wide, y - half], [x - wide / 2, y - away - 2 * half], [x - wide / 2, y + away]];
    const boxes = starts.map(([left, above]) => [left - 1, above, left + wide + 1, above + 2 * half]);
    const whole = boxes.filter((box) => box[0] >= seen[0] && box[1] >= seen[1] && box[2] <= seen[2] && box[3] <= seen[3]);
    const order = x >= seen[0] && y >= seen[1] && x <= seen[2] && y <= seen[3] ? whole : boxes; // none is cut by the edge
    const free = order.filter((box) => names.isFree(box));
    const box = free.find((each) => discs.isFree(each)) || (wanted ? free[0] : null);
    if (!box) return false;
    names.take(box);
    pen.textBaseline = "middle";
    pen.lineWidth = 3;
    pen.lineJoin = "round";
    pen.strokeStyle = this.colour("--sheet");
    pen.fillStyle = this.colour("--ink");
    pen.strokeText(text, box[0] + 1, box[1] + half);
    pen.fillText(text, box[0] + 1, box[1] + half);
    return true;
  }

  /** Show the picture where it belongs now, and on it what is chosen. */
  frame() {
    const { pen, view, painted, dense } = this;
    if (!painted) return; // the first picture is on its way
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.clearRect(0, 0, this.canvas.width, this.canvas.height);
    const by = view.scale / painted.scale;
    const wide = this.wide * (1 + 2 * MARGIN) * by;
    const high = this.high * (1 + 2 * MARGIN) * by;
    const x = this.wide / 2 + (painted.x - view.x) * view.scale - wide / 2;
    const y = this.high / 2 + (painted.y - view.y) * view.scale - high / 2;
    pen.setTransform(dense, 0, 0, dense, 0, 0);
    pen.globalAlpha = this.chosen >= 0 ? 0.2 : 1;
    pen.drawImage(this.picture, x, y, wide, high);
    pen.globalAlpha = 1;
    for (const at of [this.over, this.chosen]) if (at >= 0) this.emphasize(at);
  }

  emphasize(at) {
    const { pen } = this;
    const [x, y] = this.screen(at);
    const near = this.near[at].filter((each) => this.kinds[each]);
    pen.strokeStyle = this.colour(this.kinds[at] || "--accent");
    pen.lineWidth = 1.2;
    pen.globalAlpha = 0.55;
    pen.beginPath();
    for (const other of near) {
      const [x2, y2] = this.screen(other);
      pen.moveTo(x, y);
      pen.lineTo(x2, y2);
    }
    pen.stroke();
    pen.globalAlpha = 1;
    const shown = at === this.chosen ? [...near.sort((a, b) => a - b), at] : [at];
    const [discs, names] = [new Room(), new Room()];
    for (const each of shown) {
      const [px, py] = this.screen(each);
      const radius = this.radii[each] * this.growth + (each === at ? 3 : 0);
      pen.fillStyle = this.colour(this.kinds[each] || "--accent");
      pen.beginPath();
      pen.arc(px, py, radius, 0, 7);
      pen.fill();
      if (each === at) {
        pen.strokeStyle = this.colour("--ink");
        pen.lineWidth = 1.5;
        pen.stroke();
      }
      discs.take([px - radius, py - radius, px + radius, py + radius]);
    }
    for (const each of shown.reverse()) this.name(pen, each, this.screen(each), [0, 0, this.wide, this.high], names, discs, each === at);
  }

  // -- hands ----------------------------------------------------------------------------------

  at(x, y) {
    let found = -1;
    let best = 14;
    for (let each = 0; each < this.nodes.length; each += 1) {
      if (!this.kinds[each]) continue;
      const [px, py] = this.screen(each);
      const away = Math.hypot(px - x, py - y) - this.radii[each] * this.growth;
      if (away < best) [found, best] = [each, away];
    }
    return best < 8 ? found : -1;
  }

  watch(signal) {
    const { canvas } = this;
    const down = new Map();
    let far = 0;
    const on = (target, kind, does, more = {}) => target.addEventListener(kind, does, { signal, ...more });
    const place = (event) => {
      const box = canvas.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    on(canvas, "pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      down.set(event.pointerId, place(event));
      far = 0;
    });
    on(canvas, "pointermove", (event) => {
      const now = place(event);
      const before = down.get(event.pointerId);
      if (!before) {
        const over = this.at(...now);
        if (over !== this.over) {
          this.over = over;
          canvas.classList.toggle("over", over >= 0);
          this.ask();
        }
        return;
      }
      const others = [...down].filter(([id]) => id !== event.pointerId).map(([, each]) => each);
      if (others.length) {
        const wide = (a, b) => Math.hypot(a[0] - b[0], a[1] - b[1]);
        const middle = [(now[0] + others[0][0]) / 2, (now[1] + others[0][1]) / 2];
        this.zoom(wide(now, others[0]) / Math.max(wide(before, others[0]), 1), ...middle);
      } else {
        this.move(now[0] - before[0], now[1] - before[1]);
      }
      far += Math.abs(now[0] - before[0]) + Math.abs(now[1] - before[1]);
      down.set(event.pointerId, now);
    });
    const up = (event) => {
      if (!down.delete(event.pointerId) || far > 6 || event.type === "pointercancel") return;
      const found = this.at(...place(event));
      this.chosen = found;
      this.ask();
      this.onChoose(found < 0 ? null : this.nodes[found]);
    };
    on(canvas, "pointerup", up);
    on(canvas, "pointercancel", up);
    on(canvas, "wheel", (event) => {
      event.preventDefault();
      this.zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.06 : 0.0016)), ...place(event));
    }, { passive: false });
    const size = new ResizeObserver(() => {
      this.measure();
      this.redraw();
    });
    size.observe(canvas);
    signal.addEventListener("abort", () => {
      size.disconnect();
      clearTimeout(this.rest);
      this.painting = null;
    });
    const shade = () => {
      this.colours();
      this.redraw();
    };
    on(document, "clew:theme", shade);
    on(window.matchMedia("(prefers-color-scheme: dark)"), "change", shade);
  }
}
