// What is shown, and what happens when something is touched.

const byId = (id) => document.getElementById(id);
// The first annotation that tells points apart; null if there is none.
function firstAnnotation(mode) {
  const first = mode.colourings.findIndex((given) => given.kind !== "text" || given.levels.length > 1);
  return first < 0 ? null : String(first);
}

const firstOf = (mode) => (page.n_clusters[mode.key] > 1 ? "cluster" : firstAnnotation(mode) ?? "order");

const state = {
  wanted: { l: page.scales[page.first_scale].l, k: page.scales[page.first_scale].k },
  scale: page.first_scale,
  clustering: "found",
  k: { rows: page.n_clusters.rows, columns: page.n_clusters.columns },
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

const MOST_IN_SHORT_LEGEND = 10, MOST_RINGS = 500;
let cells = { z: [], share: [] }, pictureNotes = [], matrixLegends = [], isDrawing = false;
const lit = () => ({ rows: [...state.hovered.rows, ...state.found.rows], columns: [...state.hovered.columns, ...state.found.columns] });
const colouring = (mode, by = state.colour[mode.key]) => colouringOf(mode, by, state.clusters[mode.key], state.selected[mode.other]);

function draw() {
  isDrawing = true;
  const bars = { rows: [], columns: [] }, inners = [];
  matrixLegends = [];
  for (const mode of Object.values(modes)) {
    const clusters = clustersOf(mode, { by: state.clustering, k: state.k, scale: state.scale });
    state.clusters[mode.key] = clusters;
    byId(`${mode.key}-clusters`).replaceChildren(clusterTable(mode, clusters, select, distinguish));
    const outer = clusterColouring(clusters);
    bars[mode.key].push(outer.colours);
    matrixLegends.push({ ...outer, text: `${mode.key}, ${outer.text}` });
    const current = colouring(mode);
    const beside = state.colour[mode.key] === "cluster" ? firstAnnotation(mode) : state.colour[mode.key];
    if (beside !== null) {
      const inner = beside === state.colour[mode.key] ? current : colouring(mode, beside);
      bars[mode.key].push(inner.colours);
      inners.push(`${mode.one}s, ${inner.brief ?? inner.text}`);
      matrixLegends.push({ ...inner, text: `inner bar, ${mode.key}, ${inner.text}` });
    }
    drawLegend(byId(`${mode.key}-legend`), current);
    byId(`${mode.key}-legend`).classList.toggle("long", (current.chips?.length ?? 0) > MOST_IN_SHORT_LEGEND);
    drawEmbedding(mode, state.axes[mode.key], current, state.selected[mode.key], pointMarks(mode, state.axes[mode.key], lit()[mode.key]));
  }
  const labels = Object.fromEntries(Object.keys(modes).map((key) => [key, state.clusters[key].labels]));
  cells = cellsInView(state.view, state.scale);
  const text = [matrixText(labels), barText(inners), ...pictureNotes].join(" ");
  byId("matrix-text").textContent = text;
  matrixLegends.push({ text: matrixText(labels) });
  byId("matrix-text").classList.toggle("long", text.length > 160);
  drawMatrix(cells, bars, labels, matrixMarks(state.selected, lit()));
  drawMap(byId("map-of").value, state.scale);
  if (hasScales) tellScale(state.wanted, state.scale);
  tellClusters();
  compare(state);
  isDrawing = false;
}

function barText(inners) {
  const { how } = state.clusters.rows;
  return inners.length ? `Outer bars: clusters ${how}; inner: ${inners.join("; ")}.` : `Bars: clusters ${how}.`;
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

// --- clusters and scales ---

function chooseClustering(by) {
  byId("clustering").value = state.clustering = by;
  for (const mode of Object.values(modes)) chooseNumber(mode, state.k[mode.key]);
  if (by === "scale") byId("scale-controls").open = true;
}

function chooseNumber(mode, wanted) {
  const [least, most] = possibleNumbers(mode, state.clustering), box = byId(`${mode.key}-k`);
  [box.min, box.max] = [least, most];
  state.k[mode.key] = Math.min(Math.max(Math.round(wanted) || least, least), most);
}

function tellClusters() {
  const isNumber = ["k_means", "tree"].includes(state.clustering);
  byId("numbers").hidden = !isNumber;
  for (const mode of Object.values(modes)) byId(`${mode.key}-k`).value = state.k[mode.key];
  const { how } = state.clusters.rows;
  byId("clusters-title").textContent = `Clusters ${how}`;
  byId("clusters-text").textContent = Object.values(modes).map((mode) => clusterSummary(mode, state.clusters[mode.key])).join(" ");
}

const distinguish = (mode, cluster) => showGroup(`${mode.key}-${cluster}`, state);

function chooseLayout(mode, index) {
  useLayout(mode, index);
  state.axes[mode.key] = [0, 1];
  axisOptions(mode);
  draw();
}

function chooseScale(l, k) {
  state.wanted = { l, k };
  state.scale = nearestScale(l, k);
  chooseClustering("scale");
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

const clusterText = (mode, point) => clusterColouring(state.clusters[mode.key]).values[point];

function hoverPoint(mode, { points, event }) {
  const point = points[0].pointIndex, current = colouring(mode);
  const more = state.colour[mode.key] === "cluster" ? [] : [`${current.brief ?? current.text}: ${current.values[point]}`];
  hover({ [mode.key]: [point] }, [mode.names[point], clusterText(mode, point), ...more].join("\n"), event);
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
  choose({ ...state.selected, [key]: points }, [key]);
}

// Selects rows and columns; the other embedding of what has changed is coloured by it.
function choose({ rows, columns }, changed = ["rows", "columns"]) {
  state.selected = { rows, columns };
  for (const key of changed) {
    const { other } = modes[key], points = state.selected[key];
    if (points.length && state.colour[other] !== "selection") {
      state.colourBefore[other] = state.colour[other];
      state.colour[other] = "selection";
    } else if (!points.length && state.colour[other] === "selection") {
      state.colour[other] = state.colourBefore[other];
    }
    if (points.length) shownGroup = `${key}-selection-0`;
  }
  tellSelection();
  draw();
}

// Plotly is not done yet when it tells of a selection; and it also tells of those that a drawing
// takes away, which are no one's choice.
function selectLater(mode, points) {
  if (!isDrawing) setTimeout(() => select(mode.key, points));
}

function clearSelection() {
  choose({ rows: [], columns: [] });
}

function tellSelection(note = "") {
  const nothing = isNothing(state.selected);
  byId("selection-text").textContent = nothing ? "Nothing. Drag in an embedding, press Enter in Find, or choose a cluster below." : describeSelection(state.selected);
  byId("selection-note").textContent = note;
  if (!note) byId("copy-text").hidden = true;
  for (const id of ["clear", "copy", "selection-csv", "keep", "selection-name"]) byId(id).disabled = nothing;
  for (const mode of Object.values(modes)) {
    if (state.colour[mode.key] === "kept" && !keptSelections.some((kept) => kept[mode.key].length)) state.colour[mode.key] = firstOf(mode);
    colourOptions(mode);
  }
  listKept((kept) => choose(kept), () => { tellSelection(); draw(); });
}

function keep() {
  keepSelection(byId("selection-name").value, state.selected);
  byId("selection-name").value = "";
  tellSelection();
  draw();
}

// --- controls ---

function fill(id, options, chosen) {
  byId(id).replaceChildren(...options.map(([value, text]) => element("option", text, { value })));
  byId(id).value = chosen;
}

function colourOptions(mode) {
  const options = mode.colourings.map((given, i) => [String(i), given.name]);
  options.unshift(["cluster", "cluster"]);
  options.push(["order", "place in the order"]);
  if (keptSelections.some((kept) => kept[mode.key].length)) options.push(["kept", "kept selections"]);
  if (state.selected[mode.other].length) options.push(["selection", `the selected ${mode.other}`]);
  fill(`${mode.key}-colour`, options, state.colour[mode.key]);
}

function axisOptions(mode) {
  const axes = range(mode.n_components).map((axis) => [String(axis), String(axis + 1)]);
  byId(`${mode.key}-axes`).hidden = mode.n_components < 3;
  ["x", "y"].forEach((name, i) => fill(`${mode.key}-${name}`, axes, String(i)));
}

function find(text) {
  const found = matchesOf(text), isMany = Math.max(found.rows.length, found.columns.length) > MOST_RINGS;
  listMatches(found);
  for (const key of Object.keys(modes)) state.found[key] = found[key].slice(0, MOST_RINGS);
  const counts = `${plural(found.rows.length, "row")}, ${plural(found.columns.length, "column")}`;
  byId("found").textContent = text.trim() ? `${counts}${isMany ? `; the first ${MOST_RINGS} are marked` : ""}` : "";
  drawMarks();
}

// What is selected needs no rings any more.
function selectFound(text) {
  const found = matchesOf(text);
  if (isNothing(found)) return;
  state.found = { rows: [], columns: [] };
  choose(found);
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
    byId("row-and-column-scale").hidden = true;
    byId("no-scales").hidden = false;
  }
  fill("clustering", CLUSTERINGS, state.clustering);
  for (const mode of Object.values(modes)) {
    colourOptions(mode);
    axisOptions(mode);
    byId(`${mode.key}-layouts`).hidden = layouts[mode.key].length < 2;
    fill(`${mode.key}-layout`, layouts[mode.key].map(({ layout }, i) => [String(i), layout]), "0");
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
  listenToKeys({ showPoint: hoverPoint, showCell: hoverCell, leave: () => hover({}, ""), select, clear: clearSelection, selected: (mode) => state.selected[mode.key] });
  on("find", "input", find);
  byId("find").addEventListener("keydown", (event) => { if (event.key === "Enter") selectFound(event.target.value); });
  on("found-names", "change", () => choose(pickedMatches()));
  on("clear", "click", clearSelection);
  on("copy", "click", () => copyText(selectedNames(state.selected), tellSelection));
  on("selection-csv", "click", () => save("selection.csv", selectionRows(state.selected, state.clusters)));
  on("keep", "click", keep);
  byId("selection-name").addEventListener("keydown", (event) => { if (event.key === "Enter") keep(); });
  on("clustering", "change", (by) => { chooseClustering(by); draw(); });
  byId("scale-controls").addEventListener("toggle", () => Plotly.Plots.resize("map"));
  on("theme", "click", () => { setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"); draw(); });
  addEventListener("pointerdown", () => { isPressed = true; }, true);
  addEventListener("pointerup", () => { isPressed = false; drawMarks(); }, true);
  byId("read").addEventListener("click", () => { byId("reading").open = true; });
  byId("controls").addEventListener("submit", (event) => event.preventDefault());
  for (const mode of Object.values(modes)) {
    on(`${mode.key}-k`, "change", (number) => { chooseNumber(mode, Number(number)); draw(); });
    on(`${mode.key}-layout`, "change", (index) => chooseLayout(mode, Number(index)));
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
drawExports(() => state.scale, () => state.clusters);
listPictures(byId("pictures"));
draw();
listen();
listenToLevels();
listenToComparison(state);
for (const mode of Object.values(modes).filter(isCloud)) paintCloud(mode);
followSizes();
listenToPrinting();
document.documentElement.dataset.ready = "yes";
