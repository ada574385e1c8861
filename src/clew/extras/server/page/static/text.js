// Texts and their places. Clew counts code points, and JavaScript UTF-16 units.

const PAIRED = /[\ud800-\udbff][\udc00-\udfff]/;
const MARK = /^[\p{M}\u200d\ufe0f]/u;

/** Turn places that count code points into places in a string; they may come in any order. */
export function inUnits(text, points) {
  if (!PAIRED.test(text)) return points.map((each) => Math.min(each, text.length));
  const order = points.map((_, at) => at).sort((a, b) => points[a] - points[b]);
  const found = new Array(points.length);
  let unit = 0;
  let point = 0;
  for (const at of order) {
    while (point < points[at] && unit < text.length) {
      unit += text.codePointAt(unit) > 0xffff ? 2 : 1;
      point += 1;
    }
    found[at] = unit;
  }
  return found;
}

/** A range of code points as a range of the string; what belongs to the last letter is in it. */
export function range(text, start, end) {
  const [from, to] = inUnits(text, [start, end]);
  let last = to;
  while (last > from && last < text.length) {
    const next = String.fromCodePoint(text.codePointAt(last));
    if (!MARK.test(next)) break;
    last += next.length;
  }
  return [from, last];
}

/** The first characters of a text, cut between letters. */
export function shortened(text, most) {
  const flat = text.slice(0, 4 * most).replace(/\s+/g, " ").trim();
  const letters = Array.from(flat);
  return letters.length <= most && text.length <= 4 * most ? flat : `${letters.slice(0, most - 1).join("").trimEnd()}…`;
}

/** Where something stands, in words: section and pages. */
export function placeOf({ section, page, last_page: last }) {
  const pages = page ? (last && last !== page ? `pages ${page} to ${last}` : `page ${page}`) : "";
  return [section, pages].filter(Boolean).join(", ");
}
