// -- a live scene within another page of this machine: it says which bodies light up, and hears which one is picked --
const near = /^http:\/\/(127\.0\.0\.1|localhost|\[::1\]):\d+$/;
if (window.parent !== window) {
  let page = null;                        // the origin of the page around, once it has spoken
  window.addEventListener("message", event => {
    if (event.source !== window.parent || !near.test(event.origin) || !event.data || event.data.soacraft !== "light") return;
    page = event.origin;
    if (data && gl && Array.isArray(event.data.bodies)) light(event.data.bodies.filter(k => Number.isInteger(k)));
  });
  listeners.pick.push(body => { if (page && body >= 0) window.parent.postMessage({soacraft: "pick", body}, page); });
}
