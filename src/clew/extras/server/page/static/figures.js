// Figures of documents.

import { h } from "./dom.js";
import { address, indexPath, part } from "./api.js";
import { state } from "./state.js";
import { shortened } from "./text.js";

/** A figure of a document: its picture, which opens in a tab of its own, above its caption. */
export function figureOf(figure, document, index = state.index) {
  const source = address(indexPath(index, `/figures/${part(figure.address)}/${part(document)}`));
  const caption = [figure.caption, figure.page ? `page ${figure.page}` : ""].filter(Boolean).join(", ");
  const picture = h("img", { src: source, alt: figure.caption || "A figure without a caption", loading: "lazy", onerror: (event) => event.target.closest("figure").remove() });
  return h("figure.figure", {}, h("a", { href: source, target: "_blank", rel: "noopener" }, picture),
    caption ? h("figcaption", { dir: "auto" }, shortened(caption, 300)) : null);
}
