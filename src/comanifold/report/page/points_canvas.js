// Very many points on a canvas, with WebGL where there is any. Plotly's own WebGL plots compile
// code from text, which the policy of this page forbids.

const VERTEX = `
attribute vec2 place; attribute vec4 colour; uniform vec2 low, width; uniform mediump float size; varying vec4 ink;
void main() { gl_Position = vec4(2.0 * (place - low) / width - 1.0, 0.0, 1.0); gl_PointSize = size; ink = colour; }`;
const FRAGMENT = `
precision mediump float; varying vec4 ink; uniform mediump float size;
void main() {
  float share = clamp((0.5 - distance(gl_PointCoord, vec2(0.5))) * size, 0.0, 1.0) * ink.a;
  gl_FragColor = vec4(ink.rgb * share, share);
}`;

function makeProgram(gl) {
  const program = gl.createProgram();
  for (const [kind, source] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  return gl.getProgramParameter(program, gl.LINK_STATUS) ? program : null;
}

const toBytes = (colour) => (colour[0] === "#" ? channels(colour) : colour.match(/\d+/g).slice(0, 3).map(Number));

// The places and colours of points in the order in which they are drawn: faded ones first.
function pointArrays(x, y, colours, isFaded) {
  const order = range(x.length).filter((point) => Number.isFinite(x[point]) && Number.isFinite(y[point]));
  order.sort((a, b) => isFaded[b] - isFaded[a] || a - b);
  const places = new Float32Array(2 * order.length), inks = new Uint8Array(4 * order.length), known = new Map();
  order.forEach((point, i) => {
    const colour = colours[point];
    if (!known.has(colour)) known.set(colour, toBytes(colour));
    places.set([x[point], y[point]], 2 * i);
    inks.set([...known.get(colour), isFaded[point] ? 46 : 255], 4 * i);
  });
  return { places, inks, count: order.length };
}

const pointCanvas = () => element("canvas", [], { className: "points", ariaHidden: "true" });

// A canvas, and a function that draws points on it: arrays as above, the part to show as two ranges.
function pointPainter() {
  const canvas = pointCanvas(), gl = canvas.getContext("webgl", { preserveDrawingBuffer: true }), program = gl && makeProgram(gl);
  if (!program) return flatPainter();
  const buffers = [gl.createBuffer(), gl.createBuffer()], at = (name) => gl.getUniformLocation(program, name);
  let last = null;
  const paint = ({ places, inks, count }, [left, right], [bottom, top], size) => {
    gl.viewport(0, 0, canvas.width, canvas.height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    gl.useProgram(program);
    [["place", places, 2, gl.FLOAT, false], ["colour", inks, 4, gl.UNSIGNED_BYTE, true]].forEach(([name, values, width, kind, isShare], i) => {
      const attribute = gl.getAttribLocation(program, name);
      gl.bindBuffer(gl.ARRAY_BUFFER, buffers[i]);
      if (last !== places) gl.bufferData(gl.ARRAY_BUFFER, values, gl.STATIC_DRAW);
      gl.enableVertexAttribArray(attribute);
      gl.vertexAttribPointer(attribute, width, kind, isShare, 0, 0);
    });
    last = places;
    gl.uniform2f(at("low"), left, bottom);
    gl.uniform2f(at("width"), right - left, top - bottom);
    gl.uniform1f(at("size"), size);
    gl.drawArrays(gl.POINTS, 0, count);
  };
  return { canvas, paint };
}

// The same without WebGL.
function flatPainter() {
  const canvas = pointCanvas(), brush = canvas.getContext("2d");
  const paint = ({ places, inks, count }, [left, right], [bottom, top], size) => {
    brush.clearRect(0, 0, canvas.width, canvas.height);
    for (let i = 0; i < count; i++) {
      brush.fillStyle = `rgba(${inks[4 * i]},${inks[4 * i + 1]},${inks[4 * i + 2]},${inks[4 * i + 3] / 255})`;
      brush.beginPath();
      brush.arc((canvas.width * (places[2 * i] - left)) / (right - left), (canvas.height * (top - places[2 * i + 1])) / (top - bottom), size / 2, 0, 7);
      brush.fill();
    }
  };
  return { canvas, paint };
}
