// Light and dark colours. What is printed or saved is light.

function setTheme(theme) {
  const button = document.getElementById("theme");
  document.documentElement.dataset.theme = theme;
  button.textContent = theme === "dark" ? "Light" : "Dark";
  button.setAttribute("aria-label", `Change to ${theme === "dark" ? "light" : "dark"} colours`);
}

async function inLightColours(action) {
  const { theme } = document.documentElement.dataset;
  if (theme === "light") return action();
  setTheme("light");
  draw();
  try {
    return await action();
  } finally {
    setTheme(theme);
    draw();
  }
}
