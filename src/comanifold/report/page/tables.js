// Tables, and files to save. All text goes in as text, never as HTML.

function table(headings, rows, caption) {
  const cell = (content) => element("td", content, typeof content === "number" ? { className: "number" } : {});
  const head = element("thead", element("tr", headings.map((text) => element("th", text, { scope: "col" }))));
  const body = element("tbody", rows.map((row) => element("tr", row.map(cell))));
  const made = element("table", [...(caption ? [element("caption", caption)] : []), head, body]);
  return element("div", made, { className: "scroll", tabIndex: 0 });
}

const field = (value) => (/[",\r\n]/.test(String(value)) ? `"${String(value).replaceAll('"', '""')}"` : String(value));
const csv = (rows) => rows.map((row) => row.map(field).join(",")).join("\n") + "\n";

function save(name, rows) {
  const link = element("a", [], { href: URL.createObjectURL(new Blob([csv(rows)], { type: "text/csv" })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

// Where each row of the data is in the organised order.
function placesOf(mode) {
  const places = [];
  mode.order.forEach((index, point) => { places[index] = point; });
  return places;
}

// Seven digits of how far values are from their mean, in standard deviations.
function exact(value) {
  if (!Number.isFinite(value)) return "";
  const digits = 7 + Math.ceil(Math.log10(Math.max(Math.abs(value) / page.matrix.unit, 1)));
  return String(Number(value.toPrecision(Math.min(digits, 17))));
}

const embeddingRows = (mode) => [
  ["name", ...range(mode.n_components).map((axis) => `coordinate_${axis + 1}`)],
  ...placesOf(mode).map((point) => [mode.names[point], ...range(mode.n_components).map((axis) => {
    const value = coordinate(mode, point, axis);
    return Number.isFinite(value) ? value : "";
  })]),
];

function filledRows() {
  const columns = placesOf(modes.columns);
  return [
    ["", ...columns.map((column) => modes.columns.names[column])],
    ...placesOf(modes.rows).map((row) => [modes.rows.names[row], ...columns.map((column) => exact(filledAt(row, column)))]),
  ];
}

function drawExports(scale, clusters) {
  const files = [
    ["Row embedding", () => save("row_embedding.csv", embeddingRows(modes.rows))],
    ["Column embedding", () => save("column_embedding.csv", embeddingRows(modes.columns))],
    ["Clusters shown", () => save("clusters.csv", clusterRows(clusters()))],
    ["Clusters at this scale", () => save("clusters.csv", scaleRows(scale())), hasScales],
    ["Filled-in matrix", () => save("filled.csv", filledRows()), !isAggregated],
    ["Scales", () => save("scales.csv", [Object.keys(page.scales[0]), ...page.scales.map(Object.values)])],
  ];
  document.getElementById("exports").append(...files.map(([text, action, isThere = true]) => {
    const button = element("button", text, { type: "button", disabled: !isThere });
    button.addEventListener("click", action);
    return button;
  }));
  document.getElementById("exports-text").textContent = isAggregated
    ? "The entries of a matrix of this size are on this page in rounded form, so they cannot be saved from here."
    : "The filled-in matrix has the weighted mean of scales and completions where nothing was observed, and about seven digits.";
}

function heldOutTable({ n_entries: count, errors }) {
  const entries = count === 1 ? "1 held-out entry" : `${count.toLocaleString("en")} held-out entries`;
  const caption = `Error on ${entries}, in their standard deviations: 0 is exact, 1 is as good as their mean.`;
  return table(errors.map(([name]) => name), [errors.map(([, error]) => error.toFixed(2))], caption);
}

function drawAbout() {
  const put = (id, ...content) => document.getElementById(id).replaceChildren(...content);
  const rounded = (value) => Number(value.toPrecision(4));
  const { certificates, held_out: heldOut, notes, warnings } = page, told = [...warnings.map((text) => `Warning: ${text}`), `Structure of ${page.structure}.`, ...notes];
  put("notes", element("ul", told.map((text) => element("li", text))));
  put("held-out", ...(heldOut ? [heldOutTable(heldOut)] : []));
  const gap = certificates.largest_gap === null ? "" : ` The largest duality gap is ${certificates.largest_gap.toExponential(1)}.`;
  put("certificates",
    `${certificates.n_converged} of ${plural(certificates.n_scales, "pair")} of scales reached the tolerance of ${certificates.tol}. ` +
    `The largest stationarity residual, relative to the data, is ${certificates.largest_residual.toExponential(1)}.${gap}`);
  put("parameters", table(["parameter", "value"], Object.entries(page.parameters)));
  put("versions", table(["package", "version"], Object.entries({ ...page.versions, "plotly.js": Plotly.version })));
  put("scales", table(["l", "k", "row clusters", "column clusters", "weight", "objective", "residual", "iterations", "status"],
    page.scales.map((s) => [s.l, s.k, s.n_row_clusters, s.n_column_clusters, rounded(s.weight), rounded(s.objective), rounded(s.residual), s.n_iter, s.status])));
  const alerts = warnings.length ? [element("a", plural(warnings.length, "warning"), { href: "#about" })] : [];
  put("alerts", ...alerts);
}
