// -- a picture --------------------------------------------------------------------------------------------------------
const LIT = [0.95, 0.69, 0.2];
const chosen = new Set();                 // bodies that are lit up
let picked = -1;                          // the body that the panel is about
function begin(target, width, height) {
  gl.bindFramebuffer(gl.FRAMEBUFFER, target);
  gl.viewport(0, 0, width, height);
  gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
  gl.useProgram(program);
  const {seen, turn} = views();
  gl.uniformMatrix4fv(place.seen, false, seen);
  gl.uniformMatrix3fv(place.turn, false, turn);
  gl.uniform1f(place.number, 0);
}
function worlds(motion, when) {           // the pose of a body, computed once
  const cache = new Map();
  return k => { if (!cache.has(k)) cache.set(k, pose(motion, when, k)); return cache.get(k); };
}
function clear(work) {                    // what is seen through
  gl.enable(gl.BLEND);
  gl.depthMask(false);
  work();
  gl.depthMask(true);
  gl.disable(gl.BLEND);
}
function draw() {
  const dense = window.devicePixelRatio || 1;
  const width = Math.round(canvas.clientWidth * dense), height = Math.round(canvas.clientHeight * dense);
  if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, {width, height});
  const paper = getComputedStyle(document.body).backgroundColor.match(/\d+/g).map(x => x / 255);
  gl.clearColor(paper[0], paper[1], paper[2], 1);
  begin(null, width, height);
  const when = between(clock.t), world = worlds(motions[0], when);
  bend(0, when);
  const lit = x => chosen.has(x.body) || (x.body >= 0 && x.body === picked) ? LIT : x.colour;
  const tinted = x => coloured(x) && lit(x) === x.colour;
  const seeThrough = x => x.alpha < 1 || (picked >= 0 && x.body === picked && hollow());
  data.parts.forEach(x => { if (!seeThrough(x)) one(shape(x, 0), world(x.body), lit(x), 1, tinted(x)); });
  data.ties.forEach((x, i) => {
    const [a, b] = [0, 1].map(j => moved(world(x.bodies[j]), x.points[j])), c = 3 * (when[0] * data.ties.length + i);
    stick(a, b, x.radius, [0, 1, 2].map(j => motions[0].tints[c + j] / 255));
  });
  solidMarks(when, world);
  clear(() => {
    data.parts.forEach(x => { if (seeThrough(x)) one(shape(x, 0), world(x.body), lit(x), Math.min(x.alpha, 0.45)); });
    data.ghosts.forEach((ghost, g) => {
      const there = worlds(motions[g + 1], when);
      bend(g + 1, when);
      data.parts.forEach(x => { if (x.body >= 0) one(shape(x, g + 1), there(x.body), ghost.colour, ghost.alpha * x.alpha); });
    });
    clearMarks(when, world);
  });
  gl.clear(gl.DEPTH_BUFFER_BIT);          // what acts inside bodies is seen through them
  frontMarks(when, world);
}
