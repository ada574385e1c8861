// Documents: found, filtered, brought, read, taken away.

import { announce, confirmed, count, empty, field, fill, h, megabytes, number, problem } from "./dom.js";
import { address, get, indexPath, part, post, remove, upload } from "./api.js";
import { icon } from "./icons.js";
import { go, may, refresh, state, titleOf, to } from "./state.js";
import { filterField } from "./options.js";
import { openDocument } from "./evidence.js";
import { shortened } from "./text.js";
import { jobCard } from "./jobs.js";

const PAGE = 50;
const [FILES, BYTES] = [500, 2e8]; // of one request; more files come in several
const READS = "Markdown, text, PDF, Word, spreadsheets, HTML, mail, tables, code";

const ASKED = 2e7; // bytes that are not sent before they are wanted
let brought = null; // files that were there before their index

/** What is shown where there is no index yet: bring files, and one is made for them. */
export function first(main, signal) {
  const below = h("div");
  const form = (files) => makeForm({ files, title: files.length ? folderOf(files) || "My documents" : "" });
  fill(main, h("div.column", {},
    h("div.start", {}, h("h1", {}, "Ask your own documents"),
      h("p.lead", {}, may("write") ? "Upload documents and ask questions about them. They stay on this server." : "There is no index yet. Ask the server's operator for one: your key can only read.")),
    may("write") ? [dropZone({ signal, onFiles: (files) => fill(below, files.length ? form(files) : problem("No files were found")) }), below,
      h("details.small", {}, h("summary", {}, "Start with an empty index"), form([]))] : null));
}

/** The folder that all files are in, "" where there is none. */
function folderOf(files) {
  const folders = new Set(files.map(([, name]) => (name.includes("/") ? name.split("/")[0] : "")));
  return folders.size === 1 ? [...folders][0] : "";
}

/** A name that addresses and folders take, for a title such as "My Notes". */
function nameFor(title) {
  const plain = title.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase().replace(/[^a-z0-9_-]+/g, "-").replace(/^[-_]+/, "").slice(0, 60).replace(/[-_]+$/, "") || "index";
  const taken = new Set(state.indexes.map((each) => each.name));
  let name = plain;
  for (let number_ = 2; taken.has(name); number_ += 1) name = `${plain}-${number_}`;
  return name;
}

function makeForm({ files = [], title = "" } = {}) {
  const input = h("input", { name: "name", required: true, maxlength: 100, autocomplete: "off", placeholder: "My Notes", value: title });
  const told = h("div");
  const size = files.reduce((sum, [file]) => sum + file.size, 0);
  const shown = files.slice(0, 3).map(([, name]) => name).join(", ");
  return h("form.make.panel", { onsubmit: async (event) => {
    event.preventDefault();
    const given = input.value.trim();
    if (!given) return fill(told, problem("Enter a name first"));
    const name = nameFor(given);
    try {
      await post("/indexes", { name, title: given === name ? "" : given });
      await refresh();
      brought = { index: name, files };
      return await go(to("documents", { index: name }));
    } catch (error) {
      return fill(told, problem(error));
    }
  } }, files.length ? [h("h2", {}, `${count(files.length, "file")}, ${megabytes(size)}`), h("p.hint", { dir: "auto" }, files.length > 3 ? `${shown} …` : shown)] : null,
  field("Name", input, files.length ? "A name for these documents" : ""), told,
  h("button.main", {}, files.length ? `Upload ${megabytes(size)}` : "Create the index"));
}

/** A place to drop files on, or to choose them; `onFiles` is called with files and their paths. */
function dropZone({ signal, onFiles }, ...more) {
  const take = (input) => () => onFiles(seen([...input.files].map((file) => [file, file.webkitRelativePath || file.name])));
  const files = h("input.unseen", { type: "file", multiple: true, tabindex: -1, "aria-hidden": "true", onchange: () => take(files)() });
  const folder = h("input.unseen", { type: "file", webkitdirectory: true, multiple: true, tabindex: -1, "aria-hidden": "true", onchange: () => take(folder)() });
  const zone = h("div.drop", {}, icon("upload"), h("div", {}, h("p", {}, h("b", {}, "Drop files or folders here"), h("span.hint", {}, ` ${READS}`)),
    h("div.buttons", {}, h("button", { type: "button", onclick: () => files.click() }, icon("documents"), "Choose files"), h("button", { type: "button", onclick: () => folder.click() }, icon("folder"), "Choose a folder"), more[0]), more.slice(1), files, folder));
  const over = (event) => { if ([...event.dataTransfer.types].includes("Files")) { event.preventDefault(); zone.classList.add("over"); } };
  const leave = (event) => { if (!event.relatedTarget) zone.classList.remove("over"); };
  const dropped = async (event) => {
    event.preventDefault();
    zone.classList.remove("over");
    onFiles(seen(await filesOf(event.dataTransfer)));
  };
  document.addEventListener("dragover", over, { signal });
  document.addEventListener("dragleave", leave, { signal });
  document.addEventListener("drop", dropped, { signal });
  return zone;
}

/** Files without those that are hidden. */
const seen = (files) => files.filter(([, name]) => !name.split("/").some((each) => each.startsWith(".")));

export async function show(main, { parameters, signal, index }) {
  const view = { offset: 0, pattern: "", where: parameters.get("where") || "", sort: "id" };
  const size = h("span.hint");
  const uploads = h("div");
  const ocr = h("input", { type: "checkbox" });
  const list = h("div");
  const told = h("div");
  const search = h("input", { type: "search", placeholder: "part of a name, or 2024/*", autocomplete: "off", oninput: later });
  const where = filterField(index, view.where);
  where.input.addEventListener("change", () => { view.where = where.input.value.trim(); view.offset = 0; draw(); });
  where.input.addEventListener("keydown", (event) => { if (event.key === "Enter") { event.preventDefault(); where.input.dispatchEvent(new Event("change")); } });
  const order = h("select", { onchange: (event) => { view.sort = event.target.value; view.offset = 0; draw(); } },
    [["id", "Name"], ["-id", "Name, descending"], ["title", "Title"]].map(([value, text]) => h("option", { value }, text)));
  const bring = may("write") ? bringing() : null;
  fill(main, h("div.column.broad", {},
    h("div.top-line", {}, h("h1", {}, "Documents"), size,
      may("write") ? h("button.quiet", { type: "button", onclick: another }, icon("plus"), "New index") : null,
      may("admin") && line().is_own ? h("button.quiet", { type: "button", onclick: drop }, icon("trash"), "Delete this index") : null),
    bring, uploads,
    h("div.finding", {}, field("Find", search), where.node, field("Sort by", order)), told, list));
  get(indexPath(index), {}, signal).then(({ fields }) => {
    order.append(...fields.flatMap(({ name }) => [h("option", { value: name }, name), h("option", { value: `-${name}` }, `${name}, descending`)]));
  }).catch(() => {});
  sized();
  const wanted = parameters.get("doc");
  if (wanted) openDocument({ index, id: wanted, ...rangeIn(parameters) });
  if (brought?.index === index) send(brought.files);
  brought = null;
  await draw();

  function line() {
    return state.indexes.find((each) => each.name === index);
  }

  function sized() {
    const { n_documents, n_chunks } = line();
    size.textContent = `${count(n_documents, "document")}, ${count(n_chunks, "chunk")}`;
  }

  let timer = 0;
  function later() {
    clearTimeout(timer);
    timer = setTimeout(() => {
      const text = search.value.trim();
      view.pattern = !text || /[*?[\]]/.test(text) ? text : `*${text}*`;
      view.offset = 0;
      draw();
    }, 200);
  }

  async function draw() {
    try {
      const found = await get(indexPath(index, "/documents"), { ...view, limit: PAGE }, signal);
      fill(told);
      fill(list, found.total ? table(found) : nothing());
      announce(count(found.total, "document"));
    } catch (error) {
      if (error.name !== "AbortError") fill(told, problem(error));
    }
  }

  function nothing() {
    if (view.pattern || view.where) return empty("No document matches", h("p", {}, "Shorten the name or the filter."));
    if (uploads.querySelector(".job")) return h("p.hint", {}, "Documents appear here as soon as they are read.");
    return empty("There are no documents yet", h("p", {}, may("write") ? "Drop files or folders anywhere on this page." : "The server's operator can add some."));
  }

  function table({ items, total }) {
    const names = [...new Set(items.flatMap((each) => Object.keys(each.metadata)))].filter((name) => name !== "partly").slice(0, 3);
    const rows = items.map((each) => h("tr", {},
      h("td", {}, h("button.link", { type: "button", dir: "auto", onclick: () => openDocument({ index, id: each.id }) }, shortened(each.title || each.id, 140)),
        each.title ? h("div.place", { dir: "auto" }, shortened(each.id, 160)) : null,
        each.metadata.partly ? h("div.hint", { dir: "auto" }, `Read in part: ${shortened([each.metadata.partly].flat().join("; "), 300)}`) : null),
      names.map((name) => h("td.extra", { dir: "auto" }, shortened(shown(each.metadata[name]), 80))),
      h("td.n.extra", {}, number(each.n_tokens)),
      h("td.n", {}, h("a.glyph", { href: address(indexPath(index, `/files/${part(each.id)}`)), download: "", title: "Download", "aria-label": `Download ${shortened(each.title || each.id, 80)}` }, icon("download")),
        may("write") ? h("button.glyph", { type: "button", title: "Delete", "aria-label": `Delete ${shortened(each.title || each.id, 80)}`, onclick: (event) => away(each, event.target.closest("tr")) }, icon("trash")) : null)));
    const to_ = Math.min(view.offset + PAGE, total);
    return [
      h("div.wide", { tabindex: 0, role: "region", "aria-label": "Documents" }, h("table", {}, h("thead", {}, h("tr", {}, h("th", {}, "Document"), names.map((name) => h("th.extra", {}, name)), h("th.n.extra", {}, "Tokens"), h("th", {}, h("span.unseen", {}, "Actions")))), h("tbody", {}, rows))),
      total > PAGE ? h("div.buttons", {}, h("button", { type: "button", disabled: !view.offset, onclick: () => { view.offset -= PAGE; draw(); } }, "Previous"),
        h("span.hint", {}, `${number(view.offset + 1)} to ${number(to_)} of ${number(total)}`),
        h("button", { type: "button", disabled: to_ >= total, onclick: () => { view.offset += PAGE; draw(); } }, "Next")) : h("p.hint", {}, count(total, "document")),
    ];
  }

  async function away(document_, row) {
    if (!await confirmed(`Delete “${shortened(document_.title || document_.id, 100)}” from ${titleOf(index)}, with its uploaded file?`, "Delete")) return;
    try {
      await remove(indexPath(index, `/documents/${part(document_.id)}`));
      (await import("./reader.js")).forget();
      announce("Deleted");
      await refresh();
      sized();
      draw();
    } catch (error) {
      row.after(h("tr", {}, h("td", { colspan: 9 }, problem(error))));
    }
  }

  async function drop() {
    if (!await confirmed(`Delete the index ${titleOf(index)} and everything in it?`, "Delete")) return;
    try {
      await remove(indexPath(index));
      await refresh();
      state.index = "";
      await go(to("documents"));
    } catch (error) {
      fill(told, problem(error));
    }
  }

  function another() {
    const dialog = h("dialog", { "aria-label": "New index" }, h("h2", {}, "New index"), makeForm(), h("button.quiet", { type: "button", onclick: () => dialog.close() }, "Cancel"));
    dialog.addEventListener("close", () => dialog.remove());
    signal.addEventListener("abort", () => dialog.close());
    document.body.append(dialog);
    dialog.showModal();
  }

  // -- bringing -------------------------------------------------------------------------------

  function bringing() {
    const label = h("label", { title: "Takes a few seconds per page" }, ocr, "Read pictures and scanned pages (OCR)");
    return dropZone({ signal, onFiles: send }, h("button", { type: "button", onclick: paste }, icon("paste"), "Paste a text"), label);
  }

  async function send(files) {
    if (!files.length) {
      uploads.prepend(problem("No files were found; hidden files are left out"));
      return;
    }
    const size = files.reduce((sum, [file]) => sum + file.size, 0);
    if (size > ASKED && !await confirmed(`Upload ${count(files.length, "file")}, ${megabytes(size)}?`, "Upload", "main")) return;
    for (const some of batches(files)) if (!await sendSome(some)) return;
  }

  /** Send some files; say whether they were taken. */
  async function sendSome(kept) {
    const size = kept.reduce((sum, [file]) => sum + file.size, 0);
    const stop = new AbortController();
    const bar = h("progress", { max: 1, value: 0, "aria-label": "Upload" });
    const line_ = h("p.hint", {}, megabytes(size));
    const card = h("section.panel.job", { "aria-label": "Upload" }, h("div.head", {}, h("h2", {}, `Uploading ${count(kept.length, "file")}, ${megabytes(size)}`), h("button", { type: "button", onclick: () => stop.abort() }, "Cancel")), bar, line_);
    uploads.prepend(card);
    const form = new FormData();
    if (ocr.checked) form.append("options", JSON.stringify({ ocr: true }));
    for (const [file, name] of kept) form.append("files", file, name);
    try {
      const job = await upload(indexPath(index, "/documents"), form, (done, all) => {
        bar.value = all ? done / all : 0;
        line_.textContent = done < all ? `${megabytes(done)} of ${megabytes(all)}` : "Receiving files…";
      }, stop.signal);
      card.replaceWith(followed(job));
      return true;
    } catch (error) {
      if (error.name === "AbortError") card.replaceWith(h("p.hint", {}, "The upload was cancelled, and nothing was kept."));
      else card.replaceWith(problem(error));
      return false;
    }
  }

  function followed(job) {
    return jobCard(job, { signal, onEnd: async () => {
      if (signal.aborted) return;
      await refresh();
      sized();
      draw();
    } });
  }

  function paste() {
    const id = h("input", { name: "id", required: true, maxlength: 1000, autocomplete: "off" });
    const title = h("input", { name: "title", maxlength: 1000, autocomplete: "off" });
    const text = h("textarea", { name: "text", rows: 10, required: true });
    const wrong = h("div");
    const form = h("form", { onsubmit: async (event) => {
      event.preventDefault();
      try {
        const job = await post(indexPath(index, "/documents"), { documents: [{ id: id.value, title: title.value, text: text.value }] });
        dialog.close();
        uploads.prepend(followed(job));
      } catch (error) {
        fill(wrong, problem(error));
      }
    } }, h("h2", {}, "Paste a text"), field("Name", id, "The document is found and cited by this name"), field("Title", title), field("Text", text), wrong,
    h("div.buttons", {}, h("button", { type: "button", onclick: () => dialog.close() }, "Cancel"), h("button.main", {}, "Add the text")));
    const dialog = h("dialog.large", { "aria-label": "Paste a text" }, form);
    dialog.addEventListener("close", () => dialog.remove());
    document.body.append(dialog);
    dialog.showModal();
  }
}

/** The characters that an address means, if it names any. */
function rangeIn(parameters) {
  const [start, end] = ["start", "end"].map((name) => (/^\d{1,12}$/.test(parameters.get(name)) ? Number(parameters.get(name)) : null));
  return start === null || end === null ? {} : { start, end, label: "Passage" };
}

const TIME = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d)\S*$/;

function shown(value) {
  if (value === undefined || value === null) return "";
  return Array.isArray(value) ? value.map(shown).join(", ") : String(value).replace(TIME, "$1 $2");
}

/** Files in as many requests as the server takes them in. */
function* batches(files) {
  let some = [];
  let size = 0;
  for (const each of files) {
    if (some.length && (some.length >= FILES || size + each[0].size > BYTES)) {
      yield some;
      [some, size] = [[], 0];
    }
    some.push(each);
    size += each[0].size;
  }
  yield some;
}

/** The files that were dropped, those of folders with their paths. */
async function filesOf(transfer) {
  const entries = [...transfer.items].map((each) => each.webkitGetAsEntry?.()).filter(Boolean);
  if (!entries.length) return [...transfer.files].map((file) => [file, file.name]);
  const found = [];
  for (const each of entries) await walk(each, "", found);
  return found;
}

async function walk(entry, above, found) {
  const path = `${above}${entry.name}`;
  if (entry.isFile) {
    found.push([await new Promise((resolve, reject) => entry.file(resolve, reject)), path]);
    return;
  }
  const reader = entry.createReader();
  for (;;) {
    const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (!some.length) return;
    for (const each of some) await walk(each, `${path}/`, found);
  }
}
