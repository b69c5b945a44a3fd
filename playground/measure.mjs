/** Prints how long the page takes: to show the editor, for the first check and for the next ones; and how long links are.
 *
 * Usage: `node measure.mjs CHROMIUM [PROGRAM.py ...]`, after `npm run build`.
 */

import { readFile } from "node:fs/promises";
import { deflateRawSync } from "node:zlib";
import { chromium } from "playwright-core";
import { executable } from "./browser.mjs";

const VISITS = 5;
const CHECKS = 5;

const [browserName, ...programs] = process.argv.slice(2);
if (!browserName) {
  console.error("usage: node measure.mjs CHROMIUM [PROGRAM.py ...]");
  process.exit(2);
}
const executablePath = executable(browserName);
const address = new URL("dist/index.html", import.meta.url).href;
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
const median = (values) => values.sort((one, other) => one - other)[Math.floor(values.length / 2)];
const seconds = (milliseconds) => `${(milliseconds / 1000).toFixed(2)} s`;
const checked = (page) =>
  page.waitForFunction(() => /^Checked/.test(document.getElementById("status").textContent), undefined, { timeout: 180_000 });

const [editor, first] = [[], []];
for (let visit = 0; visit < VISITS; visit += 1) {
  const page = await browser.newPage();
  const start = performance.now();
  await page.goto(address, { waitUntil: "commit" });
  await page.waitForSelector(".cm-content");
  editor.push(performance.now() - start);
  await checked(page);
  first.push(performance.now() - start);
  await page.close();
}
console.log(`the editor is there after ${seconds(median(editor))}, the first findings after ${seconds(median(first))}`);

const page = await browser.newPage();
await page.goto(address);
await checked(page);
const examples = JSON.parse(await page.textContent("#examples")).flatMap(({ rules }) => rules.map(({ text }) => text));
const shown = async (text) => {
  await page.evaluate(() => (document.getElementById("status").textContent = ""));
  await page.locator(".cm-content").fill(text);
  await checked(page);
  return Number(/in ([\d.]+) s/.exec(await page.textContent("#status"))[1]) * 1000;
};
for (const [name, text] of [["example", examples[0]], ...(await Promise.all(programs.map(async (path) => [path, await readFile(path, "utf8")])))]) {
  const took = [];
  for (let check = 0; check < CHECKS; check += 1) took.push(await shown(`${text}# ${check}\n`));
  console.log(`${name}, ${text.split("\n").length} rows: first ${seconds(took[0])}, next ${seconds(median(took.slice(1)))}`);
}
await browser.close();

const length = (text, packed) => (packed ? deflateRawSync(text) : Buffer.from(text)).toString("base64url").length;
for (const [name, texts] of [["examples", examples], ["programs", await Promise.all(programs.map((path) => readFile(path, "utf8")))]]) {
  const [plain, packed] = [false, true].map((way) => texts.reduce((sum, text) => sum + length(text, way), 0));
  if (plain) console.log(`links to ${texts.length} ${name}: ${plain} characters plain, ${packed} packed`);
}
