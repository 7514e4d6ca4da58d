// -- requests to Python, and what it tells unasked --------------------------------------------------------------------
const waiting = new Map(), hearers = {};
let socket = null, number = 0;
class Refused extends Error {}
function request(verb, fields = {}) {
  return new Promise((good, bad) => {
    if (!socket || socket.readyState !== WebSocket.OPEN) { bad(new Refused("The connection to Python is closed; open the page again.")); return; }
    number += 1;
    waiting.set(number, {good, bad});
    socket.send(JSON.stringify({id: number, verb, ...fields}));
  });
}
function connect(opened) {
  socket = new WebSocket(`ws://${location.host}/socket${location.search}`);
  socket.onopen = opened;
  socket.onclose = ({reason}) => {
    waiting.forEach(one => one.bad(new Refused(reason || "The connection to Python is closed; open the page again.")));
    waiting.clear();
    say("The connection to Python is closed. " + reason);
  };
  socket.onmessage = ({data}) => {
    const message = JSON.parse(data), one = waiting.get(message.id);
    waiting.delete(message.id);
    if (message.event && hearers[message.event]) hearers[message.event](message.data);
    else if (one && message.error) one.bad(Object.assign(new Refused(message.error.text), message.error));
    else if (one) one.good(message.answer);
  };
}
