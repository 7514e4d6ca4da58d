// -- where things are between two instants ----------------------------------------------------------------------------
const count = () => data.bodies.length + 1;
function between(t) {                     // the instant before, and the part of the way to the next
  let low = 0, high = instants.length - 1;
  while (low < high) { const m = (low + high + 1) >> 1; if (instants[m] <= t) low = m; else high = m - 1; }
  const span = low + 1 < instants.length ? instants[low + 1] - instants[low] : 0;
  return [low, span > 0 ? Math.min((t - instants[low]) / span, 1) : 0];
}
function pose(motion, [i, part], body) {  // a matrix
  const poses = motion.poses, k = body < 0 ? count() - 1 : body, a = 7 * (i * count() + k);
  const b = i + 1 < instants.length ? a + 7 * count() : a;
  let q = [0, 1, 2, 3].map(j => poses[a + j]);
  const r = [0, 1, 2, 3].map(j => poses[b + j]);
  const sign = q.reduce((s, x, j) => s + x * r[j], 0) < 0 ? -1 : 1;
  q = unit(q.map((x, j) => (1 - part) * x + part * sign * r[j]));
  const p = [4, 5, 6].map(j => (1 - part) * poses[a + j] + part * poses[b + j]);
  const [x, y, z, w] = q;
  return [
    1 - 2 * (y * y + z * z), 2 * (x * y + z * w), 2 * (x * z - y * w), 0,
    2 * (x * y - z * w), 1 - 2 * (x * x + z * z), 2 * (y * z + x * w), 0,
    2 * (x * z + y * w), 2 * (y * z - x * w), 1 - 2 * (x * x + y * y), 0, ...p, 1];
}
function mixed(numbers, width, rows, k, [i, part]) {   // `width` numbers of row k between two instants of `rows` each
  const a = width * (i * rows + k), b = a + width * rows < numbers.length ? a + width * rows : a;
  return Array.from({length: width}, (_, j) => (1 - part) * numbers[a + j] + part * numbers[b + j]);
}
function sparse([i, part]) {              // the same place among the instants at which inertias are known
  const frames = inertias.frames;
  let low = 0;
  while (low + 1 < frames.length && frames[low + 1] <= i) low += 1;
  return [low, low + 1 < frames.length ? (i + part - frames[low]) / (frames[low + 1] - frames[low]) : 0];
}
