// What Bun reports of its tests on stderr, read back from the text.

const failureLinesMax = 40;

/** The block of totals ends at "Ran N tests"; a test that prints such a line itself comes before it. */
export function readTotals(text) {
  const block = text.slice(0, Math.max(0, text.lastIndexOf("\nRan ")));
  const last = (word) => {
    const found = [...block.matchAll(new RegExp(`^ *(\\d+) ${word}$`, "gm"))].pop();
    return found === undefined ? 0 : Number(found[1]);
  };
  return { passed: last("pass"), failed: last("fail"), skipped: last("skip") + last("todo") };
}

/** Bun writes what a test printed before the line of its result, a note of a time-out after it, and a list at the end. */
export function readFailures(text) {
  const failures = [];
  let file = "";
  let said = [];
  let isAfterFailure = false;
  for (const line of text.split(/^\d+ tests? failed:$/m, 1)[0].split("\n")) {
    const isFailure = line.startsWith("(fail) ");
    if (isAfterFailure && line.startsWith("  ^ ")) failures.at(-1).text += `${line}\n`;
    else if (isFailure)
      failures.push({ file, name: line.slice(7), text: `${[file, ...said, line].join("\n")}\n` });
    else if (/^\S+\.test\.ts:$/.test(line)) file = `./${line.slice(0, -1)}`;
    else said = [...said, line].slice(-failureLinesMax);
    if (isFailure || /^\((pass|skip|todo)\) /.test(line)) said = [];
    isAfterFailure = isFailure;
  }
  return failures;
}
