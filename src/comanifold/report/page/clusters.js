// Which clusters are shown: those that the fit has found, as many as are asked for, or those of a
// scale. Clusters are numbered from 0 in the organised order here, and from 1 on the screen.

const MOST_CLUSTERS = 100, MOST_MEMBERS = 40;
// Clusters are coloured one by one if the largest have at least this share of all points.
const SHARE_OF_LARGEST = 0.6;

const everyMode = (has) => Object.values(modes).every((mode) => has(mode.clusters));
const CLUSTERINGS = [
  ["found", "found by the fit", true],
  ["k_means", "k, by k-means", everyMode((clusters) => clusters.k_means)],
  ["tree", "k, of the tree", everyMode((clusters) => clusters.tree)],
  ["scale", "at a scale", hasScales],
].filter(([, , isThere]) => isThere);

const nObserved = (mode) => mode.clusters.found.labels.filter((label) => label >= 0).length;

// The numbers of clusters that can be asked for, as [least, most].
function possibleNumbers(mode, by) {
  const numbers = mode.clusters.k_means?.numbers;
  return by === "k_means" && numbers ? [numbers[0], numbers.at(-1)] : [1, nObserved(mode)];
}

// The tree in which clusters join as the costs grow, cut into k clusters, as model.cut does.
function cutTree(mode, k) {
  const size = mode.names.length, nodes = mode.clusters.tree, found = mode.clusters.found.labels;
  const cluster = Int32Array.from({ length: 2 * size - 1 }, (_, node) => node);
  // Points without an observed entry join last.
  for (let i = nObserved(mode) - k - 1; i >= 0; i--) {
    cluster[nodes[2 * i]] = cluster[nodes[2 * i + 1]] = cluster[size + i];
  }
  const numbers = new Map();
  return Int32Array.from(range(size), (point) => {
    if (found[point] < 0) return -1;
    if (!numbers.has(cluster[point])) numbers.set(cluster[point], numbers.size);
    return numbers.get(cluster[point]);
  });
}

// The labels of a clustering, what it is called, and how sure they are where that is known.
function labelsOf(mode, { by, k, scale }) {
  const { found, k_means: kMeans } = mode.clusters, size = mode.names.length;
  if (by === "scale") return { labels: labelsAt(mode, scale), how: "at this scale" };
  if (by === "tree") return { labels: cutTree(mode, k[mode.key]), how: "of the tree" };
  if (by === "k_means") {
    const at = kMeans.numbers.indexOf(k[mode.key]);
    return { labels: kMeans.labels.subarray(at * size, (at + 1) * size), how: "by k-means", confidence: kMeans.confidence[at] };
  }
  return { labels: found.labels, how: "found", confidence: found.confidence, pointConfidence: found.point_confidence };
}

function clustersOf(mode, clustering) {
  const found = labelsOf(mode, clustering), members = clusterMembers(found.labels);
  return { ...found, members, ...clusterColours(mode, members) };
}

function clusterMembers(labels) {
  const members = range(Math.max(-1, highest(labels)) + 1).map(() => []);
  labels.forEach((label, point) => { if (label >= 0) members[label].push(point); });
  return members;
}

// A colour for each cluster. When clusters change, the largest keep the colours that most of
// their members had; where no few clusters dominate, the colour is where in the order they are.
const lastColours = {};
function clusterColours(mode, members) {
  const bySize = range(members.length).sort((a, b) => members[b].length - members[a].length || a - b);
  const largest = bySize.slice(0, CLUSTER_COLOURS.length), size = (total, i) => total + members[i].length;
  if (largest.reduce(size, 0) < SHARE_OF_LARGEST * bySize.reduce(size, 0)) {
    delete lastColours[mode.key];
    const middle = (points) => points.reduce((sum, point) => sum + point, 0) / points.length;
    return { bySize, inOrder: true, colours: members.map((points) => rampColour("viridis", middle(points) / mode.names.length)) };
  }
  const before = lastColours[mode.key], free = new Set(CLUSTER_COLOURS), colours = members.map(() => OTHER);
  for (const label of before ? largest : [...largest].sort((a, b) => a - b)) {
    const votes = new Map();
    for (const point of before ? members[label] : []) votes.set(before[point], (votes.get(before[point]) ?? 0) + 1);
    const liked = [...votes].sort((a, b) => b[1] - a[1]).map(([colour]) => colour).find((colour) => free.has(colour));
    colours[label] = liked ?? [...free][0];
    free.delete(colours[label]);
  }
  lastColours[mode.key] = [];
  members.forEach((points, label) => points.forEach((point) => { lastColours[mode.key][point] = colours[label]; }));
  return { bySize, inOrder: false, colours };
}

const confidenceText = (share) => (Number.isFinite(share) ? `confidence ${percent(share)}` : "");

function clusterColouring({ labels, members, bySize, colours, inOrder, how, pointConfidence }) {
  const shared = {
    colours: Array.from(labels, (label) => colours[label] ?? OTHER),
    values: Array.from(labels, (label, point) => (label < 0 ? "no cluster"
      : [`cluster ${label + 1}`, ...(pointConfidence && members.length > 1 ? [confidenceText(pointConfidence[point])] : [])].join(", "))),
  };
  const text = `${plural(members.length, "cluster")} ${how}`;
  if (inOrder) return { ...shared, ramp: { name: "viridis", low: "first", high: "last" }, text: `${text}, by their place in the order` };
  const coloured = bySize.slice(0, CLUSTER_COLOURS.length).sort((a, b) => a - b);
  const chips = coloured.map((label) => [`${label + 1} (${members[label].length})`, colours[label]]);
  if (bySize.length > chips.length) chips.push([`${bySize.length - chips.length} smaller ones`, OTHER]);
  return { ...shared, chips, text: `${text} (size)` };
}

// How many clusters are shown, and how sure they are, in a sentence for each mode.
function clusterSummary(mode, { members, how, confidence }) {
  if (how === "found" && members.length === 1) return `No groups of ${mode.key} were found.`;
  const sure = members.length > 1 && Number.isFinite(confidence) ? `, ${confidenceText(confidence)}` : "";
  return `${plural(members.length, `${mode.one} cluster`)} ${how}${sure}.`;
}

function clusterTable(mode, { members, bySize, colours, how, pointConfidence }, select, distinguish) {
  const hasConfidence = pointConfidence && members.length > 1;
  const rows = bySize.slice(0, MOST_CLUSTERS).map((label) => {
    const points = members[label], names = points.slice(0, MOST_MEMBERS).map((point) => mode.names[point]).join(", ");
    const chip = element("span", [], { className: "chip" }), which = `${mode.one} cluster ${label + 1}`;
    chip.style.background = colours[label];
    const more = points.length - MOST_MEMBERS, mean = points.reduce((sum, point) => sum + (pointConfidence?.[point] ?? 0), 0) / points.length;
    const buttons = [button("Select", () => select(mode.key, points), { ariaLabel: `Select ${which}` })];
    if (members.length > 1) buttons.push(" ", button("Compare", () => distinguish(mode, label), { ariaLabel: `What distinguishes ${which}` }));
    return [
      element("span", [chip, String(label + 1)], { className: "entry" }), points.length, ...(hasConfidence ? [percent(mean)] : []),
      more > 0 ? `${names} and ${more} more` : names, element("span", buttons, { className: "entry" }),
    ];
  });
  const left = bySize.length - rows.length;
  const caption = `${plural(bySize.length, `${mode.one} cluster`)} ${how}, the largest first` + (left > 0 ? `; ${left} more are in the CSV` : "");
  return table(["cluster", "size", ...(hasConfidence ? ["confidence"] : []), "members", ""], rows, caption);
}

// As clusters.csv of the command line.
const clusterRows = (clusters) => [
  ["mode", "label", "cluster", "confidence"],
  ...Object.values(modes).flatMap((mode) => {
    const { labels, pointConfidence } = clusters[mode.key];
    return placesOf(mode).map((point) => {
      const share = labels[point] < 0 ? NaN : pointConfidence?.[point];
      return [mode.one, mode.names[point], labels[point] < 0 ? "" : labels[point] + 1, Number.isFinite(share) ? Number(share.toPrecision(6)) : ""];
    });
  }),
];

const scaleRows = (scale) => [
  ["mode", "name", "cluster", "l", "k"],
  ...Object.values(modes).flatMap((mode) => placesOf(mode).map((point) => {
    const label = labelsAt(mode, scale)[point];
    return [mode.one, mode.names[point], label < 0 ? "" : label + 1, page.scales[scale].l, page.scales[scale].k];
  })),
];
