/** Where a browser is that is named by its path, or as in a shell. */

import { accessSync, constants } from "node:fs";
import { delimiter, join, sep } from "node:path";

const runs = (path) => {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
};

export const executable = (name) =>
  name.includes(sep) ? name : (process.env.PATH ?? "").split(delimiter).map((folder) => join(folder, name)).find(runs) ?? name;
