// -- surfaces in the memory of the graphics card ----------------------------------------------------------------------
const VERTEX = `#version 300 es
in vec3 point, normal, tint;
uniform mat4 world, seen; uniform mat3 turn;
out vec3 n, own; out float deep;
void main() {
  own = tint;
  n = turn * mat3(world) * normal; gl_Position = seen * world * vec4(point, 1.0); deep = gl_Position.w;
}`;
// The light of the pictures: from above the left shoulder, on the side that is seen. With `number` above zero a pixel
// says which part it is of, and how far away, from deepest[0] to deepest[1]: each two bytes.
const FRAGMENT = `#version 300 es
precision highp float;
in vec3 n, own; in float deep; uniform vec4 colour; uniform float number, tinted; uniform vec2 deepest; out vec4 shown;
void main() {
  if (number > 0.0) {
    float d = floor(65535.0 * clamp((deep - deepest.x) / (deepest.y - deepest.x), 0.0, 1.0));
    shown = vec4(mod(number, 256.0), floor(number / 256.0), mod(d, 256.0), floor(d / 256.0)) / 255.0;
    return;
  }
  vec3 m = normalize(n), light = normalize(vec3(-0.45, 0.65, 0.75));
  if (m.z < 0.0) m = -m;
  float straight = max(dot(m, light), 0.0), shine = pow(max(dot(m, normalize(light + vec3(0, 0, 1))), 0.0), 30.0);
  shown = vec4(mix(colour.rgb, own, tinted) * (0.42 + 0.58 * straight) + 0.12 * shine, colour.a);
}`;
let canvas, gl, program, place, surfaces, marks, made = [];
function shader(kind, text) {
  const result = gl.createShader(kind);
  gl.shaderSource(result, text);
  gl.compileShader(result);
  if (!gl.getShaderParameter(result, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(result));
  return result;
}
function prepare() {
  program = gl.createProgram();
  gl.attachShader(program, shader(gl.VERTEX_SHADER, VERTEX));
  gl.attachShader(program, shader(gl.FRAGMENT_SHADER, FRAGMENT));
  gl.linkProgram(program);
  if (!gl.getProgramParameter(program, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(program));
  const names = ["world", "seen", "turn", "colour", "number", "deepest", "tinted"];
  place = Object.fromEntries(names.map(x => [x, gl.getUniformLocation(program, x)]));
  gl.enable(gl.DEPTH_TEST);
  gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
}
function buffer(kind, values, often = gl.STATIC_DRAW) {
  const one = gl.createBuffer();
  gl.bindBuffer(kind, one);
  gl.bufferData(kind, values, often);
  made.push(() => gl.deleteBuffer(one));
  return one;
}
function surface(x) {
  const array = gl.createVertexArray(), triangles = new Uint32Array(bytes(x.triangles).buffer);
  made.push(() => gl.deleteVertexArray(array));
  gl.bindVertexArray(array);
  for (const [name, values, kind] of [["point", floats(x.points), gl.FLOAT], ["normal", bytes(x.normals), gl.BYTE]]) {
    buffer(gl.ARRAY_BUFFER, values);
    const where = gl.getAttribLocation(program, name);
    gl.enableVertexAttribArray(where);
    gl.vertexAttribPointer(where, 3, kind, kind === gl.BYTE, 0, 0);
  }
  buffer(gl.ELEMENT_ARRAY_BUFFER, triangles);
  return {array, length: triangles.length};
}
function upload() {                       // the surfaces of the present data, in place of those before
  made.forEach(free => free());
  made = [];
  surfaces = data.surfaces.map(surface);
  marks = Object.fromEntries(Object.entries(data.marks).map(([name, x]) => [name, surface(x)]));
  uploadSkins();
}
function dynamic(kinds, triangles) {      // a surface whose points, normals and colours change
  const array = gl.createVertexArray(), buffers = {};
  made.push(() => gl.deleteVertexArray(array));
  gl.bindVertexArray(array);
  for (const [name, values] of Object.entries(kinds)) {
    buffers[name] = buffer(gl.ARRAY_BUFFER, values, gl.DYNAMIC_DRAW);
    const where = gl.getAttribLocation(program, name), whole = values instanceof Uint8Array;
    gl.enableVertexAttribArray(where);
    gl.vertexAttribPointer(where, 3, whole ? gl.UNSIGNED_BYTE : gl.FLOAT, whole, 0, 0);
  }
  buffer(gl.ELEMENT_ARRAY_BUFFER, triangles);
  return {array, buffers, length: triangles.length};
}
function renew(shown) {                   // what has changed of it
  for (const [name, one] of Object.entries(shown.surface.buffers)) {
    gl.bindBuffer(gl.ARRAY_BUFFER, one);
    gl.bufferSubData(gl.ARRAY_BUFFER, 0, shown[name]);
  }
}
function one(shape, world, colour, alpha = 1, tinted = false) {
  gl.bindVertexArray(shape.array);
  gl.uniform1f(place.tinted, tinted ? 1 : 0);
  gl.uniformMatrix4fv(place.world, false, world);
  gl.uniform4f(place.colour, ...colour, alpha);
  gl.drawElements(gl.TRIANGLES, shape.length, gl.UNSIGNED_INT, 0);
}
