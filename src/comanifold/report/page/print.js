// Before printing, plots become as wide as a page and light, and afterwards what they were.

const PAGE_WIDTH = 670, PRINT_HEIGHTS = { matrix: 800, rows: 400, columns: 400, "compare-plot": 420 };

function listenToPrinting() {
  let theme = null;
  const size = (change) => {
    for (const [id, height] of Object.entries(PRINT_HEIGHTS)) {
      const plot = document.getElementById(id), { style } = plot;
      if (!plot._fullLayout) continue;
      [style.width, style.height] = change ? [`${PAGE_WIDTH}px`, `${height}px`] : ["", ""];
      if (change) Plotly.relayout(plot, { width: PAGE_WIDTH, height, autosize: false });
      else Plotly.relayout(plot, { width: null, height: null, autosize: true });
    }
  };
  addEventListener("beforeprint", () => {
    if (theme !== null) return;
    theme = document.documentElement.dataset.theme;
    if (theme === "dark") setTheme("light");
    draw();
    size(true);
    for (const cloud of Object.values(clouds)) cloud.ratio = 3;
    for (const mode of Object.values(modes).filter(isCloud)) paintCloud(mode);
  });
  addEventListener("afterprint", () => {
    if (theme === null) return;
    for (const cloud of Object.values(clouds)) cloud.ratio = null;
    size(false);
    setTheme(theme);
    theme = null;
    draw();
  });
}
