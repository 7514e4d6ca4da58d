// -- vectors, and matrices of four columns ----------------------------------------------------------------------------
const sub = (a, b) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
const plus = (a, b, s = 1) => [a[0] + s * b[0], a[1] + s * b[1], a[2] + s * b[2]];
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const size = a => Math.hypot(...a);
const unit = a => { const l = size(a) || 1; return a.map(x => x / l); };
const moved = (m, p) => [0, 1, 2].map(i => m[i] * p[0] + m[4 + i] * p[1] + m[8 + i] * p[2] + m[12 + i]);
const turned = (m, p) => [0, 1, 2].map(i => m[i] * p[0] + m[4 + i] * p[1] + m[8 + i] * p[2]);
const times = (a, b) => [0, 4, 8, 12].flatMap(j => [0, 1, 2, 3].map(i => [0, 1, 2, 3].reduce((s, k) => s + a[4 * k + i] * b[j + k], 0)));
const frame = (x, y, z, p) => [...x, 0, ...y, 0, ...z, 0, ...p, 1];
function along(z) {                       // two axes across a direction
  const x = unit(cross(Math.abs(z[0]) < 0.7 ? [1, 0, 0] : [0, 1, 0], z));
  return [x, cross(z, x)];
}
