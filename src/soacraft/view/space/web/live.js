// -- the socket of a live page, and the mouse that pulls a body -------------------------------------------------------
const waiting = new Map();
let socket = null, number = 0;
function request(verb, fields = {}) {
  return new Promise((good, bad) => {
    number += 1;
    waiting.set(number, {good, bad});
    socket.send(JSON.stringify({id: number, verb, ...fields}));
  });
}
const look = body => request("pick", {body, composite: wanted.composite, articulated: wanted.articulated});
async function refresh() {                // the scene, anew
  try {
    const given = await request("scene");
    if (gl) show(given); else start(given);
    sliders((dof, value) => request("move", {dof, value}), () => request("assemble"));
    say("");
    await look(picked);                   // what has moved meanwhile
  } catch (error) { say(error.message); }
}
function live() {
  socket = new WebSocket(`ws://${location.host}/socket${location.search}`);
  socket.binaryType = "arraybuffer";
  socket.onopen = refresh;
  socket.onclose = () => say("The connection to Python is closed.");
  socket.onmessage = ({data: told}) => {
    if (told instanceof ArrayBuffer) { if (data) frameOf(new Float32Array(told, 4)); return; }
    const message = JSON.parse(told), one = waiting.get(message.id);
    waiting.delete(message.id);
    if (message.event === "changed") refresh();
    else if (message.event === "problem") say(message.data.text);
    else if (one && message.error) one.bad(new Error(message.error.text));
    else if (one) one.good(message.answer);
  };
  listeners.pick.push(body => look(body).catch(error => say(error.message)));
  if (window.parent === window) return;   // within another page of this machine: it lights bodies up, and is told of picks
  window.addEventListener("message", e => {
    const told = e.source === window.parent && e.data;
    if (told && told.soacraft === "light" && Array.isArray(told.bodies) && data) light(told.bodies.filter(Number.isInteger));
  });
  const above = (location.ancestorOrigins || ["*"])[0];
  listeners.pick.push(body => window.parent.postMessage({soacraft: "pick", body}, above));
}
grips.push(e => {                         // with ctrl held, a body is pulled by a spring
  if (!data.pull || !e.ctrlKey) return null;
  const found = hit(e.clientX, e.clientY);
  if (!found) return null;
  const m = pose(motions[0], between(clock.t), found.body), way = sub(found.point, [m[12], m[13], m[14]]);
  const point = [0, 1, 2].map(j => dot(way, [m[4 * j], m[4 * j + 1], m[4 * j + 2]]));
  let target = found.point, busy = false, again = false;
  const tell = async () => {
    if (busy) { again = true; return; }
    busy = true;
    do {
      again = false;
      try { await request("pull", {body: found.body, point, target: plus(target, data.centre)}); } catch (error) { say(error.message); }
    } while (again);
    busy = false;
  };
  pulling = {ends: world => [moved(world(found.body), point), target]};
  tell();
  return {
    move: e => { target = plus(eye(), ray(e.clientX, e.clientY), found.depth); tell(); ask(); },
    end: () => { pulling = null; again = false; request("pull", {body: -1}).catch(error => say(error.message)); ask(); },
  };
});
