// -- the prompt, files, and the beginning -----------------------------------------------------------------------------
const lines = [];
let recalled = 0;
const EXAMPLES = ["H*phi*M*phi.T*H.T", "(H*phi*M*phi.T*H.T).inv * random('hinge')", "prove((I - H*psi*K)*H*phi, H*psi)", "simplify((I + H*phi*K).inv)", "phi.dot()"];
const MOST = 200;                         // answers that stay on the page
async function run(line) {
  say("computing");
  let item;
  try {
    const answer = await request("run", {text: line});
    item = card(line, answer);
    say(`${answer.name || line.slice(0, 60)}: ${answer.kind}${answer.spaces ? ", " + answer.spaces : ""}`);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    item = wrong(line, error);
    say(error.message);
  }
  at("answers").append(item);
  while (at("answers").children.length > MOST) at("answers").firstChild.remove();
  fit(item);
  item.scrollIntoView({block: item.offsetHeight > at("answers").clientHeight ? "start" : "nearest"});
}
function hello(given) {
  document.title = `${given.model} - soacraft`;
  at("model").textContent = given.model;
  at("size").textContent = `${given.size}. ${given.note}`;
  at("operators").textContent = given.names.join(" ");
  live.clear();
  furnishTree(given);
  showScene(given.scene);
  at("report").hidden = !given.report.summary;
  at("summary").textContent = given.report.summary;
  at("rows").replaceChildren(given.report.rows.length ? table(["", "element", "where", "note"], given.report.rows) : "");
  if (given.report.more) at("rows").append(make("p", {}, `... ${given.report.more} more`));
}
async function ask(work) { try { await work(); } catch (error) { if (!(error instanceof Refused)) throw error; say(error.message); } }
at("prompt").addEventListener("submit", event => {
  event.preventDefault();
  const line = at("line").value;
  if (!line.trim()) return;
  lines.push(line);
  recalled = lines.length;
  at("line").value = "";
  run(line);
});
at("line").addEventListener("keydown", event => {
  const step = {ArrowUp: -1, ArrowDown: 1}[event.key];
  if (!step) return;
  event.preventDefault();
  recalled = Math.min(Math.max(recalled + step, 0), lines.length);
  at("line").value = lines[recalled] || "";
});
at("file").addEventListener("change", () => ask(async () => {
  const file = at("file").files[0];
  if (!file) return;
  say(`reading ${file.name}`);
  hello(await request("upload", {name: file.name, text: await file.text()}));
  say(`${file.name} is open: ${at("size").textContent}`);
}));
at("notebook").addEventListener("click", () => ask(async () => {
  const made = await request("notebook");
  const link = make("a", {href: URL.createObjectURL(new Blob([made.text], {type: "application/x-ipynb+json"})), download: made.name});
  link.click();
  URL.revokeObjectURL(link.href);
  say(`${made.name} is saved`);
}));
at("examples").append(...EXAMPLES.map(text => {
  const button = make("button", {type: "button", title: "run this line"}, text);
  button.addEventListener("click", () => { at("line").value = text; at("prompt").requestSubmit(); });
  return button;
}));
hearers.changed = kinds => { if (kinds.includes("structure")) ask(async () => hello(await request("hello"))); else follow(); };
connect(() => ask(async () => { hello(await request("hello")); at("line").focus(); }));
