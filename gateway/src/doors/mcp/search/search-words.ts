// From text to the words a search compares: lower case, without small words, reduced to their stems.

/** Words of one question or description, in order, stems only. */
export const wordsOf = (text: string): string[] =>
  text
    .replace(/([a-z\d])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .replaceAll(/\b(?:log|sign)(?:ged|ging|ing|s)?[ -]in\b/g, "login")
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word.length > 1 && !small.has(word))
    .map(stem);

/** They stand in every question and tell nothing apart. */
const small: ReadonlySet<string> = new Set(
  (
    "a about all allowed am an and any are as at be been before best by can do does for from get give given has have " +
    "here how if in into is it its many me much my need of on one or our out please should some someone something " +
    "that the their them then there these they this to up us use using via want was we what when where which who " +
    "why will with you your"
  ).split(" "),
);

/** Light on purpose: it joins the forms of a word ("generating", "generation", "generates") and nothing more. */
export function stem(word: string): string {
  let root = asAmericans(word);
  if (root.length > 4 && root.endsWith("ies")) root = `${root.slice(0, -3)}y`;
  else if (root.length > 3 && root.endsWith("s") && !/(ss|us|is)$/.test(root)) root = root.slice(0, -1);
  for (const ending of ["ing", "ion", "ed", "er", "or", "ly"]) {
    if (root.length - ending.length >= 4 && root.endsWith(ending)) {
      root = root.slice(0, -ending.length);
      break;
    }
  }
  if (root.length > 4 && /([^aeiouls])\1$/.test(root)) root = root.slice(0, -1);
  return root.length > 3 && root.endsWith("e") ? root.slice(0, -1) : root;
}

/** "summarise" and "analysing" as "summarize" and "analyzing"; what it bends besides, it bends on both sides. */
const asAmericans = (word: string): string =>
  word.length > 6 ? word.replace(/([iy])s(e|es|ed|er|ing|ation|ations)$/, "$1z$2") : word;
