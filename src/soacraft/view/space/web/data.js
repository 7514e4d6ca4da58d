// -- data: surfaces fixed on bodies, and the poses of the bodies over time. Positions are relative to data.centre, times
// to data.start. A live page gets other data when the model changes.
const at = id => document.getElementById(id);
const bytes = text => Uint8Array.from(atob(text), c => c.charCodeAt(0));
const floats = text => new Float32Array(bytes(text).buffer);
let data, instants, motions, velocities, inertias, contactRows;
function take(given) {
  data = given;
  instants = floats(data.t);
  motions = [data, ...data.ghosts].map(x => ({poses: floats(x.poses), tints: bytes(x.tints), eta: floats(x.eta)}));
  velocities = floats(data.velocities);
  contactRows = floats(data.contacts.rows);
  inertias = {frames: data.inertias.frames};
  for (const kind of ["own", "composite", "articulated"]) inertias[kind] = floats(data.inertias[kind]);
  data.ellipsoids.forEach(x => { x.numbers = floats(x.shape); });
}
