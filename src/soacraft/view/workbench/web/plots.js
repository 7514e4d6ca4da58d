// -- plots: the last values of a name over the time, one line for each of its numbers ---------------------------------
const COLOURS = ["#3a6ea5", "#d6455a", "#1e7a33", "#b07d12", "#7b4bb0", "#0e8a8a"], MOST_POINTS = 3000, MOST_LINES = 12;
const traces = new Map();                 // by name: instants, values, and what shows them
function addTrace(name, unit) {
  const picture = draw("svg", {class: "plot", viewBox: "0 0 1000 100", preserveAspectRatio: "none", role: "img", "aria-label": `plot of ${name}`});
  const words = make("span", {}), box = make("figure", {}, make("figcaption", {}, `${name}${unit ? " [" + unit + "]" : ""} `, words), picture);
  traces.set(name, {t: [], y: [], picture, words, box});
  at("plots").append(box);
}
function removeTrace(name) {
  traces.get(name).box.remove();
  traces.delete(name);
}
function addPoint(trace, t, value) {
  const y = (Array.isArray(value) ? value.flat() : [value]).map(Number);
  if (value === null || !y.length || y.some(x => !Number.isFinite(x)) || (trace.t.length && t <= trace.t[trace.t.length - 1])) return;
  trace.t.push(t);
  trace.y.push(y.slice(0, MOST_LINES));
  if (trace.t.length > MOST_POINTS) { trace.t.splice(0, MOST_POINTS / 3); trace.y.splice(0, MOST_POINTS / 3); }
  drawTrace(trace);
}
function drawTrace({t, y, picture, words}) {
  const all = y.flat(), low = Math.min(...all), high = Math.max(...all), first = t[0], last = t[t.length - 1];
  const across = x => last > first ? 1000 * (x - first) / (last - first) : 0, up = x => high > low ? 96 - 92 * (x - low) / (high - low) : 50;
  picture.replaceChildren(...y[0].map((_, k) => {
    const line = draw("polyline", {points: t.map((x, i) => `${across(x).toFixed(1)},${up(y[i][k]).toFixed(1)}`).join(" ")});
    line.style.setProperty("stroke", COLOURS[k % COLOURS.length]);
    return line;
  }));
  words.textContent = `from ${rounded(low)} to ${rounded(high)}, t = ${rounded(first)} to ${rounded(last)} s`;
}
