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
  responsive: true, displaylogo: false, displayModeBar: buttons.length > 0, modeBarButtons: [buttons],
});

// A bar beside the matrix: the cells in the colours of their first points.
function bar(mode, colours, lane) {
  const cells = range(mode.cells).map((cell) => colours[cell * mode.cell_size]);
  const distinct = [...new Set(cells)], codes = cells.map((colour) => distinct.indexOf(colour) + 0.5);
  const colorscale = distinct.flatMap((colour, i) => [[i / distinct.length, colour], [(i + 1) / distinct.length, colour]]);
  const isRows = mode.key === "rows";
  return {
    type: "heatmap", z: isRows ? codes.map((code) => [code]) : [codes], zmin: 0, zmax: distinct.length, colorscale,
    showscale: false, hoverinfo: "skip", xaxis: isRows ? `x${lane}` : "x", yaxis: isRows ? "y" : `y${lane}`,
  };
}

function nameAxis(mode) {
  const place = document.getElementById("matrix"), length = mode.key === "rows" ? place.clientHeight : place.clientWidth;
  const size = Math.min(0.85 * 0.8 * length / mode.cells, plotLayout().font.size);
  const few = size >= SMALLEST_NAME && mode.cell_size === 1;
  const axis = { showgrid: false, zeroline: false, ticks: "", showticklabels: few, fixedrange: false };
  if (!few) return axis;
  return { ...axis, tickfont: { size }, tickvals: range(mode.cells), ticktext: mode.names.map((name) => asText(shortened(name))) };
}

const BAR = 0.022, GAP = 0.006;

// bars: for each mode a list of up to two colourings, the clusters first.
function drawMatrix(z, palette, bars, shapes) {
  const traces = [{
    type: "heatmap", z, zmin: page.matrix.limits[0], zmax: page.matrix.limits[1], colorscale: rampScale(palette),
    hoverinfo: "none", colorbar: { thickness: 10, len: 0.6, outlinewidth: 0, x: 1.01, xpad: 4, ticks: "" },
  }];
  if (palette === "diverging") {
    const most = Math.max(...page.matrix.limits.map(Math.abs));
    [traces[0].zmin, traces[0].zmax] = [-most, most];
  }
  const hidden = { visible: false, fixedrange: true }, edge = { rows: 0, columns: 0 }, layout = plotLayout();
  for (const mode of Object.values(modes)) {
    bars[mode.key].forEach((colours, i) => {
      const start = i * (BAR + GAP), isRows = mode.key === "rows";
      const domain = isRows ? [start, start + BAR] : [1 - start - BAR, 1 - start];
      layout[`${isRows ? "x" : "y"}axis${i + 2}`] = { ...hidden, domain };
      traces.push(bar(mode, colours, i + 2));
      edge[mode.key] = start + BAR + GAP;
    });
  }
  const side = { showline: false, mirror: false };
  Object.assign(layout, {
    shapes, margin: { l: 8, r: 8, t: 26, b: 8 }, dragmode: "zoom", plot_bgcolor: css("--missing"),
    xaxis: { ...nameAxis(modes.columns), ...side, domain: [edge.rows, 1], automargin: true, tickangle: -90, range: [-0.5, modes.columns.cells - 0.5] },
    yaxis: { ...nameAxis(modes.rows), ...side, domain: [0, 1 - edge.columns], automargin: true, side: "left", anchor: bars.rows.length ? "x2" : "x", range: [modes.rows.cells - 0.5, -0.5] },
  });
  return Plotly.react("matrix", traces, layout, configure("zoom2d", "pan2d", "resetScale2d", "toImage"));
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

function band(mode, [first, last], style) {
  const [along, across] = mode.key === "rows" ? ["y", "x"] : ["x", "y"];
  return {
    type: "rect", [`${along}ref`]: along, [`${along}0`]: first - 0.5, [`${along}1`]: last + 0.5,
    [`${across}ref`]: `${across} domain`, [`${across}0`]: 0, [`${across}1`]: 1, ...style,
  };
}

// What is not selected fades, and what is lit up gets a frame.
function matrixMarks(selected, lit) {
  const fade = { fillcolor: css("--panel"), opacity: 0.72, line: { width: 0 } };
  const frame = { fillcolor: "rgba(0,0,0,0)", line: { width: 2, color: css("--accent") } };
  return Object.values(modes).flatMap((mode) => {
    const chosen = new Set(selected[mode.key].map((point) => cellOf(mode, point)));
    const rest = chosen.size ? range(mode.cells).filter((cell) => !chosen.has(cell)) : [];
    const shown = lit[mode.key].map((point) => cellOf(mode, point));
    return [...runsOf(rest).map((run) => band(mode, run, fade)), ...runsOf(shown).map((run) => band(mode, run, frame))];
  });
}
