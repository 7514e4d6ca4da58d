// -- time -------------------------------------------------------------------------------------------------------------
const clock = {t: 0, speed: 1, playing: false, before: 0};
const first = () => instants[0], last = () => instants[instants.length - 1];
let asked = false;
function ask() { if (!asked) { asked = true; requestAnimationFrame(step); } }
function step(now) {
  asked = false;
  if (clock.playing) {
    clock.t += clock.speed * Math.min(now - clock.before, 100) / 1000;
    if (clock.t > last()) clock.t = first();
    clock.before = now;
    ask();
  }
  at("line").value = clock.t;
  at("clock").textContent = (data.start + clock.t).toFixed(2) + " s";
  draw();
  follow();
}
function play(on) {
  clock.playing = on && last() > first();
  clock.before = performance.now();
  at("play").textContent = clock.playing ? "pause" : "play";
  ask();
}
function seek(t) { clock.t = Math.min(Math.max(t, first()), last()); ask(); }
function timeline() {
  at("line").min = first();
  at("line").max = last();
  at("time").hidden = !(last() > first());
  at("hands").classList.toggle("above", last() > first());
}
