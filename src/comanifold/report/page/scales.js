// The sliders and the map of scales.

const steps = { l: [], k: [] };
for (const name of ["l", "k"]) steps[name] = [...new Set(page.scales.map((scale) => scale[name]))].sort((a, b) => a - b);

function drawMap(of, shown) {
  const { l, k } = steps, z = l.map(() => k.map(() => null)), text = l.map(() => k.map(() => ""));
  for (const scale of page.scales) {
    const [row, column] = [l.indexOf(scale.l), k.indexOf(scale.k)], value = scale[of];
    // Numbers of clusters span several orders of magnitude.
    z[row][column] = of === "weight" ? value : Math.log10(value);
    text[row][column] = of === "weight" ? "" : String(value);
  }
  const trace = {
    type: "heatmap", x: k, y: l, z, text, texttemplate: k.length <= 12 && l.length <= 16 ? "%{text}" : "", colorscale: rampScale("cividis"),
    showscale: false, hoverinfo: "none", xgap: 1, ygap: 1, textfont: { size: 8.5 },
  };
  const here = page.scales[shown];
  const frame = { type: "rect", x0: here.k - 0.5, x1: here.k + 0.5, y0: here.l - 0.5, y1: here.l + 0.5, line: { width: 3, color: css("--accent") } };
  const axis = (title) => ({ title: { text: title, standoff: 3 }, fixedrange: true, dtick: 2, showgrid: false, zeroline: false, ticks: "", automargin: true });
  const layout = {
    ...plotLayout(), shapes: hasScales ? [frame] : [], margin: { l: 4, r: 4, t: 4, b: 4 }, dragmode: false,
    xaxis: axis("column scale k →"), yaxis: axis("row scale l →"),
  };
  return drawPlot("map", [trace], layout, configure());
}

const describe = (scale) =>
  `l = ${scale.l}, k = ${scale.k}: ${plural(scale.n_row_clusters, "row cluster")}, ` +
  `${plural(scale.n_column_clusters, "column cluster")}; ${weightOf(scale)} of the weight`;

const totalWeight = page.scales.reduce((sum, scale) => sum + scale.weight, 0) || 1;
const weightOf = (scale) => {
  const share = (100 * scale.weight) / totalWeight;
  return share > 0 && share < 0.01 ? "less than 0.01%" : `${Number(share.toPrecision(2))}%`;
};

// The sliders' own words, also for those who cannot see them.
function tellScale(wanted, shown) {
  const here = page.scales[shown], byId = (id) => document.getElementById(id);
  const rows = `l = ${wanted.l}`, columns = `k = ${wanted.k}`;
  byId("row-scale").value = steps.l.indexOf(wanted.l);
  byId("column-scale").value = steps.k.indexOf(wanted.k);
  byId("row-scale-text").textContent = `${rows} · ${plural(here.n_row_clusters, "cluster")}`;
  byId("column-scale-text").textContent = `${columns} · ${plural(here.n_column_clusters, "cluster")}`;
  byId("row-scale").setAttribute("aria-valuetext", byId("row-scale-text").textContent);
  byId("column-scale").setAttribute("aria-valuetext", byId("column-scale-text").textContent);
  const isThere = here.l === wanted.l && here.k === wanted.k;
  byId("scale-text").textContent =
    (isThere ? "" : `There is no scale l = ${wanted.l}, k = ${wanted.k}; the nearest is shown: l = ${here.l}, k = ${here.k}. `) +
    `Costs 2^${here.l} for rows, 2^${here.k} for columns; ${weightOf(here)} of the weight.`;
}
