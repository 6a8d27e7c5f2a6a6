// Single entries of the matrix, by row and column in the organised order. Those of a large matrix
// take a while to unpack, so that is done when they are first needed: until then there are none.

let entries = isAggregated ? null : { observed: observedAt, filled: filledAt };
const hasEntries = !isAggregated || page.values !== null;

let loading = null;
async function loadEntries() {
  if (entries || !hasEntries) return;
  loading ??= Promise.all([fullResolution(), unpackAll(page.filled_values)]);
  const [{ codes, none, at: observed }] = await loading, { codes: filledCodes, low, step } = page.filled_values;
  if (entries) return;
  const NO_CODE = 255, width = modes.columns.names.length, filledIn = new Uint8Array(codes.length);
  for (let i = 0, next = 0; i < codes.length; i++) filledIn[i] = codes[i] === none ? filledCodes[next++] : NO_CODE;
  const filled = (row, column) => {
    const value = observed(row, column), code = filledIn[row * width + column];
    if (!Number.isNaN(value)) return value;
    return code === NO_CODE ? NaN : low[column] + step[column] * code;
  };
  entries = { observed, filled };
}

// The standard error of what was filled in, in the units of the data: in a large matrix, the mean
// over its cell of the picture of the whole.
function errorAt(row, column) {
  const hundredths = page.matrix.error[cellOf(modes.rows, row) * modes.columns.cells + cellOf(modes.columns, column)];
  return hundredths === 255 ? NaN : (page.matrix.unit * hundredths) / 100;
}

// An entry in one of the ways to look at the matrix, as a function of row and column. Estimates of
// a scale are known for cells of the picture of the whole only.
function entryOf(view, scale) {
  if (view === "observed") return entries.observed;
  if (view === "filled") return entries.filled;
  const estimate = estimateAt(scale), smooth = (row, column) => estimate[cellOf(modes.rows, row)][cellOf(modes.columns, column)];
  if (view === "estimate") return smooth;
  return (row, column) => {
    const value = entries.observed(row, column);
    return Number.isNaN(value) ? smooth(row, column) : value;
  };
}

// How exact single entries of a large matrix are.
function roundingText() {
  const [observed, filled] = [page.values, page.filled_values].map(({ n_steps: steps }) => `1/${steps.toLocaleString("en")}`);
  const parts = page.n_missing && filled !== observed ? `${observed} (what was observed) or ${filled} (what was filled in)` : observed;
  return `rounded to ${parts} of the range of their column`;
}
