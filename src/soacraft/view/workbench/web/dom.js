// -- elements of the page: all that comes from Python becomes text or one of these, never markup ---------------------
const at = id => document.getElementById(id);
const MATH = "http://www.w3.org/1998/Math/MathML", SVG = "http://www.w3.org/2000/svg";
function make(tag, attributes = {}, ...children) { return fill(document.createElement(tag), attributes, children); }
function draw(tag, attributes = {}, ...children) { return fill(document.createElementNS(SVG, tag), attributes, children); }
function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children.filter(x => x !== null && x !== undefined));
  return element;
}
const TAGS = new Set("math mrow mi mn mo mspace msup msub msubsup mover mtext".split(" "));
const MARKS = new Set("display width stretchy accent mathvariant".split(" "));
function formula(data) {                  // MathML of [tag, attributes, children]
  if (typeof data === "string") return data;
  const [tag, attributes, children] = data;
  const element = document.createElementNS(MATH, TAGS.has(tag) ? tag : "mrow");
  for (const [name, value] of Object.entries(attributes)) if (MARKS.has(name)) element.setAttribute(name, value);
  element.append(...children.map(formula));
  return element;
}
function table(head, rows, kind = "") {
  const cell = x => make("td", {}, x);
  const top = head.length ? make("thead", {}, make("tr", {}, ...head.map(x => make("th", {scope: "col"}, x)))) : null;
  return make("div", {class: "wide"}, make("table", {class: kind}, top, make("tbody", {}, ...rows.map(row => make("tr", {}, ...row.map(x => x instanceof Node ? x : cell(x)))))));
}
const rounded = x => typeof x === "string" ? x : x === 0 ? "0" : Number.isInteger(x) && Math.abs(x) < 1e6 ? String(x) : x.toPrecision(5);
function numbers(data) {                  // a table with names of rows and columns
  if (data.refused || data.folded) return make("p", {class: "quiet"}, data.refused || data.folded);
  const named = data.rows.some(x => x), rows = data.numbers.map((row, i) => [...(named ? [make("th", {scope: "row"}, data.rows[i])] : []), ...row.map(rounded)]);
  const head = data.columns.some(x => x) ? [...(named ? [""] : []), ...data.columns] : [];
  return table(head, rows, "numbers");
}
function folded(name, inside, open = false) {
  const box = make("details", {}, make("summary", {}, name), inside);
  box.open = open;
  return box;
}
function say(text) { at("said").textContent = text; }
