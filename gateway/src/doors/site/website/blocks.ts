// What a page says, once: people get it as HTML, agents as Markdown. Texts may hold `code` and [words](/path).

export type Block =
  | { readonly kind: "heading"; readonly level: 2 | 3; readonly text: string; readonly id?: string }
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "note"; readonly text: string }
  | { readonly kind: "list"; readonly items: readonly string[] }
  | { readonly kind: "code"; readonly label: string; readonly language: string; readonly code: string }
  | Table;

export interface Table {
  readonly kind: "table";
  readonly caption: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
  /** Figures stand right, so that they can be compared; these columns hold them. */
  readonly figures?: readonly number[];
  /** Columns that a narrow screen can do without. */
  readonly aside?: readonly number[];
}

export const heading = (text: string, id?: string): Block =>
  id === undefined ? { kind: "heading", level: 2, text } : { kind: "heading", level: 2, text, id };

export const text = (words: string): Block => ({ kind: "text", text: words });

export const code = (label: string, language: string, written: string): Block => ({
  kind: "code",
  label,
  language,
  code: written,
});

/** One piece of a text: plain words, code, or words that lead somewhere. */
type Piece = { readonly words: string; readonly code?: true; readonly href?: string };

export function piecesOf(written: string): Piece[] {
  const pieces: Piece[] = [];
  let at = 0;
  for (const match of written.matchAll(/`([^`]+)`|\[([^\]]+)\]\(([^)\s]+)\)/g)) {
    if (match.index > at) pieces.push({ words: written.slice(at, match.index) });
    const [whole, inCode, linked = "", href = ""] = match;
    pieces.push(inCode === undefined ? { words: linked, href } : { words: inCode, code: true });
    at = match.index + whole.length;
  }
  if (at < written.length) pieces.push({ words: written.slice(at) });
  return pieces;
}
