// What is shown, and what happens when something is touched.

const byId = (id) => document.getElementById(id);
// The first colouring that tells points apart.
function firstOf(mode) {
  const first = mode.colourings.findIndex((given) => given.kind !== "text" || given.levels.length > 1);
  if (first >= 0) return String(first);
  return hasScales && !mode.colourings.length ? "cluster" : "order";
}

const state = {
  wanted: { l: page.scales[page.first_scale].l, k: page.scales[page.first_scale].k },
  scale: page.first_scale,
  view: "filled",
  colour: { rows: firstOf(modes.rows), columns: firstOf(modes.columns) },
  colourBefore: {},
  axes: { rows: [0, 1], columns: [0, 1] },
  selected: { rows: [], columns: [] },
  hovered: { rows: [], columns: [] },
  found: { rows: [], columns: [] },
  clusters: {},
};

const VIEWS = [
  ["observed", "observed entries only"], ["filled", "filled in, weighted mean"],
  ["scale", "filled in at this scale"], ["estimate", "smooth estimate at this scale"],
];

// --- drawing ---

let cells = { z: [], share: [] }, pictureNotes = [], isDrawing = false;
const lit = () => ({ rows: [...state.hovered.rows, ...state.found.rows], columns: [...state.hovered.columns, ...state.found.columns] });
const colouring = (mode) => colouringOf(mode, state.colour[mode.key], state.clusters[mode.key], state.selected[mode.other]);

function draw() {
  isDrawing = true;
  const bars = { rows: [], columns: [] };
  for (const mode of Object.values(modes)) {
    if (hasScales) {
      const labels = labelsAt(mode, state.scale), members = clusterMembers(labels);
      state.clusters[mode.key] = { labels, members, ...clusterColours(mode, members) };
      byId(`${mode.key}-clusters`).replaceChildren(clusterTable(mode, state.clusters[mode.key], select));
      bars[mode.key].push(clusterColouring(mode, state.clusters[mode.key]).colours);
    }
    const current = colouring(mode);
    if (state.colour[mode.key] !== "cluster") bars[mode.key].push(current.colours);
    drawLegend(byId(`${mode.key}-legend`), current);
    drawEmbedding(mode, state.axes[mode.key], current, state.selected[mode.key], pointMarks(mode, state.axes[mode.key], lit()[mode.key]));
  }
  const labels = Object.fromEntries(Object.keys(modes).map((key) => [key, state.clusters[key]?.labels ?? null]));
  cells = cellsInView(state.view, state.scale);
  const text = [matrixText(labels), barText(bars), ...pictureNotes].join(" ");
  byId("matrix-text").textContent = text;
  byId("matrix-text").classList.toggle("long", text.length > 160);
  drawMatrix(cells, bars, labels, matrixMarks(state.selected, lit()));
  drawMap(byId("map-of").value, state.scale);
  if (hasScales) tellScale(state.wanted, state.scale);
  isDrawing = false;
}

function barText(bars) {
  if (!hasScales) return "Bars: as the embeddings are coloured.";
  return bars.rows.length + bars.columns.length > 2
    ? "Outer bars: clusters at this scale; inner: as the embedding is coloured." : "Bars: clusters at this scale.";
}

// Marks alone are quick to draw: once for each frame, however fast the pointer moves, and not
// while it drags, which would disturb Plotly.
let isWaiting = false, isPressed = false;
function drawMarks() {
  if (isWaiting || isPressed) return;
  isWaiting = true;
  requestAnimationFrame(() => {
    isWaiting = false;
    if (isPressed) return;
    Plotly.relayout("matrix", { shapes: matrixMarks(state.selected, lit()) });
    for (const mode of Object.values(modes)) {
      Plotly.relayout(mode.key, { shapes: pointMarks(mode, state.axes[mode.key], lit()[mode.key]) });
    }
  });
}

// --- scales ---

function chooseScale(l, k) {
  state.wanted = { l, k };
  state.scale = nearestScale(l, k);
  if (state.view === "filled") byId("view").value = state.view = "scale";
  draw();
}

// --- hovering: a name, and light everywhere ---

function hover(hovered, text, event) {
  state.hovered = { rows: [], columns: [], ...hovered };
  const tip = byId("tip");
  tip.textContent = text;
  tip.hidden = !text;
  if (text && event) {
    const { width, height } = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(4, Math.min(event.clientX + 14, innerWidth - width - 4))}px`;
    tip.style.top = `${event.clientY + 18 + height > innerHeight ? event.clientY - height - 12 : event.clientY + 18}px`;
  }
  drawMarks();
}

const clusterText = (mode, point) => (hasScales ? [clusterColouring(mode, state.clusters[mode.key]).values[point]] : []);

function hoverPoint(mode, { points, event }) {
  const point = points[0].pointIndex, current = colouring(mode);
  const more = state.colour[mode.key] === "cluster" ? [] : [`${current.brief ?? current.text}: ${current.values[point]}`];
  hover({ [mode.key]: [point] }, [mode.names[point], ...clusterText(mode, point), ...more].join("\n"), event);
}

function hoverCell({ points, event }) {
  const [row, column] = points[0].pointIndex, { rows, columns } = modes, [inRow, inColumn] = [pointsIn(rows, row), pointsIn(columns, column)];
  const share = cells.share[row][column], value = short(cells.z[row][column]), error = errorAt(inRow[0], inColumn[0]);
  const origin = share === 1 ? "observed" : share ? `${Math.round(100 * share)}% observed` : "missing in the data";
  const description = state.view === "estimate" ? `estimate; ${origin}` : share || state.view === "observed" ? origin : `filled in${Number.isNaN(error) ? "" : `, standard error ${short(error)}`}`;
  const last = state.view === "observed" && !share ? "missing" : `${value}, ${description}`;
  const text = [`${rows.one}: ${nameOfCell(rows, row)}`, `${columns.one}: ${nameOfCell(columns, column)}`, last];
  hover({ rows: inRow, columns: inColumn }, text.join("\n"), event);
}

// --- selecting ---

function select(key, points) {
  const other = modes[key].other;
  state.selected[key] = points;
  if (points.length && state.colour[other] !== "selection") {
    state.colourBefore[other] = state.colour[other];
    state.colour[other] = "selection";
  } else if (!points.length && state.colour[other] === "selection") {
    state.colour[other] = state.colourBefore[other];
  }
  colourOptions(modes[other]);
  tellSelection();
  draw();
}

// Plotly is not done yet when it tells of a selection; and it also tells of those that a drawing
// takes away, which are no one's choice.
function selectLater(mode, points) {
  if (!isDrawing) setTimeout(() => select(mode.key, points));
}

function clearSelection() {
  for (const key of Object.keys(modes)) select(key, []);
}

function tellSelection() {
  const parts = Object.values(modes).filter((mode) => state.selected[mode.key].length).map((mode) => {
    const points = state.selected[mode.key], names = points.slice(0, 20).map((point) => mode.names[point]).join(", ");
    return `${plural(points.length, mode.one)}: ${names}${points.length > 20 ? " …" : ""}`;
  });
  byId("selection-text").textContent = parts.length ? parts.join(". ") : "Nothing. Drag in an embedding, or choose a cluster below.";
  byId("clear").disabled = !parts.length;
}

// --- controls ---

function fill(id, options, chosen) {
  byId(id).replaceChildren(...options.map(([value, text]) => element("option", text, { value })));
  byId(id).value = chosen;
}

function colourOptions(mode) {
  const options = mode.colourings.map((given, i) => [String(i), given.name]);
  if (hasScales) options.push(["cluster", "cluster"]);
  options.push(["order", "place in the order"]);
  if (state.selected[mode.other].length) options.push(["selection", `the selected ${mode.other}`]);
  fill(`${mode.key}-colour`, options, state.colour[mode.key]);
}

function find(text) {
  const wanted = text.trim().toLowerCase();
  for (const mode of Object.values(modes)) {
    state.found[mode.key] = wanted ? range(mode.names.length).filter((point) => mode.names[point].toLowerCase().includes(wanted)) : [];
  }
  byId("found").textContent = wanted ? `${plural(state.found.rows.length, "row")}, ${plural(state.found.columns.length, "column")}` : "";
  drawMarks();
}

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  byId("theme").textContent = theme === "dark" ? "Light" : "Dark";
  byId("theme").setAttribute("aria-label", `Change to ${theme === "dark" ? "light" : "dark"} colours`);
}

function setUp() {
  const missing = page.n_missing / (page.n_rows * page.n_columns);
  const error = page.held_out ? `; held-out error ${page.held_out.errors[0][1].toFixed(2)}` : "";
  byId("summary").textContent = `${plural(page.n_rows, "row")} × ${plural(page.n_columns, "column")}, ${short(100 * missing)}% missing; ${page.n_clusters.rows} × ${page.n_clusters.columns} clusters; ${plural(page.scales.length, "pair")} of scales${error}`;
  const notes = [];
  if (hasScales && page.estimates.is_averaged) {
    notes.push("To keep the page small, estimates at the finest scales are averaged over neighbouring rows and columns.");
  }
  byId("aggregated").textContent = notes.join(" ");
  pictureNotes = notes;
  fill("view", VIEWS.filter(([view]) => hasScales || !["scale", "estimate"].includes(view)), state.view);
  if (hasScales) {
    byId("row-scale").max = steps.l.length - 1;
    byId("column-scale").max = steps.k.length - 1;
  } else {
    for (const id of ["scale-controls", "clusters"]) byId(id).hidden = true;
    byId("no-scales").hidden = false;
  }
  for (const mode of Object.values(modes)) {
    colourOptions(mode);
    const axes = range(mode.n_components).map((axis) => [String(axis), String(axis + 1)]);
    byId(`${mode.key}-axes`).hidden = mode.n_components < 3;
    ["x", "y"].forEach((name, i) => fill(`${mode.key}-${name}`, axes, String(i)));
  }
}

function listen() {
  const on = (id, kind, action) => byId(id).addEventListener(kind, (event) => action(event.target.value));
  const slide = () => chooseScale(steps.l[Number(byId("row-scale").value)], steps.k[Number(byId("column-scale").value)]);
  on("row-scale", "input", slide);
  on("column-scale", "input", slide);
  on("map-of", "change", draw);
  on("view", "change", (view) => { state.view = view; draw(); });
  listenToMatrix(draw, hover);
  on("find", "input", find);
  on("clear", "click", clearSelection);
  on("theme", "click", () => { setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"); draw(); });
  addEventListener("pointerdown", () => { isPressed = true; }, true);
  addEventListener("pointerup", () => { isPressed = false; drawMarks(); }, true);
  byId("read").addEventListener("click", () => { byId("reading").open = true; });
  byId("controls").addEventListener("submit", (event) => event.preventDefault());
  for (const mode of Object.values(modes)) {
    on(`${mode.key}-colour`, "change", (by) => { state.colour[mode.key] = by; draw(); });
    ["x", "y"].forEach((name, i) => on(`${mode.key}-${name}`, "change", (axis) => { state.axes[mode.key][i] = Number(axis); draw(); }));
    byId(mode.key).on("plotly_hover", (event) => hoverPoint(mode, event));
    listenToCloud(mode, hoverPoint, () => hover({}, ""));
    byId(mode.key).on("plotly_selected", (event) => event && selectLater(mode, pointsInside(mode, event)));
    byId(mode.key).on("plotly_deselect", () => selectLater(mode, []));
  }
  byId("matrix").on("plotly_hover", hoverCell);
  byId("map").on("plotly_hover", ({ points, event }) => hover({}, describe(page.scales[nearestScale(points[0].y, points[0].x)]), event));
  if (hasScales) byId("map").on("plotly_click", ({ points }) => chooseScale(points[0].y, points[0].x));
  for (const id of ["matrix", "rows", "columns", "map"]) byId(id).on("plotly_unhover", () => hover({}, ""));
}

setTheme(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
setUp();
tellSelection();
drawAbout();
drawExports(() => state.scale);
draw();
listen();
for (const mode of Object.values(modes).filter(isCloud)) paintCloud(mode);
document.documentElement.dataset.ready = "yes";
