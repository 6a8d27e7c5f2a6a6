// Plots have the size of their places on the page, also when these change without the window.

function followSizes() {
  const observer = new ResizeObserver((changes) => {
    for (const { target: plot, contentRect } of changes) {
      const { width, height } = plot._fullLayout ?? {}, isThere = contentRect.width > 0 && contentRect.height > 0;
      if (isThere && (Math.abs(contentRect.width - width) > 1 || Math.abs(contentRect.height - height) > 1)) Plotly.Plots.resize(plot);
    }
  });
  for (const id of ["matrix", "rows", "columns"]) observer.observe(document.getElementById(id));
}
