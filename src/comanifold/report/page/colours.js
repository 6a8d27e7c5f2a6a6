// Palettes, ramps and legends.

const RAMPS = {
  viridis: ["#440154", "#472d7b", "#3b528b", "#2c728e", "#21918c", "#28ae80", "#5ec962", "#addc30", "#fde725"],
  cividis: ["#00224e", "#1a386f", "#434e6c", "#61656f", "#7d7c78", "#9b9476", "#bcae6c", "#dec958", "#fee838"],
  magma: ["#000004", "#1d1147", "#51127c", "#832681", "#b73779", "#e75263", "#fc8961", "#fec488", "#fcfdbf"],
  grey: ["#ffffff", "#b8b8b8", "#767676", "#3a3a3a", "#000000"],
  diverging: ["#003e6e", "#0072b2", "#7fb8da", "#f0efec", "#f0b27f", "#d55e00", "#8a3b00"],
};
// Twenty colours for annotations and twenty for clusters. Annotations begin with those of Okabe and
// Ito, which can be told apart with any kind of colour vision. The others were chosen to maximise
// the smallest distance in OKLab: to each other, also as seen without red or green cones, to the
// other palette, to grey and to the backgrounds of both themes.
const ANNOTATION_COLOURS = [
  "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#00fcf0", "#605400", "#900078",
  "#7860fc", "#3c30cc", "#846078", "#c0ccc0", "#a82400", "#d860fc", "#60c000", "#d80c84", "#fcb4fc", "#3cfc6c",
];
const CLUSTER_COLOURS = [
  "#5b54c8", "#e8746a", "#00cc9c", "#c01848", "#a8d818", "#009cc0", "#006c48", "#9084fc", "#6cd8fc", "#005484",
  "#b4f0b4", "#00a830", "#9c789c", "#6c3c60", "#a83ca8", "#d8a8c0", "#f06ccc", "#905418", "#fcc060", "#a8a848",
];
const OTHER = "#9aa0a6";

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

// How the points of a mode are coloured now: a colour and a text for each, and a legend.
function colouringOf(mode, by, clusters, selected) {
  if (by === "cluster") return clusterColouring(clusters);
  if (by === "kept") return keptColouring(mode);
  if (by === "order") return numberColouring("place in the organised order", range(mode.names.length).map((i) => i + 1), "viridis");
  if (by === "selection") {
    const cells = differences(mode, selected), most = Math.max(...cells.filter(Number.isFinite).map(Math.abs), 0);
    const text = `mean of the ${plural(selected.length, modes[mode.other].one)} selected minus the mean of all, in each ${mode.one}`;
    const values = range(mode.names.length).map((point) => cells[cellOf(mode, point)]);
    return { ...numberColouring(text, values, "diverging", [-most, most]), brief: "selected minus all" };
  }
  return annotationColouring(mode, Number(by));
}

function drawLegend(place, colouring) {
  place.replaceChildren(`${colouring.text}: `);
  for (const [text, colour] of colouring.chips ?? []) {
    const chip = element("span", [], { className: "chip" });
    chip.style.background = colour;
    place.append(element("span", [chip, text], { className: "entry" }));
  }
  if (colouring.ramp) {
    const { name, low, high } = colouring.ramp, ramp = document.createElement("canvas");
    [ramp.width, ramp.height, ramp.className] = [90, 1, "ramp"];
    const brush = ramp.getContext("2d");
    for (const x of range(90)) { brush.fillStyle = rampColour(name, x / 89); brush.fillRect(x, 0, 1, 1); }
    place.append(typeof low === "number" ? short(low) : low, ramp, typeof high === "number" ? short(high) : high);
  }
  for (const [text, act] of colouring.actions ?? []) place.append(" ", button(text, act));
}
