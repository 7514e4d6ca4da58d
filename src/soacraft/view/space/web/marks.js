// -- what is drawn besides bodies: rods, arrows, axes, ellipsoids, contacts -------------------------------------------
const COLOURS = {
  inertia: [0.27, 0.47, 0.67], composite: [0.13, 0.53, 0.2], articulated: [0.93, 0.4, 0.47],
  linear: [0.12, 0.47, 0.71], angular: [0.67, 0.2, 0.47],
};
const AXES = [[0.84, 0.15, 0.16], [0.17, 0.63, 0.17], [0.12, 0.47, 0.71]];
const wanted = {axes: true, inertia: true, velocity: true, composite: false, articulated: false};
const hollow = () => wanted.axes || wanted.inertia || wanted.composite || wanted.articulated;
function stick(a, b, radius, colour) {    // a rod from a to b and past both by its radius
  const way = sub(b, a), length = size(way), z = length ? unit(way) : [0, 0, 1], [x, y] = along(z);
  const s = v => v.map(c => c * radius);
  one(marks.rod, frame(s(x), s(y), z.map(c => c * (length + 2 * radius)), plus(a, z, -radius)), colour);
}
function arrow(a, way, radius, colour) {
  const length = size(way);
  if (!(length > 0)) return;
  const z = unit(way), [x, y] = along(z), head = Math.min(4 * radius, 0.5 * length), s = v => v.map(c => 2.2 * radius * c);
  const neck = plus(a, z, length - head);
  stick(a, neck, radius, colour);
  one(marks.cone, frame(s(x), s(y), z.map(c => c * head), neck), colour);
}
function ellipsoid(world, nine, colour, alpha) {       // nine numbers: xx, yy, zz, xy, xz, yz of S, and the centre
  const [a, b, c, d, e, f, ...centre] = nine;
  if (!(a + b + c > 0)) return;
  gl.enable(gl.CULL_FACE);                // its back would show through its front
  one(marks.ball, times(world, frame([a, d, e], [d, b, f], [e, f, c], centre)), colour, alpha);
  gl.disable(gl.CULL_FACE);
}
const STILL = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1];
function solidMarks(when, world) {
  if (picked < 0) return;
  const m = world(picked), from = [m[12], m[13], m[14]];
  if (wanted.axes) AXES.forEach((colour, i) => arrow(from, [0, 1, 2].map(j => data.triad * m[4 * i + j]), 0.05 * data.triad, colour));
  if (!wanted.velocity) return;
  const V = velocity(when, picked);
  const sized = (x, s) => { const l = size(x) * s; return x.map(c => c * s * Math.min(1, data.length / (l || 1))); };
  arrow(from, sized(V.slice(3), 0.25 * data.time), 0.008 * data.length, COLOURS.linear);
  arrow(from, sized(V.slice(0, 3), 0.1 * data.time * data.length), 0.008 * data.length, COLOURS.angular);
}
function clearMarks(when, world) {
  data.ellipsoids.forEach(x => ellipsoid(STILL, mixed(x.numbers, 9, 1, 0, when), x.colour, 0.4));
  if (picked < 0) return;
  const some = sparse(when), kinds = {inertia: "own", composite: "composite", articulated: "articulated"};
  for (const [name, kind] of Object.entries(kinds)) {
    if (wanted[name]) ellipsoid(world(picked), inertia(kind, some, picked), COLOURS[name], 0.45);
  }
}
function frontMarks(when, world) {
  const rows = contacts(when[0]), look = data.contacts;
  rows.forEach(row => {
    stick(row.point, row.point, look.point, look.colour);
    arrow(row.point, row.force, 0.5 * look.point, look.colour);
  });
  if (pulling) stick(...pulling.ends(world), 0.006 * data.length, LIT);
  clear(() => rows.forEach(row => {
    if (!(row.friction > 0) || !row.axis.every(Number.isFinite)) return;
    const z = row.axis.map(c => -c), [x, y] = along(z), s = v => v.map(c => c * look.cone * row.friction);
    one(marks.cone, frame(s(x), s(y), z.map(c => c * look.cone), plus(row.point, row.axis, look.cone)), look.colour, 0.3);
  }));
}
let pulling = null;                       // the spring between a body and the mouse, of a live page
const velocity = (when, k) => mixed(velocities, 6, data.bodies.length, k, when);
function inertia(kind, some, k) {
  return kind === "own" ? Array.from(inertias.own.subarray(9 * k, 9 * k + 9)) : mixed(inertias[kind], 9, data.bodies.length, k, some);
}
function contacts(i) {
  const [from, to] = [data.contacts.starts[i], data.contacts.starts[i + 1]], list = [];
  for (let r = from; r < to; r++) {
    const x = Array.from(contactRows.subarray(10 * r, 10 * r + 10));
    list.push({point: x.slice(0, 3), force: x.slice(3, 6), axis: x.slice(6, 9), friction: x[9]});
  }
  return list;
}
