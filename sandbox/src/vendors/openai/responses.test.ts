import { describe, expect, test } from "bun:test";
import { anyNumber, anyString, at, createTestSandbox, eventsIn, matching } from "../../test-sandbox.ts";

const path = "/openai/responses";
const tools = ["get_weather", "get_time"].map((name) => ({
  type: "function",
  name,
  parameters: { type: "object", properties: { city: { type: "string" } } },
}));

async function stream(body: object) {
  const { text } = await createTestSandbox().ask("POST", path, {
    body: { model: "any", stream: true, ...body },
  });
  return eventsIn(text);
}

describe("openai responses", () => {
  test("answers with a message and usage", async () => {
    const { ask, book } = createTestSandbox();
    const { status, json } = await ask("POST", path, { body: { model: "any", input: "Hello there" } });
    expect(status).toBe(200);
    const { input_tokens, output_tokens } = Object(at(json, "usage")) as Record<string, number>;
    expect(json).toMatchObject({
      id: matching(/^resp_/),
      object: "response",
      status: "completed",
      output: [{ type: "message", role: "assistant", content: [{ type: "output_text", text: anyString }] }],
      usage: {
        input_tokens: anyNumber,
        input_tokens_details: { cached_tokens: 0 },
        output_tokens: anyNumber,
        output_tokens_details: { reasoning_tokens: 0 },
      },
    });
    expect(book.read().entries[0]?.billed).toEqual({
      input_tokens: Number(input_tokens),
      cached_tokens: 0,
      output_tokens: Number(output_tokens),
    });
  });

  test("every effort that official clients know is taken", async () => {
    for (const effort of ["none", "minimal", "low", "medium", "high", "xhigh", "max"]) {
      const body = { model: "any", input: "Hello", reasoning: { effort } };
      expect([effort, (await createTestSandbox().ask("POST", path, { body })).status]).toEqual([effort, 200]);
    }
  });

  test("a limit leaves it incomplete, an effort adds reasoning", async () => {
    const { ask } = createTestSandbox();
    const body = { model: "any", input: "Hello there", max_output_tokens: 40, reasoning: { effort: "high" } };
    const { json } = await ask("POST", path, { body });
    expect(json).toMatchObject({
      status: "incomplete",
      incomplete_details: { reason: "max_output_tokens" },
      output: [{ type: "reasoning" }, { type: "message", status: "incomplete" }],
      usage: { output_tokens: 40 },
    });
  });

  test("gives thoughts along, sealed, to a caller who asks for them, and takes them back", async () => {
    const { ask } = createTestSandbox();
    const stateless = { model: "any", reasoning: { effort: "high" }, store: false };
    const include = ["reasoning.encrypted_content"];
    const { json } = await ask("POST", path, { body: { ...stateless, include, input: "Hello there" } });
    const thoughts = at(json, "output", 0);
    const given = { type: "reasoning", summary: [], encrypted_content: matching(/^[\w+/]+=*$/) };
    expect(thoughts).toEqual({ id: anyString, ...given });

    const input = [
      { role: "user", content: "Hello there" },
      thoughts,
      at(json, "output", 1),
      { role: "user", content: "Go on" },
    ];
    expect((await ask("POST", path, { body: { ...stateless, include, input } })).status).toBe(200);
    const streamed = await stream({ ...stateless, include, input: "Hello there" });
    expect(streamed.filter(({ data }) => at(data, "item", "encrypted_content") !== undefined)).toHaveLength(
      2,
    );
    const unasked = await ask("POST", path, { body: { ...stateless, input: "Hello there" } });
    expect(at(unasked.json, "output", 0, "encrypted_content")).toBeUndefined();
  });

  test("streams numbered events from created to completed, usage in the last", async () => {
    const events = await stream({ input: "Hello there" });
    const types = events.map(({ event }) => event);
    expect([...new Set(types)]).toEqual([
      "response.created",
      "response.in_progress",
      "response.output_item.added",
      "response.content_part.added",
      "response.output_text.delta",
      "response.output_text.done",
      "response.content_part.done",
      "response.output_item.done",
      "response.completed",
    ]);
    expect(events.map(({ data }) => at(data, "sequence_number"))).toEqual(events.map((_, n) => n));
    expect(events.every(({ event, data }) => at(data, "type") === event)).toBe(true);

    const { json } = await createTestSandbox().ask("POST", path, {
      body: { model: "any", input: "Hello there" },
    });
    expect(at(events.at(-1)?.data, "response", "usage")).toEqual(at(json, "usage"));
    expect(at(events.at(-1)?.data, "response", "output", 0, "content")).toEqual(
      at(json, "output", 0, "content"),
    );
  });

  test("streams parallel function calls", async () => {
    const events = await stream({ input: "get_weather and get_time", tools });
    const done = events.filter(({ event }) => event === "response.function_call_arguments.done");
    expect(done.map(({ data }) => [at(data, "output_index"), at(data, "name")])).toEqual([
      [0, "get_weather"],
      [1, "get_time"],
    ]);
    const pieces = events.filter(
      ({ event, data }) =>
        event === "response.function_call_arguments.delta" && at(data, "output_index") === 1,
    );
    expect(pieces.map(({ data }) => at(data, "delta")).join("")).toBe(String(at(done[1]?.data, "arguments")));
  });

  test("calls custom tools with a text, and tools of a namespace by both names, as Codex brings them", async () => {
    const patch = { type: "custom", name: "apply_patch", format: { type: "grammar", syntax: "lark" } };
    const namespace = { type: "namespace", name: "agents", description: "", tools: [...tools, patch] };
    const input = "apply_patch and get_time";
    const { ask } = createTestSandbox();
    const asked = (items: unknown, more: object) =>
      ask("POST", path, { body: { model: "any", input: items, ...more } });

    const { json } = await asked(input, { tools: [patch, namespace] });
    const output = at(json, "output");
    const calls = Array.isArray(output) ? (output as unknown[]) : [];
    const results = calls.map((call) => ({
      type: `${String(at(call, "type"))}_output`,
      call_id: at(call, "call_id"),
      output: "Done",
    }));
    const ended = await asked([{ role: "user", content: input }, ...calls, ...results], { tools: [patch] });
    expect(new Set(calls.map((call) => at(call, "call_id"))).size).toBe(3);
    expect(calls).toMatchObject([
      { type: "custom_tool_call", id: matching(/^ctc_/), name: "apply_patch", input: anyString },
      { type: "function_call", namespace: "agents", name: "get_time", arguments: matching(/^\{/) },
      { type: "custom_tool_call", namespace: "agents", name: "apply_patch", input: anyString },
    ]);
    expect(at(calls[0], "namespace")).toBeUndefined();
    expect(at(ended.json, "output", 0, "content", 0, "text")).toContain(
      "The tool answered: Done; Done; Done.",
    );
  });

  test("calls no tool but those that a choice allows", async () => {
    const body = {
      model: "any",
      input: "Use get_weather and get_time.",
      tools,
      tool_choice: { type: "allowed_tools", mode: "auto", tools: [{ type: "function", name: "get_time" }] },
    };
    const { json } = await createTestSandbox().ask("POST", path, { body });
    expect(at(json, "output")).toMatchObject([{ type: "function_call", name: "get_time" }]);
  });

  test("streams the text for a custom tool", async () => {
    const events = await stream({ input: "Use exec.", tools: [{ type: "custom", name: "exec" }] });
    const of = (event: string) => events.filter((one) => one.event === event).map(({ data }) => data);
    const pieces = of("response.custom_tool_call_input.delta").map((data) => at(data, "delta"));
    const whole = at(of("response.output_item.done")[0], "item", "input");
    expect(of("response.output_item.added")).toMatchObject([
      { item: { type: "custom_tool_call", input: "" } },
    ]);
    expect(of("response.custom_tool_call_input.done")).toMatchObject([{ input: whole }]);
    expect(pieces.join("")).toBe(String(whole));
    expect(String(whole)).not.toStartWith('"');
  });

  test("goes on with a response that it keeps, and counts all that was said", async () => {
    const { ask } = createTestSandbox();
    const asked = (body: object) => ask("POST", path, { body: { model: "any", ...body } });
    const first = await asked({ input: "Name a city." });
    const previous_response_id = at(first.json, "id");
    const second = await asked({ input: "Another.", previous_response_id });
    const said = at(first.json, "output", 0);
    const inFull = await asked({
      input: [{ role: "user", content: "Name a city." }, said, { role: "user", content: "Another." }],
    });
    expect(second).toMatchObject({ status: 200, json: { previous_response_id } });
    expect(at(second.json, "usage", "input_tokens")).toBe(at(inFull.json, "usage", "input_tokens"));
    const third = await asked({ input: "One more.", previous_response_id: at(second.json, "id") });
    expect(Number(at(third.json, "usage", "input_tokens"))).toBeGreaterThan(
      Number(at(second.json, "usage", "input_tokens")),
    );
    const unkept = await asked({ input: "Name a city.", store: false });
    expect(await asked({ input: "Another.", previous_response_id: at(unkept.json, "id") })).toMatchObject({
      status: 400,
      json: { error: { code: "previous_response_not_found" } },
    });
  });

  test("knows its items by their ids, and neither those of others nor any conversation", async () => {
    const { ask } = createTestSandbox();
    const user = { role: "user", content: "Use get_weather." };
    const asked = (body: object) => ask("POST", path, { body: { model: "any", tools, ...body } });
    const first = await asked({ input: [user] });
    const call = at(first.json, "output", 0);
    const result = { type: "function_call_output", call_id: at(call, "call_id"), output: "19 degrees" };
    const reference = { type: "item_reference", id: at(call, "id") };
    const referred = await asked({ input: [user, reference, result] });
    const inFull = await asked({ input: [user, call, result] });
    expect(referred.status).toBe(200);
    expect(at(referred.json, "usage", "input_tokens")).toBe(at(inFull.json, "usage", "input_tokens"));
    expect(await asked({ input: [user, { type: "item_reference", id: "fc_0" }] })).toMatchObject({
      status: 404,
      json: { error: { param: "input", message: "Item with id 'fc_0' not found." } },
    });
    expect(await asked({ input: [user], conversation: "conv_0" })).toMatchObject({
      status: 404,
      json: { error: { param: "conversation" } },
    });
  });

  test.each([
    [{ input: "a" }, "model"],
    [{ model: "a" }, "input"],
    [{ model: "a", input: [{ role: "nobody", content: "" }] }, "input[0]"],
    [{ model: "a", input: "a", max_output_tokens: 0 }, "max_output_tokens"],
    [{ model: "a", input: "a", tools: [{}] }, "tools"],
    [{ model: "a", input: "a", tools: [{ type: "custom" }] }, "tools"],
    [{ model: "a", input: "a", tools: [{ type: "namespace", name: "n", tools: [{}] }] }, "tools"],
    [{ model: "a", input: [{ type: "custom_tool_call", name: "a" }] }, "input[0]"],
    [{ model: "a", input: "a", tool_choice: "required" }, "tool_choice"],
    [{ model: "a", input: "a", previous_response_id: "resp_1" }, "previous_response_id"],
    [{ model: "a", input: "a", reasoning: { effort: "much" } }, "reasoning.effort"],
  ])("refuses %j naming %p", async (body, param) => {
    expect(await createTestSandbox().ask("POST", path, { body })).toMatchObject({
      status: 400,
      json: { error: { param } },
    });
  });
});
