/** Makes `dist/index.html`: one page with gradlint, Python and the examples in it. */

import { createHash } from "node:crypto";
import { mkdir, readFile, readdir, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { loadPyodide, version } from "pyodide";

const here = dirname(fileURLToPath(import.meta.url));
const root = dirname(here);
const pyodide = join(here, "node_modules", "pyodide");

/** The texts of a folder's files, by path below `as`. */
async function texts(folder, as) {
  const found = {};
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath ?? entry.path, entry.name);
    if (!entry.isFile() || path.includes("__pycache__")) continue;
    found[join(as, relative(folder, path))] = await readFile(path, "utf8");
  }
  return found;
}

async function bundled(entry, options) {
  const result = await build({
    entryPoints: [join(here, "src", entry)],
    bundle: true,
    minify: true,
    write: false,
    target: "es2022",
    logLevel: "warning",
    // What Pyodide imports under Node alone.
    external: ["node:*", "ws"],
    ...options,
  });
  return result.outputFiles[0].text;
}

const files = JSON.stringify({
  ...(await texts(join(root, "gradcheck_tool"), "gradcheck_tool")),
  ...(await texts(join(root, "rules"), "gradcheck_tool/_rules")),
  ...(await texts(join(here, "python", "stand_ins"), "")),
  "bridge.py": await readFile(join(here, "python", "bridge.py"), "utf8"),
});

await mkdir(join(here, "dist"), { recursive: true });
const shared = join(here, "dist", "python.mjs");
await writeFile(shared, await bundled("python.ts", { format: "esm" }));
const { load, warmUp } = await import(pathToFileURL(shared).href);
const python = await load(loadPyodide, files, { _makeSnapshot: true });
const snapshot = warmUp(python);
const bridge = python.pyimport("bridge");
const style = bridge.style() + (await readFile(join(here, "src", "page.css"), "utf8"));

const packed = (bytes) => gzipSync(bytes, { level: 9 }).toString("base64");
// In a script element, `</script` and `<!--` have a meaning of their own.
const inert = (code) => code.replaceAll(/<\/(script)/gi, "<\\/$1").replaceAll("<!--", "<\\!--");
const inertJson = (json) => json.replaceAll("<", "\\u003c");

const script = inert(await bundled("page.ts", { format: "iife" }));
const policy = [
  "default-src 'none'",
  `script-src 'sha256-${createHash("sha256").update(script).digest("base64")}' 'wasm-unsafe-eval'`,
  "worker-src blob:",
  "style-src 'unsafe-inline'",
  "img-src data:",
  "connect-src 'none'",
  "base-uri 'none'",
  "form-action 'none'",
];
const parts = {
  POLICY: policy.join("; "),
  STYLE: style,
  VERSION: python.pyimport("gradcheck_tool").__version__,
  PYODIDE: version,
  EXAMPLES: inertJson(bridge.examples()),
  WORKER: inert(
    (await readFile(join(pyodide, "pyodide.asm.js"), "utf8")) + (await bundled("worker.ts", { format: "iife" })),
  ),
  WASM: packed(await readFile(join(pyodide, "pyodide.asm.wasm"))),
  STDLIB: packed(await readFile(join(pyodide, "python_stdlib.zip"))),
  FILES: packed(files),
  SNAPSHOT: packed(snapshot),
  SCRIPT: script,
};
const page = (await readFile(join(here, "src", "page.html"), "utf8")).replace(/\$([A-Z]+)/g, (_, name) => parts[name]);
await writeFile(join(here, "dist", "index.html"), page);
console.log(`dist/index.html: ${(page.length / 1e6).toFixed(1)} MB`);
for (const [name, text] of Object.entries(parts)) {
  if (text.length > 100_000) console.log(`  ${name.toLowerCase()}: ${(text.length / 1e6).toFixed(2)} MB`);
}
