// Selections that are named and kept, copied, saved, and used to colour.

const MOST_NAMED = 2000;

// Each has a name and points of rows, of columns, or of both.
const keptSelections = [];

const isNothing = (selection) => !selection.rows.length && !selection.columns.length;

function describeSelection(selection) {
  return Object.values(modes).filter((mode) => selection[mode.key].length).map((mode) => {
    const points = selection[mode.key], names = points.slice(0, MOST_NAMED).map((point) => mode.names[point]).join(", ");
    const more = points.length - MOST_NAMED;
    return `${plural(points.length, mode.one)}: ${names}${more > 0 ? ` and ${more.toLocaleString("en")} more` : ""}`;
  }).join(". ");
}

const nextName = () => {
  const taken = new Set(keptSelections.map(({ name }) => name));
  let number = 1;
  while (taken.has(`selection ${number}`)) number += 1;
  return `selection ${number}`;
};

// A name that is there already now stands for this selection.
function keepSelection(name, { rows, columns }) {
  const kept = { name: name.trim() || nextName(), rows: [...rows], columns: [...columns] };
  const at = keptSelections.findIndex((other) => other.name === kept.name);
  if (at < 0) keptSelections.push(kept);
  else keptSelections[at] = kept;
}

function listKept(choose, changed) {
  document.getElementById("kept").replaceChildren(...keptSelections.map((kept) => {
    const counts = Object.values(modes).filter((mode) => kept[mode.key].length).map((mode) => plural(kept[mode.key].length, mode.one)).join(", ");
    const forget = () => { keptSelections.splice(keptSelections.indexOf(kept), 1); changed(); };
    return element("li", [
      button(kept.name, () => choose(kept), { title: "Select again", className: "name" }), ` ${counts} `,
      button("×", forget, { ariaLabel: `Forget ${kept.name}`, title: "Forget" }),
    ]);
  }));
}

// Points in several kept selections have the colour of the last of them.
function keptColouring(mode) {
  const kept = keptSelections.filter((selection) => selection[mode.key].length), codes = new Array(mode.names.length).fill(-1);
  kept.forEach((selection, code) => selection[mode.key].forEach((point) => { codes[point] = code; }));
  return categoryColouring("kept selections", kept.map(({ name }) => name), codes, kept.length > ANNOTATION_COLOURS.length ? range(ANNOTATION_COLOURS.length) : null);
}

// Names, one for each line.
const selectedNames = (selection) =>
  Object.values(modes).flatMap((mode) => selection[mode.key].map((point) => mode.names[point])).join("\n");

// The clipboard may be refused; then the text is shown, to be copied by hand.
async function copyText(text, tell) {
  const place = document.getElementById("copy-text");
  place.hidden = true;
  try {
    await navigator.clipboard.writeText(text);
    tell("Copied.");
  } catch {
    place.value = text;
    place.hidden = false;
    place.focus();
    place.select();
    tell("The browser has refused the clipboard: press Ctrl+C, or ⌘C, to copy the names.");
  }
}

const isGiven = (colouring) => !colouring.is_derived;

function annotationAt({ kind, levels, values }, point) {
  const value = values[point];
  return kind === "text" ? levels[value] ?? "" : value ?? "";
}

// Rows and columns with their clusters as shown, and all annotations.
function selectionRows(selection, clusters) {
  const titles = [...new Set(Object.values(modes).flatMap((mode) => mode.colourings.filter(isGiven).map(({ name }) => name)))];
  return [
    ["mode", "name", "cluster", "confidence", ...titles],
    ...Object.values(modes).flatMap((mode) => selection[mode.key].map((point) => {
      const { labels, pointConfidence } = clusters[mode.key], label = labels[point];
      const given = titles.map((title) => mode.colourings.find((colouring) => isGiven(colouring) && colouring.name === title));
      return [
        mode.one, mode.names[point], label < 0 ? "" : label + 1, label >= 0 && pointConfidence ? Number(pointConfidence[point].toPrecision(6)) : "",
        ...given.map((colouring) => (colouring ? annotationAt(colouring, point) : "")),
      ];
    })),
  ];
}

// --- finding ---

function matchesOf(text) {
  const wanted = text.trim().toLowerCase();
  return Object.fromEntries(Object.values(modes).map((mode) => [
    mode.key, wanted ? range(mode.names.length).filter((point) => mode.names[point].toLowerCase().includes(wanted)) : [],
  ]));
}

// All of them, in a list from which some can be picked.
function listMatches(found) {
  const place = document.getElementById("found-names");
  place.replaceChildren(...Object.values(modes).filter((mode) => found[mode.key].length).map((mode) => element(
    "optgroup", found[mode.key].map((point) => element("option", mode.names[point], { value: `${mode.key} ${point}` })), { label: mode.key },
  )));
  place.hidden = isNothing(found);
}

function pickedMatches() {
  const picked = { rows: [], columns: [] };
  for (const { value } of document.getElementById("found-names").selectedOptions) {
    const [key, point] = value.split(" ");
    picked[key].push(Number(point));
  }
  return picked;
}
