// Proofs of answers: saved as a file, and verified from one.

import { announce, count, fill, h, problem } from "./dom.js";
import { indexPath, post } from "./api.js";
import { openDocument, sourceItem } from "./evidence.js";
import { placeOf } from "./text.js";

const STATES = { stands: "is unchanged", moved: "moved", gone: "gone" };

/** A button that saves the proof of an answer; an LLM's reply is taken from the ledger. */
export function saveProof(index, question, body) {
  const told = h("span");
  const button = h("button.quiet", { type: "button", onclick: async () => {
    fill(told);
    button.disabled = true;
    try {
      const proof = await post(indexPath(index, "/proof"), { question, ...body });
      const url = URL.createObjectURL(new Blob([JSON.stringify(proof, null, 2)], { type: "application/json" }));
      h("a", { href: url, download: "proof.json" }).click();
      setTimeout(() => URL.revokeObjectURL(url), 1000);
    } catch (error) {
      fill(told, problem(error));
    }
    button.disabled = false;
  } }, "Save proof");
  return [button, told];
}

/** A button that takes the file of a proof, and what is left of it in the index. */
export function verifier(index) {
  const found = h("div");
  const input = h("input.unseen", { type: "file", accept: ".json,application/json", tabindex: -1, "aria-hidden": "true", onchange: async () => {
    const [file] = input.files;
    input.value = "";
    try {
      fill(found, result(index, await post(indexPath(index, "/verify"), await read(file))));
    } catch (error) {
      fill(found, problem(error));
    }
  } });
  const button = h("button.quiet", { type: "button", onclick: () => input.click() }, "Verify a saved proof");
  return h("div.verifier", {}, button, input, found);
}

async function read(file) {
  try {
    return JSON.parse(await file.text());
  } catch {
    throw new Error(`${file.name} holds no proof: choose a file that “Save proof” or 'clew ask --proof' wrote`);
  }
}

function result(index, verified) {
  const gone = verified.quotes.filter((each) => each.state === "gone").length;
  const head = verified.is_sound ? "Every quote is unchanged" : gone ? `${count(gone, "quote")} gone` : "The quotes do not support this answer";
  announce(head);
  return h("section.panel", { "aria-label": "Verified proof" },
    h("h2", {}, head), h("p", { dir: "auto" }, verified.question),
    h("ol.sources", {}, verified.quotes.map((each) => sourceItem(each.number, each.document_id || "In no document",
      [STATES[each.state] || each.state, each.is_changed ? "the document has changed" : "", placeOf(each)].filter(Boolean).join(", "), each.quote, {
        disabled: each.state === "gone",
        onclick: () => openDocument({ index, id: each.document_id, start: each.start, end: each.end, page: each.page, label: `Quote ${each.number}` }),
      }))),
    verified.unsupported.length ? h("div.unsupported", {}, h("b", {}, "Supported by no quote"), h("ul", {}, verified.unsupported.map((each) => h("li", { dir: "auto" }, each)))) : null);
}
