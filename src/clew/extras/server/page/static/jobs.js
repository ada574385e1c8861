// Jobs: how far each is, what it cost, what it could not read; and their end.

import { announce, count, dollars, empty, field, fill, fresh, h, megabytes, moment, number, problem, seconds } from "./dom.js";
import { address, get, indexPath, post, remove } from "./api.js";
import { may, titleOf, to } from "./state.js";
import { shortened } from "./text.js";

const NAMES = { index: "Index documents", extract: "Extract", remove: "Remove documents", compact: "Compact" };
const STATES = { queued: "waiting", running: "running", interrupted: "interrupted, will resume", done: "done", failed: "failed", cancelled: "cancelled" };
const ENDED = new Set(["done", "failed", "cancelled"]);
const MOST = 200; // files that could not be read, shown one by one
const STREAMS = 3; // at one time: a browser has six connections to a server, and others need some
const COLUMNS = /^has no column .*, only: ((?!.*clew import').*?)(?: \(see .*\))?$/; // of a table that lacks a text
const LOOK_MS = 2000; // between two looks at a job that has no stream
let live = 0;

export async function show(main, { index, signal }) {
  const list = h("div");
  const told = h("div");
  const all = h("input", { type: "checkbox", id: "all-indexes", onchange: draw });
  const start = (kind, label, hint) => h("button", { type: "button", title: hint, onclick: async () => {
    try {
      const job = await post(indexPath(index, "/jobs"), { kind });
      list.querySelector(".empty")?.remove();
      list.prepend(jobCard(job, { signal }));
      fill(told);
    } catch (error) {
      fill(told, problem(error));
    }
  } }, label);
  fill(main, h("div.column", {},
    h("div.top-line", {}, h("h1", {}, "Jobs"), h("label", {}, all, "All indexes")),
    may("write") ? h("div.buttons.space", {}, start("index", "Index files again", "Read the uploaded files again; unchanged ones cost nothing"), start("compact", "Compact", "Free the space of removed documents")) : null,
    told, list));
  await draw();

  async function draw() {
    const found = await get("/jobs", { index: all.checked ? "" : index, limit: 100 }, signal);
    fill(list, found.items.length ? found.items.map((job) => jobCard(job, { signal }))
      : empty("No jobs yet", h("p", {}, "Whatever writes to an index or takes long is a job. Jobs continue when you close this page."), h("p", {}, h("a", { href: to("documents") }, "Upload documents"))));
  }
}

/** One job, which follows what it tells until it ends. */
export function jobCard(job, { signal, onEnd = () => {} } = {}) {
  const state = h("span.badge", { "data-state": job.state });
  const bar = h("progress", { max: 1, "aria-label": "Progress" });
  const line = h("p.hint");
  const told = h("div");
  const skipped = [];
  const files = h("details.small", { hidden: true, ontoggle: () => { if (files.open && !skipped.length) follow(); } });
  const stop = h("button", { type: "button", onclick: cancel }, "Cancel");
  const result = h("div");
  const tables = h("div");
  const node = h("section.panel.job", { "aria-label": `${NAMES[job.kind] || job.kind}, ${job.index}` },
    h("div.head", {}, h("h2", {}, NAMES[job.kind] || job.kind, " ", h("span.hint", {}, titleOf(job.index))), state, stop),
    bar, line, told, result, files, tables);
  let source = null;
  draw();
  if (!ENDED.has(job.state)) watch();
  return node;

  /** Follow the job as a stream, or look at it now and then while there are enough of these. */
  async function watch() {
    if (live < STREAMS) return follow();
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    if (signal?.aborted) return null;
    job = await get(`/jobs/${job.id}`, {}, signal);
    draw();
    return ENDED.has(job.state) ? onEnd(job) : watch();
  }

  async function cancel() {
    stop.disabled = true;
    try {
      job = await remove(`/jobs/${job.id}`);
      draw();
    } catch (error) {
      stop.disabled = false;
      fill(told, problem(error));
    }
  }

  function follow() {
    if (source) return;
    source = new EventSource(address(`/jobs/${job.id}/events`));
    live += 1;
    const end = () => {
      if (source.readyState !== EventSource.CLOSED) live -= 1;
      source.close();
    };
    const on = (kind, does) => source.addEventListener(kind, (event) => { does(JSON.parse(event.data)); draw(); });
    on("queued", () => {});
    on("running", () => { if (!ENDED.has(job.state)) job.state = "running"; fill(told); });
    on("waiting", (data) => fill(told, h("p.hint", {}, data.reason)));
    on("progress", ({ at, ...progress }) => { job.progress = progress; fill(told); });
    on("skipped", (data) => skipped.push(data));
    on("cancelling", () => { job.cancelling = true; });
    on("interrupted", (data) => { if (!ENDED.has(job.state)) job.state = "interrupted"; fill(told, h("p.hint", {}, data.reason || "")); });
    for (const kind of ENDED) source.addEventListener(kind, async () => {
      end();
      const before = job.state;
      job = await get(`/jobs/${job.id}`);
      draw();
      if (before !== job.state) announce(`${NAMES[job.kind] || job.kind}: ${STATES[job.state]}`);
      if (before !== job.state) onEnd(job);
    });
    source.addEventListener("error", () => { if (source.readyState !== EventSource.CLOSED) return; live -= 1; fill(told, h("p.hint", {}, "Updates stopped: open this view again.")); });
    signal?.addEventListener("abort", end);
  }

  function draw() {
    const { progress } = job;
    const over = ENDED.has(job.state);
    state.dataset.state = job.cancelling && !over ? "cancelling" : job.state;
    state.textContent = job.cancelling && !over ? "cancelling…" : STATES[job.state] || job.state;
    stop.hidden = over || !may("write");
    stop.disabled = job.cancelling;
    bar.hidden = over;
    const share = !progress ? null : progress.steps_total ? progress.steps / progress.steps_total : progress.bytes_total ? progress.bytes / progress.bytes_total : null;
    if (share === null) bar.removeAttribute("value");
    else bar.value = share;
    line.textContent = words(job, over).join(" · ");
    fill(result, outcome(job));
    const unread = Math.max(skipped.length, job.result?.n_skipped || 0);
    files.hidden = !unread;
    if (unread) {
      if (skipped.length && skipped.length <= 3) files.open = true;
      fill(files, h("summary", {}, `${count(unread, "file")} not read`),
        h("ul.errors", {}, skipped.slice(0, MOST).map((each) => h("li", {}, h("b", { dir: "auto" }, each.line ? `${each.source}, line ${each.line}` : each.source), ": ", h("span", { dir: "auto" }, each.reason)))));
    }
    if (over && !tables.firstChild && may("write")) fill(tables, columnsForm(job, skipped, (other) => node.before(jobCard(other, { signal, onEnd }))));
  }
}

/** Ask which column of tables has the text, where none is known to, and read them again. */
function columnsForm(job, skipped, begun) {
  const lost = skipped.filter((each) => COLUMNS.test(each.reason));
  if (!lost.length) return null;
  const names = [...new Set(lost.map((each) => each.source.slice(job.index.length + 1)))];
  const columns = [...new Set(lost.flatMap((each) => COLUMNS.exec(each.reason)[1].split(", ")))];
  const known = h("datalist", { id: fresh("columns") }, columns.map((value) => h("option", { value })));
  const text = h("input", { name: "text", required: true, maxlength: 200, autocomplete: "off", list: known.id });
  const title = h("input", { name: "title", maxlength: 200, autocomplete: "off", list: known.id });
  const wrong = h("div");
  const form = h("form.make", { onsubmit: async (event) => {
    event.preventDefault();
    try {
      const options = { files: names.slice(0, MOST), text_column: text.value, title_column: title.value, prune: false };
      const other = await post(indexPath(job.index, "/jobs"), { kind: "index", options });
      form.remove();
      begun(other);
    } catch (error) {
      fill(wrong, problem(error));
    }
  } }, h("p", { dir: "auto" }, `Which column has the text of ${names.length === 1 ? names[0] : count(names.length, "table")}? Each row becomes a document, and its other columns are fields.`),
  field("Text column", text, `One of ${shortened(columns.join(", "), 300)}`), field("Title column", title, "Optional"), known, wrong, h("button.main", {}, "Read again"));
  return form;
}

function words(job, over) {
  const { progress } = job;
  const found = [];
  if (!over && progress) {
    found.push(progress.stage);
    if (progress.steps_total) found.push(`${number(progress.steps)} of ${number(progress.steps_total)}`);
    else if (progress.bytes_total) found.push(`${megabytes(progress.bytes)} of ${megabytes(progress.bytes_total)}`);
    if (progress.documents) found.push(count(progress.documents, "document"));
    if (progress.source) found.push(progress.source);
  }
  found.push(moment(job.made));
  if (job.began && job.ended) found.push(seconds(job.ended - job.began));
  if (job.attempt > 1) found.push(`attempt ${job.attempt}`);
  found.push(job.spent.tokens ? `${count(job.spent.tokens, "token")}, ${dollars(job.spent.usd)}` : "nothing spent");
  return found;
}

function outcome(job) {
  const { result } = job;
  if (!result || !ENDED.has(job.state)) return null;
  const parts = [];
  for (const name of ["added", "changed", "restored", "gone"]) if (result[name]?.n) parts.push(`${number(result[name].n)} ${name}`);
  if (result.n_unchanged) parts.push(`${number(result.n_unchanged)} unchanged`);
  if (result.n_skipped) parts.push(`${number(result.n_skipped)} not read`);
  if (result.partly?.n) parts.push(`${number(result.partly.n)} read in part`);
  if (result.size_bytes !== undefined) parts.push(`${megabytes(result.size_bytes_before)}, now ${megabytes(result.size_bytes)}`);
  if (Array.isArray(result.documents)) parts.push(`${count(result.documents.length, "document")} removed`);
  return [
    parts.length ? h("p", {}, parts.join(", ")) : null,
    result.error ? problem(result.error.message) : null,
    job.kind === "index" && result.added?.n ? h("p", {}, h("a", { href: to("ask", { index: job.index }) }, "Ask about them")) : null,
  ];
}
