import { expect, test } from "bun:test";
import { testDispatch, testModel, testUpstream } from "../../operation/test-upstream.ts";
import type { ModelDialect } from "../../platform/dialect.ts";
import { marked } from "../dialects/marks.ts";
import { openai } from "./openai.ts";

/** What leaves for a vendor at this address when a caller of this dialect sends this body. */
function sentTo(
  url: string,
  written: string,
  dialect: ModelDialect = "openai",
  exchange: "chat" | "responses" = "chat",
): string {
  const rawBody = Buffer.from(written);
  const input = { rawBody, body: JSON.parse(written) as unknown, params: {}, query: {}, rawQuery: "" };
  const dispatch = testDispatch({
    upstream: testUpstream({ url }),
    service: { exchange, path: "", dialect },
    input,
    model: testModel("gpt-x"),
  });
  const request = openai.exchanges[exchange]?.request(dispatch);
  if (!request || "answer" in request) throw new Error("nothing is sent");
  return Buffer.from(request.body ?? "").toString();
}

const write = (thought: string, signature: string): string =>
  `{"max_tokens":1, "messages":[{"role":"assistant"${thought},"content":null,"tool_calls":[{"id":"D681PevKs","type":"function"${signature},"function":{"name":"f","arguments":"{}"}}]}],"n":1.0}`;
const told = write(',"reasoning_content":"Hm"', ',"extra_content":{"google":{"thought_signature":"sig"}}');

test.each([
  "https://api.openai.com/v1",
  "https://desk.openai.azure.com/openai/v1",
  "https://desk.openai.azure.us/openai/v1",
  "https://desk.services.ai.azure.com/openai/v1",
  "https://desk.cognitiveservices.azure.com/openai/deployments/x",
])("what other vendors' models thought and signed is not sent to OpenAI itself at %s", (url) => {
  expect(sentTo(url, told)).toBe(write("", "").replace(", ", ","));
});

test.each(["https://api.groq.com/openai/v1", "https://api.cerebras.ai/v1", "https://api.mistral.ai/v1"])(
  "nor to vendors who refuse what they do not know, at %s",
  (url) => {
    expect(sentTo(url, told)).toBe(write("", "").replace(", ", ","));
  },
);

test.each([
  "https://api.deepseek.com/v1",
  "https://api.mistral.ai.example.com/v1",
  "https://generativelanguage.googleapis.com/v1beta/openai",
  "https://desk.services.ai.azure.com/models",
])("it is sent back to vendors who may have said it, at %s", (url) => {
  expect(sentTo(url, told)).toBe(told);
});

test("what Mistral's models thought among their words goes back to Mistral only, and their words to everybody", () => {
  const thought = '{"type":"thinking","thinking":[{"type":"text","text":"Hm"}]}';
  const saying = (content: string): string =>
    `{"max_tokens":1,"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":${content}}]}`;
  const told = saying(`[${thought},{"type":"text","text":"So"}]`);
  for (const url of ["https://api.openai.com/v1", "https://api.groq.com/openai/v1"]) {
    expect(sentTo(url, told)).toBe(saying('"So"'));
    expect(sentTo(url, saying(`[${thought}]`))).toBe(saying('""'));
    const asked = told.replace('"assistant"', '"user"');
    expect(sentTo(url, asked)).toBe(asked);
  }
  expect(sentTo("https://api.mistral.ai/v1", told)).toBe(told);
});

test("what we carried for Gemini is not sent to another vendor, and its thoughts stay", () => {
  const signature = `,"extra_content":{"google":{"thought_signature":"${marked("gemini", "sig")}"}}`;
  const thought = ',"reasoning_content":"Hm"';
  expect(sentTo("https://api.deepseek.com/v1", write(thought, signature))).toBe(
    write(thought, "").replace(", ", ","),
  );
});

test("who asks is told to others than Mistral, which refuses to hear it", () => {
  const asked = '{"max_tokens":1,"messages":[{"role":"user","content":"Hi"}],"metadata":{"user_id":"ann"}}';
  expect(JSON.parse(sentTo("https://api.groq.com/openai/v1", asked, "anthropic"))).toHaveProperty("user");
  const sent = sentTo("https://api.mistral.ai/v1", asked, "anthropic");
  expect(JSON.parse(sent)).toEqual({
    model: "gpt-x",
    messages: [{ role: "user", content: "Hi" }],
    max_tokens: 1,
  });
});

test("a seed has a name of its own at Mistral, which refuses OpenAI's", () => {
  const asked = JSON.stringify({ contents: "Hi", generationConfig: { seed: 7 } });
  expect(JSON.parse(sentTo("https://api.mistral.ai/v1", asked, "gemini"))).toEqual({
    model: "gpt-x",
    messages: [{ role: "user", content: "Hi" }],
    max_tokens: expect.any(Number) as number,
    random_seed: 7,
  });
  expect(JSON.parse(sentTo("https://api.groq.com/openai/v1", asked, "gemini"))).toHaveProperty("seed", 7);
});

test("a text or a tool that only speaks of it stays", () => {
  const written =
    '{"max_tokens":1, "messages":[{"role":"user","content":"\\"reasoning_content\\""}],"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{"reasoning_content":{"type":"string"},"extra_content":{}}}}}]}';
  expect(sentTo("https://api.openai.com/v1", written)).toBe(written);
});

test("what only looks like it inside a caller's own data stays", () => {
  const looks =
    '{"role":"assistant","reasoning_content":"Hm","call":{"type":"function","function":{},"extra_content":{}}}';
  const written = `{"max_tokens":1, "messages":[{"role":"user","content":"Hi"}],"metadata":${looks},"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object","default":${looks}}},"extra_content":{}}]}`;
  expect(sentTo("https://api.openai.com/v1", written)).toBe(written);
});

const mistral = "https://api.mistral.ai/v1";

const conversationWith = (id: string): string =>
  `{"max_tokens":1, "messages":[{"role":"user","content":"Hi","n":1.0},{"role":"assistant","content":null,"tool_calls":[{"id":"${id}","type":"function","function":{"name":"f","arguments":"{\\"id\\":\\"${id}\\"}"}}]},{"role":"tool","tool_call_id":"${id}","content":"${id}"}],"tools":[{"type":"function","function":{"name":"f"},"id":"${id}"}]}`;

test.each(["call_PTLP8xhu3uwZk4l3nlnrrJha", "toolu_01A09q90qw90lq917835lq9", "functions.f:0", "1"])(
  "a call that another vendor's model made goes to Mistral under an id that it takes: %s",
  (id) => {
    const sent = sentTo(mistral, conversationWith(id));
    const [own = ""] = /(?<="tool_call_id":")[^"]*/.exec(sent) ?? [];
    expect(own).toMatch(/^[a-zA-Z0-9]{9}$/);
    expect(sent).toBe(
      conversationWith(id)
        .replace(`[{"id":"${id}"`, `[{"id":"${own}"`)
        .replace(`"tool_call_id":"${id}"`, `"tool_call_id":"${own}"`)
        .replace(", ", ","),
    );
    expect(sentTo(mistral, conversationWith(id))).toBe(sent);
    expect(sentTo("https://api.deepseek.com/v1", conversationWith(id))).toBe(conversationWith(id));
  },
);

test("one that Mistral's own model made keeps its id, and its conversation every byte", () => {
  expect(sentTo(mistral, conversationWith("D681PevKs"))).toBe(conversationWith("D681PevKs"));
});

test("an id that is too long for OpenAI is a shorter one there, in whatever dialect, and stays what it was elsewhere", () => {
  const itself = ["https://api.openai.com/v1", "https://desk.openai.azure.com/openai/v1"];
  const long = `call_1__thought__${"c2lnbmVk".repeat(20)}`;
  for (const url of itself) {
    const sent = sentTo(url, conversationWith(long));
    const [own = ""] = /(?<="tool_call_id":")[^"]*/.exec(sent) ?? [];
    expect(own).toMatch(/^call_[0-9a-f]{32}$/);
    expect(sent).toBe(
      conversationWith(long)
        .replace(`[{"id":"${long}"`, `[{"id":"${own}"`)
        .replace(`"tool_call_id":"${long}"`, `"tool_call_id":"${own}"`)
        .replace(", ", ","),
    );
    const taken = conversationWith("x".repeat(40));
    expect(sentTo(url, taken)).toBe(taken);
    const agents = JSON.parse(sentTo(url, messagesWith(long), "anthropic")) as Sent;
    expect(idsIn(agents)).toEqual([own, own]);
  }
  for (const url of ["https://api.deepseek.com/v1", "http://127.0.0.1:4000/v1"]) {
    expect(sentTo(url, conversationWith(long))).toBe(conversationWith(long));
    expect(idsIn(JSON.parse(sentTo(url, messagesWith(long), "anthropic")) as Sent)).toEqual([long, long]);
  }
});

const messagesWith = (id: string): string =>
  JSON.stringify({
    max_tokens: 10,
    messages: [
      { role: "user", content: "Hi" },
      { role: "assistant", content: [{ type: "tool_use", id, name: "f", input: {} }] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: id, content: "19" }] },
    ],
  });

interface Sent {
  readonly messages: readonly {
    readonly tool_calls?: readonly { id: string }[];
    readonly tool_call_id?: string;
  }[];
}

const idsIn = ({ messages }: Sent): readonly (string | undefined)[] =>
  messages.flatMap(({ tool_calls: calls = [], tool_call_id: answers }) => [
    ...calls.map(({ id }) => id),
    ...(answers === undefined ? [] : [answers]),
  ]);

const instructed = (role: string, messages: string, limit: string): string =>
  `{"${limit}":1,"${messages}":[{"role":"${role}","content":"\\"developer\\" is who says so.","n":1.0},{"role":"user","content":"developer"}],"metadata":{"role":"developer"}}`;

const others = [
  "https://api.deepseek.com",
  "https://api.mistral.ai/v1",
  "https://dashscope.aliyuncs.com/compatible-mode/v1",
  "http://127.0.0.1:8000/v1",
];

test.each(others)(
  "what a developer says is said by the system where nobody knows developers, at %s",
  (url) => {
    const asked = instructed("developer", "messages", "max_tokens");
    expect(sentTo(url, asked)).toBe(instructed("system", "messages", "max_tokens"));
    const response = instructed("developer", "input", "max_output_tokens");
    expect(sentTo(url, response, "openai", "responses")).toBe(
      instructed("system", "input", "max_output_tokens"),
    );
  },
);

test("at OpenAI itself developers say it themselves, and who is no developer says it everywhere", () => {
  const ways = [
    ["messages", "max_tokens", "chat"],
    ["input", "max_output_tokens", "responses"],
  ] as const;
  for (const [messages, limit, exchange] of ways) {
    const asked = instructed("developer", messages, limit);
    expect(sentTo("https://api.openai.com/v1", asked, "openai", exchange)).toBe(asked);
    const plain = instructed("system", messages, limit);
    for (const url of others) expect(sentTo(url, plain, "openai", exchange)).toBe(plain);
  }
  const tools = '{"max_output_tokens":1,"input":[{"type":"additional_tools","role":"developer","tools":[]}]}';
  expect(sentTo("http://127.0.0.1:8000/v1", tools, "openai", "responses")).toBe(tools);
});
