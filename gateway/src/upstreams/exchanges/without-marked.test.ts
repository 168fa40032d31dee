import { expect, test } from "bun:test";
import { withoutMarked, type ForeignRule } from "./without-marked.ts";

const rule: ForeignRule = {
  words: ["foreign"],
  places: { messages: { content: {} } },
  judge: ({ type }) => (type === "foreign" ? "all" : []),
};

function kept(written: string): string {
  const rawBody = Buffer.from(written);
  const input = { rawBody, body: JSON.parse(written) as unknown, params: {}, query: {}, rawQuery: "" };
  return Buffer.from(withoutMarked(input, rule).rawBody).toString();
}

const foreign = '{"role":"assistant","content":[{"type":"foreign"}]}';

test("a message that held nothing else goes with what was foreign in it", () => {
  expect(kept(`{"messages":[${foreign},{"content":"b"}],"n":1.0}`)).toBe(
    '{"messages":[{"content":"b"}],"n":1.0}',
  );
});

test("where everything would go, the body passes as it came, for its vendor to say what is wrong with it", () => {
  const written = `{ "messages":[${foreign}],"n":1.0}`;
  expect(kept(written)).toBe(written);
});
