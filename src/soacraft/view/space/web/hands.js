// -- mouse and keys ---------------------------------------------------------------------------------------------------
const grips = [];                         // what may take hold of a body: of a live page, to pull it
function listen() {
  let held = null;
  canvas.addEventListener("pointerdown", e => {
    canvas.setPointerCapture(e.pointerId);
    const grip = grips.map(x => x(e)).find(x => x);
    held = {at: [e.clientX, e.clientY], way: 0, grip};
  });
  canvas.addEventListener("pointerup", e => {
    if (held && held.grip) held.grip.end();
    else if (held && held.way < 4 && e.button === 0) { const found = hit(e.clientX, e.clientY); pick(found ? found.body : picked); }
    held = null;
  });
  canvas.addEventListener("pointercancel", () => { if (held && held.grip) held.grip.end(); held = null; });
  canvas.addEventListener("pointermove", e => {
    if (!held) return;
    const [dx, dy] = [e.clientX - held.at[0], e.clientY - held.at[1]];
    held.at = [e.clientX, e.clientY];
    held.way += Math.abs(dx) + Math.abs(dy);
    if (held.grip) { held.grip.move(e); return; }
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
    Escape: () => { if (picked >= 0) pick(picked); },
  };
  canvas.addEventListener("keydown", e => { if (keys[e.key]) { e.preventDefault(); keys[e.key](); } });
  at("play").addEventListener("click", () => play(!clock.playing));
  at("line").addEventListener("input", e => { play(false); seek(+e.target.value); });
  at("speed").addEventListener("change", e => { clock.speed = +e.target.value; });
  for (const x of [0.1, 0.25, 0.5, 1, 2, 5, 10]) at("speed").append(new Option(`${x}×`, x, x === 1, x === 1));
  window.addEventListener("resize", ask);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", ask);
}
