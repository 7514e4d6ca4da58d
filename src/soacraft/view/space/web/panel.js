// -- the list of bodies, and what is known of the one that is picked --------------------------------------------------
const listeners = {pick: [], data: []};
const digits = x => x.map(c => (Math.abs(c) < 5e-7 ? 0 : c).toPrecision(4)).join(", ");
function row(name, value) {
  const line = document.createElement("tr"), head = document.createElement("th"), cell = document.createElement("td");
  head.scope = "row";
  head.textContent = name;                // names are text, whatever they hold
  cell.textContent = value;
  line.append(head, cell);
  return line;
}
function pick(k) {
  picked = k === picked ? -1 : k;
  at("bodies").querySelectorAll("button").forEach((x, i) => x.setAttribute("aria-pressed", String(i === picked)));
  at("about").hidden = picked < 0;
  at("picked").textContent = picked < 0 ? "" : data.bodies[picked];
  facts();
  listeners.pick.forEach(tell => tell(picked));
  ask();
}
let moving = [];                          // cells whose numbers change with time
function facts() {
  at("facts").replaceChildren();
  moving = [];
  if (picked < 0) return;
  data.about[picked].forEach(([name, value]) => at("facts").append(row(name, value)));
  const k = picked, told = {
    "position": (when, m) => digits([0, 1, 2].map(i => m[12 + i] + data.centre[i])) + " m",
    "velocity": when => digits(velocity(when, k).slice(3)) + " m/s",
    "angular velocity": when => digits(velocity(when, k).slice(0, 3)) + " rad/s",
  };
  for (const [name, text] of Object.entries(told)) {
    const line = row(name, "");
    at("facts").append(line);
    moving.push((when, m) => { line.lastChild.textContent = text(when, m); });
  }
  if (data.inertias.refused) at("facts").append(row("articulated", data.inertias.refused));
}
function follow() {                       // the numbers of this instant
  if (picked < 0) return;
  const when = between(clock.t), m = pose(motions[0], when, picked);
  moving.forEach(tell => tell(when, m));
}
function furnish() {
  at("pull-key").hidden = at("pull-help").hidden = !data.pull;
  at("name").textContent = `${data.title}: ${data.bodies.length} bod${data.bodies.length === 1 ? "y" : "ies"}`;
  at("bodies").replaceChildren(...data.bodies.map((name, k) => {
    const button = document.createElement("button"), item = document.createElement("li");
    button.textContent = name;            // names are text, whatever they hold
    button.setAttribute("aria-pressed", "false");
    button.addEventListener("click", () => pick(k));
    item.append(button);
    return item;
  }));
  at("shown").replaceChildren(...Object.keys(wanted).map(kind => {
    const label = document.createElement("label"), box = document.createElement("input");
    Object.assign(box, {type: "checkbox", checked: wanted[kind], name: kind});
    box.addEventListener("change", () => { wanted[kind] = box.checked; listeners.pick.forEach(tell => tell(picked)); ask(); });
    label.append(box, " " + kind);
    return label;
  }));
}
