/** Programs as the editor shows them: a script, or the code cells of a notebook one after another.
 *
 * A line `# %% cell 3` begins a cell; a text that begins with such a line is a notebook. Cells have the
 * numbers that they have in the file, where cells of text count, too.
 */

const CELL = /^# %% cell (\d+)\s*$/;

/** What is checked: the content of a file with this name. */
export interface File {
  name: string;
  content: string;
}

/** A place in a file; rows begin at 1, and `cell` is null in a script. */
export interface Place {
  cell: number | null;
  row: number;
}

/** The text that the editor shows for a file that was opened.
 *
 * @throws Error - the file is no notebook, though its name says so.
 */
export function opened(name: string, content: string): string {
  if (!name.endsWith(".ipynb")) return content.replace(/^\ufeff/, "");
  const cells = JSON.parse(content)?.cells;
  if (!Array.isArray(cells)) throw new Error("it has no cells (notebooks of format 4 have)");
  return cells
    .map((cell, index) => ({ ...cell, number: index + 1 }))
    .filter((cell) => cell.cell_type === "code")
    .map((cell) => `# %% cell ${cell.number}\n${joined(cell.source).replace(/\n*$/, "\n")}`)
    .join("\n");
}

export function isNotebook(text: string): boolean {
  return CELL.test(text.split("\n", 1)[0] ?? "");
}

/** The file that a text of the editor stands for. */
export function file(text: string): File {
  if (!isNotebook(text)) return { name: "program.py", content: text };
  const cells: object[] = [];
  for (const { number, source } of cellsOf(text)) {
    while (cells.length < number - 1) cells.push({ cell_type: "markdown", metadata: {}, source: "" });
    cells[number - 1] = { cell_type: "code", metadata: {}, outputs: [], execution_count: null, source };
  }
  return {
    name: "notebook.ipynb",
    content: JSON.stringify({ cells, metadata: {}, nbformat: 4, nbformat_minor: 5 }),
  };
}

/** The row of the editor (from 1) where a place of the file stands. */
export function rowOf(text: string, place: Place): number {
  const cell = cellsOf(text).find(({ number }) => number === place.cell);
  return place.row + (cell?.above ?? 0);
}

/** What a row of the editor is called: rows of a notebook are counted by cell. */
export function nameOfRow(lines: readonly string[], row: number): string {
  if (!CELL.test(lines[0] ?? "")) return String(row);
  let start = row;
  while (!CELL.test(lines[start - 1] ?? "")) start -= 1;
  return start === row ? "" : String(row - start);
}

/** The cells of a notebook, each with the number of rows above its first; none where the text is a script. */
function cellsOf(text: string): { number: number; source: string; above: number }[] {
  if (!isNotebook(text)) return [];
  const lines = text.split("\n");
  const starts = lines.flatMap((line, index) => (CELL.test(line) ? [index] : []));
  return starts.map((start, index) => ({
    number: Number(CELL.exec(lines[start] ?? "")?.[1]),
    source: lines.slice(start + 1, starts[index + 1] ?? lines.length).join("\n").replace(/\n+$/, "\n"),
    above: start + 1,
  }));
}

function joined(source: string | string[]): string {
  return Array.isArray(source) ? source.join("") : source;
}
