// -- the bodies, as a tree and in three dimensions: both light up together -------------------------------------------
let bodies = [], items = [], sceneOrigin = "";
function furnishTree(given) {
  bodies = given.bodies;
  items = bodies.map((body, k) => {
    const dofs = body.dofs === 1 ? "1 dof" : `${body.dofs} dofs`;
    const modes = body.modes ? `, ${body.modes} mode${body.modes === 1 ? "" : "s"}` : "";
    const item = make("li", {role: "treeitem", "aria-level": body.depth, "aria-selected": "false", tabindex: k ? "-1" : "0"},
      body.name, " ", make("small", {}, `${body.hinge}, ${dofs}${modes}`));
    item.style.setProperty("margin-left", `${Math.min(body.depth - 1, 12)}em`);
    item.style.setProperty("border-left-color", body.colour);
    item.addEventListener("click", () => choose(k));
    item.addEventListener("keydown", event => {
      const to = {ArrowDown: k + 1, ArrowUp: k - 1, Home: 0, End: items.length - 1, ArrowLeft: body.parent}[event.key];
      if (event.key === "Enter" || event.key === " ") choose(k);
      else if (to === undefined || !items[to]) return;
      else focusOn(to);
      event.preventDefault();
    });
    return item;
  });
  at("tree").replaceChildren(...items);
  if (given.more) at("tree").append(make("li", {class: "quiet"}, `... ${given.more} more`));
}
function focusOn(k) {
  items.forEach((item, i) => { item.tabIndex = i === k ? 0 : -1; });
  items[k].focus();
}
function choose(k) {
  light([k]);
  say(`${bodies[k].name}: ${bodies[k].hinge}`);
}
function light(which, kind = "", done = []) {     // these bodies and no others; `kind` is that of a sweep
  const now = new Set(which), before = new Set(done), mark = {gather: "gather", scatter: "scatter"}[kind] || (kind && "local");
  items.forEach((item, k) => {
    item.setAttribute("aria-selected", String(now.has(k) && !mark));
    item.className = now.has(k) ? mark : before.has(k) ? "done" : "";
  });
  const window = at("scene").contentWindow;
  if (sceneOrigin && window) window.postMessage({soacraft: "light", bodies: [...now]}, sceneOrigin);
}
function showScene(address) {
  at("scene").hidden = !address;
  at("no-scene").hidden = Boolean(address);
  sceneOrigin = address ? new URL(address).origin : "";
  if (address) at("scene").src = address;
}
at("scene").addEventListener("load", () => light([]));   // so that the scene knows the page around it
window.addEventListener("message", event => {
  if (event.origin === sceneOrigin && event.source === at("scene").contentWindow && event.data.soacraft === "pick" && items[event.data.body]) choose(event.data.body);
});
