// The data of the page. Rows and columns are counted in the organised order throughout, and a
// cell of the picture holds one of them, or several neighbours of a large matrix.

const page = JSON.parse(document.getElementById("data").textContent);

const TYPES = { Float64Array, Float32Array, Int32Array, Uint16Array, Uint8Array };

async function unpack(packed) {
  const letters = atob(packed.data), bytes = new Uint8Array(letters.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = letters.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new TYPES[packed.type](await new Response(stream).arrayBuffer());
}

async function unpackAll(holder) {
  for (const [name, value] of Object.entries(holder)) {
    if (value && value.type in TYPES) holder[name] = await unpack(value);
  }
}

// Also what is packed one level deeper: layouts, trees and clusters.
const packedParts = [page.rows, page.columns, page.matrix, page.estimates ?? {}];
for (const { layouts, tree, clusters } of [page.rows, page.columns]) {
  packedParts.push(...layouts, tree ?? {}, clusters, clusters.found, clusters.k_means ?? {});
}
await Promise.all(packedParts.map(unpackAll));

const hasScales = page.estimates !== null;
const modes = {
  rows: { ...page.rows, key: "rows", one: "row", other: "columns", cells: page.matrix.size[0] },
  columns: { ...page.columns, key: "columns", one: "column", other: "rows", cells: page.matrix.size[1] },
};

// Whether cells of the picture hold several rows or columns.
const isAggregated = modes.rows.cell_size * modes.columns.cell_size > 1;

function element(tag, content = [], properties = {}) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...[content].flat());
  return made;
}

function button(text, act, properties = {}) {
  const made = element("button", text, { type: "button", ...properties });
  made.addEventListener("click", act);
  return made;
}

// Math.min(...values) fails on very many of them.
const lowest = (values) => values.reduce((low, value) => Math.min(low, value), Infinity);
const highest = (values) => values.reduce((high, value) => Math.max(high, value), -Infinity);

const range = (size) => Array.from({ length: size }, (_, i) => i);
const cellOf = (mode, point) => Math.floor(point / mode.cell_size);
const coordinate = (mode, point, axis) => mode.embedding[point * mode.n_components + axis];
const plural = (count, one) => `${count.toLocaleString("en")} ${one}${count === 1 ? "" : "s"}`;
const percent = (share) => `${Math.round(100 * share)}%`;
// a2 before a10.
const naturally = new Intl.Collator("en", { numeric: true }).compare;
const short = (value) => (Number.isFinite(value) ? String(Number(value.toPrecision(4))) : "none");

function membersOf(mode, cell) {
  const first = cell * mode.cell_size;
  return range(Math.min(mode.cell_size, mode.names.length - first)).map((i) => first + i);
}

// What a cell is called: its row, or from which row to which.
function cellName(mode, cell) {
  const members = membersOf(mode, cell);
  const [first, last] = [members[0], members.at(-1)].map((point) => mode.names[point]);
  return members.length === 1 ? first : `${first} … ${last} (${plural(members.length, mode.one)})`;
}

function labelsAt(mode, scale) {
  const size = mode.names.length;
  return page.estimates[`${mode.one}_labels`].subarray(scale * size, (scale + 1) * size);
}

const inUnits = (value) => page.matrix.mean + page.matrix.unit * value;

// Where the table of each scale begins among the values of all.
const firstValue = [0];
for (const [rows, columns] of page.estimates?.shapes ?? []) {
  firstValue.push(firstValue.at(-1) + rows * columns);
}

const STEPS = 65534, NO_VALUE = 65535;

// The estimate of a scale in each cell, in the units of the data.
function estimateAt(scale) {
  const { rows, columns } = modes, estimates = page.estimates;
  const [low, high] = estimates.limits[scale], width = estimates.shapes[scale][1];
  const values = estimates.values.subarray(firstValue[scale]);
  const across = estimates.column_groups.subarray(scale * columns.cells, (scale + 1) * columns.cells);
  return range(rows.cells).map((row) => {
    const first = estimates.row_groups[scale * rows.cells + row] * width;
    return Float64Array.from(across, (group) => {
      const code = values[first + group];
      return code === NO_VALUE ? NaN : inUnits(low + ((high - low) * code) / STEPS);
    });
  });
}

// The observed entries at full resolution, by rows in the organised order; null if the matrix is
// too large. They take a while to unpack, so that is done when they are first asked for.
let observedEntries;
function fullResolution() {
  if (!page.values) return Promise.resolve(null);
  observedEntries ??= unpackAll(page.values).then(() => {
    const { codes, low, step } = page.values, width = low.length, none = codes instanceof Uint8Array ? 255 : 65535;
    const at = (row, column) => {
      const code = codes[row * width + column];
      return code === none ? NaN : low[column] + step[column] * code;
    };
    return { codes, low, step, none, at };
  });
  return observedEntries;
}

const shareObserved = (row, column) => page.matrix.share_observed[row * modes.columns.cells + column] / 255;
const filledAt = (row, column) => inUnits(page.matrix.filled[row * modes.columns.cells + column]);

function observedAt(row, column) {
  if (!shareObserved(row, column)) return NaN;
  const values = page.matrix.observed ?? page.matrix.filled;
  return inUnits(values[row * modes.columns.cells + column]);
}

const eachCell = (value) =>
  range(modes.rows.cells).map((row) => Float64Array.from(range(modes.columns.cells), (column) => value(row, column)));

// The matrix in one of the ways to look at it.
function matrixOf(view, scale) {
  if (view === "observed") return eachCell(observedAt);
  if (view === "filled") return eachCell(filledAt);
  const estimate = estimateAt(scale);
  if (view === "estimate") return estimate;
  return eachCell((row, column) => {
    const share = shareObserved(row, column), value = estimate[row][column];
    if (!share) return value;
    return share === 1 ? observedAt(row, column) : share * observedAt(row, column) + (1 - share) * value;
  });
}

// In each cell of a mode, the mean of the selected of the other minus the mean of all of them.
function differences(mode, selected) {
  const other = modes[mode.other], counts = new Float64Array(other.cells);
  for (const point of selected) counts[cellOf(other, point)] += 1;
  const value = (cell, across) => (mode.key === "rows" ? filledAt(cell, across) : filledAt(across, cell));
  const sizes = range(other.cells).map((cell) => membersOf(other, cell).length);
  return range(mode.cells).map((cell) => {
    let chosen = 0, nChosen = 0, all = 0, nAll = 0;
    for (let across = 0; across < other.cells; across++) {
      const entry = value(cell, across), size = sizes[across];
      if (Number.isNaN(entry)) continue;
      chosen += counts[across] * entry; nChosen += counts[across];
      all += size * entry; nAll += size;
    }
    return nChosen ? chosen / nChosen - all / nAll : NaN;
  });
}

// The solved scale nearest to the one that is asked for.
function nearestScale(l, k) {
  const far = page.scales.map((scale) => Math.hypot(scale.l - l, scale.k - k));
  return far.indexOf(Math.min(...far));
}
