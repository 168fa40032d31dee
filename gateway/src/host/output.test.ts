import { expect, test } from "bun:test";
import { Writable } from "node:stream";
import { createOutput } from "./output.ts";

const renames = "\u001b]0;renamed\u0007 and \u009b2Jclears\rover\u007f";

async function written(text: string, isTTY: boolean): Promise<string> {
  const pieces: string[] = [];
  const stream = new Writable({
    decodeStrings: false,
    write: (piece: string, _encoding, done) => {
      pieces.push(piece);
      done();
    },
  });
  const output = createOutput(Object.assign(stream, { isTTY }));
  output.write(text);
  await output.taken();
  return pieces.join("");
}

test("a terminal is given no command that a model or a vendor wrote", async () => {
  expect(await written(renames, true)).toBe("�]0;renamed� and �2Jclears�over�");
  const harmless = "two lines\r\nof a table\twith Grüße, 你好 and 🦊\n";
  expect(await written(harmless, true)).toBe(harmless);
});

test("a file or a program gets every character", async () => {
  expect(await written(renames, false)).toBe(renames);
});
