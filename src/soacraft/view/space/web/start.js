// -- the beginning, and what other scripts of a page may use ----------------------------------------------------------
function show(given) {                    // other data: the camera stays where it is, and the same body is picked
  const before = picked >= 0 && data ? data.bodies[picked] : null;
  take(given);
  upload();
  furnish();
  timeline();
  chosen.clear();
  picked = -1;
  const again = before === null ? -1 : data.bodies.indexOf(before);
  if (again >= 0) pick(again);
  else { at("about").hidden = true; facts(); }
  seek(clock.t);
  listeners.data.forEach(tell => tell());
}
function light(bodies) {                  // light up these bodies, by number, and no others
  chosen.clear();
  bodies.forEach(k => chosen.add(k));
  ask();
}
function start(given) {
  canvas = at("view");
  gl = canvas.getContext("webgl2", {alpha: false, antialias: true, preserveDrawingBuffer: true});
  if (!gl) {
    canvas.parentElement.innerHTML = '<p id="problem">This page draws with WebGL 2, which this browser does not have or has switched off.</p>';
    return;
  }
  prepare();
  take(given);
  Object.assign(camera, {azimuth: data.azimuth, elevation: data.elevation});
  show(given);
  listen();
  const mark = /#t=([-\d.e]+)$/.exec(location.hash);
  if (mark) seek(+mark[1] - data.start);
  play(!mark && !matchMedia("(prefers-reduced-motion: reduce)").matches);
}
const given = at("data");
const known = given && JSON.parse(given.textContent);
if (known) start(known);
else if (typeof live === "function") live();
return {start, show, light, pick, sliders, frame: frameOf, say, listeners, picked: () => picked, time: () => clock.t};
