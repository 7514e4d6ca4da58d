// -- answers: one card for each line ----------------------------------------------------------------------------------
const live = new Map();                   // by number of an answer: what shows its numbers
function card(line, answer) {
  const item = make("li", {}, make("p", {class: "typed"}, make("code", {}, line)));
  if (answer.math) item.append(make("div", {class: "formula"}, formula(answer.math)));
  if (answer.spaces) item.append(make("p", {class: "spaces"}, `${answer.text} : ${answer.spaces}`));
  else if (!answer.math || answer.kind === "proof") item.append(make("pre", {}, answer.text));
  if (answer.kind === "proof") item.append(proof(answer));
  if (answer.structure) item.append(part("structure", answer.structure, data => blocks(answer, data), true));
  if (answer.value) item.append(values(answer));
  if (answer.plan) item.append(part("cost and sweeps", answer.plan, plan, answer.kind === "explanation"));
  if (answer.latex) item.append(folded("LaTeX", make("pre", {}, answer.latex)));
  if (answer.sweep) item.append(part("run the sweeps on the tree", answer.sweep, player));
  return item;
}
function fit(item) {                      // a formula wider than its card is set smaller, down to half
  item.querySelectorAll(".formula").forEach(box => {
    if (box.scrollWidth > box.clientWidth) box.style.setProperty("font-size", `${Math.max(0.5, (box.clientWidth - 8) / box.scrollWidth)}em`);
  });
}
function part(name, data, shown, open = false) {
  return folded(name, data.refused ? make("p", {class: "quiet"}, data.refused) : shown(data), open);
}
function wrong(line, error) {
  const item = make("li", {}, make("p", {class: "typed"}, make("code", {}, line))), place = error.place;
  if (place !== undefined) {              // the place, marked: of a long line a part
    const from = Math.max(0, place - 50), shown = line.slice(from, place + 30).replace(/\s/g, " ");
    item.append(make("pre", {"aria-label": `column ${place + 1}`}, `${from ? "…" : ""}${shown}\n${" ".repeat(place - from + (from ? 1 : 0))}^`));
  }
  item.append(make("p", {class: "error"}, `${error.kind ? error.kind + ": " : ""}${error.message}`));
  return item;
}
function proof(answer) {
  if (!answer.found) return make("p", {class: "error"}, `not found: ${answer.reason}`);
  const steps = answer.steps.map((x, i) => make("li", {}, i ? "= " : "", x.math ? make("div", {class: "formula"}, formula(x.math)) : make("code", {}, x.text), i ? make("span", {class: "because"}, `by ${x.because}`) : null));
  return make("div", {}, make("ol", {class: "steps"}, ...steps), make("p", {class: "quiet"}, answer.reason));
}
function values(answer) {
  const box = make("div", {}, numbers(answer.value)), many = (answer.value.columns || []).length > 12 || (answer.value.rows || []).length > 24;
  if (answer.kind === "operator") live.set(answer.entry, box);
  return folded(answer.kind === "operator" ? "value at the present state" : "value", box, !many);
}
function blocks(answer, data) {
  const shown = make("div", {"aria-live": "polite"});
  const picture = structure(data, async (row, column) => {
    try {
      const block = await request("block", {entry: answer.entry, row, column});
      shown.replaceChildren(make("p", {class: "quiet"}, `block [${block.names[0]}, ${block.names[1]}]`), numbers(block));
    } catch (error) { shown.replaceChildren(make("p", {class: "error"}, error.message)); }
  });
  return make("div", {}, picture, shown);
}
function plan(data) {
  return make("div", {}, make("p", {}, data.cost), table(["", "sweep", "operator", "cost", "because"], data.steps));
}
let timer = null;
function player(data) {                   // the sweeps, moment by moment
  const line = make("p", {class: "quiet", "aria-live": "polite"}), bar = make("input", {type: "range", min: 0, max: data.moments.length - 1, value: 0, step: 1, "aria-label": "moment of the sweeps"});
  const button = make("button", {type: "button"}, "play");
  const show = i => {
    const [step, kind, now, done] = data.moments[i];
    bar.value = i;
    line.textContent = data.lines[step];
    light(now, kind, done);
  };
  const stop = () => { clearInterval(timer); timer = null; button.textContent = "play"; };
  button.addEventListener("click", () => {
    if (timer !== null) { stop(); return; }
    let i = 0;
    button.textContent = "stop";
    show(0);
    timer = setInterval(() => { i += 1; if (i < data.moments.length) show(i); else stop(); }, 500);
  });
  bar.addEventListener("input", () => { stop(); show(+bar.value); });
  return make("div", {}, button, bar, line);
}
let busy = false, again = false;
async function follow() {                 // the model moved: the numbers of the last answers, one request at a time
  if (busy) { again = true; return; }
  busy = true;
  do {
    again = false;
    for (const [entry, box] of [...live].slice(-3)) {
      try { box.replaceChildren(numbers(await request("value", {entry}))); } catch (error) { live.delete(entry); }
    }
  } while (again);
  busy = false;
}
