import { expect, test } from "bun:test";
import type { ChatRequest, ToolDefinition } from "../chat.ts";
import { refusedField } from "../test-requests.ts";
import { plainRequest } from "./test-chat-samples.ts";
import { writeRequest } from "./write-request.ts";

const call = (id: string, name: string) => ({ kind: "tool_call", id, name, arguments: "{}" }) as const;
const result = (callId: string) =>
  ({ kind: "tool_result", callId, name: undefined, content: [], isError: false }) as const;
const worked: ChatRequest = {
  ...plainRequest,
  messages: [
    ...plainRequest.messages,
    { role: "assistant", parts: [call("1", "find"), call("2", "read"), call("3", "find")] },
    { role: "user", parts: [result("1"), result("2"), result("3"), { kind: "text", text: "Sum up." }] },
  ],
};
const tool: ToolDefinition = {
  name: "write",
  description: undefined,
  parameters: { type: "object", properties: {} },
  strict: undefined,
  cache: undefined,
};

test("tools that were called are named once each where a request brings none, and may not be called", () => {
  for (const toolChoice of [undefined, "auto", "none"] as const) {
    expect(writeRequest({ ...worked, toolChoice, parallelToolCalls: false })).toMatchObject({
      tools: [
        { name: "find", input_schema: { type: "object" } },
        { name: "read", input_schema: { type: "object" } },
      ],
      tool_choice: { type: "none" },
    });
  }
});

test("a request with tools keeps to those, and one without calls stays without", () => {
  const written = writeRequest({ ...worked, tools: [tool] });
  expect(written["tools"]).toMatchObject([{ name: "write" }]);
  expect(written).not.toHaveProperty("tool_choice");
  expect(writeRequest(plainRequest)).not.toHaveProperty("tools");
});

test("a demand for a call without tools is refused as before", () => {
  expect(refusedField(() => writeRequest({ ...worked, toolChoice: "required" }))).toBe("tool_choice");
});
