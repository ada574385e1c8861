// Lead to the same page of another version. They stand in versions.json in the folder above that of this version;
// without such a file, as on a developer's machine, nothing is shown.
const root = new URL(document.documentElement.dataset.content_root, location.href);
const select = document.querySelector(".versions select");

fetch(new URL("../versions.json", root))
  .then((reply) => (reply.ok ? reply.json() : []))
  .then((versions) => {
    for (const name of versions) {
      const isThis = name === select.dataset.version;
      select.add(new Option(name, name, isThis, isThis));
    }
    select.parentElement.hidden = versions.length < 2;
  })
  .catch(() => {});

select.addEventListener("change", async () => {
  const there = new URL(`../${encodeURIComponent(select.value)}/`, root);
  const page = new URL(location.pathname.slice(root.pathname.length) + location.hash, there);
  const reply = await fetch(page, { method: "HEAD" }).catch(() => null);
  location.href = reply && reply.ok ? page : there;
});
