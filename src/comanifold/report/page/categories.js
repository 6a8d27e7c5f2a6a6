// Annotations as colours. Text, and few distinct whole numbers, are categories: the most frequent
// twenty, or those that are picked, have colours of their own and the others share grey.

const MOST_LISTED = 500;

// What was chosen for each annotation: {asCategories, picked: codes in the order of their colours}.
const categoryChoices = { rows: {}, columns: {} };
const choiceOf = (mode, index) => (categoryChoices[mode.key][index] ??= { asCategories: false, picked: null });

// Levels by frequency and a code for each value, -1 for none; null unless whole and few.
function numbersAsCategories(values) {
  const counts = new Map();
  for (const value of values) {
    if (value === null) continue;
    if (!Number.isInteger(value)) return null;
    counts.set(value, (counts.get(value) ?? 0) + 1);
    if (counts.size > ANNOTATION_COLOURS.length) return null;
  }
  const ranked = [...counts].sort((a, b) => b[1] - a[1] || a[0] - b[0]).map(([value]) => value);
  return { levels: ranked.map(String), codes: values.map((value) => ranked.indexOf(value)) };
}

function categoryColouring(text, levels, codes, picked) {
  const coloured = picked ?? range(Math.min(levels.length, ANNOTATION_COLOURS.length));
  const colourOf = new Map(coloured.map((code, i) => [code, ANNOTATION_COLOURS[i]]));
  const chips = [...coloured].sort((a, b) => naturally(levels[a], levels[b])).map((code) => [levels[code], colourOf.get(code)]);
  const left = levels.length - coloured.length;
  if (left) chips.push([left === 1 ? "1 other" : `${left.toLocaleString("en")} others`, OTHER]);
  if (codes.some((code) => code < 0)) chips.push(["none", OTHER]);
  return { text, colours: codes.map((code) => colourOf.get(code) ?? OTHER), chips, values: codes.map((code) => levels[code] ?? "none") };
}

function annotationColouring(mode, index) {
  const { name, kind, levels, values } = mode.colourings[index], choice = choiceOf(mode, index);
  if (kind === "text") {
    const made = categoryColouring(name, levels, values, choice.picked);
    const isMany = levels.length > ANNOTATION_COLOURS.length;
    return isMany ? { ...made, actions: [["Choose categories", () => openLevels(mode, index)]] } : made;
  }
  const categories = numbersAsCategories(values);
  const toggle = (asCategories) => [[asCategories ? "as categories" : "as a ramp", () => { choice.asCategories = asCategories; draw(); }]];
  if (categories && choice.asCategories) {
    return { ...categoryColouring(name, categories.levels, categories.codes, null), actions: toggle(false) };
  }
  const made = numberColouring(name, values.map((value) => value ?? NaN), "viridis");
  return categories ? { ...made, actions: toggle(true) } : made;
}

// --- the dialogue that picks which of many categories have colours ---

let levelsOf = null;

function openLevels(mode, index) {
  levelsOf = { mode, index };
  const dialogue = document.getElementById("levels");
  document.getElementById("levels-title").textContent = `Categories of ${mode.colourings[index].name}`;
  document.getElementById("levels-search").value = "";
  listLevels();
  dialogue.showModal();
}

function pickLevels(picked) {
  choiceOf(levelsOf.mode, levelsOf.index).picked = picked;
  listLevels();
  draw();
}

function listLevels() {
  const { mode, index } = levelsOf, { levels, values } = mode.colourings[index], choice = choiceOf(mode, index);
  const most = ANNOTATION_COLOURS.length, picked = choice.picked ?? range(most), counts = new Map();
  for (const code of values) counts.set(code, (counts.get(code) ?? 0) + 1);
  const wanted = document.getElementById("levels-search").value.trim().toLowerCase();
  const matches = range(levels.length).filter((code) => levels[code].toLowerCase().includes(wanted));
  matches.sort((a, b) => naturally(levels[a], levels[b]));
  const lines = matches.slice(0, MOST_LISTED).map((code) => {
    const isPicked = picked.includes(code);
    const box = element("input", [], { type: "checkbox", checked: isPicked, disabled: !isPicked && picked.length >= most });
    box.addEventListener("change", () => pickLevels(isPicked ? picked.filter((other) => other !== code) : [...picked, code]));
    const chip = element("span", [], { className: "chip" });
    chip.style.background = isPicked ? ANNOTATION_COLOURS[picked.indexOf(code)] : OTHER;
    return element("label", [box, chip, `${levels[code]} (${counts.get(code)})`]);
  });
  document.getElementById("levels-list").replaceChildren(...lines);
  const left = matches.length - lines.length;
  const used = picked.length < most ? `${picked.length} of ${most} colours are used.` : `All ${most} colours are used: untick some, or press None, to pick others.`;
  const matching = `${matches.length.toLocaleString("en")} of ${levels.length.toLocaleString("en")} match`;
  document.getElementById("levels-text").textContent = `${used} ${matching}${left ? `; the first ${MOST_LISTED} are listed: type more of their name` : ""}.`;
}

function listenToLevels() {
  const byId = (id) => document.getElementById(id);
  byId("levels-search").addEventListener("input", listLevels);
  byId("levels-frequent").addEventListener("click", () => pickLevels(null));
  byId("levels-none").addEventListener("click", () => pickLevels([]));
  byId("levels-close").addEventListener("click", () => byId("levels").close());
}
