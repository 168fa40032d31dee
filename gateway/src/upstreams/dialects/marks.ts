// Vendors give out tokens by which they know their own thoughts and calls again, and refuse those of others. A caller who
// speaks another dialect keeps such a token where its own client keeps one and sends it back with the next turn. There it
// stands behind a mark of ours that says whose it is, so that it is given back to its vendor and shown to nobody else.

const marks = {
  /** What Claude signed a thought with. */
  anthropic: "tollgate_anthropic__",
  /** A thought that Claude sealed. */
  redacted: "tollgate_redacted___",
  /** What Gemini signed a call with. */
  gemini: "tollgate_gemini_____",
  /** Nobody signed it. */
  unsigned: "tollgate_unsigned___",
} as const;

type Mark = keyof typeof marks;

/** What every mark begins with: where it does not occur, nothing is marked. */
export const markStart = "tollgate_";

/** Google's clients decode such tokens and encode them anew, so mark and all it is base64, in the alphabet for addresses. */
export function marked(mark: Mark, token = ""): string {
  const encoded = Buffer.from(token).toString("base64url");
  return marks[mark] + encoded + "=".repeat(-encoded.length & 3);
}

export function readMarked(written: string): { readonly mark: Mark; readonly token: string } | undefined {
  if (!written.startsWith(markStart)) return undefined;
  const mark = (Object.keys(marks) as Mark[]).find((each) => written.startsWith(marks[each]));
  if (mark === undefined) return undefined;
  return { mark, token: Buffer.from(written.slice(marks[mark].length), "base64url").toString() };
}
