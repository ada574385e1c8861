// Icons, drawn on a grid of 24 by 24. They stand beside words, or in buttons that have a name.

import { h } from "./dom.js";

const PATHS = {
  ask: "M4 5h16v11H10l-5 4v-4H4z",
  compare: "M4 5h7v14H4zM14 5h6v14h-6zM6.5 9h2M6.5 12h2M16 9h2M16 12h2",
  documents: "M6 3h8l4 4v14H6zM14 3v4h4M9 12h6M9 16h6",
  themes: "M4 4h9v9H4zM16 4h4v6h-4zM16 13h4v7h-4zM4 16h9v4H4z",
  graph: "M6 4.5a2.5 2.5 0 1 0 .01 0zM18 3.5a2.5 2.5 0 1 0 .01 0zM12 15.5a2.5 2.5 0 1 0 .01 0zM8.5 6.8l7-.6M7.2 9.2l3.6 6.5M16.8 8.2l-3.6 7.4",
  jobs: "M12 3a9 9 0 1 0 .01 0zM12 7v5l3.5 2",
  spend: "M4 20h16M7 17v-4M12 17V8M17 17V4",
  keys: "M8 11a4 4 0 1 0 .01 0zM11 12l8-8M16 7l3 3",
  upload: "M12 16V4M7 9l5-5 5 5M4 15v5h16v-5",
  download: "M12 4v11M7 10l5 5 5-5M4 20h16",
  folder: "M3 6h6l2 2h10v11H3z",
  paste: "M9 5H6v15h12V5h-3M9 3.5h6v3H9zM9 11h6M9 15h4",
  trash: "M4 7h16M9 7V4h6v3M6 7l1 13h10l1-13",
  close: "M6 6l12 12M18 6L6 18",
  plus: "M12 5v14M5 12h14",
  minus: "M5 12h14",
  fit: "M4 9V4h5M15 4h5v5M20 15v5h-5M9 20H4v-5",
  menu: "M4 7h16M4 12h16M4 17h16",
  system: "M4 5h16v11H4zM9 20h6M12 16v4",
  light: "M12 8a4 4 0 1 0 .01 0zM12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.4 1.4M17.6 17.6L19 19M19 5l-1.4 1.4M6.4 17.6L5 19",
  dark: "M20 14.5A8.5 8.5 0 1 1 9.5 4a7 7 0 0 0 10.5 10.5z",
  leave: "M10 4H5v16h5M14 8l4 4-4 4M18 12H9",
  link: "M10 14l4-4M8.5 11.5L6 14a3.5 3.5 0 0 0 5 5l2.5-2.5M15.5 12.5L18 10a3.5 3.5 0 0 0-5-5l-2.5 2.5",
};

export const icon = (name) => h("svg.icon", { viewBox: "0 0 24 24", "aria-hidden": "true" }, h("path", { d: PATHS[name] }));
