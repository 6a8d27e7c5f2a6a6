// Which rows and columns the picture of the matrix shows, in which order, and how many of them
// share a cell. A place is a position in that order, and a point one in the organised order; they
// differ while the order is that of the trees.

const frame = { isByTree: false, zoom: { rows: null, columns: null }, ranges: { rows: null, columns: null } };

for (const mode of Object.values(modes)) {
  if (!mode.tree) continue;
  mode.tree.places = new Int32Array(mode.names.length);
  mode.tree.order.forEach((point, place) => { mode.tree.places[point] = place; });
}

const isByTree = (mode) => frame.isByTree && Boolean(mode.tree);
const pointAt = (mode, place) => (isByTree(mode) ? mode.tree.order[place] : place);
const placeAt = (mode, point) => (isByTree(mode) ? mode.tree.places[point] : point);

// The first and the last place in view.
const inView = (mode) => frame.zoom[mode.key] ?? [0, mode.names.length - 1];

// The cells that are drawn: the first place, the places in a cell, and the number of cells. Of few
// rows all are drawn; of many, those in view, with as few in a cell as there is room for.
function lattice(mode) {
  const size = mode.names.length, most = page.matrix.max_cells;
  if (!entries || size <= most) return { first: 0, step: mode.cell_size, count: mode.cells };
  const [low, high] = inView(mode), step = Math.ceil((high - low + 1) / most), first = Math.floor(low / step) * step;
  return { first, step, count: Math.ceil((high + 1 - first) / step) };
}

// The points of a cell that is drawn.
function pointsIn(mode, cell) {
  const { first, step } = lattice(mode), start = first + cell * step;
  return range(Math.min(step, mode.names.length - start)).map((i) => pointAt(mode, start + i));
}

// The cells that are drawn and hold any of these points.
function cellsWith(mode, points) {
  const { first, step, count } = lattice(mode);
  const cells = new Set(points.map((point) => Math.floor((placeAt(mode, point) - first) / step)));
  return [...cells].filter((cell) => cell >= 0 && cell < count).sort((a, b) => a - b);
}

// What a cell is called: its row, or from which row to which.
function nameOfCell(mode, cell) {
  const points = pointsIn(mode, cell), [first, last] = [points[0], points.at(-1)].map((point) => mode.names[point]);
  return points.length === 1 ? first : `${first} … ${last} (${plural(points.length, mode.one)})`;
}

// Takes over what part Plotly shows; tells whether it is another one.
function readZoom(layout) {
  const before = JSON.stringify(frame.zoom);
  for (const [mode, axis] of [[modes.rows, layout.yaxis], [modes.columns, layout.xaxis]]) {
    const [low, high] = [...axis.range].sort((a, b) => a - b), last = mode.names.length - 1;
    const places = [Math.max(0, Math.ceil(low - 0.49)), Math.min(last, Math.floor(high + 0.49))];
    frame.ranges[mode.key] = [...axis.range];
    frame.zoom[mode.key] = (places[0] === 0 && places[1] === last) || places[0] > places[1] ? null : places;
  }
  return JSON.stringify(frame.zoom) !== before;
}

// The cells that are drawn: their means, and the share of them that was observed.
function cellsInView(view, scale) {
  const { rows, columns } = modes, down = lattice(rows), across = lattice(columns);
  const isWhole = !frame.isByTree && down.step === rows.cell_size && across.step === columns.cell_size && down.count === rows.cells && across.count === columns.cells;
  if (!entries || isWhole) return { z: matrixOf(view, scale), share: eachCell(shareObserved) };
  const entry = entryOf(view, scale), places = range(across.count).map((cell) => pointsIn(columns, cell));
  const z = [], share = [];
  for (let cell = 0; cell < down.count; cell++) {
    const points = pointsIn(rows, cell), means = new Float64Array(across.count), seen = new Float64Array(across.count);
    places.forEach((others, j) => {
      let sum = 0, known = 0, there = 0;
      for (const row of points) {
        for (const column of others) {
          const value = entry(row, column);
          if (!Number.isNaN(value)) { sum += value; known += 1; }
          if (!Number.isNaN(entries.observed(row, column))) there += 1;
        }
      }
      means[j] = known ? sum / known : NaN;
      seen[j] = there / (points.length * others.length);
    });
    z.push(means);
    share.push(seen);
  }
  return { z, share };
}
