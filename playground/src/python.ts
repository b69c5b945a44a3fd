/** Python with the files of gradlint in it: the same in the page and where the snapshot is made. */

import type { Lockfile, PyodideAPI, PyodideConfig } from "pyodide";
import { info } from "pyodide/pyodide-lock.json";

const HOME = "/gradlint";

/** Start Python, and write the files: the JSON of an object of texts by path. */
export async function load(
  start: (options: PyodideConfig) => Promise<PyodideAPI>,
  files: string,
  options: PyodideConfig,
): Promise<PyodideAPI> {
  const python = await start({ lockFileContents: { info, packages: {} } as Lockfile, ...options });
  for (const [path, text] of Object.entries(JSON.parse(files) as Record<string, string>)) {
    const full = `${HOME}/${path}`;
    python.FS.mkdirTree(full.slice(0, full.lastIndexOf("/")));
    python.FS.writeFile(full, text);
  }
  return python;
}

/** Import gradlint and let it check the programs: what that loads is in the snapshot. */
export function warmUp(python: PyodideAPI): Uint8Array {
  python.runPython(`import sys; sys.path.insert(0, ${JSON.stringify(HOME)}); import bridge; bridge.warm_up()`);
  return python.makeMemorySnapshot();
}
