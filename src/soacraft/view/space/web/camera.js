// -- the camera: on a sphere about a target ---------------------------------------------------------------------------
const FIELD = 32 * Math.PI / 180;
const camera = {azimuth: 0, elevation: 0, zoom: 1, target: [0, 0, 0]};
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
const away = () => data.radius / (Math.sin(FIELD / 2) * camera.zoom);
const eye = () => plus(camera.target, axes()[2], away());
function views() {
  const [right, up, back] = axes(), distance = away(), from = eye();
  const f = 1 / Math.tan(FIELD / 2), shorter = Math.min(canvas.width, canvas.height);
  const fx = f * shorter / canvas.width, fy = f * shorter / canvas.height;
  const near = Math.max(distance - 6 * data.radius, 1e-3 * distance), far = distance + 6 * data.radius;
  const c = -(far + near) / (far - near), d = -2 * far * near / (far - near);
  const rows = [right.map(x => fx * x), up.map(x => fy * x), back.map(x => c * x), back.map(x => -x)];
  const move = rows.map(r => -dot(r, from));
  move[2] += d;
  return {
    seen: [0, 1, 2].flatMap(j => rows.map(r => r[j])).concat(move),
    turn: [0, 1, 2].flatMap(j => [right[j], up[j], back[j]]),
  };
}
function ray(x, y) {                      // from the eye through a place of the page, a unit along the view
  const [right, up, back] = axes(), box = canvas.getBoundingClientRect();
  const s = 2 * Math.tan(FIELD / 2) / Math.min(box.width, box.height);
  const [dx, dy] = [s * (x - box.left - box.width / 2), s * (box.top + box.height / 2 - y)];
  return [0, 1, 2].map(i => dx * right[i] + dy * up[i] - back[i]);
}
function turn(azimuth, elevation) {
  camera.azimuth += azimuth;
  camera.elevation = Math.min(89.9, Math.max(-89.9, camera.elevation + elevation));
  ask();
}
function zoom(by) { camera.zoom = Math.min(50, Math.max(0.1, camera.zoom * by)); ask(); }
