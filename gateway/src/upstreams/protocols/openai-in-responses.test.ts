import { expect, test } from "bun:test";
import { testDispatch, testModel, testUpstream } from "../../operation/test-upstream.ts";
import { isLessInCompletions } from "./openai-in-responses.ts";

const schema = { type: "object", properties: {} };
const agents = {
  anthropic: [
    "messages",
    { max_tokens: 4000, tools: [{ name: "f", input_schema: schema }], thinking: { type: "adaptive" } },
  ],
  gemini: [
    "contents",
    {
      tools: [{ functionDeclarations: [{ name: "f", parameters: schema }] }],
      generationConfig: { thinkingConfig: { includeThoughts: true } },
    },
  ],
} as const;

test.each(["anthropic", "gemini"] as const)(
  "how a call is asked is decided without reading what was said, which may be megabytes: %s",
  (dialect) => {
    const [conversation, members] = agents[dialect];
    let reads = 0;
    const said = {
      get role() {
        reads++;
        return "user";
      },
      content: "Hi",
      parts: [{ text: "Hi" }],
    };
    const body = { ...members, [conversation]: [said] };
    const dispatch = testDispatch({
      upstream: { ...testUpstream({ url: "https://api.openai.com/v1" }), responses: "native" },
      service: { exchange: "chat", path: "", dialect },
      input: { rawBody: Buffer.from("{}"), body, params: {}, query: {}, rawQuery: "" },
      model: testModel("gpt-5.6"),
    });
    expect(isLessInCompletions(dispatch)).toBe(true);
    expect(reads).toBe(0);
  },
);
