import { expect, test } from "bun:test";
import { dialects, spokenDialects } from "./dialects.ts";

const chunk = (delta: object, finish_reason: string | null = null) => ({
  id: "c",
  choices: [{ index: 0, delta, finish_reason }],
});

test("what a vendor still says after it has said why it stops is in the response that a stream ends with", () => {
  const context = { id: "x", model: "m", createdSeconds: 0, includeUsage: false };
  const writer = spokenDialects.responses.createEventWriter(context);
  const read = dialects.openai.createEventReader();
  const call = { index: 0, id: "call_1", function: { name: "f", arguments: "{}" } };
  const chunks = [chunk({ content: "Wait." }, "stop"), chunk({ tool_calls: [call] })];
  const said = chunks
    .flatMap((event) => read({ event: undefined, data: JSON.stringify(event) }))
    .flatMap((event) => writer.write(event));
  const events = [...said, ...writer.end()].map(({ data }) => JSON.parse(data) as object);
  const item = expect.objectContaining({ type: "function_call", name: "f", arguments: "{}" }) as unknown;
  const done = expect.objectContaining({ type: "response.output_item.done", item }) as object;
  expect(events).toContainEqual(done);
  expect(events.at(-1)).toMatchObject({
    type: "response.completed",
    response: { output: [{ type: "message" }, item] },
  });
});
