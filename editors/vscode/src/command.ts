// Which command starts the server. Nothing here needs VS Code, so that it is tested without it.

import * as path from "node:path";

export interface Surroundings {
  /** What the setting `gradlint.command` says; empty where it says nothing. */
  readonly configured: readonly string[];
  /** The interpreter of the selected environment, where the Python extension names one. */
  readonly interpreter?: string;
  readonly platform: NodeJS.Platform;
  readonly exists: (file: string) => boolean;
}

export interface Command {
  readonly command: string;
  readonly args: readonly string[];
}

/** The configured command, else the `gradlint` beside the interpreter, else the one on the path. */
export function commandOf(around: Surroundings): Command {
  const [first, ...rest] = around.configured;
  if (first) {
    return { command: first, args: rest };
  }
  if (around.interpreter) {
    const windows = around.platform === "win32";
    const paths = windows ? path.win32 : path.posix;
    const folder = paths.dirname(around.interpreter);
    const name = windows ? "gradlint.exe" : "gradlint";
    const places = windows ? [folder, paths.join(folder, "Scripts")] : [folder];
    const found = places.map((place) => paths.join(place, name)).find(around.exists);
    if (found) {
      return { command: found, args: ["server"] };
    }
  }
  return { command: "gradlint", args: ["server"] };
}

export interface Settings {
  readonly select: readonly string[];
  readonly ignore: readonly string[];
  readonly configuration?: string;
}

/** The settings that the server is sent: those that say something. */
export function settingsOf(get: <T>(key: string) => T | undefined): Settings {
  const file = get<string>("configuration");
  return {
    select: get<string[]>("select") ?? [],
    ignore: get<string[]>("ignore") ?? [],
    ...(file ? { configuration: file } : {}),
  };
}
