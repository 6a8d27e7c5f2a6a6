// Pictures of the plots to save, with title and legend: SVG, and PNG at print resolution.

const SVG = "http://www.w3.org/2000/svg";
const PRINT_WIDTH = { millimetres: 180, dots: Math.round((180 / 25.4) * 300) };
const NARROWEST = 560;
const PRINT_INK = "#1b1f24", LINE = 18, MARGIN = 10;

// What can be saved: the plot, its title, and colourings to explain, each with a text, chips or a
// ramp, as in the legends of the page.
const PICTURES = {
  matrix: { title: () => `Matrix, ${document.getElementById("view").selectedOptions[0].text}`, legends: () => matrixLegends },
  rows: { title: () => "Rows", legends: () => [colouring(modes.rows)] },
  columns: { title: () => "Columns", legends: () => [colouring(modes.columns)] },
  map: { title: () => `Scales: ${document.getElementById("map-of").selectedOptions[0].text}`, legends: () => [] },
  "compare-plot": { name: "distinguishing", title: () => document.querySelector("#compare-table caption")?.textContent ?? "", legends: () => [] },
};

const fileStem = (text) => text.normalize("NFKD").toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "").slice(0, 60) || "report";

function drawn(tag, attributes, ...content) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...content);
  return made;
}

const measure = document.createElement("canvas").getContext("2d");
function widthOf(text, size, weight = 400) {
  measure.font = `${weight} ${size}px system-ui, sans-serif`;
  return measure.measureText(text).width;
}

// Pieces of a legend as [width, parts of SVG placed at 0, 0], in the order of reading.
function legendPieces({ text, chips = [], ramp }, size) {
  const words = (value) => String(value).split(/\s+/).filter(Boolean).map((word) => [widthOf(`${word} `, size), [drawn("text", { y: size, "font-size": size, fill: PRINT_INK }, word)]]);
  const pieces = words(chips.length || ramp ? `${text}:` : text);
  for (const [label, colour] of chips) {
    const box = drawn("rect", { y: 1.5, width: size - 1, height: size - 1, fill: colour, stroke: "#57606a", "stroke-width": 0.6 });
    pieces.push([size + 5 + widthOf(label, size) + 10, [box, drawn("text", { x: size + 4, y: size, "font-size": size, fill: PRINT_INK }, label)]]);
  }
  if (ramp) {
    const shades = range(60).map((i) => drawn("rect", { x: 2 * i, y: 2, width: 2.3, height: size - 2, fill: rampColour(ramp.name, i / 59) }));
    const end = (value) => (typeof value === "number" ? short(value) : value);
    pieces.push(...words(end(ramp.low)), [126, shades], ...words(end(ramp.high)));
  }
  return pieces;
}

// A block of lines no wider than a width; returns the group and its height.
function flow(pieces, width, top) {
  const group = drawn("g", { transform: `translate(${MARGIN} ${top})` });
  let x = 0, y = 0;
  for (const [wide, parts] of pieces) {
    if (x > 0 && x + wide > width) [x, y] = [0, y + LINE];
    group.append(drawn("g", { transform: `translate(${x} ${y})` }, ...parts));
    x += wide;
  }
  return { group, height: y + LINE };
}

// The plot as it is on the screen, as an SVG element without title and legend.
async function plotPicture(plot) {
  // As on the screen, but letters would be too large in the picture of a narrow plot; and the map
  // of scales may be folded away.
  const [across, down] = plot.clientWidth ? [plot.clientWidth, plot.clientHeight] : [520, 400], factor = Math.max(1, NARROWEST / across);
  const size = { width: Math.round(factor * across), height: Math.round(factor * down) };
  const text = await Plotly.toImage(plot, { format: "svg", ...size, imageDataOnly: true });
  // Characters that XML does not know may be in names.
  const picture = new DOMParser().parseFromString(text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f]/g, ""), "image/svg+xml").documentElement;
  sharpenHeatmaps(picture, plot);
  if (clouds[plot.id]) picture.querySelector(".cartesianlayer").before(cloudPicture(picture, plot));
  return { picture, ...size };
}

// The points of an embedding with very many of them, one by one.
function cloudPicture(picture, plot) {
  const { x, y, colours, isFaded } = clouds[plot.id], { xaxis, yaxis } = plot._fullLayout;
  const clip = picture.querySelector('clipPath.axesclip[id$="xy"] rect'), [left, top, width, height] = ["x", "y", "width", "height"].map((name) => Number(clip.getAttribute(name)));
  const group = drawn("g", { "clip-path": `url(#${clip.parentNode.id})` });
  const inOrder = range(x.length).sort((a, b) => isFaded[b] - isFaded[a] || a - b);
  for (const point of inOrder) {
    const [across, up] = [(x[point] - xaxis.range[0]) / (xaxis.range[1] - xaxis.range[0]), (y[point] - yaxis.range[0]) / (yaxis.range[1] - yaxis.range[0])];
    if (!(across >= 0 && across <= 1 && up >= 0 && up <= 1)) continue;
    const place = { cx: (left + width * across).toFixed(1), cy: (top + height * (1 - up)).toFixed(1), r: 2, fill: colours[point] };
    group.append(drawn("circle", isFaded[point] ? { ...place, "fill-opacity": 0.18 } : place));
  }
  return group;
}

// The whole picture; its width is that of a page.
async function pictureOf(id) {
  const { title, legends } = PICTURES[id], { picture, width, height } = await plotPicture(document.getElementById(id));
  const words = (text, size, weight) => text.split(/\s+/).filter(Boolean).map((word) => [widthOf(`${word} `, size, weight), [drawn("text", { y: size, "font-size": size, "font-weight": weight, fill: PRINT_INK }, word)]]);
  const head = flow([...words(page.title, 13, 600), ...words(`· ${title()}`, 13, 400)], width - 2 * MARGIN, 6);
  picture.setAttribute("y", 6 + head.height);
  const parts = [head.group, picture];
  let bottom = 6 + head.height + height + 4;
  for (const legend of legends()) {
    const { group, height: used } = flow(legendPieces(legend, 11), width - 2 * MARGIN, bottom);
    parts.push(group);
    bottom += used;
  }
  const whole = { width, height: bottom + 6 };
  const made = drawn("svg", {
    xmlns: SVG, width: `${PRINT_WIDTH.millimetres}mm`, height: `${(PRINT_WIDTH.millimetres * whole.height) / width}mm`,
    viewBox: `0 0 ${width} ${whole.height}`, "font-family": "system-ui, sans-serif",
  }, drawn("title", {}, `${page.title}: ${title()}`), drawn("rect", { width: "100%", height: "100%", fill: "#ffffff" }), ...parts);
  return { text: new XMLSerializer().serializeToString(made), ...whole };
}

function saveBlob(blob, name) {
  const link = element("a", [], { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

async function asPng(blob, { width, height }) {
  const image = new Image(), url = URL.createObjectURL(blob);
  image.src = url;
  await image.decode();
  const canvas = element("canvas", [], { width: PRINT_WIDTH.dots, height: Math.round((PRINT_WIDTH.dots * height) / width) });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  URL.revokeObjectURL(url);
  const png = await new Promise((done) => canvas.toBlob(done, "image/png"));
  return withResolution(new Uint8Array(await png.arrayBuffer()), 300);
}

// A PNG that says how many dots it has to an inch, so that it is placed at its size in print.
function withResolution(bytes, perInch) {
  const perMetre = Math.round(perInch / 0.0254), chunk = new DataView(new ArrayBuffer(21)), FIRST = 33; // after the header
  chunk.setUint32(0, 9);
  [..."pHYs"].forEach((letter, i) => chunk.setUint8(4 + i, letter.charCodeAt(0)));
  [8, 12].forEach((at) => chunk.setUint32(at, perMetre));
  chunk.setUint8(16, 1);
  let sum = 0xffffffff;
  for (let at = 4; at < 17; at++) {
    sum ^= chunk.getUint8(at);
    for (let bit = 0; bit < 8; bit++) sum = sum & 1 ? (sum >>> 1) ^ 0xedb88320 : sum >>> 1;
  }
  chunk.setUint32(17, ~sum >>> 0);
  return new Blob([bytes.subarray(0, FIRST), chunk.buffer, bytes.subarray(FIRST)], { type: "image/png" });
}

async function savePicture(id, kind) {
  const name = `${fileStem(page.title)}-${PICTURES[id].name ?? id}.${kind}`;
  const made = await inLightColours(() => pictureOf(id)), blob = new Blob([made.text], { type: "image/svg+xml" });
  saveBlob(kind === "svg" ? blob : await asPng(blob, made), name);
}

// Buttons for the bar of a plot.
const pictureButtons = (id) => [["svg", Plotly.Icons.disk], ["png", Plotly.Icons.camera]].map(([kind, icon]) => ({
  name: `save-${kind}`, title: `Save as ${kind.toUpperCase()}, with legend`, icon, click: () => savePicture(id, kind),
}));

// Buttons for all plots, below the page's other files.
function listPictures(place) {
  for (const [id, text] of [["matrix", "Matrix"], ["rows", "Rows"], ["columns", "Columns"], ["map", "Map of scales"]]) {
    const buttons = ["svg", "png"].map((kind) => {
      const made = element("button", `${text}, ${kind.toUpperCase()}`, { type: "button" });
      made.addEventListener("click", () => savePicture(id, kind));
      return made;
    });
    place.append(...buttons);
  }
}
