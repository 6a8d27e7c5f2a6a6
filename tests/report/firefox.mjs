// Opens a report in Firefox and clicks through it; prints what it has seen as JSON.
// node firefox.mjs FOLDER-OF-NODE-MODULES PROGRAM PAGE SCREENSHOT
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [folder, program, page, screenshot] = process.argv.slice(2);
const found = createRequire(`${folder}/`).resolve("puppeteer-core");
const { default: puppeteer } = await import(pathToFileURL(found));
const browser = await puppeteer.launch({ browser: "firefox", executablePath: program, headless: true, timeout: 120_000, protocolTimeout: 300_000 });
const tab = await browser.newPage(), troubles = [];
tab.on("console", (message) => troubles.push(message.text()));
tab.on("pageerror", (error) => troubles.push(error.message));
tab.on("dialog", (dialog) => troubles.push(dialog.message()));
await tab.setViewport({ width: 1366, height: 768 });
await tab.goto(pathToFileURL(page).href, { timeout: 120_000 });
await tab.waitForSelector("html[data-ready=yes]", { timeout: 120_000 });
const text = (selector) => tab.$eval(selector, (part) => part.textContent);
const press = (within, name) => tab.evaluate((within, name) => {
  [...document.querySelectorAll(`${within} button`)].find((button) => button.textContent === name).click();
}, within, name);
const seen = { title: await tab.title(), clusters: await text("#rows-clusters") };
await tab.type("#find", "gene 1");
await tab.keyboard.press("Enter");
seen.selection = await text("#selection-text");
await press("body", "Clear selection");
await press("#rows-clusters", "Compare");
await tab.waitForFunction(() => document.querySelector("#compare table"), { timeout: 60_000 });
seen.comparison = await text("#compare table");
await tab.evaluate(() => {
  document.getElementById("scale-controls").open = true;
  const slider = document.getElementById("row-scale");
  slider.value = slider.max;
  for (const kind of ["input", "change"]) slider.dispatchEvent(new Event(kind));
});
seen.scale = await text("#row-scale-text");
await tab.focus("#matrix");
await tab.keyboard.press("+");
seen.range = await tab.$eval("#matrix", (plot) => plot.layout.xaxis.range);
// The file that a button saves is not written, but noted.
await tab.evaluate(() => {
  HTMLAnchorElement.prototype.click = function () { document.body.dataset.saved = this.download; };
});
await press("#pictures", "Rows, SVG");
await tab.waitForFunction(() => document.body.dataset.saved, { timeout: 60_000 });
seen.picture = await tab.evaluate(() => document.body.dataset.saved);
await press("header", "Dark");
await tab.screenshot({ path: screenshot });
console.log(JSON.stringify({ ...seen, troubles }));
await browser.close();
