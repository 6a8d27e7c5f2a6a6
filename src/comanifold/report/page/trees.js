// Dendrograms beside the matrix, and lines between clusters.

// More borders than this would hide the matrix.
const MOST_BORDERS = 80;

// Heights are costs, which double from scale to scale.
function heightsOf(tree) {
  const costs = tree.joins.map(([, , height]) => height), least = lowest(costs.filter((cost) => cost > 0));
  const logs = costs.map((cost) => Math.log2(Math.max(cost, Number.isFinite(least) ? least : 1)));
  const [low, high] = [lowest(logs), highest(logs)];
  return logs.map((value) => 0.15 + (0.85 * (value - low)) / (high - low || 1));
}

// The lines of a tree, as places and heights from 0, the leaves, to 1.
function treeLines(tree) {
  const heights = heightsOf(tree), places = [], levels = [];
  const at = tree.ends.map(([first, last]) => ({ place: (first + last) / 2, height: 0 }));
  for (const [first, last] of tree.ends) {
    if (last > first) { places.push(first - 0.4, last + 0.4, null); levels.push(0, 0, null); }
  }
  tree.joins.forEach(([a, b], i) => {
    const [one, other] = [at[a], at[b]], height = heights[i];
    places.push(one.place, one.place, other.place, other.place, null);
    levels.push(one.height, height, height, other.height, null);
    at.push({ place: (one.place + other.place) / 2, height });
  });
  return { places, levels };
}

// A tree, and a surface behind it: the plot's own has the colour of missing entries.
function treeTraces(mode, lane) {
  const { places, levels } = treeLines(mode.tree), isRows = mode.key === "rows", size = mode.names.length;
  const axes = { type: "scatter", mode: "lines", hoverinfo: "skip", xaxis: isRows ? `x${lane}` : "x", yaxis: isRows ? "y" : `y${lane}` };
  const line = (along, heights, style) => ({ ...axes, x: isRows ? heights : along, y: isRows ? along : heights, ...style });
  return [
    line([-1, size, size, -1], [-1, -1, 2, 2], { fill: "toself", fillcolor: css("--panel"), line: { width: 0 } }),
    line(places, levels, { line: { width: 0.8, color: css("--text") } }),
  ];
}

// Where neighbours belong to different clusters, between their places.
function bordersOf(mode, labels) {
  const found = [];
  for (let place = 1; place < labels.length; place++) {
    if (labels[pointAt(mode, place)] !== labels[pointAt(mode, place - 1)]) found.push(place - 0.5);
  }
  return found;
}

// labels: for each mode the cluster of each point, or null. A dark line below a light one can be
// seen on any colour.
function borderTraces(labels) {
  const x = [], y = [], [width, height] = [modes.columns.names.length, modes.rows.names.length];
  const [down, across] = ["rows", "columns"].map((key) => (labels[key] ? bordersOf(modes[key], labels[key]) : []));
  for (const place of down.length <= MOST_BORDERS ? down : []) { x.push(-0.5, width - 0.5, null); y.push(place, place, null); }
  for (const place of across.length <= MOST_BORDERS ? across : []) { x.push(place, place, null); y.push(-0.5, height - 0.5, null); }
  if (!x.length) return [];
  return [["rgba(0,0,0,0.55)", 2.6], ["#ffffff", 1.1]].map(([color, lineWidth]) => ({
    type: "scatter", mode: "lines", hoverinfo: "skip", x, y, line: { color, width: lineWidth },
  }));
}

function borderText(labels) {
  const left = Object.values(modes).filter((mode) => labels[mode.key] && bordersOf(mode, labels[mode.key]).length > MOST_BORDERS);
  return left.length ? `Borders of ${left.map((mode) => `${mode.one} clusters`).join(" and ")} are not drawn: there are more than ${MOST_BORDERS}.` : "";
}
