// An embedding of very many points: Plotly draws the axes and what is selected by dragging, and the
// points are on a canvas below. All of them are drawn.

const MOST_SVG_POINTS = 4000, POINT_SIZE = 4, REACH = 12;
const clouds = {};
const isCloud = (mode) => mode.names.length > MOST_SVG_POINTS;

// What Plotly is given in place of the points: two corners that cannot be seen.
function cornerTrace(x, y) {
  const ends = (values) => [lowest(values), highest(values)];
  const [across, up] = [x, y].map((values) => ends(values.filter(Number.isFinite)));
  return { type: "scatter", mode: "markers", hoverinfo: "skip", x: across, y: up, marker: { opacity: 0, size: 8 } };
}

function setCloud(mode, x, y, colours, selected) {
  const isFaded = new Uint8Array(x.length).fill(selected.length ? 1 : 0);
  for (const point of selected) isFaded[point] = 0;
  clouds[mode.key] ??= pointPainter();
  Object.assign(clouds[mode.key], { x, y, colours, isFaded, arrays: pointArrays(x, y, colours, isFaded) });
}

// Puts the canvas where the axes are now, and draws.
function paintCloud(mode) {
  const plot = document.getElementById(mode.key), cloud = clouds[mode.key], { xaxis, yaxis } = plot._fullLayout;
  const holder = plot.querySelector(".svg-container"), ratio = cloud.ratio ?? devicePixelRatio, { canvas } = cloud;
  if (canvas.parentNode !== holder) holder.prepend(canvas);
  const size = [xaxis._length, yaxis._length].map((length) => Math.max(1, Math.round(length * ratio)));
  if (canvas.width !== size[0] || canvas.height !== size[1]) [canvas.width, canvas.height] = size;
  Object.assign(canvas.style, { left: `${xaxis._offset}px`, top: `${yaxis._offset}px`, width: `${xaxis._length}px`, height: `${yaxis._length}px` });
  cloud.paint(cloud.arrays, xaxis.range, yaxis.range, POINT_SIZE * ratio);
}

// The point under the pointer, or null.
function pointUnder(mode, event) {
  const plot = document.getElementById(mode.key), { x, y } = clouds[mode.key], { xaxis, yaxis } = plot._fullLayout;
  const box = plot.getBoundingClientRect(), [left, top] = [event.clientX - box.left - xaxis._offset, event.clientY - box.top - yaxis._offset];
  if (left < 0 || top < 0 || left > xaxis._length || top > yaxis._length) return null;
  const [px, py] = [xaxis.p2c(left), yaxis.p2c(top)], [perX, perY] = [xaxis._length / (xaxis.range[1] - xaxis.range[0]), yaxis._length / (yaxis.range[1] - yaxis.range[0])];
  let nearest = null, least = REACH * REACH;
  for (let point = 0; point < x.length; point++) {
    const far = ((x[point] - px) * perX) ** 2 + ((y[point] - py) * perY) ** 2;
    if (far < least) [nearest, least] = [point, far];
  }
  return nearest;
}

// The points inside the frame, or inside the line, that was drawn.
function pointsInside(mode, event) {
  if (!isCloud(mode)) return event.points.map((point) => point.pointIndex);
  const { x, y } = clouds[mode.key], all = range(x.length);
  if (event.range) {
    const [[left, right], [bottom, top]] = [event.range.x, event.range.y].map((ends) => [Math.min(...ends), Math.max(...ends)]);
    return all.filter((point) => x[point] >= left && x[point] <= right && y[point] >= bottom && y[point] <= top);
  }
  const line = event.lassoPoints;
  return line ? all.filter((point) => isWithin(x[point], y[point], line.x, line.y)) : [];
}

// Whether a ray from the point crosses the closed line an odd number of times.
function isWithin(px, py, xs, ys) {
  let isIn = false;
  for (let i = 0, j = xs.length - 1; i < xs.length; j = i++) {
    if (ys[i] > py !== ys[j] > py && px < ((xs[j] - xs[i]) * (py - ys[i])) / (ys[j] - ys[i]) + xs[i]) isIn = !isIn;
  }
  return isIn;
}

function listenToCloud(mode, hoverPoint, leave) {
  if (!isCloud(mode)) return;
  const plot = document.getElementById(mode.key);
  for (const kind of ["plotly_afterplot", "plotly_relayout", "plotly_relayouting"]) plot.on(kind, () => paintCloud(mode));
  let last = null;
  plot.addEventListener("pointermove", (event) => {
    if (event.buttons) return;
    const point = pointUnder(mode, event);
    if (point !== null) hoverPoint(mode, { points: [{ pointIndex: point }], event });
    else if (last !== null) leave();
    last = point;
  });
  plot.addEventListener("pointerleave", leave);
}
