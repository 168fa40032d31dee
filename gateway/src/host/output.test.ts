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

/** Takes nothing, for this reason. */
const failingWith = (code: string) =>
  createOutput(
    new Writable({ write: (_piece, _encoding, done) => done(Object.assign(new Error(code), { code })) }),
  );

test("what could not be written is told, and whoever has more to say hears of it", async () => {
  const full = failingWith("ENOSPC");
  full.write("the key, once");
  expect(await full.taken()).toMatchObject({ code: "ENOSPC" });
  expect(full.write("more")).toBe(false);
});

test("a reader who has gone is no failure, and stops whoever has more to say", async () => {
  const left = failingWith("EPIPE");
  left.write("one");
  expect(await left.taken()).toBeUndefined();
  expect(left.write("two")).toBe(false);
});

test("a file or a program gets every character", async () => {
  expect(await written(renames, false)).toBe(renames);
});
