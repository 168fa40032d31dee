// The parser takes the last of two equal names without a word: a price, or a whole section, would be gone.

/** What is written twice at one place of a YAML text that can be read: its path and both lines. */
export function repeatedNames(text: string): string[] {
  const problems: string[] = [];
  const look = (value: unknown, path: readonly string[]): void => {
    if (typeof value !== "object" || value === null) return;
    const lines = new Map<string, string>();
    for (const [marked, member] of Object.entries(value)) {
      const [name = "", line = ""] = marked.split(mark);
      const earlier = lines.get(name);
      const where = [...path, name];
      if (earlier !== undefined && line !== "") {
        problems.push(`${where.join(".")}: written twice, in lines ${earlier} and ${line}`);
      }
      lines.set(name, line);
      look(member, where);
    }
  };
  look(parseMarked(text), []);
  return problems;
}

/** A character for private use, which no configuration has. */
const mark = "\u{E000}";

/**
 * The same text, in which every name carries the number of its line, so that no two are equal. What only looks like a
 * name, in a comment or a text, is marked too and does no harm there: only the names of what was read are looked at.
 */
function parseMarked(text: string): unknown {
  if (text.includes(mark)) return undefined;
  const marked = text.split("\n").map((line, at) => {
    let column = 0;
    // Two equal names may stand in one line.
    const tag = (): string => `${mark}${at + 1}${mark}${column++}`;
    return line
      .replace(/(["'])(\s*:)/g, (_whole, quote: string, colon: string) => `${tag()}${quote}${colon}`)
      .replace(
        /([^\s"'{}[\],:])(\s*:(?=\s|$))/g,
        (_whole, last: string, colon: string) => `${last}${tag()}${colon}`,
      );
  });
  try {
    return Bun.YAML.parse(marked.join("\n"));
  } catch {
    // A mark changed what the text means, which was fine without it. Then nothing is known, and nothing claimed.
    return undefined;
  }
}
