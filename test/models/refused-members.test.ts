// Members of a conversation that are refused by their name: what costs more than is priced, tools that a vendor runs, and names in two spellings.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  completions,
  generate,
  holdFor,
  keys,
  messages,
  responses,
  useConversations,
  type Spoken,
} from "../money/conversations.ts";
import { openTestGateway, type TestGateway } from "../support/test-gateway.ts";

const { openai, anthropic, gemini, gateway, mostOf, sentToAll } = await useConversations();

describe("a service that costs more than is priced is refused by its member", () => {
  const dearer: readonly (readonly [string, object, Spoken])[] = [
    ["service_tier", { service_tier: "priority" }, completions],
    ["service_tier", { service_tier: "fast" }, completions],
    ["service_tier", { service_tier: "scale" }, completions],
    ["service_tier", { service_tier: "priority" }, responses],
    ["service_tier", { service_tier: "priority" }, messages],
    ["speed", { speed: "fast" }, messages],
    ["inference_geo", { inference_geo: "us" }, messages],
    ["service_tier", { service_tier: "priority" }, generate],
    ["serviceTier", { serviceTier: "PRIORITY" }, generate],
  ];
  test.each(dearer)("%s of %j", async (field, more, { path, body }) => {
    const before = sentToAll();
    const parts = path === generate.path ? [{ text: "Say it." }] : "Say it.";
    const response = await gateway.post(await gateway.openAccount(), path, body(parts, more));
    const { error } = (await response.json()) as { readonly error: { readonly message: string } };
    expect([response.status, error.message.split(":")[0]]).toEqual([400, field]);
    expect(sentToAll()).toBe(before);
  });

  const usual: readonly (readonly [Spoken, object])[] = [
    [completions, { service_tier: "auto" }],
    [completions, { service_tier: "default" }],
    [completions, { service_tier: "flex" }],
    [completions, { service_tier: null }],
    [responses, { service_tier: "flex" }],
    [messages, { service_tier: "standard_only" }],
    [messages, { inference_geo: "global" }],
    [generate, { serviceTier: "flex" }],
    [generate, { service_tier: "standard" }],
  ];
  test("and any other passes", async () => {
    for (const [{ path, body }, more] of usual) {
      const parts = path === generate.path ? [{ text: "Say it." }] : "Say it.";
      const asked = body(parts, more);
      const response = await gateway.post(await gateway.openAccount(), path, asked);
      expect([more, response.status]).toEqual([more, 200]);
    }
  });
});

describe("a tool that its vendor runs", () => {
  let careful: TestGateway;
  beforeAll(async () => {
    careful = await openTestGateway({
      config: `
upstreams:
  openai: { protocol: openai, url: "${openai.url}", key: "${keys.openai}" }
  bolder: { protocol: openai, url: "${openai.url}", key: "${keys.openai}", hosted_tools: allow }
  claude: { protocol: anthropic, url: "${anthropic.url}", key: "${keys.anthropic}" }
  gemini: { protocol: gemini, url: "${gemini.url}", key: "${keys.gemini}", hosted_tools: refuse }
models:
  bold: { via: [bolder], price: { input: 1, output: 1 }, context_tokens: 1000 }
`,
    });
  });
  afterAll(() => careful.close());

  const asked = (spoken: Spoken, more: object): readonly [string, object] => [
    spoken.path,
    spoken.body(spoken === generate ? [{ text: "Say it." }] : "Say it.", more),
  ];
  const own = { type: "function", function: { name: "f", parameters: { type: "object" } } };
  const hosted: readonly (readonly [string, string, readonly [string, object]])[] = [
    ["web_search_options", "this tool", asked(completions, { web_search_options: {} })],
    ["tools[1]", "web_search", asked(completions, { tools: [own, { type: "web_search" }] })],
    ["tools[0]", "web_search_preview", asked(responses, { tools: [{ type: "web_search_preview" }] })],
    [
      "tools[0]",
      "code_interpreter",
      asked(responses, { tools: [{ type: "code_interpreter", container: { type: "auto" } }] }),
    ],
    ["tools[0]", "this tool", asked(responses, { tools: [{ type: "search".repeat(20) }] })],
    ["tools[0]", "image_generation", asked(responses, { tools: [{ type: "image_generation" }] })],
    ["tools[0]", "shell", asked(responses, { tools: [{ type: "shell" }] })],
    [
      "tools[0]",
      "shell",
      asked(responses, { tools: [{ type: "shell", environment: { type: "container_auto" } }] }),
    ],
    [
      "tools[0]",
      "shell",
      asked(responses, {
        tools: [{ type: "shell", environment: { type: "container_reference", container_id: "c" } }],
      }),
    ],
    [
      "tools[0]",
      "web_search",
      asked(responses, { tools: [{ type: "web_search", environment: { type: "local" } }] }),
    ],
    [
      "tools[0]",
      "search_toolset_20260801",
      asked(messages, { tools: [{ type: "search_toolset_20260801" }] }),
    ],
    [
      "tools[0]",
      "web_search_20250305",
      asked(messages, { tools: [{ type: "web_search_20250305", name: "web_search" }] }),
    ],
    [
      "tools[0]",
      "web_fetch_20250910",
      asked(messages, { tools: [{ type: "web_fetch_20250910", name: "web_fetch" }] }),
    ],
    ["tools[0]", "mcp_toolset", asked(messages, { tools: [{ type: "mcp_toolset", mcp_server_name: "a" }] })],
    [
      "mcp_servers",
      "this tool",
      asked(messages, { mcp_servers: [{ type: "url", url: "https://example.com/mcp" }] }),
    ],
    [
      "tools[0]",
      "mcp",
      asked(responses, {
        tools: [{ type: "mcp", server_label: "a", server_url: "https://example.com/mcp" }],
      }),
    ],
    ["tools[0].urlContext", "this tool", asked(generate, { tools: [{ urlContext: {} }] })],
    ["tools[0].code_execution", "this tool", asked(generate, { tools: [{ code_execution: {} }] })],
    ["tools[0].googleSearch", "this tool", asked(generate, { tools: [{ googleSearch: {} }] })],
    [
      "tools[0].google_maps",
      "this tool",
      asked(generate, { tools: [{ computer_use: {}, google_maps: {} }] }),
    ],
    ["tools.googleSearch", "this tool", asked(generate, { tools: { googleSearch: {} } })],
    ["tools[0].googleSearch", "this tool", asked(generate, { tools: [{ name: "f", googleSearch: {} }] })],
    [
      "tools[0].url_context",
      "this tool",
      asked(generate, { tools: [{ type: "function", url_context: {} }] }),
    ],
    [
      "tools[0].tools[1]",
      "web_search",
      asked(responses, {
        tools: [{ type: "namespace", name: "crm", tools: [own, { type: "web_search" }] }],
      }),
    ],
    [
      "input.tools[0]",
      "web_search",
      asked(responses, {
        input: [
          { type: "additional_tools", role: "developer", tools: [{ type: "web_search" }] },
          { role: "user", content: "Say it." },
        ],
      }),
    ],
    [
      "input.tools[0]",
      "mcp",
      asked(responses, {
        input: [
          {
            type: "tool_search_output",
            execution: "client",
            call_id: "call_1",
            tools: [{ type: "mcp", server_label: "a", server_url: "https://example.com/mcp" }],
          },
        ],
      }),
    ],
    [
      "tool.definition",
      "web_search_20260318",
      asked(messages, {
        messages: [
          { role: "user", content: "Say it." },
          {
            role: "system",
            content: [
              {
                type: "tool_addition",
                tool: {
                  type: "tool_definition",
                  definition: { type: "web_search_20260318", name: "web_search" },
                },
              },
            ],
          },
        ],
      }),
    ],
    [
      "tool.definition",
      "mcp_toolset",
      asked(messages, {
        messages: [
          {
            role: "user",
            content: [
              {
                type: "compaction",
                content: "What was said.",
                tool_changes: [
                  {
                    type: "tool_addition",
                    tool: {
                      type: "tool_definition",
                      definition: { type: "mcp_toolset", mcp_server_name: "a" },
                    },
                  },
                ],
              },
            ],
          },
        ],
      }),
    ],
    [
      "messages.tools[0]",
      "web_search",
      asked(completions, {
        messages: [{ role: "system", content: "Look.", tools: [{ type: "web_search" }] }],
      }),
    ],
  ];
  test.each(hosted)(
    "is refused by name where its upstream does not allow it: %s, %s",
    async (field, tool, [path, body]) => {
      const before = sentToAll();
      const response = await careful.post(await careful.openAccount(), path, body);
      const { error } = (await response.json()) as { readonly error: { readonly message: string } };
      expect([response.status, error.message]).toEqual([
        400,
        `${field}: its vendor runs ${tool}, and nothing here bounds what that may cost; leave it out or switch it off`,
      ]);
      expect(sentToAll()).toBe(before);
    },
  );

  const notHosted: readonly (readonly [string, object])[] = [
    asked(messages, { tools: [{ type: "bash_20250124", name: "bash" }] }),
    asked(messages, { tools: [{ type: "tool_search_tool_regex_20251119", name: "tool_search" }] }),
    asked(messages, { mcp_servers: [], tools: [] }),
    asked(generate, { tools: [{ computerUse: {} }] }),
    asked(responses, { input: [{ type: "additional_tools", role: "developer", tools: [own] }] }),
    asked(responses, {
      input: [
        { type: "mcp_list_tools", id: "mcpl_1", server_label: "a", tools: [{ name: "f", input_schema: {} }] },
      ],
    }),
    asked(messages, {
      messages: [
        {
          role: "system",
          content: [{ type: "tool_addition", tool: { type: "tool_reference", name: "f" } }],
        },
        {
          role: "system",
          content: [
            {
              type: "tool_addition",
              tool: { type: "tool_definition", definition: { name: "f", input_schema: {} } },
            },
          ],
        },
      ],
    }),
  ];
  test("is not one that the caller runs, or that looks at the call itself alone", async () => {
    const quote = { "x-tollgate-cost-mode": "quote" };
    const caller = await careful.openAccount();
    for (const [path, body] of notHosted) {
      expect([path, (await careful.post(caller, path, body, quote)).status]).toEqual([path, 200]);
    }
  });

  const ranByTheCaller: readonly (readonly [string, Spoken, object])[] = [
    ["a shell of OpenAI's", responses, { type: "shell", environment: { type: "local" } }],
    ["a computer of Anthropic's", messages, { type: "computer_toolset_20260801" }],
    ["a browser of Anthropic's", messages, { type: "browser_toolset_20260801", configs: {} }],
  ];
  test.each(ranByTheCaller)(
    "is not one that the caller runs, for which all is held that the model can read: %s",
    async (_, spoken, tool) => {
      const [path, body] = asked(spoken, { tools: [tool] });
      expect(await mostOf(path, body, careful)).toBe(holdFor(spoken.contextTokens, spoken));
    },
  );

  test("passes where every upstream of its model allows it", async () => {
    const body = completions.body("Say it.", { model: "bold", web_search_options: {} });
    expect(await mostOf(completions.path, body, careful)).toBe(1_000 + 64);
  });
});

describe("a member in two spellings", () => {
  const contents = [{ role: "user", parts: [{ text: "Say it." }] }];
  const twice: readonly (readonly [string, object])[] = [
    [
      "generation_config",
      { generationConfig: { maxOutputTokens: 1 }, generation_config: { max_output_tokens: 60_000 } },
    ],
    ["generation_config", { generation_config: { maxOutputTokens: 60_000 }, generationConfig: {} }],
    [
      "generationConfig.max_output_tokens",
      { generationConfig: { maxOutputTokens: 1, max_output_tokens: 60_000 } },
    ],
    [
      "generation_config.candidate_count",
      { generation_config: { maxOutputTokens: 1, candidate_count: 8, candidateCount: 1 } },
    ],
    ["generation_config", { generationConfig: { maxOutputTokens: 1 }, generation_config: null }],
    ["cached_content", { cachedContent: "cachedContents/1", cached_content: "cachedContents/2" }],
  ];
  test.each(twice)("is refused by name: %s", async (field, members) => {
    for (const path of [generate.path, generate.path.replace(":g", ":streamG")]) {
      const before = gemini.requests.length;
      const response = await gateway.post(await gateway.openAccount(), path, { contents, ...members });
      const { error } = (await response.json()) as { readonly error: { readonly message: string } };
      expect([response.status, error.message]).toEqual([400, `${field}: is given twice, in two spellings`]);
      expect(gemini.requests.length).toBe(before);
    }
  });

  test("is not made of one: a limit that is missing is added in the caller's own", async () => {
    const nullish = { contents, generation_config: { max_output_tokens: null } };
    const caller = await gateway.openAccount();
    expect((await gateway.post(caller, generate.path, nullish)).status).toBe(200);
    expect(sentToGemini()).toEqual({ contents, generation_config: { max_output_tokens: 32_768 } });
  });

  const sentToGemini = (): unknown => JSON.parse(new TextDecoder().decode(gemini.requests.at(-1)?.body));
});
