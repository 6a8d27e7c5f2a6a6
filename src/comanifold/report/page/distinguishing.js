// What distinguishes a group of rows from the other rows: the columns in which their observed
// entries differ most, and the same for groups of columns. The formulas are those of
// CoManifold.distinguishing: Hedges' g with a variance that is moderated towards the median.

const FEWEST = 2, PRIOR_OBSERVATIONS = 3, HALF_WIDTH = 1.96, UNBOUNDED = Number.MAX_VALUE ** 0.25;

// The entries to compare: single ones, or, of a matrix too large for the page, means over cells.
async function comparedEntries(mode, points) {
  const entries = await fullResolution(), other = modes[mode.other];
  if (entries) {
    const inside = new Uint8Array(mode.names.length);
    for (const point of points) inside[point] = 1;
    return { inside, nFeatures: other.names.length, at: entries.at, isAveraged: false };
  }
  const counts = new Float64Array(mode.cells);
  for (const point of points) counts[cellOf(mode, point)] += 1;
  const inside = Uint8Array.from(counts, (count, cell) => (2 * count > membersOf(mode, cell).length ? 1 : 0));
  return { inside, nFeatures: other.cells, at: observedAt, isAveraged: true };
}

// Counts, means and sums of squared deviations of each feature, outside ([0]) and inside ([1]).
function momentsOf(mode, { inside, nFeatures, at }) {
  const isRows = mode.key === "rows", [nRows, nColumns] = isRows ? [inside.length, nFeatures] : [nFeatures, inside.length];
  const both = () => [new Float64Array(nFeatures), new Float64Array(nFeatures)];
  const counts = both(), means = both(), squares = both();
  const each = (use) => {
    for (let row = 0; row < nRows; row++) {
      for (let column = 0; column < nColumns; column++) {
        const value = at(row, column);
        if (value === value) use(isRows ? inside[row] : inside[column], isRows ? column : row, value);
      }
    }
  };
  each((side, feature, value) => { counts[side][feature] += 1; means[side][feature] += value; });
  for (const side of [0, 1]) means[side].forEach((sum, feature) => { means[side][feature] = sum / Math.max(counts[side][feature], 1); });
  each((side, feature, value) => { squares[side][feature] += (value - means[side][feature]) ** 2; });
  return { counts, means, squares };
}

function median(values) {
  const sorted = Float64Array.from(values).sort(), half = sorted.length >> 1;
  return sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

// One line for each feature with enough observed entries, those that distinguish best first.
function effectsOf(mode, compared) {
  const { counts, means, squares } = momentsOf(mode, compared), other = modes[mode.other];
  const features = range(compared.nFeatures).filter((i) => counts[0][i] >= FEWEST && counts[1][i] >= FEWEST);
  const freedomOf = (i) => counts[0][i] + counts[1][i] - 2, squaresOf = (i) => squares[0][i] + squares[1][i];
  const prior = features.length ? median(features.map((i) => squaresOf(i) / freedomOf(i))) : 0;
  const lines = features.map((i) => {
    const [nOutside, nInside] = [counts[0][i], counts[1][i]], total = nInside + nOutside, freedom = total - 2;
    const deviation = Math.sqrt((squaresOf(i) + PRIOR_OBSERVATIONS * prior) / (freedom + PRIOR_OBSERVATIONS));
    const difference = means[1][i] - means[0][i];
    const ratio = difference === 0 ? 0 : deviation > 0 ? difference / deviation : Math.sign(difference) * UNBOUNDED;
    const effect = (1 - 3 / (4 * freedom - 1)) * ratio;
    const error = Math.sqrt(total / (nInside * nOutside) + effect ** 2 / (2 * total));
    return {
      feature: i, index: compared.isAveraged ? i : other.order[i], effect, standard_error: error,
      certain: Math.max(Math.abs(effect) - HALF_WIDTH * error, 0), inside: means[1][i], outside: means[0][i],
      n_inside: nInside, n_outside: nOutside, deviation,
    };
  });
  return lines.sort((a, b) => b.certain - a.certain || Math.abs(b.effect) - Math.abs(a.effect) || a.index - b.index);
}

// What Python has computed for the clusters found of a matrix that is too large for the page.
function listedEffects(mode, cluster) {
  const { place, ...columns } = page.distinguishing[mode.key][cluster], other = modes[mode.other];
  return place.map((feature, line) => ({
    feature, index: other.order[feature], ...Object.fromEntries(Object.entries(columns).map(([name, values]) => [name, values[line]])),
  }));
}

// --- groups to choose from ---

// A group: its mode, its points, and for a cluster its number.
function groupsOf(state) {
  const groups = [];
  for (const mode of Object.values(modes)) {
    const { members, how } = state.clusters[mode.key];
    if (members.length < 2) continue;
    members.slice(0, MOST_CLUSTERS).forEach((points, cluster) => groups.push({
      key: `${mode.key}-${cluster}`, mode, points, cluster: how === "found" ? cluster : null,
      of: `${mode.one} clusters`, name: `${mode.one} cluster ${cluster + 1}`,
    }));
  }
  const selections = [{ name: "selected", ...state.selected }, ...keptSelections];
  selections.forEach((selection, i) => Object.values(modes).forEach((mode) => {
    const points = selection[mode.key];
    if (!points.length || points.length === mode.names.length) return;
    groups.push({ key: `${mode.key}-selection-${i}`, mode, points, cluster: null, of: "selections", name: i ? `${selection.name} (${mode.key})` : `selected ${mode.key}` });
  }));
  return groups;
}

let shownGroup = "", comparison = null, isCompareVisible = false, comparing = 0;

function fillGroups(state) {
  const groups = groupsOf(state), place = document.getElementById("group");
  const parts = [...new Set(groups.map(({ of }) => of))].map((of) => {
    const options = groups.filter((group) => group.of === of).map(({ key, name, points }) => element("option", `${name} (${points.length})`, { value: key }));
    return element("optgroup", options, { label: of });
  });
  place.replaceChildren(...parts);
  if (!groups.some(({ key }) => key === shownGroup)) shownGroup = groups[0]?.key ?? "";
  place.value = shownGroup;
  place.disabled = !groups.length;
  return groups.find(({ key }) => key === shownGroup);
}

// Compares anew, once what is compared can be seen: very many entries take a second to unpack.
async function compare(state) {
  const group = fillGroups(state), turn = (comparing += 1);
  if (!isCompareVisible) return;
  let lines = [], compared = null;
  if (group) {
    const isListed = !page.values && group.cluster !== null;
    compared = isListed ? null : await comparedEntries(group.mode, group.points);
    if (turn !== comparing) return;
    lines = isListed ? listedEffects(group.mode, group.cluster) : effectsOf(group.mode, compared);
  }
  comparison = { group, lines, compared };
  drawComparison(state);
}

// --- the plot and the table ---

const MOST_PLOTTED = 12, MOST_LINES = 50, FEW_POINTS = 250;

const featureName = (mode, feature, isAveraged) => (isAveraged ? cellName(mode, feature) : mode.names[feature]);

function drawComparison(state) {
  const { group, lines, compared } = comparison, byId = (id) => document.getElementById(id), isAveraged = compared?.isAveraged ?? false;
  byId("compare-csv").disabled = !lines.length;
  byId("compare-figure").hidden = !lines.length || !compared;
  byId("compare-others").textContent = group ? `from the other ${group.mode.key}?` : "";
  if (!lines.length || !compared) byId("compare-how").textContent = "";
  if (!group) {
    byId("compare-table").replaceChildren();
    byId("compare-text").textContent = "There is no group to compare: there is one cluster of rows and one of columns. Select rows or columns in an embedding.";
    return;
  }
  const { mode } = group, other = modes[mode.other];
  const shown = lines.slice(0, MOST_LINES).map((line) => [
    featureName(other, line.feature, isAveraged), line.effect.toFixed(2), `${(line.effect - HALF_WIDTH * line.standard_error).toFixed(2)} to ${(line.effect + HALF_WIDTH * line.standard_error).toFixed(2)}`,
    short(line.inside), short(line.outside), line.n_inside, line.n_outside,
  ]);
  const rest = lines.length - shown.length;
  const caption = `${other.key} that distinguish ${group.name} from the other ${mode.key}` + (rest > 0 && page.values ? `; ${rest.toLocaleString("en")} more are in the CSV` : "");
  const made = table([other.one, "effect", "95% interval", "mean inside", "outside", "n inside", "outside"], shown, caption);
  made.querySelectorAll("tbody td:not(:first-child)").forEach((cell) => { cell.className = "number"; });
  byId("compare-table").replaceChildren(made);
  const basis = isAveraged
    ? `The matrix is too large to be on this page entry by entry: means over cells of the picture are compared, so that effects are larger than those of single entries. model.distinguishing("${mode.one}", labels) compares the entries.`
    : "Effect: the difference of the means of the observed entries, in standard deviations. Groups that were found in the same entries differ by construction: no test of significance applies.";
  byId("compare-text").textContent = lines.length ? basis : `No ${other.one} has two observed entries inside and outside of the group.`;
  if (lines.length && compared) drawStrips(state, group, lines.slice(0, MOST_PLOTTED), compared);
}

// Quartiles, and the shares of 5% and 95%, of each list of values.
function boxOf(lists) {
  const sorted = lists.map((values) => Float64Array.from(values).sort());
  const quantile = (share) => sorted.map((values) => {
    const at = share * (values.length - 1), low = Math.floor(at), high = Math.ceil(at);
    return values[low] + (at - low) * (values[high] - values[low]);
  });
  return { lowerfence: quantile(0.05), q1: quantile(0.25), median: quantile(0.5), q3: quantile(0.75), upperfence: quantile(0.95), y: range(lists.length) };
}

// Observed values inside and outside of the group, in standard deviations from the mean outside:
// all of them if they are few, and boxes in any case.
function drawStrips(state, { mode, name, points, cluster }, lines, { inside, at, isAveraged }) {
  const isRows = mode.key === "rows", other = modes[mode.other], isFew = inside.length <= FEW_POINTS;
  const sides = [0, 1].map(() => lines.map(() => ({ values: [], points: [] })));
  lines.forEach(({ feature, outside, deviation }, line) => {
    for (let point = 0; point < inside.length; point++) {
      const value = isRows ? at(point, feature) : at(feature, point), side = sides[inside[point]][line];
      if (Number.isNaN(value)) continue;
      side.values.push((value - outside) / (deviation || 1));
      side.points.push(point);
    }
  });
  const pointText = (line, point) => {
    const value = isRows ? at(point, lines[line].feature) : at(lines[line].feature, point);
    return `${asText(isAveraged ? cellName(mode, point) : mode.names[point])}<br>${short(value)}`;
  };
  const values = (side) => (isFew ? {
    x: side.flatMap((strip) => strip.values), y: side.flatMap((strip, line) => strip.values.map(() => line)),
    text: side.flatMap((strip, line) => strip.points.map((point) => pointText(line, point))), boxpoints: "all",
  } : boxOf(side.map((strip) => strip.values)));
  const colour = groupColour(state, mode, points, cluster);
  const trace = (side, text, tint) => ({
    type: "box", orientation: "h", ...values(sides[side]), name: text, offsetgroup: text, alignmentgroup: "all",
    jitter: 0.7, pointpos: 0, marker: { color: tint, size: 3.5, opacity: 0.75 }, line: { color: tint, width: 1.3 },
    fillcolor: `rgba(${channels(tint).join(",")},0.25)`, hoveron: isFew ? "points" : "boxes", hovertemplate: isFew ? "%{text}<extra></extra>" : "", whiskerwidth: 0.5,
  });
  document.getElementById("compare-how").textContent = isFew
    ? "Points: the observed entries; boxes: their quartiles." : "Boxes: quartiles of the observed entries; whiskers: from 5% to 95% of them.";
  const labels = lines.map(({ feature }) => asText(shortened(featureName(other, feature, isAveraged))));
  const base = plotLayout();
  const layout = {
    ...base, boxmode: "group", boxgap: 0.25, boxgroupgap: 0.1, margin: { l: 8, r: 8, t: 26, b: 8 }, dragmode: "zoom", showlegend: true,
    legend: { orientation: "h", x: 0, y: 1, yanchor: "bottom", traceorder: "reversed" }, uirevision: `${name} ${lines.length}`,
    xaxis: { title: { text: "standard deviations from the mean outside", standoff: 4 }, zeroline: true, zerolinecolor: css("--quiet"), gridcolor: css("--grid"), automargin: true },
    yaxis: { tickvals: range(lines.length), ticktext: labels, range: [lines.length - 0.5, -0.5], automargin: true, showgrid: false, zeroline: false, fixedrange: true },
  };
  const traces = [trace(0, `other ${mode.key}`, css("--quiet")), trace(1, asText(name), colour)];
  return drawPlot("compare-plot", traces, layout, configure("zoom2d", "resetScale2d", ...pictureButtons("compare-plot")));
}

// The colour of the cluster that a group is, else that of selections.
function groupColour(state, mode, points, cluster) {
  const { colours, inOrder } = state.clusters[mode.key];
  return cluster !== null && !inOrder ? colours[cluster] : css("--accent");
}

const comparisonRows = ({ group, lines, compared }) => [
  ["group", "name", "index", "effect", "standard_error", "certain", "inside", "outside", "n_inside", "n_outside"],
  ...lines.map((line) => [
    group.name, featureName(modes[group.mode.other], line.feature, compared?.isAveraged), line.index,
    ...["effect", "standard_error", "certain", "inside", "outside"].map((key) => Number(line[key].toPrecision(8))), line.n_inside, line.n_outside,
  ]),
];

function showGroup(key, state) {
  shownGroup = key;
  isCompareVisible = true;
  document.getElementById("compare").scrollIntoView({ block: "start" });
  return compare(state);
}

function listenToComparison(state) {
  const byId = (id) => document.getElementById(id);
  byId("group").addEventListener("change", (event) => { shownGroup = event.target.value; isCompareVisible = true; compare(state); });
  byId("compare-csv").addEventListener("click", () => save("distinguishing.csv", comparisonRows(comparison)));
  new IntersectionObserver((seen) => {
    if (!seen.some((entry) => entry.isIntersecting) || isCompareVisible) return;
    isCompareVisible = true;
    compare(state);
  }).observe(byId("compare"));
}
