/** What the worker and the page say to each other. */

export interface Position {
  row: number;
  column: number;
}

export interface Edit {
  content: string;
  start: Position;
  end: Position;
}

export interface Finding {
  code: string;
  message: string;
  severity: "error" | "warning" | "info";
  cell: number | null;
  start: Position;
  end: Position;
  fix: { applicability: "safe" | "unsafe"; edits: Edit[] } | null;
  /** The finding with its picture. */
  html: string;
}

export interface Report {
  findings: Finding[];
  /** What could not be checked, and comments that name no rule. */
  problems: string[];
}

/** Compressed parts of Python and of gradlint, as base64. */
export type Parts = Record<"wasm" | "stdlib" | "files" | "snapshot", string>;

export type Request = { kind: "start"; parts: Parts } | { kind: "check"; name: string; content: string };

export type Answer =
  | { kind: "ready" }
  | { kind: "report"; report: Report; seconds: number }
  | { kind: "failed"; message: string };
