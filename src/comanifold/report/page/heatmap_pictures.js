// Heatmaps in pictures to save: Plotly exports them with one dot for each pixel of the screen,
// which is too coarse for print.

const FEWEST_DOTS = 2200;

const parseColour = (colour) => {
  if (colour[0] === "#") return [...channels(colour), 1];
  const parts = colour.match(/[\d.]+/g).map(Number);
  return parts.length === 4 ? parts : [...parts, 1];
};

// The colours of a scale of Plotly, in so many steps, as bytes.
function colourTable(colorscale, size = 1024) {
  const stops = colorscale.map(([at, colour]) => [Number(at), parseColour(colour)]), found = new Uint8ClampedArray(4 * size);
  for (let i = 0, next = 1; i < size; i++) {
    const at = (i + 0.5) / size;
    while (next < stops.length - 1 && at > stops[next][0]) next += 1;
    const [[low, from], [high, to]] = [stops[next - 1], stops[next]], part = (at - low) / (high - low || 1);
    from.forEach((value, k) => { found[4 * i + k] = (k === 3 ? 255 : 1) * (value + part * (to[k] - value)); });
  }
  return found;
}

// The cells between two ends of an axis: the first, the number, and where they begin and end.
function visibleCells(count, start, step, ends) {
  const edge = start - step / 2, inOrder = [...ends].sort((a, b) => a - b);
  const first = Math.max(0, Math.floor((inOrder[0] - edge) / step)), last = Math.min(count, Math.ceil((inOrder[1] - edge) / step));
  return { first, count: Math.max(0, last - first), from: edge + first * step, to: edge + last * step };
}

// Every cell as a block of dots, as a PNG.
function cellPicture(trace, down, across) {
  const table = colourTable(trace.colorscale), steps = table.length / 4;
  const [wide, high] = [across.count, down.count].map((count) => Math.min(64, Math.ceil(FEWEST_DOTS / count)));
  const small = element("canvas", [], { width: across.count, height: down.count }), brush = small.getContext("2d");
  const dots = brush.createImageData(across.count, down.count);
  for (let i = 0; i < down.count; i++) {
    for (let j = 0; j < across.count; j++) {
      const share = (trace.z[down.first + i][across.first + j] - trace.zmin) / (trace.zmax - trace.zmin || 1);
      if (Number.isNaN(share)) continue;
      const at = 4 * Math.min(steps - 1, Math.max(0, Math.floor(share * steps)));
      dots.data.set(table.subarray(at, at + 4), 4 * (i * across.count + j));
    }
  }
  brush.putImageData(dots, 0, 0);
  const large = element("canvas", [], { width: across.count * wide, height: down.count * high }), pen = large.getContext("2d");
  pen.imageSmoothingEnabled = false;
  pen.drawImage(small, 0, 0, large.width, large.height);
  return large.toDataURL("image/png");
}

// Replaces the images of heatmaps in a picture of a plot.
function sharpenHeatmaps(picture, plot) {
  const seen = new Map(), axisOf = (name) => plot._fullLayout[`${name[0]}axis${name.slice(1)}`];
  for (const trace of plot._fullData.filter(({ type, visible }) => type === "heatmap" && visible === true)) {
    const subplot = `${trace.xaxis}${trace.yaxis}`, turn = seen.get(subplot) ?? 0, [xaxis, yaxis] = [axisOf(trace.xaxis), axisOf(trace.yaxis)];
    seen.set(subplot, turn + 1);
    const image = picture.querySelectorAll(`.overplot > .${subplot} .heatmaplayer image`)[turn];
    const clip = picture.querySelector(`clipPath[id$="${subplot}plot"] rect`);
    if (!image || !clip) continue;
    const across = visibleCells(trace.z[0].length, trace.x0 ?? 0, trace.dx ?? 1, xaxis.range);
    const down = visibleCells(trace.z.length, trace.y0 ?? 0, trace.dy ?? 1, yaxis.range);
    if (!across.count || !down.count) continue;
    const place = (axis, value, length, isUp) => {
      const share = (value - axis.range[0]) / (axis.range[1] - axis.range[0]);
      return length * (isUp ? 1 - share : share);
    };
    const [width, height] = ["width", "height"].map((name) => Number(clip.getAttribute(name)));
    const [left, right] = [across.from, across.to].map((value) => place(xaxis, value, width, false));
    const [one, other] = [down.from, down.to].map((value) => place(yaxis, value, height, true));
    const shape = { x: Math.min(left, right), y: Math.min(one, other), width: Math.abs(right - left), height: Math.abs(other - one) };
    for (const [name, value] of Object.entries(shape)) image.setAttribute(name, value);
    image.removeAttributeNS("http://www.w3.org/1999/xlink", "href");
    image.setAttribute("href", cellPicture(trace, down, across));
    if (one > other) image.setAttribute("transform", `matrix(1 0 0 -1 0 ${2 * shape.y + shape.height})`);
  }
}
