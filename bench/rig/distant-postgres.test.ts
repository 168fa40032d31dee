import { expect, test } from "bun:test";
import { createStatementCounter } from "./distant-postgres.ts";

test("statements are counted, however the bytes arrive", () => {
  const start = Buffer.from([0, 0, 0, 9, 0x45, 0x45, 0x51, 0x51, 0]);
  const sent = Buffer.concat([
    start,
    message("P", "SELECT E, Q"),
    message("B", "EQ"),
    message("E", ""),
    message("S", ""),
    message("Q", "COMMIT"),
    message("E", "whole"),
  ]);

  expect(createStatementCounter()(sent)).toBe(3);
  const count = createStatementCounter();
  const found = [...sent].map((byte) => count(Buffer.from([byte])));
  expect(found.reduce((sum, each) => sum + each, 0)).toBe(3);
});

function message(letter: string, text: string): Buffer {
  const body = Buffer.from(text);
  const header = Buffer.alloc(5);
  header.write(letter);
  header.writeInt32BE(4 + body.length, 1);
  return Buffer.concat([header, body]);
}
