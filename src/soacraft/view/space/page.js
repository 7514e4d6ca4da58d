"use strict";
// A scene: surfaces fixed on bodies, the poses of the bodies over time, and rods for closures. Positions are relative
// to data.centre, times to data.start.
const data = JSON.parse(document.getElementById("data").textContent);
const bytes = text => Uint8Array.from(atob(text), c => c.charCodeAt(0));
const floats = text => new Float32Array(bytes(text).buffer);
const at = id => document.getElementById(id);
const canvas = at("view");
const gl = canvas.getContext("webgl2", {alpha: false, antialias: true, preserveDrawingBuffer: true});

const VERTEX = `#version 300 es
in vec3 point; in vec3 normal;
uniform mat4 world, seen; uniform mat3 turn;
out vec3 n;
void main() { n = turn * mat3(world) * normal; gl_Position = seen * world * vec4(point, 1.0); }`;
// The light of the pictures: from above the left shoulder, on the side that is seen.
const FRAGMENT = `#version 300 es
precision highp float;
in vec3 n; uniform vec4 colour; out vec4 shown;
void main() {
  vec3 m = normalize(n), light = normalize(vec3(-0.45, 0.65, 0.75));
  if (m.z < 0.0) m = -m;
  float straight = max(dot(m, light), 0.0), shine = pow(max(dot(m, normalize(light + vec3(0, 0, 1))), 0.0), 30.0);
  shown = vec4(colour.rgb * (0.42 + 0.58 * straight) + 0.12 * shine, colour.a);
}`;

const sub = (a, b) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const unit = a => { const l = Math.hypot(...a) || 1; return a.map(x => x / l); };

// -- the camera: on a sphere about a target -------------------------------------------------------------------------
const FIELD = 32 * Math.PI / 180;
const camera = {azimuth: data.azimuth, elevation: data.elevation, zoom: 1, target: [0, 0, 0]};
function axes() {
  const z = data.up, side = Math.abs(z[2]) >= 1 ? [1, 0, 0] : null;
  const least = [0, 1, 2].reduce((i, j) => Math.abs(z[j]) < Math.abs(z[i]) ? j : i, 0);
  const x = side || unit(cross([0, 1, 2].map(i => +(i === least)), z)), y = cross(z, x);
  const a = camera.azimuth * Math.PI / 180, e = camera.elevation * Math.PI / 180;
  const mix = (p, q, r) => [0, 1, 2].map(i => p * x[i] + q * y[i] + r * z[i]);
  const back = mix(Math.cos(e) * Math.cos(a), Math.cos(e) * Math.sin(a), Math.sin(e));
  const right = mix(-Math.sin(a), Math.cos(a), 0);
  return [right, cross(back, right), back];
}
function views() {
  const [right, up, back] = axes(), distance = data.radius / (Math.sin(FIELD / 2) * camera.zoom);
  const eye = camera.target.map((x, i) => x + distance * back[i]);
  const f = 1 / Math.tan(FIELD / 2), shorter = Math.min(canvas.width, canvas.height);
  const fx = f * shorter / canvas.width, fy = f * shorter / canvas.height;
  const near = Math.max(distance - 6 * data.radius, 1e-3 * distance), far = distance + 6 * data.radius;
  const c = -(far + near) / (far - near), d = -2 * far * near / (far - near);
  const rows = [right.map(x => fx * x), up.map(x => fy * x), back.map(x => c * x), back.map(x => -x)];
  const move = rows.map(r => -dot(r, eye));
  move[2] += d;
  return {
    seen: [0, 1, 2].flatMap(j => rows.map(r => r[j])).concat(move),
    turn: [0, 1, 2].flatMap(j => [right[j], up[j], back[j]]),
  };
}

// -- poses ----------------------------------------------------------------------------------------------------------
const instants = floats(data.t), poses = floats(data.poses), tints = bytes(data.tints);
const count = data.bodies.length + 1, ties = data.ties.length;
function pose(frame, part, body) {        // a matrix between two frames
  const k = body < 0 ? count - 1 : body, a = 7 * (frame * count + k);
  const b = frame + 1 < instants.length ? a + 7 * count : a;
  let q = [0, 1, 2, 3].map(i => poses[a + i]);
  const r = [0, 1, 2, 3].map(i => poses[b + i]);
  const sign = q.reduce((s, x, i) => s + x * r[i], 0) < 0 ? -1 : 1;
  q = unit(q.map((x, i) => (1 - part) * x + part * sign * r[i]));
  const p = [4, 5, 6].map(i => (1 - part) * poses[a + i] + part * poses[b + i]);
  const [x, y, z, w] = q;
  return [
    1 - 2 * (y * y + z * z), 2 * (x * y + z * w), 2 * (x * z - y * w), 0,
    2 * (x * y - z * w), 1 - 2 * (x * x + z * z), 2 * (y * z + x * w), 0,
    2 * (x * z + y * w), 2 * (y * z - x * w), 1 - 2 * (x * x + y * y), 0, ...p, 1];
}
const moved = (m, p) => [0, 1, 2].map(i => m[i] * p[0] + m[4 + i] * p[1] + m[8 + i] * p[2] + m[12 + i]);

// -- drawing --------------------------------------------------------------------------------------------------------
let program, place, surfaces, rod;
function shader(kind, text) {
  const made = gl.createShader(kind);
  gl.shaderSource(made, text);
  gl.compileShader(made);
  if (!gl.getShaderParameter(made, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(made));
  return made;
}
function surface(points, normals, triangles) {
  const array = gl.createVertexArray();
  gl.bindVertexArray(array);
  for (const [name, values, kind] of [["point", points, gl.FLOAT], ["normal", normals, gl.BYTE]]) {
    gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ARRAY_BUFFER, values, gl.STATIC_DRAW);
    const where = gl.getAttribLocation(program, name);
    gl.enableVertexAttribArray(where);
    gl.vertexAttribPointer(where, 3, kind, kind === gl.BYTE, 0, 0);
  }
  gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, gl.createBuffer());
  gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, triangles, gl.STATIC_DRAW);
  return {array, length: triangles.length};
}
function prepare() {
  program = gl.createProgram();
  gl.attachShader(program, shader(gl.VERTEX_SHADER, VERTEX));
  gl.attachShader(program, shader(gl.FRAGMENT_SHADER, FRAGMENT));
  gl.linkProgram(program);
  if (!gl.getProgramParameter(program, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(program));
  place = Object.fromEntries(["world", "seen", "turn", "colour"].map(x => [x, gl.getUniformLocation(program, x)]));
  const read = x => surface(floats(x.points), bytes(x.normals), new Uint32Array(bytes(x.triangles).buffer));
  surfaces = data.surfaces.map(read);
  rod = read(data.rod);
  gl.enable(gl.DEPTH_TEST);
  gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
}
const chosen = new Set();
function one(shape, world, colour, alpha) {
  gl.bindVertexArray(shape.array);
  gl.uniformMatrix4fv(place.world, false, world);
  gl.uniform4f(place.colour, ...colour, alpha);
  gl.drawElements(gl.TRIANGLES, shape.length, gl.UNSIGNED_INT, 0);
}
function stick(a, b, radius) {           // the rod of unit length and radius along z, from a to b and past both by its radius
  const way = sub(b, a), length = Math.hypot(...way), z = length ? unit(way) : [0, 0, 1];
  const x = unit(cross(Math.abs(z[0]) < 0.7 ? [1, 0, 0] : [0, 1, 0], z)), y = cross(z, x);
  const s = v => v.map(c => c * radius);
  const foot = a.map((c, i) => c - radius * z[i]);
  return [...s(x), 0, ...s(y), 0, ...z.map(c => c * (length + 2 * radius)), 0, ...foot, 1];
}
function draw() {
  const dense = window.devicePixelRatio || 1;
  const width = Math.round(canvas.clientWidth * dense), height = Math.round(canvas.clientHeight * dense);
  if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, {width, height});
  gl.viewport(0, 0, width, height);
  const paper = getComputedStyle(document.body).backgroundColor.match(/\d+/g).map(x => x / 255);
  gl.clearColor(paper[0], paper[1], paper[2], 1);
  gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
  gl.useProgram(program);
  const {seen, turn} = views();
  gl.uniformMatrix4fv(place.seen, false, seen);
  gl.uniformMatrix3fv(place.turn, false, turn);
  const [frame, part] = between(clock.t), cache = new Map();
  const world = k => { if (!cache.has(k)) cache.set(k, pose(frame, part, k)); return cache.get(k); };
  const lit = x => chosen.has(x.body) ? [0.95, 0.69, 0.2] : x.colour;
  data.parts.forEach((x, i) => { if (x.alpha >= 1) one(surfaces[x.surface], world(x.body), lit(x), 1); });
  data.ties.forEach((x, i) => {
    const [a, b] = [0, 1].map(j => moved(world(x.bodies[j]), x.points[j])), c = 3 * (frame * ties + i);
    one(rod, stick(a, b, x.radius), [0, 1, 2].map(j => tints[c + j] / 255), 1);
  });
  gl.enable(gl.BLEND);
  gl.depthMask(false);
  data.parts.forEach((x, i) => { if (x.alpha < 1) one(surfaces[x.surface], world(x.body), lit(x), x.alpha); });
  gl.depthMask(true);
  gl.disable(gl.BLEND);
}

// -- time -----------------------------------------------------------------------------------------------------------
const first = instants[0], last = instants[instants.length - 1];
const clock = {t: first, speed: 1, playing: false, before: 0};
function between(t) {
  let low = 0, high = instants.length - 1;
  while (low < high) { const m = (low + high + 1) >> 1; if (instants[m] <= t) low = m; else high = m - 1; }
  const span = low + 1 < instants.length ? instants[low + 1] - instants[low] : 0;
  return [low, span > 0 ? Math.min((t - instants[low]) / span, 1) : 0];
}
let asked = false;
function ask() { if (!asked) { asked = true; requestAnimationFrame(step); } }
function step(now) {
  asked = false;
  if (clock.playing) {
    clock.t += clock.speed * Math.min(now - clock.before, 100) / 1000;
    if (clock.t > last) clock.t = first;
    clock.before = now;
    ask();
  }
  show();
}
function show() {
  at("line").value = clock.t;
  at("clock").textContent = (data.start + clock.t).toFixed(2) + " s";
  draw();
}
function play(on) {
  clock.playing = on && last > first;
  clock.before = performance.now();
  at("play").textContent = clock.playing ? "pause" : "play";
  ask();
}
function seek(t) { clock.t = Math.min(Math.max(t, first), last); ask(); }

// -- hands ----------------------------------------------------------------------------------------------------------
function listen() {
  let held = null;
  canvas.addEventListener("pointerdown", e => { held = [e.clientX, e.clientY]; canvas.setPointerCapture(e.pointerId); });
  canvas.addEventListener("pointerup", () => { held = null; });
  canvas.addEventListener("pointermove", e => {
    if (!held) return;
    const [dx, dy] = [e.clientX - held[0], e.clientY - held[1]];
    held = [e.clientX, e.clientY];
    if (e.shiftKey || e.buttons === 4 || e.buttons === 2) {
      const [right, up] = axes(), s = 2 * data.radius / (camera.zoom * Math.min(canvas.clientWidth, canvas.clientHeight));
      camera.target = camera.target.map((x, i) => x - s * dx * right[i] + s * dy * up[i]);
    } else turn(-0.4 * dx, 0.4 * dy);
    ask();
  });
  canvas.addEventListener("contextmenu", e => e.preventDefault());
  canvas.addEventListener("wheel", e => { e.preventDefault(); zoom(Math.exp(-0.001 * e.deltaY)); }, {passive: false});
  const keys = {
    ArrowLeft: () => turn(5, 0), ArrowRight: () => turn(-5, 0), ArrowUp: () => turn(0, 5), ArrowDown: () => turn(0, -5),
    "+": () => zoom(1.1), "=": () => zoom(1.1), "-": () => zoom(1 / 1.1), " ": () => play(!clock.playing),
  };
  canvas.addEventListener("keydown", e => { if (keys[e.key]) { e.preventDefault(); keys[e.key](); } });
  at("play").addEventListener("click", () => play(!clock.playing));
  at("line").addEventListener("input", e => { play(false); seek(+e.target.value); });
  at("speed").addEventListener("change", e => { clock.speed = +e.target.value; });
  window.addEventListener("resize", ask);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", ask);
}
function turn(azimuth, elevation) {
  camera.azimuth += azimuth;
  camera.elevation = Math.min(89.9, Math.max(-89.9, camera.elevation + elevation));
  ask();
}
function zoom(by) { camera.zoom = Math.min(50, Math.max(0.1, camera.zoom * by)); ask(); }

function furnish() {
  at("name").textContent = `${data.title}: ${data.bodies.length} bod${data.bodies.length === 1 ? "y" : "ies"}`;
  data.bodies.forEach((name, k) => {
    const button = document.createElement("button"), item = document.createElement("li");
    button.textContent = name;                  // names are text, whatever they hold
    button.setAttribute("aria-pressed", "false");
    button.addEventListener("click", () => {
      if (!chosen.delete(k)) chosen.add(k);
      button.setAttribute("aria-pressed", String(chosen.has(k)));
      ask();
    });
    item.append(button);
    at("bodies").append(item);
  });
  for (const x of [0.1, 0.25, 0.5, 1, 2, 5, 10]) at("speed").append(new Option(`${x}×`, x, x === 1, x === 1));
  at("line").min = first;
  at("line").max = last;
  at("time").hidden = !(last > first);
}

if (gl) {
  prepare();
  furnish();
  listen();
  const wanted = /#t=([-\d.e]+)$/.exec(location.hash);
  if (wanted) clock.t = Math.min(Math.max(+wanted[1] - data.start, first), last);
  play(!wanted && !matchMedia("(prefers-reduced-motion: reduce)").matches);
} else {
  document.body.innerHTML = '<p id="problem">This page draws with WebGL 2, which this browser does not have or has switched off.</p>';
}
