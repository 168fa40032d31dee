/** Text that is markup already. Made by `html` alone, so nothing a stranger wrote becomes one by accident. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Piece = string | number | Html | readonly Html[] | undefined;

/** Markup with what stands in its gaps escaped, unless it is markup itself. */
export const html = (fixed: TemplateStringsArray, ...pieces: readonly Piece[]): Html =>
  new Html(fixed.reduce((text, next, at) => text + textOf(pieces[at - 1]) + next));

function textOf(piece: Piece): string {
  if (piece === undefined) return "";
  if (piece instanceof Html) return piece.text;
  if (typeof piece === "object") return piece.map(({ text }) => text).join("");
  return String(piece).replaceAll(/[&<>"']/g, (letter) => escapes[letter] ?? "");
}

const escapes: Record<string, string> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};
