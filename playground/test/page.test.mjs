/** The built page in headless Chromium (`CHROMIUM` names it), opened from the local file. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { chromium } from "playwright-core";
import { executable } from "../browser.mjs";

const PAGE = new URL("../dist/index.html", import.meta.url).href;
const PATIENCE = 180_000;
const executablePath = process.env.CHROMIUM && executable(process.env.CHROMIUM);

if (!executablePath) {
  test("the page in a browser", { skip: "CHROMIUM names no browser" }, () => {});
} else {
  let browser;
  before(async () => (browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] })));
  after(() => browser.close());

  /** A page, and the addresses that were asked for and the errors of it. */
  const visited = async (hash = "", options = {}) => {
    const page = await browser.newPage(options);
    const [requests, errors] = [[], []];
    page.context().on("request", (request) => requests.push(request.url()));
    page.on("pageerror", (error) => errors.push(String(error)));
    page.setDefaultTimeout(PATIENCE);
    await page.goto(PAGE + hash, { waitUntil: "commit" });
    return { page, requests, errors };
  };
  const link = (text) => `#code=${Buffer.from(text).toString("base64url")}`;
  const checked = (page) => page.waitForFunction(() => /^Checked/.test(document.getElementById("status").textContent));
  const typed = async (page, text) => {
    await page.evaluate(() => (document.getElementById("status").textContent = ""));
    await page.locator(".cm-content").fill(text);
    await checked(page);
  };

  const WRONG = "import torch\n\nx = torch.ones(3, requires_grad=True)\ny = x.exp()\ny.mul_(2)\ny.sum().backward()\n";

  test("it says that Python is being loaded, then shows the finding and its picture, and sends nothing", async () => {
    const { page, requests, errors } = await visited();
    await page.waitForFunction(() => /^Python is being loaded/.test(document.getElementById("status").textContent));
    await checked(page);
    await typed(page, WRONG);
    assert.match(await page.textContent("#results h3"), /GL201 x\.exp\(\) saved its result/);
    assert.ok((await page.locator("#results .sheet svg path").count()) > 0);
    assert.deepEqual(
      await page.locator("#results .timeline td.wrong").allTextContents(),
      ["needs 0, finds 1"],
    );
    assert.equal(await page.locator(".cm-lintRange-error").textContent(), "y.sum().backward()");
    const sent = requests.filter((address) => address !== PAGE && !address.startsWith("blob:"));
    assert.deepEqual(sent, []);
    assert.deepEqual(errors, []);
    await page.close();
  });

  test("its policy lets no request leave, from the page or from a worker", async () => {
    const { page } = await visited();
    const refused = async (address) => {
      try {
        await fetch(address);
        return "came through";
      } catch {
        return "refused";
      }
    };
    const refusedInWorker = (address) =>
      new Promise((done) => {
        const code = `fetch(${JSON.stringify(address)}).then(() => postMessage("came through"), () => postMessage("refused"))`;
        new Worker(URL.createObjectURL(new Blob([code]))).onmessage = ({ data }) => done(data);
      });
    // A request that the policy stops is never made: the browser would answer this one without a network.
    const address = "data:text/plain,hello";
    assert.equal(await page.evaluate(refused, address), "refused");
    assert.equal(await page.evaluate(refusedInWorker, address), "refused");
    await page.close();
  });

  test("a link brings its program, and a copied link brings it back", async () => {
    const { page } = await visited(link(WRONG));
    await checked(page);
    assert.match(await page.textContent("#results h3"), /GL201/);
    await page.click("#share");
    await page.waitForFunction(() => /^The link is/.test(document.getElementById("status").textContent));
    const { page: other } = await visited(new URL(page.url()).hash);
    await checked(other);
    assert.equal(await other.locator(".cm-line").allTextContents().then((lines) => lines.join("\n")), WRONG);
    await page.close();
    await other.close();
  });

  test("a damaged link is said to be one", async () => {
    const { page } = await visited("#code=%");
    await page.waitForSelector("#results .error");
    assert.match(await page.textContent("#results"), /link is damaged/);
    await page.close();
  });

  test("rows lead to the editor, fixes are applied, and what is no Python is said to be none", async () => {
    const { page } = await visited("#rule=GL401");
    await checked(page);
    await page.click("#results .timeline .row-link >> nth=1");
    const line = await page.evaluate(() => getSelection().anchorNode.parentElement.closest(".cm-line").textContent);
    assert.equal(line, "    optimizer.step()");
    await page.click("text=Apply the unsafe fix");
    await page.waitForFunction(() => /no finding/.test(document.getElementById("status").textContent));
    assert.match(await page.locator(".cm-content").innerText(), /optimizer\.zero_grad\(\)/);
    await typed(page, "import torch\nx = (\n");
    assert.match(await page.textContent("#results .error"), /does not parse as Python \(row 2, column 5\)/);
    await page.close();
  });

  test("a notebook that is dropped is shown by cells", async () => {
    const { page } = await visited();
    await checked(page);
    const cells = WRONG.split("\n\n").map((source) => ({ cell_type: "code", source }));
    const content = JSON.stringify({ cells: [{ cell_type: "markdown", source: "" }, ...cells], nbformat: 4 });
    await page.evaluate((text) => {
      const carried = new DataTransfer();
      carried.items.add(new File([text], "some.ipynb"));
      document.body.dispatchEvent(new DragEvent("drop", { dataTransfer: carried, bubbles: true, cancelable: true }));
    }, content);
    await page.waitForFunction(() => /cell 3, row 4/.test(document.getElementById("results").textContent));
    assert.equal(await page.locator(".cm-lintRange-error").textContent(), "y.sum().backward()");
    await page.close();
  });

  test("nothing is wider than the page, at three widths and in light and dark", async () => {
    const { page } = await visited();
    await checked(page);
    for (const width of [400, 900, 1500]) {
      for (const colorScheme of ["light", "dark"]) {
        await page.setViewportSize({ width, height: 900 });
        await page.emulateMedia({ colorScheme });
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
      }
    }
    await page.close();
  });
}
