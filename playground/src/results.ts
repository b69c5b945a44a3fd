/** What is shown below the editor: each finding with its picture, and what could not be checked. */

import type { Finding, Report } from "./answers";
import type { Editor } from "./editor";

export function show(report: Report, into: HTMLElement, editor: Editor): void {
  into.replaceChildren(
    ...report.problems.map(problem),
    ...report.findings.map((finding) => article(finding, editor)),
  );
  if (into.childElementCount === 0) into.append(paragraph("No autograd mistakes found."));
}

export function showProblem(text: string, into: HTMLElement): void {
  into.replaceChildren(problem(text));
}

export function showFailure(message: string, into: HTMLElement): void {
  into.replaceChildren(
    problem("The check failed, and Python starts again: change the program to try once more."),
    Object.assign(document.createElement("pre"), { textContent: message }),
  );
}

function article(finding: Finding, editor: Editor): Element {
  const holder = document.createElement("template");
  holder.innerHTML = finding.html;
  const shown = holder.content.firstElementChild as Element;
  for (const place of shown.querySelectorAll<HTMLElement>(".place")) link(place, finding, editor);
  for (const anchor of shown.querySelectorAll<HTMLAnchorElement>('a[href^="#"]')) {
    // The fragment of the page's address is for programs.
    anchor.onclick = (event) => {
      event.preventDefault();
      shown.querySelector(anchor.hash)?.scrollIntoView({ block: "nearest", behavior: "smooth" });
    };
  }
  if (finding.fix !== null) shown.append(fix(finding, finding.fix, editor));
  return shown;
}

/** Make a place (`row 3`, `program.py:3:5`, `notebook.ipynb:cell 2:3:5`) lead to its row in the editor. */
function link(place: HTMLElement, finding: Finding, editor: Editor): void {
  const [, cell, row, column] = /^(?:[^:]*:)?(?:cell (\d+):)?(?:row )?(\d+)(?::(\d+))?/.exec(place.textContent ?? "") ?? [];
  if (row === undefined) return;
  const button = document.createElement("button");
  button.className = "row-link";
  button.textContent = `${cell === undefined ? "" : `cell ${cell}, `}row ${row}`;
  button.title = "Show in the editor";
  button.onclick = () =>
    editor.goTo(cell === undefined ? finding.cell : Number(cell), { row: Number(row), column: Number(column ?? 1) });
  const name = /\([\w-]+\)$/.exec(place.textContent ?? "")?.[0] ?? "";
  place.replaceChildren(button, name && ` ${name}`);
}

function fix(finding: Finding, { applicability, edits }: NonNullable<Finding["fix"]>, editor: Editor): Element {
  const button = document.createElement("button");
  button.className = "fix";
  button.textContent = applicability === "safe" ? "Apply the fix" : "Apply the unsafe fix";
  button.onclick = () => editor.apply(finding.cell, edits);
  return button;
}

function problem(text: string): HTMLElement {
  const shown = paragraph(text);
  shown.className = "error";
  return shown;
}

function paragraph(text: string): HTMLElement {
  return Object.assign(document.createElement("p"), { textContent: text });
}
