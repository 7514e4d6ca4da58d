// -- the numbers of one instant, as `live/frames.py` writes them ------------------------------------------------------
function frameOf(f) {                     // a Float32Array; one of another version of the scene is left out
  if (f[0] !== data.version) return;
  const n = data.bodies.length;
  let i = 1;
  const next = length => f.subarray(i, i += length);
  motions[0] = {poses: next(7 * (n + 1)), tints: next(3 * data.ties.length), eta: next(data.modes)};
  data.ellipsoids.forEach(x => { x.numbers = next(9); });
  velocities = next(6 * n);
  moveSliders(next(data.nv));
  const [k] = next(1), composite = next(9), articulated = next(9);
  if (k >= 0 && k < n) {
    inertias.composite.set(composite, 9 * k);
    inertias.articulated.set(articulated, 9 * k);
  }
  ask();
}
