// The points of the rows, or of the columns.

function axisTitle(mode, axis) {
  if (axis >= mode.n_components) return "place in the organised order";
  const value = mode.eigenvalues?.[axis];
  return `${asText(mode.axis)} ${axis + 1}${value === undefined ? "" : ` (eigenvalue ${short(value)})`}`;
}

// With one coordinate only, the place in the order is the second.
const placeOf = (mode, point, axis) => (axis < mode.n_components ? coordinate(mode, point, axis) : point + 1);

// The layouts of each mode, that of the fit first. The one that is shown is part of the mode.
const LAYOUT_KEYS = ["layout", "axis", "eigenvalues", "n_components", "embedding"];
const layouts = Object.fromEntries(Object.values(modes).map((mode) => [
  mode.key, [Object.fromEntries(LAYOUT_KEYS.map((key) => [key, mode[key]])), ...mode.layouts],
]));
const useLayout = (mode, index) => Object.assign(mode, layouts[mode.key][index]);

let selectionRevision = 0;

function drawEmbedding(mode, axes, colouring, selected, shapes) {
  const size = mode.names.length, [x, y] = axes.map((axis) => range(size).map((point) => placeOf(mode, point, axis)));
  if (isCloud(mode)) setCloud(mode, x, y, colouring.colours, selected);
  const trace = isCloud(mode) ? cornerTrace(x, y) : {
    type: "scatter", mode: "markers", hoverinfo: "none", x, y,
    marker: { color: colouring.colours, size: size > 1000 ? 5 : 8, line: { width: size > 1000 ? 0 : 0.7, color: css("--rim") } },
    selectedpoints: selected.length ? [...selected].sort((a, b) => a - b) : null,
    selected: { marker: { opacity: 1 } }, unselected: { marker: { opacity: 0.18 } },
  };
  const axis = (which) => ({
    title: { text: axisTitle(mode, axes[which]), standoff: 4 }, zeroline: false, gridcolor: css("--grid"),
    nticks: 6, automargin: true, showgrid: !isCloud(mode),
  });
  const layout = {
    ...plotLayout(), shapes, dragmode: "select", margin: { l: 8, r: 8, t: 26, b: 8 },
    uirevision: [mode.layout, ...axes].join(), xaxis: axis(0), yaxis: axis(1),
    // The frame that was drawn goes away; which points are selected is told by the trace.
    selections: [], selectionrevision: (selectionRevision += 1),
    newselection: { line: { color: css("--accent"), width: 1.5, dash: "dot" } },
  };
  return drawPlot(mode.key, [trace], layout, configure("select2d", "lasso2d", "zoom2d", "pan2d", "resetScale2d", ...pictureButtons(mode.key)));
}

// A ring around each point that is lit up.
function pointMarks(mode, axes, lit) {
  const line = { width: 2.5, color: css("--accent") }, radius = 8;
  return lit.map((point) => ({
    x: placeOf(mode, point, axes[0]), y: placeOf(mode, point, axes[1]),
  })).filter(({ x, y }) => Number.isFinite(x) && Number.isFinite(y)).map(({ x, y }) => ({
    type: "circle", xref: "x", yref: "y", xsizemode: "pixel", ysizemode: "pixel", xanchor: x, yanchor: y,
    x0: -radius, x1: radius, y0: -radius, y1: radius, line,
  }));
}
