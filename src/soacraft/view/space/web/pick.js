// -- which body is under the mouse: parts drawn in their numbers ------------------------------------------------------
let target = null;
function hit(x, y) {                      // {body, point} in the inertial axes of the page; null where there is none
  const [width, height] = [canvas.width, canvas.height], box = canvas.getBoundingClientRect();
  if (!target) {
    target = {frame: gl.createFramebuffer(), colour: gl.createRenderbuffer(), depth: gl.createRenderbuffer()};
  }
  gl.bindFramebuffer(gl.FRAMEBUFFER, target.frame);
  for (const [one, kind, where] of [
    [target.colour, gl.RGBA8, gl.COLOR_ATTACHMENT0], [target.depth, gl.DEPTH_COMPONENT24, gl.DEPTH_ATTACHMENT]]) {
    gl.bindRenderbuffer(gl.RENDERBUFFER, one);
    gl.renderbufferStorage(gl.RENDERBUFFER, kind, width, height);
    gl.framebufferRenderbuffer(gl.FRAMEBUFFER, where, gl.RENDERBUFFER, one);
  }
  gl.clearColor(0, 0, 0, 0);
  begin(target.frame, width, height);
  const deepest = [Math.max(away() - 3 * data.radius, 0), away() + 3 * data.radius];
  gl.uniform2f(place.deepest, ...deepest);
  const when = between(clock.t), world = worlds(motions[0], when);
  bend(0, when);
  data.parts.forEach(part => {
    gl.uniform1f(place.number, part.body + 2);           // what is fixed in the inertial frame is 1
    one(shape(part, 0), world(part.body), part.colour);
  });
  const pixel = new Uint8Array(4), dense = [width / box.width, height / box.height];
  gl.readPixels((x - box.left) * dense[0], height - 1 - (y - box.top) * dense[1], 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, pixel);
  gl.bindFramebuffer(gl.FRAMEBUFFER, null);
  const body = pixel[0] + 256 * pixel[1] - 2;
  if (body < 0) return null;
  const depth = deepest[0] + (pixel[2] + 256 * pixel[3]) / 65535 * (deepest[1] - deepest[0]);
  return {body, depth, point: plus(eye(), ray(x, y), depth)};
}
