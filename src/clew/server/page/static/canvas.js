// A graph of some thousand nodes on a canvas. Places come from the server.
// While it is moved, a picture that was drawn before is moved; it is drawn anew when it rests.

const MARGIN = 0.5; // of the picture beyond each side, in widths
const REST_MS = 110;
const SLICE_MS = 7; // of one frame, for drawing anew
const BATCH = 300; // lines of one stroke
const MOST_LABELS = 160; // in the picture, of which a quarter is seen
const COLOURS = { person: "--violet", place: "--blue", organization: "--warm", work: "--leaf", event: "--rose" };

export const coloursOf = Object.entries(COLOURS);

/** Where names stand already, in cells of a grid. */
class Room {
  constructor() {
    this.taken = new Set();
  }

  take(x, y, wide) {
    const row = Math.round(y / 9);
    const [first, last] = [Math.floor((x - wide / 2 - 4) / 12), Math.floor((x + wide / 2 + 4) / 12)];
    const cells = [];
    for (let column = first; column <= last; column += 1) cells.push(`${column},${row}`, `${column},${row - 1}`);
    if (cells.some((each) => this.taken.has(each))) return false;
    for (const each of cells) this.taken.add(each);
    return true;
  }
}

export class GraphCanvas {
  /** `onChoose` is called with a node, or null. */
  constructor(canvas, graph, { onChoose, signal }) {
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
    this.onChoose = onChoose;
    this.chosen = -1;
    this.over = -1;
    this.frames = []; // how long the last ones took to draw, in ms
    this.fit();
    this.watch(signal);
  }

  // -- where is looked ------------------------------------------------------------------------

  fit() {
    this.measure();
    this.view = { x: 0, y: 0, scale: 0.47 * Math.min(this.wide, this.high) };
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
    const names = ["--ink", "--soft", "--line", "--accent", "--sheet", "--edge", ...Object.values(COLOURS)];
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
    return Math.max(0.55, Math.min(2.2, (this.view.scale / (0.47 * Math.min(this.wide, this.high))) ** 0.4));
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
    pen.strokeStyle = this.colour("--edge");
    pen.globalAlpha = Math.max(0.16, Math.min(0.55, 1600 / (edges.length + 1)));
    pen.lineWidth = 0.8;
    let drawn = 0;
    pen.beginPath();
    for (let at = 0; at < edges.length; at += 2) {
      const [x1, y1] = place(edges[at]);
      const [x2, y2] = place(edges[at + 1]);
      if (outside(x1, y1) && outside(x2, y2)) continue;
      pen.moveTo(x1, y1);
      pen.lineTo(x2, y2);
      if ((drawn += 1) % BATCH === 0) {
        pen.stroke();
        yield;
        pen.beginPath();
      }
    }
    pen.stroke();
    pen.globalAlpha = 1;
    const kinds = new Map();
    nodes.forEach((each, at) => {
      const [x, y] = place(at);
      if (outside(x, y)) return;
      const name = COLOURS[each.type] || "--accent";
      if (!kinds.has(name)) kinds.set(name, []);
      kinds.get(name).push([x, y, this.radii[at] * this.growth]);
    });
    for (const [name, found] of kinds) {
      pen.fillStyle = this.colour(name);
      for (let from = 0; from < found.length; from += BATCH) {
        pen.beginPath();
        for (const [x, y, radius] of found.slice(from, from + BATCH)) {
          pen.moveTo(x + radius, y);
          pen.arc(x, y, radius, 0, 7);
        }
        pen.fill();
        yield;
      }
    }
    this.label(pen, place, outside);
    [this.picture, this.painted] = [picture, view];
  }

  /** Write the names of the largest nodes, where there is room. */
  label(pen, place, outside) {
    const room = new Room();
    this.write(pen);
    let written = 0;
    for (let at = 0; at < this.nodes.length && written < MOST_LABELS; at += 1) {
      const [x, y] = place(at);
      if (!outside(x, y) && this.name(pen, at, x, y, room)) written += 1;
    }
  }

  write(pen) {
    pen.font = "12px system-ui, sans-serif";
    pen.textAlign = "center";
    pen.lineWidth = 3;
    pen.lineJoin = "round";
    pen.strokeStyle = this.colour("--sheet");
    pen.fillStyle = this.colour("--ink");
  }

  /** Write a node's name above it; say whether there was room. */
  name(pen, at, x, y, room) {
    const text = this.nodes[at].name.length > 32 ? `${this.nodes[at].name.slice(0, 31)}…` : this.nodes[at].name;
    const above = y - this.radii[at] * this.growth - 4;
    if (!room.take(x, above, pen.measureText(text).width)) return false;
    pen.strokeText(text, x, above);
    pen.fillText(text, x, above);
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
    pen.globalAlpha = this.chosen >= 0 ? 0.3 : 1;
    pen.drawImage(this.picture, x, y, wide, high);
    pen.globalAlpha = 1;
    for (const at of [this.over, this.chosen]) if (at >= 0) this.emphasize(at);
  }

  emphasize(at) {
    const { pen } = this;
    const [x, y] = this.screen(at);
    pen.strokeStyle = this.colour("--accent");
    pen.lineWidth = 1.4;
    pen.beginPath();
    for (const other of this.near[at]) {
      const [x2, y2] = this.screen(other);
      pen.moveTo(x, y);
      pen.lineTo(x2, y2);
    }
    pen.stroke();
    const near = at === this.chosen ? this.near[at] : [];
    pen.fillStyle = this.colour("--accent");
    for (const each of [...near, at]) {
      const [px, py] = this.screen(each);
      pen.beginPath();
      pen.arc(px, py, this.radii[each] * this.growth + (each === at ? 3 : 0), 0, 7);
      pen.fill();
    }
    const room = new Room();
    this.write(pen);
    for (const each of [at, ...[...near].sort((a, b) => a - b)]) this.name(pen, each, ...this.screen(each), room);
  }

  // -- hands ----------------------------------------------------------------------------------

  at(x, y) {
    let found = -1;
    let best = 14;
    for (let each = 0; each < this.nodes.length; each += 1) {
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
