// -- a running system: its parts, the values of one, plots, pause and step --------------------------------------------
const PLOTTED = 4;                        // plots that a page begins with
let names = {}, parts = [], items = [], chosen = "", cells = new Map(), asking = false, more = false;
function hello(given) {
  names = given.names;
  parts = given.parts;
  document.title = `${given.system} - soacraft`;
  at("model").textContent = given.system;
  at("size").textContent = `${parts.length} parts, ${Object.keys(names).length} names${given.more ? ", and more" : ""}`;
  at("scene").hidden = !given.scene;
  at("no-scene").hidden = Boolean(given.scene);
  if (given.scene) at("scene").src = given.scene;
  items = parts.map((part, k) => {
    const depth = part.path.split("/").length, told = [part.type, part.at, part.every && `every ${part.every} s`].filter(x => x).join(", ");
    const item = make("li", {role: "treeitem", "aria-level": depth, "aria-selected": "false", tabindex: k ? "-1" : "0"},
      part.path.split("/").pop(), " ", make("small", {}, told));
    item.style.setProperty("margin-left", `${Math.min(depth - 1, 12)}em`);
    item.addEventListener("click", () => choose(k));
    item.addEventListener("keydown", event => {
      const to = {ArrowDown: k + 1, ArrowUp: k - 1, Home: 0, End: items.length - 1}[event.key];
      if (event.key === "Enter" || event.key === " ") choose(k);
      else if (to === undefined || !items[to]) return;
      else { items.forEach((x, i) => { x.tabIndex = i === to ? 0 : -1; }); items[to].focus(); }
      event.preventDefault();
    });
    return item;
  });
  at("tree").replaceChildren(...items);
  if (items.length) choose(0);
  if (!traces.size) {                     // plots at once: of the first outputs, one of each part
    const first = new Map();
    for (const [name, port] of Object.entries(names)) {
      const part = name.slice(0, name.lastIndexOf("."));
      if (port.kind === "output" && !first.has(part)) first.set(part, name);
    }
    [...first.values()].slice(0, PLOTTED).forEach(name => addTrace(name, names[name].unit));
    if (items.length) choose(0);
  }
}
function choose(k) {
  chosen = parts[k].path;
  items.forEach((item, i) => item.setAttribute("aria-selected", String(i === k)));
  cells = new Map();
  const rows = Object.entries(names).filter(([name]) => name.startsWith(chosen + ".")).map(([name, port]) => {
    const short = name.slice(chosen.length + 1), box = make("input", {type: "checkbox", "aria-label": `plot ${name}`});
    box.checked = traces.has(name);
    box.addEventListener("change", () => { if (box.checked) addTrace(name, port.unit); else removeTrace(name); look(); });
    const cell = make("td", {}), kind = port.from ? `${port.kind} from ${port.from}` : port.kind;
    if (port.kind === "parameter") {
      const field = make("input", {type: "text", "aria-label": name});
      field.addEventListener("change", () => ask(async () => {
        let value = field.value;
        try { value = JSON.parse(field.value); } catch (error) { /* a text */ }
        await request("set", {name, value});
        say(`${name} is ${field.value}`);
      }));
      cell.append(field);
      cells.set(name, value => { if (document.activeElement !== field) field.value = typeof value === "string" ? value : JSON.stringify(value); });
    } else cells.set(name, value => { cell.textContent = shown(value); });
    return [make("td", {}, box), make("th", {scope: "row"}, short), cell, port.unit || "", kind];
  });
  at("values").replaceChildren(rows.length ? table(["plot", chosen, "value", "unit", ""], rows) : make("p", {class: "quiet"}, `${chosen}: its parts have values`));
  look();
}
function shown(value) {
  if (value === null) return "not evaluated yet";
  return Array.isArray(value) ? `[${value.map(shown).join(", ")}]` : typeof value === "number" ? rounded(value) : String(value);
}
async function look() {                   // the values that are seen, one request at a time
  if (asking) { more = true; return; }
  asking = true;
  do {
    more = false;
    await ask(async () => {
      const told = await request("look", {names: [...new Set([...cells.keys(), ...traces.keys()])].slice(0, 500)});
      at("clock").textContent = `t = ${told.t.toFixed(4)} s, ${told.status}`;
      for (const [name, value] of Object.entries(told.values)) {
        if (cells.has(name)) cells.get(name)(value);
        if (traces.has(name)) addPoint(traces.get(name), told.t, value);
      }
      if (told.error) say(told.error);
    });
  } while (more);
  asking = false;
}
async function ask(work) { try { await work(); } catch (error) { if (!(error instanceof Refused)) throw error; say(error.message); } }
function act(verb, fields) {
  return ask(async () => {
    const told = await request(verb, fields());
    say(`${told.status} at t = ${rounded(told.t)} s`);
    look();
  });
}
at("run").addEventListener("click", () => act("run", () => at("goal").value === "" ? {} : {t: Number(at("goal").value), pace: at("paced").checked ? 1 : null}));
at("pause").addEventListener("click", () => act("pause", () => ({})));
at("step").addEventListener("click", () => act("step", () => ({})));
hearers.values = () => look();
hearers.ended = ({t, error}) => { say(error || `ended at t = ${rounded(t)} s`); look(); };
connect(() => ask(async () => hello(await request("hello"))));
