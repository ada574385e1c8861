// Elements made from values. Texts become text nodes and never markup.

const SVG = new Set(["svg", "g", "path", "line", "rect", "circle", "text", "title", "polyline"]);
const AS_PROPERTIES = new Set(["value", "checked", "disabled", "selected", "indeterminate", "open"]);

/** Make an element: h("p.note", { id: "n" }, "text", h("b", {}, "more")). */
export function h(selector, given = {}, ...children) {
  const [tag, ...classes] = selector.split(".");
  const node = SVG.has(tag) && given.xml !== false
    ? document.createElementNS("http://www.w3.org/2000/svg", tag)
    : document.createElement(tag);
  if (classes.length) node.classList.add(...classes);
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined || value === null || value === false || name === "xml") continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "style") {
      for (const [property, text] of Object.entries(value)) node.style.setProperty(property, text);
    } else if (AS_PROPERTIES.has(name)) node[name] = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(9).filter((each) => each !== null && each !== undefined && each !== false));
  return node;
}

/** Replace what is in an element. */
export function fill(node, ...children) {
  node.replaceChildren(...children.flat(9).filter((each) => each !== null && each !== undefined && each !== false));
  return node;
}

let numbered = 0;

/** An id that no other element has. */
export const fresh = (stem) => `${stem}-${(numbered += 1)}`;

/** A label above its control. */
export function field(label, control, hint = "") {
  const id = control.id || (control.id = fresh("field"));
  const told = hint ? h("p.hint", { id: `${id}-hint` }, hint) : null;
  if (told) control.setAttribute("aria-describedby", told.id);
  return h("div.field", {}, h("label", { for: id }, label), control, told);
}

/** Tell those who do not see the page. */
export function announce(text) {
  document.getElementById("status").textContent = text;
}

/** A sentence of what went wrong, where it happened. */
export function problem(error) {
  return h("p.problem", { role: "alert" }, sentence(error));
}

export function sentence(error) {
  const text = error instanceof Error ? error.message : String(error);
  const told = text ? text[0].toUpperCase() + text.slice(1) : "Something went wrong";
  return /[.!?]$/.test(told) ? told : `${told}.`;
}

/** Empty states say what to do next. */
export function empty(title, ...children) {
  return h("div.empty", {}, h("h2", {}, title), ...children);
}

export const spinner = (text) => h("p.busy", {}, h("span.spin", { "aria-hidden": "true" }), text);

/** Ask before something is done that cannot be undone; resolves to whether it is wanted. */
export function confirmed(question, yes, kind = "danger") {
  return new Promise((resolve) => {
    const dialog = h("dialog", { "aria-label": question },
      h("form", { method: "dialog" },
        h("p", {}, question),
        h("div.buttons", {},
          h("button.plain", { value: "" }, "Cancel"),
          h(`button.${kind}`, { value: "yes" }, yes))));
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes");
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}

/** A field of one line that grows with its text, and is sent by Enter. */
export function growing(area) {
  const grow = () => {
    area.style.setProperty("block-size", "auto");
    area.style.setProperty("block-size", `${Math.min(area.scrollHeight + 2, 240)}px`);
  };
  area.addEventListener("input", grow);
  area.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    area.form.requestSubmit();
  });
  queueMicrotask(grow);
  return grow;
}

// -- numbers and times ------------------------------------------------------------------------

const plain = new Intl.NumberFormat("en");
export const number = (value) => plain.format(value);
export const count = (value, one, many = `${one}s`) => `${number(value)} ${value === 1 ? one : many}`;
export const percent = (share) => `${Math.round(100 * share)} %`;

export function seconds(value) {
  if (value < 0.95) return `${Math.max(1, Math.round(value * 1000))} ms`;
  if (value < 100) return `${value.toFixed(1)} s`;
  return value < 7200 ? `${Math.round(value / 60)} min` : `${(value / 3600).toFixed(1)} h`;
}

/** A size of files, in MB. */
export const megabytes = (value) => (value > 0 && value < 5e4 ? "less than 0.1 MB" : `${number(Math.round(value / 1e5) / 10)} MB`);

export function dollars(value) {
  if (value === null || value === undefined) return "price not known";
  if (value === 0) return "$0";
  return value < 0.01 ? `$${value.toPrecision(2)}` : `$${value.toFixed(2)}`;
}

export function moment(stamp) {
  const when = new Date(stamp * 1000);
  const today = new Date().toDateString() === when.toDateString();
  return when.toLocaleString("en-GB", today ? { timeStyle: "short" } : { dateStyle: "medium", timeStyle: "short" });
}

/** What models cost, in words: "" where none was asked. */
export function cost(usage) {
  const tokens = (usage.prompt_tokens || 0) + (usage.completion_tokens || 0) + (usage.embedding_tokens || 0);
  if (!tokens) return usage.recorded_calls ? "from the ledger, free" : "no LLM, free";
  return `${count(tokens, "token")}, ${dollars(usage.cost_usd)}`;
}

export const total = (usage) => Object.values(usage.seconds || {}).reduce((sum, each) => sum + each, 0);
