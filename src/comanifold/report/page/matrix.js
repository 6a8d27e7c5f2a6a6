// The picture of the matrix, with bars of colours beside it.

// Names are written beside the matrix if there is room for letters of this size, in pixels.
const SMALLEST_NAME = 6.5;
const LONGEST_NAME = 16;

const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// Plotly reads some HTML in its texts; names are not HTML.
const asText = (name) => name.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
const shortened = (name) => (name.length > LONGEST_NAME ? `${name.slice(0, LONGEST_NAME - 1)}…` : name);

function plotLayout() {
  const size = parseFloat(getComputedStyle(document.body).fontSize);
  return {
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", showlegend: false, uirevision: "same",
    font: { color: css("--text"), family: "system-ui, sans-serif", size: 0.82 * size }, hovermode: "closest",
    modebar: { bgcolor: "rgba(0,0,0,0)", color: css("--quiet"), activecolor: css("--focus") },
  };
}

const configure = (...buttons) => ({
  responsive: true, displaylogo: false, showTips: false, displayModeBar: buttons.length > 0, modeBarButtons: [buttons],
});

// How the matrix is drawn; limits are those of the page unless others are chosen.
const look = { palette: "viridis", limits: null, hasBorders: false, hasErrors: false };

// What colours stand for, from the first to the last.
function colourLimits() {
  if (look.limits) return look.limits;
  const most = Math.max(...page.matrix.limits.map(Math.abs));
  return look.palette === "diverging" ? [-most, most] : page.matrix.limits;
}

// Where the cells of a mode are drawn, as properties of a trace.
function cellPlaces(mode) {
  const { first, step } = lattice(mode), start = first + (step - 1) / 2;
  return mode.key === "rows" ? { y0: start, dy: step } : { x0: start, dx: step };
}

// A bar beside the matrix: the cells in the colours of their first points.
function bar(mode, colours, lane) {
  const cells = range(lattice(mode).count).map((cell) => colours[pointsIn(mode, cell)[0]]);
  const distinct = [...new Set(cells)], code = new Map(distinct.map((colour, i) => [colour, i + 0.5]));
  const codes = cells.map((colour) => code.get(colour));
  const colorscale = distinct.flatMap((colour, i) => [[i / distinct.length, colour], [(i + 1) / distinct.length, colour]]);
  const isRows = mode.key === "rows";
  return {
    type: "heatmap", z: isRows ? codes.map((code) => [code]) : [codes], zmin: 0, zmax: distinct.length, colorscale, ...cellPlaces(mode),
    showscale: false, hoverinfo: "skip", xaxis: isRows ? `x${lane}` : "x", yaxis: isRows ? "y" : `y${lane}`,
  };
}

// Names of the rows or columns in view, as soon as there is room for them.
function nameAxis(mode) {
  const place = document.getElementById("matrix"), length = mode.key === "rows" ? place.clientHeight : place.clientWidth;
  const [low, high] = inView(mode), size = Math.min(0.85 * 0.8 * length / (high - low + 1), plotLayout().font.size);
  const axis = { showgrid: false, zeroline: false, ticks: "", showticklabels: size >= SMALLEST_NAME, fixedrange: false };
  if (!axis.showticklabels) return axis;
  const places = range(high - low + 1).map((i) => low + i);
  const ticktext = places.map((at) => asText(shortened(mode.names[pointAt(mode, at)])));
  return { ...axis, tickfont: { size }, tickvals: places, ticktext };
}

// What was filled in fades into the background, the more the less is known about it.
function errorTrace(share) {
  const [down, across] = [modes.rows, modes.columns].map((mode) => range(lattice(mode).count).map((cell) => pointsIn(mode, cell)[0]));
  const z = share.map((seen, i) => Float64Array.from(seen, (there, j) => {
    const error = errorAt(down[i], across[j]) / page.matrix.unit;
    return there === 1 ? 0 : (1 - there) * Math.min(0.9, 0.2 + 0.7 * (Number.isNaN(error) ? 0.5 : error));
  }));
  const ends = [0, 1].map((opacity) => [opacity, `rgba(${channels(css("--panel")).join(",")},${opacity})`]);
  return { type: "heatmap", z, zmin: 0, zmax: 1, colorscale: ends, showscale: false, hoverinfo: "skip", ...cellPlaces(modes.rows), ...cellPlaces(modes.columns) };
}

const BAR = 0.022, GAP = 0.006, TREE = 0.1;

// The part of the width, or height, that a tree and bars take, with an axis and a trace for each.
function besides(mode, bars) {
  const isRows = mode.key === "rows", hidden = { visible: false, fixedrange: true }, axes = {}, traces = [];
  let start = 0, lane = 2;
  const put = (width, trace, more = {}) => {
    axes[`${isRows ? "x" : "y"}axis${lane}`] = { ...hidden, ...more, domain: isRows ? [start, start + width] : [1 - start - width, 1 - start] };
    traces.push(...[trace(lane)].flat());
    start += width + GAP;
    lane += 1;
  };
  if (isByTree(mode)) put(TREE, (at) => treeTraces(mode, at), { range: isRows ? [1.02, -0.02] : [-0.02, 1.02] });
  for (const colours of bars) put(BAR, (at) => bar(mode, colours, at));
  return { axes, traces, start };
}

const initialRange = (mode) => (mode.key === "rows" ? [mode.names.length - 0.5, -0.5] : [-0.5, mode.names.length - 0.5]);

// cells: their means and the share observed. bars: for each mode a list of colourings of points,
// the clusters first. labels: for each mode the clusters to draw borders between, or null.
function drawMatrix({ z, share }, bars, labels, shapes) {
  const [zmin, zmax] = colourLimits(), [left, top] = [besides(modes.rows, bars.rows), besides(modes.columns, bars.columns)];
  const traces = [{
    type: "heatmap", z, zmin, zmax, colorscale: rampScale(look.palette), ...cellPlaces(modes.rows), ...cellPlaces(modes.columns),
    hoverinfo: "none", colorbar: { thickness: 10, len: 0.6, outlinewidth: 0, x: 1.01, xpad: 4, ticks: "" },
  }];
  if (look.hasErrors) traces.push(errorTrace(share));
  traces.push(...left.traces, ...top.traces, ...(look.hasBorders ? borderTraces(labels) : []));
  const side = { showline: false, mirror: false, automargin: true };
  const layout = {
    ...plotLayout(), ...left.axes, ...top.axes,
    shapes, margin: { l: 8, r: 8, t: 26, b: 8 }, dragmode: "zoom", plot_bgcolor: css("--missing"),
    xaxis: { ...nameAxis(modes.columns), ...side, domain: [left.start, 1], tickangle: -90, range: frame.ranges.columns ?? initialRange(modes.columns) },
    yaxis: { ...nameAxis(modes.rows), ...side, domain: [0, 1 - top.start], side: "left", anchor: left.traces.length ? "x2" : "x", range: frame.ranges.rows ?? initialRange(modes.rows) },
  };
  // Plotly would go back to the part that was drawn last, not to the whole.
  const reset = { name: "whole", title: "Show the whole matrix", icon: Plotly.Icons.home, click: (plot) => zoomAt(plot, null) };
  const buttons = configure("zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", reset, ...pictureButtons("matrix"));
  return drawPlot("matrix", traces, layout, { ...buttons, doubleClick: false });
}

// What the picture shows, and what not.
function matrixText(labels) {
  const steps = Object.values(modes).map((mode) => lattice(mode).step), isCoarse = Math.max(...steps) > 1;
  const parts = [`Grey: missing. ${look.limits ? "" : "Colours span the middle 98% of the values."}`];
  if (isCoarse) parts.push(`Each cell is the mean of up to ${steps[0]} × ${steps[1]} neighbours${hasEntries ? ": zoom in to see single entries." : "; the matrix is too large for single entries to be on this page."}`);
  else if (isAggregated) parts.push(`Single entries are shown, ${roundingText()}.`);
  if (look.hasErrors) parts.push(`What was filled in is faded, the more the larger its standard error is${isAggregated ? " (a mean over neighbours)" : ""}.`);
  if (look.hasBorders) parts.push(borderText(labels));
  return parts.filter(Boolean).join(" ");
}

// Neighbouring cells as [first, last].
function runsOf(cells) {
  const runs = [];
  for (const cell of [...new Set(cells)].sort((a, b) => a - b)) {
    if (runs.length && runs.at(-1)[1] === cell - 1) runs.at(-1)[1] = cell;
    else runs.push([cell, cell]);
  }
  return runs;
}

function band(mode, [from, to], style) {
  const [along, across] = mode.key === "rows" ? ["y", "x"] : ["x", "y"], { first, step } = lattice(mode);
  return {
    type: "rect", [`${along}ref`]: along, [`${along}0`]: first + from * step - 0.5, [`${along}1`]: first + (to + 1) * step - 0.5,
    [`${across}ref`]: `${across} domain`, [`${across}0`]: 0, [`${across}1`]: 1, ...style,
  };
}

// What is not selected fades, and what is lit up gets a frame.
function matrixMarks(selected, lit) {
  const fade = { fillcolor: css("--panel"), opacity: 0.72, line: { width: 0 } };
  const frame = { fillcolor: "rgba(0,0,0,0)", line: { width: 2, color: css("--accent") } };
  return Object.values(modes).flatMap((mode) => {
    const chosen = new Set(cellsWith(mode, selected[mode.key]));
    const rest = selected[mode.key].length ? range(lattice(mode).count).filter((cell) => !chosen.has(cell)) : [];
    return [...runsOf(rest).map((run) => band(mode, run, fade)), ...runsOf(cellsWith(mode, lit[mode.key])).map((run) => band(mode, run, frame))];
  });
}
