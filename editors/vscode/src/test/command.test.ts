import { strict as assert } from "node:assert";
import { test } from "node:test";
import { commandOf, settingsOf } from "../command";

const none = { configured: [], platform: "linux", exists: () => false } as const;

test("the configured command comes first", () => {
  const found = commandOf({ ...none, configured: ["/opt/gradlint", "server"], interpreter: "/env/bin/python", exists: () => true });
  assert.deepEqual(found, { command: "/opt/gradlint", args: ["server"] });
});

test("the selected environment has a gradlint of its own", () => {
  const found = commandOf({ ...none, interpreter: "/env/bin/python", exists: (file) => file === "/env/bin/gradlint" });
  assert.deepEqual(found, { command: "/env/bin/gradlint", args: ["server"] });
});

test("on Windows it may stand in Scripts", () => {
  const place = "C:\\env\\Scripts\\gradlint.exe";
  const found = commandOf({ ...none, platform: "win32", interpreter: "C:\\env\\python.exe", exists: (file) => file === place });
  assert.equal(found.command, place);
});

test("else the one on the path is started", () => {
  assert.deepEqual(commandOf({ ...none, interpreter: "/env/bin/python" }), { command: "gradlint", args: ["server"] });
});

test("settings that say nothing are not sent", () => {
  const given = new Map<string, unknown>([["select", ["GL2"]], ["configuration", ""]]);
  const get = <T>(key: string) => given.get(key) as T | undefined;
  assert.deepEqual(settingsOf(get), { select: ["GL2"], ignore: [] });
});
