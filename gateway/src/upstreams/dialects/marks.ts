// Vendors give out tokens by which they know their own thoughts and calls again, and refuse those of others. A caller who
// speaks another dialect keeps such a token where its own client keeps one and sends it back with the next turn. There it
// stands behind a mark of ours that says whose it is, so that it is given back to its vendor and shown to nobody else.

/** Of letters and digits, which both alphabets of base64 have, and of whole groups of four, so that each stays itself. */
const marks = {
  /** What Claude signed a thought with. */
  anthropic: "tollgateanthropic000",
  /** A thought that Claude sealed. */
  redacted: "tollgateredacted0000",
  /** A thought that OpenAI sealed. */
  openai: "tollgateopenai000000",
  /** What Gemini signed a call with. */
  gemini: "tollgategemini000000",
  /** Nobody signed it. */
  unsigned: "tollgateunsigned0000",
} as const;

type Mark = keyof typeof marks;

/** What every mark begins with: where it does not occur, nothing is marked. */
export const markStart = "tollgate";

/** Whether it is for one vendor alone, who is not the one that is asked. */
export const isMarked = (written: string): boolean => written.startsWith(markStart);

/** Google's clients decode such tokens, some strictly, and encode them anew, so mark and all it is base64 of the standard. */
export const marked = (mark: Mark, token = ""): string => marks[mark] + Buffer.from(token).toString("base64");

/** What comes back may be in the other alphabet, or without its padding. */
export function readMarked(written: string): { readonly mark: Mark; readonly token: string } | undefined {
  if (!written.startsWith(markStart)) return undefined;
  const mark = (Object.keys(marks) as Mark[]).find((each) => written.startsWith(marks[each]));
  if (mark === undefined) return undefined;
  return { mark, token: Buffer.from(written.slice(marks[mark].length), "base64").toString() };
}
