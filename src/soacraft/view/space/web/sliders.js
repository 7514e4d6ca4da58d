// -- sliders of the dofs, of a page that can move its model -----------------------------------------------------------
let dofs = [], mover = null;              // what moves a dof: a function of its name and value that gives a promise
function say(text) {
  at("said").textContent = text;          // whatever it holds, it is text
  at("said").hidden = !text;
}
function sliders(move, close) {           // those of the present data; what closes loops that are open
  mover = move;
  dofs = (data.dofs || []).map(dof => {
    const label = document.createElement("label"), name = document.createElement("span");
    const range = document.createElement("input"), value = document.createElement("output");
    name.textContent = dof.name;
    Object.assign(range, {type: "range", min: dof.lower, max: dof.upper, step: "any", name: dof.name});
    label.append(name, range, value);
    const one = {dof, label, range, value, now: dof.value, held: false, busy: false, next: null};
    range.addEventListener("input", () => { one.held = true; one.next = +range.value; send(one); });
    range.addEventListener("change", () => { one.held = false; });
    place_(one, dof.value);
    return one;
  });
  at("moves").replaceChildren(...dofs.map(x => x.label));
  at("moves").hidden = !dofs.length;
  document.documentElement.classList.toggle("moving", dofs.length > 0);
  dofs.forEach(one => { one.label.title = one.dof.name; });
  ask();
  if (data.open && close) {
    const button = document.createElement("button");
    Object.assign(button, {id: "assemble", textContent: "close the loops"});
    button.addEventListener("click", () => close().then(() => say(""), error => say(error.message)));
    at("moves").prepend(button);
  }
}
async function send(one) {                // one request at a time; of those meanwhile the last counts
  if (one.busy) return;
  one.busy = true;
  while (one.next !== null) {
    const value = one.next;
    one.next = null;
    try { await mover(one.dof.name, value); say(""); }
    catch (error) { say(error.message); if (one.next === null) place_(one, one.now); }
  }
  one.busy = false;
}
const told = (dof, value) => dof.unit ? `${value.toFixed(3)} ${dof.unit}` : value.toPrecision(3);   // modes have no unit
function place_(one, value) {
  one.range.value = value;
  one.value.textContent = told(one.dof, value);
}
function moveSliders(values) {            // to what the model says
  dofs.forEach(one => {
    one.now = values[one.dof.number];
    if (one.held) one.value.textContent = told(one.dof, one.now);
    else place_(one, one.now);
  });
}
