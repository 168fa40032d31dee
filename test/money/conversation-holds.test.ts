// What a conversation holds for its input, and what it is charged when nobody says what was used: a token a byte for text,
// and all that the model can read for what the body does not show. Images have a file of their own.

import { describe, expect, test } from "bun:test";
import {
  bytesOf,
  completions,
  generate,
  heard,
  holdFor,
  messages,
  picture,
  responses,
  said,
  useConversations,
  type Spoken,
} from "./conversations.ts";

const { stated, openai, gateway, account, receiptOf, mostOf } = await useConversations();

describe("what is not in the body holds all that the model can read", () => {
  const chatParts: readonly object[] = [
    { type: "file", file: { file_id: "file_1" } },
    { type: "file", file: { filename: "a.pdf", file_data: "data:application/pdf;base64,JVBERi0=" } },
    { type: "video_url", video_url: { url: "https://example.com/fox.mp4" } },
    { type: "document_url", document_url: "https://example.com/a.pdf" },
    { document_url: "https://example.com/a.pdf" },
    { type: "file_url", file_url: { url: "https://example.com/a.pdf" } },
    { type: "pdf_url", pdf_url: { uri: "https://example.com/a.pdf" } },
    { type: "text", text: "Read it.", attachmentUrl: "https://example.com/a.pdf" },
    { type: "file", file: "https://example.com/a.pdf" },
    { type: "file", file: { content: "https://example.com/a.pdf" } },
    { type: "document", document: { url: "https://example.com/a.pdf" } },
    { type: "input_video", input_video: { url: "https://example.com/fox.mp4" } },
    { input_video: { data: "AAAAGGZ0eXA=" } },
    { type: "video", video: "https://example.com/fox.mp4" },
    { type: "video", video: ["https://example.com/0.jpg", "https://example.com/1.jpg"] },
    { video: ["https://example.com/0.jpg", "https://example.com/1.jpg"] },
    { video: "https://example.com/fox.mp4", mime_type: "image/png" },
    { type: "video_url", video_url: { url: ["https://example.com/0.jpg", "https://example.com/1.jpg"] } },
    { type: "image", image: "https://example.com/fox.png" },
    { type: "3d_scene", scene: "fox" },
  ];
  test.each(chatParts)("in the OpenAI dialect: %j", async (part) => {
    expect(await mostOf(completions.path, completions.body([part]))).toBe(holdFor(128_000, completions));
  });

  const chatMembers: readonly object[] = [
    { web_search_options: {} },
    { tools: [{ type: "web_search" }] },
    {
      messages: [
        { role: "assistant", audio: { id: "audio_1" } },
        { role: "user", content: "Go on." },
      ],
    },
  ];
  test.each(chatMembers)("in the OpenAI dialect: %j", async (more) => {
    expect(await mostOf(completions.path, completions.body("Say it.", more))).toBe(
      holdFor(128_000, completions),
    );
  });

  const url = "https://example.com/a.pdf";
  const messageParts: readonly object[] = [
    { type: "document", source: { type: "url", url } },
    { type: "document", source: { type: "file", file_id: "file_1" } },
    { type: "document", source: { type: "base64", media_type: "application/pdf", data: "JVBERi0=" } },
    { type: "container_upload", file_id: "file_1" },
    {
      type: "tool_result",
      tool_use_id: "call_1",
      content: [{ type: "document", source: { type: "url", url } }],
    },
  ];
  test.each(messageParts)("in the Anthropic dialect: %j", async (part) => {
    expect(await mostOf(messages.path, messages.body([part]))).toBe(holdFor(200_000, messages));
  });

  const messageMembers: readonly object[] = [
    { thread: { type: "continue", previous_message_id: "msg_1" } },
    { container: "container_1" },
    { mcp_servers: [{ type: "url", url: "https://example.com/mcp", name: "a" }] },
    { tools: [{ type: "web_search_20250305", name: "web_search" }] },
    { tools: [{ type: "web_fetch_20250910", name: "web_fetch" }] },
    { tools: [{ type: "code_execution_20250825", name: "code_execution" }] },
  ];
  test.each(messageMembers)("in the Anthropic dialect: %j", async (more) => {
    expect(await mostOf(messages.path, messages.body(said, more))).toBe(holdFor(200_000, messages));
  });

  const generateParts: readonly (readonly [object, Spoken])[] = [
    [{ fileData: { fileUri: "https://example.com/fox.mp4", mimeType: "video/mp4" } }, heard],
    [{ fileData: { fileUri: picture, mimeType: "image/png" } }, generate],
    [{ file_data: { file_uri: "https://www.youtube.com/watch?v=1" } }, heard],
    [{ inlineData: { mimeType: "application/pdf", data: "JVBERi0=" } }, generate],
    [{ inline_data: { mime_type: "audio/ogg", data: "T2dnUw==" } }, heard],
    [{ functionResponse: { name: "f", response: {}, parts: [{ fileData: { fileUri: picture } }] } }, heard],
  ];
  test.each(generateParts)("in the Gemini dialect: %j", async (part, as) => {
    expect(await mostOf(generate.path, generate.body([part]))).toBe(holdFor(1_048_576, as));
  });

  const generateMembers: readonly (readonly [object, Spoken])[] = [
    [{ continuationToken: "QUJD" }, heard],
    [{ continuation_token: "QUJD" }, heard],
    [{ cachedContent: "cachedContents/1" }, heard],
    [{ cached_content: "cachedContents/1" }, heard],
    [{ tools: [{ googleSearch: {} }] }, generate],
    [{ tools: [{ google_search: {} }] }, generate],
    [{ tools: [{ functionDeclarations: [{ name: "f" }] }, { urlContext: {} }] }, generate],
    [{ tools: [{ functionDeclarations: [{ name: "f" }], codeExecution: {} }] }, generate],
    [{ tools: { codeExecution: {} } }, generate],
    [{ systemInstruction: { parts: [{ fileData: { fileUri: picture } }] } }, heard],
  ];
  test.each(generateMembers)("in the Gemini dialect: %j", async (more, as) => {
    const body = generate.body([{ text: "Say it." }], more);
    expect(await mostOf(generate.path, body)).toBe(holdFor(1_048_576, as));
  });

  const responseInputs: readonly object[] = [
    { type: "item_reference", id: "msg_1" },
    { id: "msg_1" },
    { type: "reasoning", id: "rs_1", summary: [] },
    { type: "reasoning", id: "rs_1", summary: [], encrypted_content: null },
    { type: "compaction", id: "cmp_1" },
    { type: "image_generation_call", id: "ig_1", status: "completed" },
    { type: "image_generation_call", id: "ig_1", status: "completed", result: null },
    { type: "code_interpreter_call", id: "ci_1", code: "1 + 1", container_id: "cntr_1", outputs: null },
    { type: "file_search_call", id: "fs_1", status: "completed", queries: [] },
    { type: "web_search_call", id: "ws_1", status: "completed" },
    { role: "user", content: [{ type: "input_image", file_id: "file_1" }] },
    { role: "user", content: [{ type: "input_file", file_url: url }] },
    { type: "function_call_output", call_id: "call_1", output: [{ type: "input_file", file_id: "file_1" }] },
  ];
  test.each(responseInputs)("in a response: %j", async (item) => {
    const body = responses.body([], { input: [item] });
    expect(await mostOf(responses.path, body)).toBe(holdFor(128_000, responses));
  });

  test("and what the caller brings along does not", async () => {
    const brought: readonly object[] = [
      { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "gAAAAA==" },
      { type: "compaction", id: "cmp_1", encrypted_content: "gAAAAA==" },
    ];
    for (const item of brought) {
      const body = responses.body([], { input: [item] });
      expect(await mostOf(responses.path, body)).toBe(holdFor(bytesOf(body), responses));
    }
    const begun = messages.body(said, { thread: { type: "create" } });
    expect(await mostOf(messages.path, begun)).toBe(holdFor(bytesOf(begun), messages));
  });

  test("and a response that is to sum itself up holds what that reads and writes", async () => {
    const input = [{ role: "user", content: "Say it." }, { type: "compaction_trigger" }];
    const body = responses.body([], { input });
    const summary = 16_384 * 10;
    expect(await mostOf(responses.path, body)).toBe(holdFor(bytesOf(body) * 2, responses) + summary);
  });

  test("also where nobody wrote down how much the model reads", async () => {
    const body = completions.body([{ type: "file", file: { file_id: "file_1" } }], { model: "own" });
    expect(await mostOf(completions.path, body)).toBe(2_000_000 + 64);
  });

  test("so that all that was read is paid for", async () => {
    stated.usage = { input: 90_000, output: 5 };
    const file = { type: "file", file: { file_id: "file_1" } };
    const response = await gateway.post(account, completions.path, completions.body([file]));
    stated.usage = undefined;
    expect(response.status).toBe(200);
    expect(await receiptOf(response)).toMatchObject({
      usage: { input_tokens: 90_000, output_tokens: 5 },
      charged_micros_usd: 90_000 * 2.5 + 5 * 10,
    });
  });
});

describe("what is in the body holds a token a byte", () => {
  const own = { type: "function", function: { name: "f", parameters: { type: "object" } } };
  const texts: readonly (readonly [string, Spoken, object])[] = [
    ["a plain text", completions, completions.body("Look at https://example.com/fox.png, file_id: file_1")],
    ["a text in parts", completions, completions.body([{ type: "text", text: picture }])],
    [
      "a file of plain text",
      completions,
      completions.body([{ type: "file", file: { file_data: "data:text/plain,Hi" } }]),
    ],
    ["texts one after another", completions, completions.body(["Look at", picture])],
    [
      "thoughts that were given back, and where they were taken from",
      completions,
      completions.body([
        { type: "thinking", thinking: [{ type: "text", text: "Well." }] },
        { type: "reference", reference_ids: [1] },
      ]),
    ],
    ["no tools", completions, completions.body("Say it.", { tools: [] })],
    [
      "what a page was quoted with",
      completions,
      completions.body("Say it.", {
        messages: [
          {
            role: "assistant",
            content: "So it is.",
            annotations: [{ type: "url_citation", url_citation: { url: picture, title: "A fox" } }],
          },
          { role: "user", content: "Go on." },
        ],
      }),
    ],
    [
      "a text as a document",
      messages,
      messages.body([
        { type: "document", source: { type: "text", media_type: "text/plain", data: "Once upon a time." } },
      ]),
    ],
    [
      "a document made of texts",
      messages,
      messages.body([{ type: "document", source: { type: "content", content: [...said] } }]),
    ],
    [
      "what a tool of the vendor's found, given back to it",
      messages,
      messages.body("Say it.", {
        messages: [
          {
            role: "assistant",
            content: [
              { type: "server_tool_use", id: "srv_1", name: "web_search", input: { query: "fox" } },
              {
                type: "web_search_tool_result",
                tool_use_id: "srv_1",
                content: [
                  { type: "web_search_result", url: picture, title: "A fox", encrypted_content: "QUJD" },
                ],
              },
            ],
          },
          { role: "user", content: [{ type: "search_result", source: picture, title: "A", content: said }] },
        ],
      }),
    ],
    [
      "what was thought, sealed by its vendor in a format of its own",
      completions,
      completions.body("Say it.", {
        messages: [
          {
            role: "assistant",
            content: "So it is.",
            reasoning_details: [
              { type: "reasoning.encrypted", format: "anthropic-claude-v1", data: "gAAAAA==", index: 0 },
            ],
          },
          { role: "user", content: "Go on." },
        ],
      }),
    ],
    ["a response's plain text", responses, responses.body([{ type: "input_text", text: picture }])],
  ];
  test.each(texts)("%s", async (_, spoken, body) => {
    expect(await mostOf(spoken.path, body)).toBe(holdFor(bytesOf(body), spoken));
  });

  const withTools: readonly (readonly [string, Spoken, object])[] = [
    ["a function", completions, completions.body("Say it.", { tools: [own] })],
    [
      "what the caller's own tool is told",
      messages,
      messages.body("Say it.", {
        tools: [{ name: "f", input_schema: { type: "object" } }],
        messages: [
          { role: "user", content: "Say it." },
          {
            role: "assistant",
            content: [
              { type: "tool_use", id: "call_1", name: "f", input: { file_id: "1", image_url: picture } },
            ],
          },
          { role: "user", content: [{ type: "tool_result", tool_use_id: "call_1", content: "done" }] },
        ],
      }),
    ],
    [
      "tools of the caller's, with and without their type",
      messages,
      messages.body(said, {
        tools: [
          { name: "f", input_schema: { type: "object" } },
          { type: "custom", name: "g", input_schema: { type: "object" } },
        ],
      }),
    ],
    [
      "functions, what they were asked and what they answered",
      generate,
      generate.body([{ functionCall: { id: "call_1", name: "f", args: { file_id: "1" } } }], {
        tools: [{ functionDeclarations: [{ name: "f" }] }],
      }),
    ],
    // Some vendors are told of them then, because they refuse a conversation with calls and no tools.
    [
      "tools that were called earlier, although none come along, for OpenAI's callers",
      completions,
      completions.body(said, {
        messages: [
          {
            role: "assistant",
            content: null,
            tool_calls: [{ id: "c", type: "function", function: own.function }],
          },
          { role: "tool", tool_call_id: "c", content: "Well." },
        ],
      }),
    ],
    [
      "tools that were called earlier, although none come along, for Anthropic's callers",
      messages,
      messages.body([{ type: "tool_use", id: "c", name: "f", input: {} }]),
    ],
    [
      "tools that were called earlier, although none come along, for Google's callers",
      generate,
      generate.body([{ functionCall: { name: "f", args: {} } }]),
    ],
    [
      "tools that were called earlier, although none come along, for callers of Responses",
      responses,
      responses.body(said, { input: [{ type: "function_call", call_id: "c", name: "f", arguments: "{}" }] }),
    ],
  ];
  test.each(withTools)(
    "but for what vendors say to the model as soon as there are tools: %s",
    async (_, spoken, body) => {
      expect(await mostOf(spoken.path, body)).toBe(holdFor(bytesOf(body) + 1_000, spoken));
    },
  );

  test("and for what the vendor's own words add about a tool that the caller runs", async () => {
    const body = messages.body(said, { tools: [{ type: "bash_20250124", name: "bash" }] });
    expect(await mostOf(messages.path, body)).toBe(holdFor(bytesOf(body) + 1_000 + 2_000, messages));
  });

  test("and an answer longer than all that the model can read and write is refused by its name", async () => {
    const account = await gateway.openAccount();
    const tooLong: readonly (readonly [string, Spoken, object])[] = [
      ["max_tokens", completions, { max_tokens: 128_001 }],
      ["max_completion_tokens", completions, { max_completion_tokens: 500_000 }],
      ["max_tokens", messages, { max_tokens: 500_000 }],
      ["max_output_tokens", responses, { max_output_tokens: 500_000 }],
    ];
    for (const [field, spoken, more] of tooLong) {
      const response = await gateway.post(account, spoken.path, spoken.body("Say it.", more));
      const { error } = (await response.json()) as { readonly error: { readonly message: string } };
      expect([response.status, error.message]).toEqual([
        400,
        `${field}: this model cannot write more than ${spoken.contextTokens} tokens`,
      ]);
    }
  });

  test("up to what the model can read", async () => {
    expect(await mostOf(completions.path, completions.body("a".repeat(500_000)))).toBe(
      holdFor(128_000, completions),
    );
  });
});

describe("an answer without figures is charged by what was expected", () => {
  const cut = async (body: object) => {
    openai.answerNext({ kind: "stream", afterEvents: 4, fault: "reset" });
    const response = await gateway.post(account, completions.path, { ...body, stream: true });
    await response.text();
    return receiptOf(response);
  };

  test("of which an image is a thousand tokens, however many bytes it has", async () => {
    const url = `data:image/png;base64,${"A".repeat(4_000_000)}`;
    const receipt = await cut(completions.body([{ type: "image_url", image_url: { url } }]));
    expect(receipt.usage_source).toBe("estimated");
    expect(receipt.usage["input_tokens"]).toBeGreaterThanOrEqual(1_000);
    expect(receipt.usage["input_tokens"]).toBeLessThan(1_100);
  });

  test("and never more than the model can read", async () => {
    const rich = await gateway.openAccount({ creditUsd: "100" });
    const quote = { "x-tollgate-cost-mode": "quote" };
    const response = await gateway.post(
      rich,
      completions.path,
      completions.body("a".repeat(4_000_000)),
      quote,
    );
    const { estimated_cost_micros_usd: expected } = (await response.json()) as {
      readonly estimated_cost_micros_usd: number;
    };
    expect(expected).toBe(holdFor(128_000, completions));
  });
});

describe("a message that only fills the prompt cache", () => {
  const filling = messages.body("Say it.", { max_tokens: 0 });

  test("holds the most that the model answers, for its vendor might not know what 0 means", async () => {
    const outputMicros = 32_000 * 5;
    expect(await mostOf(messages.path, filling)).toBe(
      holdFor(bytesOf(filling), { ...messages, outputMicros }),
    );
  });

  test("is charged for what was read and written to the cache", async () => {
    stated.usage = { input: 10, cacheWrite: 2_000, output: 0 };
    const response = await gateway.post(account, messages.path, filling);
    stated.usage = undefined;
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ content: [], stop_reason: "max_tokens" });
    const receipt = await receiptOf(response);
    expect(receipt.usage).toEqual({ input_tokens: 10, cache_write_tokens: 2_000, output_tokens: 0 });
    expect(receipt.charged_micros_usd).toBe(10 + 2_000 * 1.25);
  });

  test("is quoted without an answer", async () => {
    const quote = async (body: object): Promise<number> => {
      const headers = { "x-tollgate-cost-mode": "quote" };
      const response = await gateway.post(account, messages.path, body, headers);
      return ((await response.json()) as { readonly estimated_cost_micros_usd: number })
        .estimated_cost_micros_usd;
    };
    expect(await quote(messages.body("Say it.", { max_tokens: 9 }))).toBe((await quote(filling)) + 9 * 5);
  });
});
