// The frame: which view is shown, of which index, to whom, and in which theme.

import { announce, empty, field, fill, h, problem, sentence, spinner } from "./dom.js";
import { ROOT, get, post, remove } from "./api.js";
import { icon } from "./icons.js";
import { go, may, refresh, setFrame, state, titleOf, to } from "./state.js";

const VIEWS = {
  ask: ["Ask", () => import("./ask.js")],
  compare: ["Compare methods", () => import("./compare.js")],
  documents: ["Documents", () => import("./documents.js")],
  themes: ["Themes", () => import("./themes.js")],
  graph: ["Graph", () => import("./graph.js")],
  jobs: ["Jobs", () => import("./jobs.js")],
  spend: ["Plan and spend", () => import("./spend.js")],
  keys: ["Keys", () => import("./keys.js")],
};
const main = document.getElementById("main");
const bar = document.getElementById("bar");
const BEHIND_MS = 1000; // after the first view, what the others need is loaded
const AFTER = "clew-after"; // names what was wanted before one signed in
let shown = null; // what ends the view that is shown

// -- the bar ----------------------------------------------------------------------------------

const THEMES = { "": ["Theme: as the system", "system"], light: ["Theme: light", "light"], dark: ["Theme: dark", "dark"] };

function themeButton() {
  const root = document.documentElement;
  const button = h("button.quiet", { type: "button", onclick: turn });
  function turn() {
    const names = Object.keys(THEMES);
    const next = names[(names.indexOf(root.dataset.theme || "") + 1) % names.length];
    if (next) {
      root.dataset.theme = next;
      localStorage.setItem("clew-theme", next);
    } else {
      delete root.dataset.theme;
      localStorage.removeItem("clew-theme");
    }
    tell();
    document.dispatchEvent(new CustomEvent("clew:theme"));
  }
  const tell = () => {
    const [words, name] = THEMES[root.dataset.theme || ""];
    fill(button, icon(name), words);
  };
  tell();
  return button;
}

function chooser() {
  const select = h("select", { id: "index", onchange: () => go(to(here().view, { index: select.value })) },
    state.indexes.map((each) => h("option", { value: each.name, selected: each.name === state.index }, titleOf(each.name))));
  return h("div.chooser", {}, h("label", { for: "index" }, "Index"), select);
}

function drawBar(view = here().view) {
  const links = Object.entries(VIEWS)
    .filter(([name]) => name !== "keys" || may("admin"))
    .map(([name, [title]]) => h("li", {}, h("a", { href: to(name), "aria-current": name === view ? "page" : undefined }, icon(name), title)));
  const nav = h("nav", { id: "menu", "aria-label": "Views" }, h("ul", {}, links), h("div.foot", {}, themeButton(), account()));
  const button = h("button.menu", { type: "button", "aria-expanded": "false", "aria-controls": "menu", onclick: () => {
    const open = bar.classList.toggle("open");
    button.setAttribute("aria-expanded", String(open));
  } }, icon("menu"), "Menu");
  bar.classList.remove("open");
  fill(bar,
    h("a.brand", { href: to("ask") }, h("img", { src: `${ROOT}page/icon.svg`, alt: "", width: 26, height: 26 }), "Clew"),
    state.indexes.length ? chooser() : null, button, nav);
}

function account() {
  const { key, caller, user, scope } = state.about;
  if (!key) return h("p.hint", {}, "Local access, without a key");
  return h("div", {},
    h("p.hint", { dir: "auto" }, user ? `Signed in as ${user}, by the key ${caller} (${scope})` : `Signed in as ${caller} (${scope})`),
    h("button.quiet", { type: "button", onclick: async () => {
      await remove("/session");
      document.body.replaceChildren();
      location.replace(ROOT);
    } }, icon("leave"), "Sign out"));
}

// -- views ------------------------------------------------------------------------------------

/** The name of the view at an address, "" where there is none. */
function viewAt({ pathname }) {
  const name = pathname.startsWith(ROOT) ? pathname.slice(ROOT.length) || "ask" : "";
  return name in VIEWS ? name : "";
}

function here() {
  return { view: viewAt(location) || "ask", parameters: new URLSearchParams(location.search) };
}

function choose(parameters) {
  const names = state.indexes.map((each) => each.name);
  const wanted = [parameters.get("index"), state.index, localStorage.getItem("clew-index")];
  state.index = wanted.find((each) => names.includes(each)) || names[0] || "";
  if (state.index) localStorage.setItem("clew-index", state.index);
  const named = parameters.get("index");
  return named && !names.includes(named) ? named : "";
}

async function draw() {
  shown?.abort();
  shown = new AbortController();
  const { signal } = shown;
  closeReader();
  try {
    if (!state.about) {
      fill(main, spinner("Opening…"));
      await refresh();
    }
    const { view, parameters } = here();
    const missing = choose(parameters);
    drawBar(view);
    const [title, load] = VIEWS[view];
    document.title = `${title} · Clew`;
    main.dataset.view = view;
    if (missing) {
      fill(main, empty(`There is no index “${missing}” here`, h("p", {}, h("a", { href: to("ask") }, `Ask ${state.index || "another index"} instead`))));
      return;
    }
    if (!state.index && view !== "keys") {
      const { first } = await import("./documents.js");
      first(main, signal);
      return;
    }
    const { problem: unread } = state.indexes.find((each) => each.name === state.index) || {};
    if (unread && view !== "keys" && view !== "jobs") {
      fill(main, problem(unread));
      return;
    }
    const module = await load();
    if (signal.aborted) return;
    window.scrollTo(0, 0);
    await module.show(main, { parameters, signal, index: state.index });
    announce(title);
    loadOthers();
  } catch (error) {
    if (error.name === "AbortError" || signal.aborted) return;
    if (error.status === 401) signIn();
    else fill(main, h("h1", {}, VIEWS[here().view][0]), problem(error), h("button", { type: "button", onclick: draw }, "Try again"));
  }
}

/** Load what the other views need, once: the server may be gone when they are wanted. */
function loadOthers() {
  if (loadOthers.begun) return;
  loadOthers.begun = true;
  const others = [...Object.values(VIEWS).map(([, load]) => load), () => import("./reader.js"), () => import("./thread.js")];
  setTimeout(() => Promise.allSettled(others.map((load) => load())), BEHIND_MS);
}

function closeReader() {
  const reader = document.getElementById("reader");
  reader.hidden = true;
  reader.replaceChildren();
  document.body.classList.remove("reading");
}

// -- signing in -------------------------------------------------------------------------------

function signIn() {
  if (main.dataset.view === "sign-in") return;
  main.dataset.view = "sign-in";
  shown?.abort();
  state.about = null;
  fill(bar);
  closeReader();
  document.title = "Sign in · Clew";
  const told = h("div");
  const provided = h("div");
  const how = h("p", {}, "This server needs a key. Its operator makes one with ", h("code", {}, "clew keys add NAME"), ".");
  const send = h("button.main", {}, "Sign in");
  const input = h("input", { type: "password", name: "key", autocomplete: "current-password", required: true, spellcheck: "false" });
  const form = h("form.signin", { onsubmit: async (event) => {
    event.preventDefault();
    try {
      await post("/session", { key: input.value });
      location.reload(); // nothing of who was here before is kept
    } catch (error) {
      fill(told, problem(error));
      input.select();
    }
  } },
  h("img", { src: `${ROOT}page/icon.svg`, alt: "", width: 48, height: 48 }),
  h("h1", {}, "Sign in to Clew"), provided,
  how, field("Key", input), told, send);
  fill(main, form);
  input.focus();
  offerProvider(provided, how, send);
}

/** Offer to sign in by the provider of the server, if it has one; the view that was wanted comes after. */
async function offerProvider(place, how, send) {
  const { provider } = await get("/session");
  if (!provider) return;
  const button = h("button.main", { type: "button", onclick: () => {
    sessionStorage.setItem(AFTER, location.pathname + location.search);
    location.assign(`${ROOT}sign-in`);
  } }, `Sign in with ${provider}`);
  fill(place, button);
  fill(how, "Or use a key of this server.");
  send.classList.remove("main");
  if (!document.activeElement?.value) button.focus(); // nobody has begun to write
}

function goWhereWanted() {
  const wanted = sessionStorage.getItem(AFTER);
  sessionStorage.removeItem(AFTER);
  if (wanted && location.pathname === ROOT && viewAt(new URL(wanted, location.origin))) history.replaceState(null, "", wanted);
}

document.addEventListener("clew:unauthorized", signIn);

// -- links ------------------------------------------------------------------------------------

document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[href]");
  if (!link || event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  const address = new URL(link.href);
  if (address.origin !== location.origin || !viewAt(address) || link.hasAttribute("download") || link.target) return;
  if (link.getAttribute("href").startsWith("#")) return;
  event.preventDefault();
  go(address.pathname + address.search).then(() => main.focus({ preventScroll: true }));
});
window.addEventListener("popstate", draw);
window.addEventListener("pageshow", (event) => {
  if (event.persisted && state.about?.key) location.reload(); // who was here may have signed out
});
window.addEventListener("unhandledrejection", (event) => {
  if (event.reason?.name !== "AbortError") announce(sentence(event.reason));
});

setFrame({ draw, drawBar });
goWhereWanted();
draw();
