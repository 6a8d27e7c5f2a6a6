// The plots by keyboard: a cursor that arrow keys move, and selecting and zooming at it.

const cursor = { rows: null, columns: null, matrix: null };
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
const ZOOMS = { "+": 0.5, "=": 0.5, "-": 2 };

const announce = (text) => { document.getElementById("announcement").textContent = text.replaceAll("\n", ", "); };

// Where a point is inside its plot, in pixels from its upper left corner; null outside of it.
function pixelOf(plot, x, y) {
  const { xaxis, yaxis } = plot._fullLayout, [left, top] = [xaxis.d2p(x), yaxis.d2p(y)];
  const isIn = left >= 0 && left <= xaxis._length && top >= 0 && top <= yaxis._length;
  return isIn ? [left + xaxis._offset, top + yaxis._offset] : null;
}

// The nearest point in a direction: what lies aside counts twice.
function nextPoint(places, from, [right, down]) {
  let best = null, least = Infinity;
  places.forEach((place, point) => {
    if (!place || point === from) return;
    const [dx, dy] = [place[0] - places[from][0], place[1] - places[from][1]];
    const along = dx * right + dy * down, aside = Math.abs(dx * down) + Math.abs(dy * right);
    if (along > 0 && along + 2 * aside < least) [best, least] = [point, along + 2 * aside];
  });
  return best;
}

// An event at a place in a plot, for the label that pointers show.
function eventAt(plot, [left, top]) {
  const box = plot.getBoundingClientRect();
  return { clientX: box.left + left, clientY: box.top + top };
}

function zoomAt(plot, factor, center) {
  const { xaxis, yaxis } = plot._fullLayout;
  if (factor === null) return Plotly.relayout(plot, plot.id === "matrix" ? { "xaxis.range": initialRange(modes.columns), "yaxis.range": initialRange(modes.rows) } : { "xaxis.autorange": true, "yaxis.autorange": true });
  const around = ([low, high], at) => [at + factor * (low - at), at + factor * (high - at)];
  return Plotly.relayout(plot, { "xaxis.range": around(xaxis.range, center[0]), "yaxis.range": around(yaxis.range, center[1]) });
}

function listenToPointKeys(mode, { showPoint, leave, select, clear, selected }) {
  const plot = document.getElementById(mode.key);
  const shown = () => document.getElementById("tip").textContent;
  const places = () => {
    const [horizontal, vertical] = state.axes[mode.key];
    return range(mode.names.length).map((point) => {
      const [x, y] = [placeOf(mode, point, horizontal), placeOf(mode, point, vertical)];
      return Number.isFinite(x) && Number.isFinite(y) ? pixelOf(plot, x, y) : null;
    });
  };
  const go = (point, at) => {
    if (point === null || point < 0) return;
    cursor[mode.key] = point;
    showPoint(mode, { points: [{ pointIndex: point }], event: eventAt(plot, at[point]) });
    announce(`${shown()}${selected(mode).includes(point) ? ", selected" : ""}`);
  };
  plot.addEventListener("keydown", (event) => {
    if (event.target !== plot || event.ctrlKey || event.metaKey || event.altKey) return;
    const at = places(), isThere = cursor[mode.key] !== null && at[cursor[mode.key]], here = isThere ? cursor[mode.key] : at.findIndex(Boolean);
    if (here < 0) return;
    const [horizontal, vertical] = state.axes[mode.key];
    if (event.key in ARROWS) go(isThere ? nextPoint(at, here, ARROWS[event.key]) : here, at);
    else if (event.key === "Home") go(at.findIndex(Boolean), at);
    else if (event.key === "End") go(at.findLastIndex(Boolean), at);
    else if (event.key === " " || event.key === "Enter") {
      const before = selected(mode), isOut = before.includes(here);
      select(mode.key, isOut ? before.filter((point) => point !== here) : [...before, here].sort((a, b) => a - b));
      cursor[mode.key] = here;
      announce(`${mode.names[here]} ${isOut ? "no longer selected" : "selected"}, ${plural(selected(mode).length, mode.one)} in all`);
    } else if (event.key === "Escape") { clear(); announce("Nothing selected"); }
    else if (event.key in ZOOMS) zoomAt(plot, ZOOMS[event.key], [placeOf(mode, here, horizontal), placeOf(mode, here, vertical)]);
    else if (event.key === "0") zoomAt(plot, null);
    else return;
    event.preventDefault();
  });
  plot.addEventListener("blur", leave);
}

function listenToMatrixKeys({ showCell, leave, select, clear, selected }) {
  const plot = document.getElementById("matrix");
  const toggle = (mode, points) => {
    const before = selected(mode), isOut = points.every((point) => before.includes(point));
    select(mode.key, isOut ? before.filter((point) => !points.includes(point)) : [...new Set([...before, ...points])].sort((a, b) => a - b));
    announce(`${plural(selected(mode).length, mode.one)} selected`);
  };
  plot.addEventListener("keydown", (event) => {
    if (event.target !== plot || event.ctrlKey || event.metaKey || event.altKey) return;
    const parts = [lattice(modes.columns), lattice(modes.rows)], [seenColumns, seenRows] = [inView(modes.columns), inView(modes.rows)];
    const cellAt = (place, { first, step }) => Math.floor((place - first) / step);
    // The cursor is a place in both orders, so that it stays when cells become smaller.
    cursor.matrix ??= [seenColumns[0], seenRows[0]];
    const within = (place, [low, high]) => Math.min(Math.max(place, low), high);
    let places = [within(cursor.matrix[0], seenColumns), within(cursor.matrix[1], seenRows)];
    if (event.key in ARROWS) {
      places = places.map((place, i) => within(place + ARROWS[event.key][i] * parts[i].step, i ? seenRows : seenColumns));
      cursor.matrix = places;
      const [column, row] = places.map((place, i) => cellAt(place, parts[i]));
      const at = pixelOf(plot, places[0], places[1]);
      showCell({ points: [{ pointIndex: [row, column] }], event: eventAt(plot, at ?? [0, 0]) });
      announce(document.getElementById("tip").textContent);
    } else if (event.key === " " || event.key === "Enter") {
      const [i, mode] = event.shiftKey ? [0, modes.columns] : [1, modes.rows];
      toggle(mode, pointsIn(mode, cellAt(places[i], parts[i])));
    } else if (event.key === "Escape") { clear(); announce("Nothing selected"); }
    else if (event.key in ZOOMS) zoomAt(plot, ZOOMS[event.key], places);
    else if (event.key === "0") zoomAt(plot, null);
    else return;
    event.preventDefault();
  });
  plot.addEventListener("blur", leave);
}

const POINT_KEYS = "Arrow keys go from point to point, Home and End to the first and last in the order; Space selects, Escape clears the selection; plus, minus and 0 zoom.";
const MATRIX_KEYS = "Arrow keys go from cell to cell; Space selects the row, Shift and Space the column, Escape clears the selection; plus, minus and 0 zoom.";

function makeFocusable(id, label) {
  const plot = document.getElementById(id);
  plot.tabIndex = 0;
  plot.setAttribute("role", "application");
  plot.setAttribute("aria-label", label);
}

function listenToKeys(actions) {
  for (const mode of Object.values(modes)) {
    makeFocusable(mode.key, `Embedding of ${plural(mode.names.length, mode.one)}. ${POINT_KEYS}`);
    listenToPointKeys(mode, actions);
  }
  makeFocusable("matrix", `Matrix of ${plural(modes.rows.names.length, "row")} and ${plural(modes.columns.names.length, "column")}. ${MATRIX_KEYS}`);
  listenToMatrixKeys(actions);
}
