/** The editor: Python with the findings underlined. */

import { python } from "@codemirror/lang-python";
import { syntaxHighlighting } from "@codemirror/language";
import { lintGutter, setDiagnostics, type Diagnostic } from "@codemirror/lint";
import type { Text } from "@codemirror/state";
import { EditorView, keymap, lineNumbers } from "@codemirror/view";
import { classHighlighter } from "@lezer/highlight";
import { minimalSetup } from "codemirror";
import type { Edit, Finding, Position } from "./answers";
import { nameOfRow, rowOf } from "./program";

export class Editor {
  private readonly view: EditorView;

  constructor(parent: HTMLElement, listener: { changed(): void; check(): void }) {
    this.view = new EditorView({
      parent,
      extensions: [
        keymap.of([{ key: "Mod-Enter", run: () => (listener.check(), true) }]),
        minimalSetup,
        lineNumbers({ formatNumber: (row, state) => nameOfRow(state.doc.toJSON(), row) }),
        lintGutter(),
        python(),
        syntaxHighlighting(classHighlighter),
        EditorView.contentAttributes.of({ "aria-label": "Python code", spellcheck: "false" }),
        EditorView.updateListener.of((update) => update.docChanged && listener.changed()),
      ],
    });
  }

  get text(): string {
    return this.view.state.doc.toString();
  }

  set text(text: string) {
    this.view.dispatch({
      changes: { from: 0, to: this.view.state.doc.length, insert: text },
      selection: { anchor: 0 },
      scrollIntoView: true,
    });
  }

  /** Underline what was found in the text that is shown. */
  show(findings: readonly Finding[]): void {
    const diagnostics = findings.map((finding): Diagnostic => ({
      from: this.offset(finding.cell, finding.start),
      to: this.offset(finding.cell, finding.end),
      severity: finding.severity,
      message: `${finding.code}: ${finding.message.replaceAll("`", "")}`,
    }));
    this.view.dispatch(setDiagnostics(this.view.state, diagnostics));
  }

  /** Put the cursor at a place, and the keyboard's focus into the editor. */
  goTo(cell: number | null, at: Position): void {
    this.view.dispatch({ selection: { anchor: this.offset(cell, at) } });
    this.view.dispatch({ effects: EditorView.scrollIntoView(this.view.state.selection.main, { y: "center" }) });
    this.view.focus();
  }

  apply(cell: number | null, edits: readonly Edit[]): void {
    this.view.dispatch({
      changes: edits.map(({ start, end, content }) => ({
        from: this.offset(cell, start),
        to: this.offset(cell, end),
        insert: content,
      })),
    });
  }

  private offset(cell: number | null, { row, column }: Position): number {
    const doc: Text = this.view.state.doc;
    const number = rowOf(this.text, { cell, row });
    if (number > doc.lines) return doc.length;
    const line = doc.line(number);
    // Columns count characters, offsets count UTF-16 units.
    const before = [...line.text].slice(0, column - 1).join("");
    return line.from + before.length;
  }
}
