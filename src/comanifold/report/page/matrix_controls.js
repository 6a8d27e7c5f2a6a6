// What changes the picture of the matrix: colour limits, borders, trees, and zooming.

// Zooming and the order of the trees need single entries, which a large matrix unpacks first.
async function withEntries(redraw) {
  if (!entries && hasEntries) {
    document.getElementById("matrix-text").textContent = "Unpacking single entries …";
    await loadEntries();
  }
  redraw();
}

function showLimits() {
  const place = (id) => document.getElementById(id), [low, high] = colourLimits();
  place("low").value = Number(low.toPrecision(3));
  place("high").value = Number(high.toPrecision(3));
  place("limits-reset").disabled = look.limits === null;
  place("high").setCustomValidity("");
}

function chooseLimits(redraw) {
  const [low, high] = ["low", "high"].map((id) => document.getElementById(id));
  const values = [low, high].map((input) => (input.value === "" ? NaN : Number(input.value)));
  const isValid = values.every(Number.isFinite) && values[0] < values[1];
  high.setCustomValidity(isValid ? "" : "The colours must go from a smaller to a larger number.");
  if (!isValid) return high.reportValidity();
  look.limits = values;
  showLimits();
  return redraw();
}

// The full name when the pointer is on a shortened one beside the matrix.
function nameUnder(event, plot) {
  const { xaxis, yaxis } = plot._fullLayout, box = plot.getBoundingClientRect();
  const [x, y] = [event.clientX - box.left - xaxis._offset, event.clientY - box.top - yaxis._offset];
  const at = (mode, axis, pixel) => ({ mode, point: pointAt(mode, Math.round(axis.p2d(pixel))) });
  if (yaxis.showticklabels && x < 0 && y >= 0 && y < yaxis._length) return at(modes.rows, yaxis, y);
  if (xaxis.showticklabels && y > yaxis._length && x >= 0 && x < xaxis._length) return at(modes.columns, xaxis, x);
  return null;
}

function listenToMatrix(redraw, hover) {
  const place = (id) => document.getElementById(id), plot = place("matrix");
  const on = (id, action) => place(id).addEventListener("change", (event) => action(event.target));
  on("palette", ({ value }) => { look.palette = value; showLimits(); redraw(); });
  on("low", () => chooseLimits(redraw));
  on("high", () => chooseLimits(redraw));
  place("limits-reset").addEventListener("click", () => { look.limits = null; showLimits(); redraw(); });
  on("borders", ({ checked }) => { look.hasBorders = checked; redraw(); });
  on("uncertain", ({ checked }) => { look.hasErrors = checked; redraw(); });
  on("trees", ({ checked }) => { frame.isByTree = checked; withEntries(redraw); });
  place("trees").disabled = !hasEntries || !Object.values(modes).some((mode) => mode.tree);
  place("uncertain").disabled = !page.n_missing;
  plot.on("plotly_relayout", (changes) => {
    const isZoom = Object.keys(changes).some((name) => /^[xy]axis\.(range|autorange)/.test(name));
    if (isZoom && readZoom(plot.layout)) withEntries(redraw);
  });
  plot.on("plotly_doubleclick", () => zoomAt(plot, null));
  let isNamed = false;
  plot.addEventListener("pointermove", (event) => {
    const found = nameUnder(event, plot);
    if (found) hover({ [found.mode.key]: [found.point] }, found.mode.names[found.point], event);
    else if (isNamed) hover({}, "");
    isNamed = found !== null;
  });
  plot.addEventListener("pointerleave", () => { if (isNamed) hover({}, ""); isNamed = false; });
  showLimits();
}
