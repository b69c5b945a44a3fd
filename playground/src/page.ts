/** The page: what its controls do, and when the program is checked. */

import type { Parts } from "./answers";
import { Checker, type State } from "./checker";
import { Editor } from "./editor";
import { fragment, linked } from "./links";
import { file, opened } from "./program";
import { show, showFailure, showProblem } from "./results";

interface Family {
  family: string;
  rules: { code: string; name: string; text: string }[];
}

// Long enough that a check does not begin between two keys.
const PAUSE = 300;

function element<Kind extends HTMLElement>(id: string): Kind {
  return document.getElementById(id) as Kind;
}

function data(id: string): string {
  return element(id).textContent ?? "";
}

const families: Family[] = JSON.parse(data("examples"));
const rules = families.flatMap((family) => family.rules);
const status = element("status");
const results = element("results");
const stop = element<HTMLButtonElement>("stop");
const chosen = element<HTMLSelectElement>("example");
const files = element<HTMLInputElement>("file");

let timer = 0;
let asked = "";
const editor = new Editor(element("editor"), { changed: soon, check });
const parts: Parts = { wasm: data("wasm"), stdlib: data("stdlib"), files: data("files"), snapshot: data("snapshot") };
const checker = new Checker(data("worker"), parts, {
  changed: tell,
  found(report, seconds) {
    // Places of an older text are not those of this one, which is checked in a moment.
    if (editor.text !== asked) return;
    editor.show(report.findings);
    show(report, results, editor);
    const count = report.findings.length;
    const counted = `${count === 0 ? "no" : count} finding${count === 1 ? "" : "s"}`;
    say(`Checked in ${seconds.toFixed(2)} s: ${counted}`);
  },
  failed: (message) => showFailure(message, results),
});

function soon(): void {
  for (const fix of results.querySelectorAll<HTMLButtonElement>(".fix")) fix.disabled = true;
  window.clearTimeout(timer);
  timer = window.setTimeout(check, PAUSE);
  chosen.value = rules.find(({ text }) => text === editor.text)?.code ?? "";
}

function check(): void {
  window.clearTimeout(timer);
  asked = editor.text;
  checker.check(file(asked));
}

function tell(state: State): void {
  stop.hidden = state !== "checking";
  if (state === "loading") say("Python is being loaded, which takes some seconds the first time …");
  else say(state === "checking" ? "Checking …" : "Ready");
}

function say(text: string): void {
  status.textContent = text;
}

function fill(): void {
  for (const { family, rules } of families) {
    const group = Object.assign(document.createElement("optgroup"), { label: family });
    group.append(...rules.map(({ code, name }) => new Option(`${code} ${name.replaceAll("-", " ")}`, code)));
    chosen.append(group);
  }
}

/** Show the example of a rule; the first where there is none of this code. */
function showExample(code: string): void {
  const rule = rules.find((each) => each.code === code) ?? rules[0];
  if (rule !== undefined) editor.text = rule.text;
}

async function follow(): Promise<void> {
  try {
    const found = await linked(location.hash);
    if (found?.kind === "code") {
      editor.text = found.text;
    } else if (found !== null || editor.text === "") {
      showExample(found?.code ?? "GL201");
    }
  } catch {
    showProblem("This link is damaged: its program cannot be read.", results);
  }
}

async function share(): Promise<void> {
  history.replaceState(null, "", await fragment(editor.text));
  try {
    await navigator.clipboard.writeText(location.href);
    say("The link is copied: the program is in it, and nowhere else.");
  } catch {
    say("The link is in the address bar: the program is in it, and nowhere else.");
  }
}

async function open(file: File | undefined): Promise<void> {
  if (file === undefined) return;
  try {
    editor.text = opened(file.name, await file.text());
  } catch (error) {
    showProblem(`${file.name} cannot be read: ${error instanceof Error ? error.message : error}`, results);
  }
}

fill();
chosen.onchange = () => chosen.value && showExample(chosen.value);
element("share").onclick = share;
element("open").onclick = () => files.click();
files.onchange = () => open(files.files?.[0]).then(() => (files.value = ""));
stop.onclick = () => {
  checker.stop();
  say("Stopped. Python is being loaded again …");
};
addEventListener("hashchange", follow);
// Before the editor, which takes what is dropped for text.
addEventListener("dragover", (event) => event.preventDefault(), { capture: true });
addEventListener(
  "drop",
  (event: DragEvent) => {
    const dropped = event.dataTransfer?.files[0];
    if (dropped === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    void open(dropped);
  },
  { capture: true },
);
void follow();
