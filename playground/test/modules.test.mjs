/** Programs, notebooks and links, without a browser. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const { file, fragment, isNotebook, linked, nameOfRow, opened, rowOf } = await (async () => {
  const { outputFiles } = await build({
    stdin: {
      contents: 'export * from "./program"; export * from "./links";',
      resolveDir: fileURLToPath(new URL("../src", import.meta.url)),
    },
    bundle: true,
    write: false,
    format: "esm",
  });
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString("base64")}`);
})();

const NOTEBOOK = JSON.stringify({
  cells: [
    { cell_type: "markdown", source: "words" },
    { cell_type: "code", source: ["import torch\n", "x = 1"] },
    { cell_type: "code", source: "y = 2\n" },
  ],
  nbformat: 4,
});

test("a script is shown and checked as it is", () => {
  const text = "x = 1\n# %% cell 2\n";
  assert.equal(opened("a.py", text), text);
  assert.deepEqual(file(text), { name: "program.py", content: text });
  assert.equal(rowOf(text, { cell: null, row: 2 }), 2);
  assert.equal(nameOfRow(text.split("\n"), 2), "2");
});

test("a byte order mark is no part of the text", () => assert.equal(opened("a.py", "\ufeffx = 1"), "x = 1"));

test("the code cells of a notebook are shown with their numbers, and checked as cells of these numbers", () => {
  const text = opened("a.ipynb", NOTEBOOK);
  assert.equal(text, "# %% cell 2\nimport torch\nx = 1\n\n# %% cell 3\ny = 2\n");
  assert.ok(isNotebook(text));
  const { name, content } = file(text);
  const cells = JSON.parse(content).cells.map(({ cell_type, source }) => [cell_type, source]);
  assert.equal(name, "notebook.ipynb");
  assert.deepEqual(cells, [["markdown", ""], ["code", "import torch\nx = 1\n"], ["code", "y = 2\n"]]);
});

test("rows of a notebook are counted by cell", () => {
  const text = opened("a.ipynb", NOTEBOOK);
  assert.equal(rowOf(text, { cell: 2, row: 2 }), 3);
  assert.equal(rowOf(text, { cell: 3, row: 1 }), 6);
  assert.deepEqual(text.split("\n").map((_, index) => nameOfRow(text.split("\n"), index + 1)), ["", "1", "2", "3", "", "1", "2"]);
});

test("what is no notebook is refused", () => {
  assert.throws(() => opened("a.ipynb", "x = 1"));
  assert.throws(() => opened("a.ipynb", "{}"), /no cells/);
});

test("a program comes back from its link", async () => {
  for (const text of ["", "x", "x = 'ä€🙂'\n", "loss.backward()\n".repeat(50)]) {
    assert.deepEqual(await linked(await fragment(text)), { kind: "code", text });
  }
});

test("the shorter form is taken", async () => {
  assert.match(await fragment("x"), /^#code=/);
  assert.match(await fragment("loss.backward()\n".repeat(50)), /^#packed=[\w-]{1,60}$/);
});

test("links that others make are base64url of UTF-8, and may name a rule", async () => {
  const code = Buffer.from("x = 'ä>?'\n").toString("base64url");
  assert.deepEqual(await linked(`#code=${code}`), { kind: "code", text: "x = 'ä>?'\n" });
  assert.deepEqual(await linked("#rule=gl201"), { kind: "rule", code: "GL201" });
});

test("other fragments lead nowhere, and damaged ones are refused", async () => {
  assert.equal(await linked(""), null);
  assert.equal(await linked("#f1-2"), null);
  await assert.rejects(linked("#code=%"));
  await assert.rejects(linked("#packed=AAAA"));
});
