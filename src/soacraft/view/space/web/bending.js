// -- flexible bodies: surfaces whose points are carried by stations that move and turn with the modes ------------------
let skins = [], bent = [];                // what carries the points; for each motion the surfaces, and where they were last
function readSkin(x) {
  const read = name => x[name] === undefined ? null : floats(x[name]);
  const whole = name => x[name] === undefined ? null : new Uint32Array(bytes(x[name]).buffer);
  const skin = {first: x.first, n: x.n, parts: x.parts, triangles: whole("triangles"), owner: whole("owner"), elements: whole("elements")};
  for (const name of ["at", "gam", "gam2", "lam", "offset", "normals", "stress"]) skin[name] = read(name);
  skin.count = skin.owner ? skin.owner.length : skin.triangles.length;
  skin.still = new Float32Array(3 * skin.count);
  carry(skin, new Float64Array(skin.n), skin.still, null);
  return skin;
}
function stations(skin, eta) {            // at + gam eta + 1/2 eta gam2 eta
  const {n, at, gam, gam2} = skin;
  return Float64Array.from(at, (x, i) => {
    for (let j = 0; j < n; j++) {
      x += gam[i * n + j] * eta[j];
      if (gam2 && eta[j]) for (let k = 0; k < n; k++) x += 0.5 * eta[j] * gam2[(i * n + j) * n + k] * eta[k];
    }
    return x;
  });
}
function turnsOf(skin, eta) {             // exp(lam eta~) of every station, by rows
  const {n, lam} = skin, k = lam.length / (3 * n), R = new Float64Array(9 * k);
  for (let s = 0; s < k; s++) {
    const [x, y, z] = [0, 1, 2].map(a => { let t = 0; for (let j = 0; j < n; j++) t += lam[(3 * s + a) * n + j] * eta[j]; return t; });
    const t = Math.hypot(x, y, z), b = t > 1e-6 ? Math.sin(t) / t : 1, c = t > 1e-6 ? (1 - Math.cos(t)) / (t * t) : 0.5;
    R.set([
      1 - c * (y * y + z * z), c * x * y - b * z, c * x * z + b * y,
      c * x * y + b * z, 1 - c * (x * x + z * z), c * y * z - b * x,
      c * x * z - b * y, c * y * z + b * x, 1 - c * (x * x + y * y)], 9 * s);
  }
  return R;
}
function carry(skin, eta, points, outward) {           // fill points and, where they are wanted, normals
  const l = stations(skin, eta), {owner, offset, normals, triangles} = skin;
  if (!owner) {
    triangles.forEach((s, i) => { for (let a = 0; a < 3; a++) points[3 * i + a] = l[3 * s + a]; });
    for (let i = 0; outward && i < points.length; i += 9) {
      const [p, q, r] = [0, 3, 6].map(j => [points[i + j], points[i + j + 1], points[i + j + 2]]);
      const face = unit(cross(sub(q, p), sub(r, p)));
      for (let j = 0; j < 9; j++) outward[i + j] = face[j % 3];
    }
    return;
  }
  const R = turnsOf(skin, eta);
  for (let i = 0; i < owner.length; i++) {
    const s = owner[i];
    for (let a = 0; a < 3; a++) {
      const m = 9 * s + 3 * a, turned = x => R[m] * x[3 * i] + R[m + 1] * x[3 * i + 1] + R[m + 2] * x[3 * i + 2];
      points[3 * i + a] = l[3 * s + a] + turned(offset);
      if (outward) outward[3 * i + a] = turned(normals);
    }
  }
}
function stresses(skin, eta) {            // of the elements: the largest normal stress of a section, von Mises' of a solid
  const {n, parts, stress} = skin, count = stress.length / (n * parts), found = new Float32Array(count);
  for (let e = 0; e < count; e++) {
    const s = Array.from({length: parts}, (_, c) => { let x = 0; for (let j = 0; j < n; j++) x += stress[(e * parts + c) * n + j] * eta[j]; return x; });
    const apart = [s[0] - s[2], s[1] - s[0], s[2] - s[1]];
    found[e] = parts === 4 ? Math.max(...s.map(Math.abs)) : Math.sqrt(0.5 * dot(apart, apart) + 3 * dot(s.slice(3), s.slice(3)));
  }
  return Float32Array.from(skin.elements, e => found[e]);
}
function tint(part, into, i) {            // the colour of a part of the most, 0 to 1, in bytes
  const ramp = data.colouring.ramp, x = Math.min(Math.max(part, 0), 1) * (ramp.length - 1), k = Math.min(Math.floor(x), ramp.length - 2);
  for (let a = 0; a < 3; a++) into[3 * i + a] = 255 * ((1 - x + k) * ramp[k][a] + (x - k) * ramp[k + 1][a]);
}
function uploadSkins() {
  skins = data.skins.map(readSkin);
  data.parts.forEach(x => { if (x.skin !== undefined) skins[x.skin].coloured = coloured(x); });
  bent = motions.map(() => skins.map(skin => {
    const kinds = {point: new Float32Array(3 * skin.count), normal: new Float32Array(3 * skin.count), tint: new Uint8Array(3 * skin.count)};
    const triangles = skin.owner ? skin.triangles : Uint32Array.from(skin.triangles, (_, i) => i);
    return {...kinds, surface: dynamic(kinds, triangles), last: null};
  }));
  legend();
}
function bend(g, when) {                  // the surfaces of a motion at an instant
  const all = mixed(motions[g].eta, data.modes, 1, 0, when), s = data.colouring.exaggerate;
  skins.forEach((skin, i) => {
    const shown = bent[g][i], eta = all.slice(skin.first, skin.first + skin.n);
    if (shown.last && eta.every((x, j) => x === shown.last[j])) return;
    shown.last = eta;
    let far = new Float32Array(3 * skin.count);
    if (s !== 1) carry(skin, eta, far, null);
    carry(skin, eta.map(x => s * x), shown.point, shown.normal);
    if (s === 1) far = shown.point;
    const away = i => Math.hypot(far[3 * i] - skin.still[3 * i], far[3 * i + 1] - skin.still[3 * i + 1], far[3 * i + 2] - skin.still[3 * i + 2]);
    const byStress = data.colouring.kind === "stress" && skin.stress;
    const values = byStress ? stresses(skin, eta) : Float32Array.from({length: skin.count}, (_, i) => away(i));
    const most = values.reduce((a, b) => Math.max(a, b), 0);
    if (g === 0 && skin.coloured && most > data.colouring.most) { data.colouring.most = most; bent[0].forEach(x => { x.last = null; }); legend(); }
    values.forEach((x, i) => tint(data.colouring.most > 0 ? x / data.colouring.most : 0, shown.tint, i));
    renew(shown);
  });
}
function legend() {                       // what is written on the picture, and what its colours say
  const look = data.colouring, lines = look.words.map(text => {
    const line = document.createElement("div");
    line.textContent = text;
    return line;
  });
  if (look.most > 0) {
    const line = document.createElement("div"), bar = document.createElement("span");
    const colours = look.ramp.map(c => `rgb(${c.map(x => Math.round(255 * x)).join(",")})`);
    bar.className = "bar";
    bar.style.background = `linear-gradient(to right, ${colours.join(", ")})`;
    line.append("0 ", bar, ` ${look.kind}${look.relative ? ", relative" : ` ${look.most.toPrecision(3)} ${look.unit}`}`);
    lines.push(line);
  }
  at("caption").replaceChildren(...lines);
  at("caption").hidden = !lines.length;
}
const shape = (part, g) => part.skin === undefined ? surfaces[part.surface] : bent[g][part.skin].surface;
function coloured(part) {
  return part.kind === "skin" && (data.colouring.kind === "deflection" || (data.colouring.kind === "stress" && !!skins[part.skin].stress));
}
