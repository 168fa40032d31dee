// The parser does not say where it stumbled; how many of the first lines it can read alone shows it.

/**
 * How many of the first lines can be read alone, of a text that cannot; undefined where that would take too long. Entries
 * are halved level by level, from the outermost inwards: a beginning that ends between two of them is whole, wherever it
 * ends, and one that ends in the middle of an entry may be none although nothing is wrong with it.
 */
export function countReadableLines(text: string): number | undefined {
  const lines = text.split("\n");
  if (lines.length > linesSearchedMax) return undefined;
  let attemptsLeft = attemptsMax;
  const isReadable = (count: number): boolean => {
    attemptsLeft--;
    return isYaml(lines.slice(0, count).join("\n"));
  };

  let readable = 0;
  let unreadable = lines.length;
  while (attemptsLeft > 0) {
    const ends = whereToEnd(lines, { after: readable, before: unreadable });
    if (ends.length === 0) break;
    let [low, high] = [-1, ends.length];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (isReadable(ends[middle] ?? 0)) low = middle;
      else high = middle;
    }
    readable = ends[low] ?? readable;
    unreadable = ends[high] ?? unreadable;
  }
  return readable;
}

/** Each attempt reads up to all of it, and the server that reads its configuration again answers nobody meanwhile. */
const linesSearchedMax = 1_000;
/** Four levels of a thousand lines; whoever nests deeper is told an entry further out. */
const attemptsMax = 40;

interface Between {
  readonly after: number;
  readonly before: number;
}

/** The lines between two others before which it is worth ending: those of the outermost entries, else any. */
function whereToEnd(lines: readonly string[], { after, before }: Between): readonly number[] {
  const between = Array.from({ length: before - after - 1 }, (_, at) => after + 1 + at);
  const depthOf = (at: number): number => entryBegins.exec(lines[at] ?? "")?.[0].length ?? 0;
  const entries = between.filter((at) => depthOf(at) > 0);
  if (entries.length === 0) return between;
  const least = Math.min(...entries.map(depthOf));
  return entries.filter((at) => depthOf(at) === least);
}

/** Neither a comment begins one, nor the bracket that ends what began further up. */
const entryBegins = /^\s*[^\s#}\]]/;

export function isYaml(text: string): boolean {
  try {
    Bun.YAML.parse(text);
    return true;
  } catch {
    return false;
  }
}
