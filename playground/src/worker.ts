/** Runs gradlint: Python and its files come from the page, and no request leaves. */

import { loadPyodide, type PyodideAPI } from "pyodide";
import type { Answer, Parts, Report, Request } from "./answers";
import { fromBase64, piped } from "./links";
import { load } from "./python";

type Check = (name: string, content: string) => string;

let check: Promise<Check>;

async function started(parts: Parts): Promise<Check> {
  const [wasm, stdlib, files, snapshot] = await Promise.all(
    [parts.wasm, parts.stdlib, parts.files, parts.snapshot].map((part) =>
      piped(fromBase64(part), new DecompressionStream("gzip")),
    ),
  );
  // Pyodide asks for its parts by name.
  self.fetch = async (asked) => {
    const name = String(asked instanceof Request ? asked.url : asked).replace(/.*\//, "");
    if (name === "pyodide.asm.wasm") return new Response(wasm, { headers: { "Content-Type": "application/wasm" } });
    if (name === "python_stdlib.zip") return new Response(stdlib);
    throw new TypeError(`nothing is fetched: ${name}`);
  };
  const python: PyodideAPI = await load(loadPyodide, new TextDecoder().decode(files), {
    indexURL: "https://localhost/",
    _loadSnapshot: snapshot,
  });
  return python.pyimport("bridge").check as Check;
}

function say(answer: Answer): void {
  self.postMessage(answer);
}

self.onmessage = async ({ data }: MessageEvent<Request>) => {
  try {
    if (data.kind === "start") {
      check = started(data.parts);
      await check;
      say({ kind: "ready" });
    } else {
      const checked = await check;
      const before = performance.now();
      const report: Report = JSON.parse(checked(data.name, data.content));
      say({ kind: "report", report, seconds: (performance.now() - before) / 1000 });
    }
  } catch (error) {
    say({ kind: "failed", message: error instanceof Error ? error.message : String(error) });
  }
};
