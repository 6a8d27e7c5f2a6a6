// Colours that can be told apart with any kind of colour vision.

const RAMPS = {
  viridis: ["#440154", "#472d7b", "#3b528b", "#2c728e", "#21918c", "#28ae80", "#5ec962", "#addc30", "#fde725"],
  cividis: ["#00224e", "#1a386f", "#434e6c", "#61656f", "#7d7c78", "#9b9476", "#bcae6c", "#dec958", "#fee838"],
  magma: ["#000004", "#1d1147", "#51127c", "#832681", "#b73779", "#e75263", "#fc8961", "#fec488", "#fcfdbf"],
  grey: ["#ffffff", "#b8b8b8", "#767676", "#3a3a3a", "#000000"],
  diverging: ["#003e6e", "#0072b2", "#7fb8da", "#f0efec", "#f0b27f", "#d55e00", "#8a3b00"],
};
const OKABE_ITO = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442"];
const OTHER = "#9aa0a6";
// Clusters are coloured one by one if the largest have at least this share of all points.
const SHARE_OF_LARGEST = 0.6;

const channels = (colour) => [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));

// A colour on a ramp, for a share from 0 to 1.
function rampColour(name, share) {
  if (!Number.isFinite(share)) return OTHER;
  const stops = RAMPS[name], at = Math.min(Math.max(share, 0), 1) * (stops.length - 1);
  const low = Math.min(Math.floor(at), stops.length - 2), part = at - low;
  const [from, to] = [channels(stops[low]), channels(stops[low + 1])];
  return `rgb(${from.map((value, i) => Math.round(value + part * (to[i] - value))).join(",")})`;
}

const rampScale = (name) => RAMPS[name].map((colour, i, all) => [i / (all.length - 1), colour]);

function numberColouring(text, values, ramp, limits) {
  const there = values.filter(Number.isFinite), [low, high] = limits ?? [lowest(there), highest(there)];
  const colours = values.map((value) => rampColour(ramp, Number.isFinite(value) ? (value - low) / (high - low || 1) : NaN));
  return { text, colours, ramp: { name: ramp, low, high }, values: values.map(short) };
}

// Text: the most frequent values have colours of their own, the others share one.
function textColouring(text, levels, codes) {
  const colourOf = (code) => (code >= 0 && code < OKABE_ITO.length ? OKABE_ITO[code] : OTHER);
  const chips = levels.slice(0, OKABE_ITO.length).map((level, code) => [level, OKABE_ITO[code]]);
  if (levels.length > chips.length) chips.push([`${levels.length - chips.length} others`, OTHER]);
  if (codes.some((code) => code < 0)) chips.push(["none", OTHER]);
  return { text, colours: codes.map(colourOf), chips, values: codes.map((code) => levels[code] ?? "none") };
}

function clusterMembers(labels) {
  const members = range(Math.max(-1, highest(labels)) + 1).map(() => []);
  labels.forEach((label, point) => { if (label >= 0) members[label].push(point); });
  return members;
}

// A colour for each cluster. While clusters merge, the largest keep the colours that most of
// their members had; where no few clusters dominate, the colour is where in the order they are.
const lastColours = {};
function clusterColours(mode, members) {
  const bySize = range(members.length).sort((a, b) => members[b].length - members[a].length || a - b);
  const largest = bySize.slice(0, OKABE_ITO.length), size = (total, i) => total + members[i].length;
  if (largest.reduce(size, 0) < SHARE_OF_LARGEST * bySize.reduce(size, 0)) {
    delete lastColours[mode.key];
    const middle = (points) => points.reduce((sum, point) => sum + point, 0) / points.length;
    return { bySize, inOrder: true, colours: members.map((points) => rampColour("viridis", middle(points) / mode.names.length)) };
  }
  const before = lastColours[mode.key], free = new Set(OKABE_ITO), colours = members.map(() => OTHER);
  for (const label of largest) {
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

function clusterColouring(mode, clusters) {
  const { labels, members, bySize, colours, inOrder } = clusters;
  const text = `${plural(members.length, "cluster")} at this scale (size)`;
  const chips = bySize.slice(0, OKABE_ITO.length).map((label) => [`${label + 1} (${members[label].length})`, colours[label]]);
  if (bySize.length > chips.length) chips.push([`${bySize.length - chips.length} smaller ones`, OTHER]);
  const shared = { text, colours: Array.from(labels, (label) => colours[label] ?? OTHER),
    values: Array.from(labels, (label) => (label < 0 ? "no cluster" : `cluster ${label + 1}`)) };
  if (!inOrder) return { ...shared, chips };
  return { ...shared, ramp: { name: "viridis", low: "first", high: "last" }, text: `${plural(members.length, "cluster")} at this scale, by their place in the order` };
}

// How the points of a mode are coloured now: a colour and a text for each, and a legend.
function colouringOf(mode, by, clusters, selected) {
  if (by === "cluster") return clusterColouring(mode, clusters);
  if (by === "order") return numberColouring("place in the organised order", range(mode.names.length).map((i) => i + 1), "viridis");
  if (by === "selection") {
    const cells = differences(mode, selected), most = Math.max(...cells.filter(Number.isFinite).map(Math.abs), 0);
    const text = `mean of the ${plural(selected.length, modes[mode.other].one)} selected minus the mean of all, in each ${mode.one}`;
    const values = range(mode.names.length).map((point) => cells[cellOf(mode, point)]);
    return { ...numberColouring(text, values, "diverging", [-most, most]), brief: "selected minus all" };
  }
  const { name, kind, levels, values } = mode.colourings[Number(by)];
  return kind === "text" ? textColouring(name, levels, values) : numberColouring(name, values.map((value) => value ?? NaN), "viridis");
}

function drawLegend(place, colouring) {
  place.replaceChildren(`${colouring.text}: `);
  for (const [text, colour] of colouring.chips ?? []) {
    const chip = element("span", [], { className: "chip" });
    chip.style.background = colour;
    place.append(element("span", [chip, text], { className: "entry" }));
  }
  if (!colouring.ramp) return;
  const { name, low, high } = colouring.ramp, ramp = document.createElement("canvas");
  [ramp.width, ramp.height, ramp.className] = [90, 1, "ramp"];
  const brush = ramp.getContext("2d");
  for (const x of range(90)) { brush.fillStyle = rampColour(name, x / 89); brush.fillRect(x, 0, 1, 1); }
  place.append(typeof low === "number" ? short(low) : low, ramp, typeof high === "number" ? short(high) : high);
}
