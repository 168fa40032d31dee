// Agents name tools as the vendor whose dialect they speak takes it; models of other vendors are told names that theirs take.

import { describe, expect, test } from "bun:test";
import type { Asked } from "../doubles/asked.ts";
import { hear, nameOf, useDialects, ways, type Way } from "./dialect-ways.ts";
import type { Talk } from "../streams/dialects/talk.ts";

const { vendors, gateway, ask } = await useDialects();

const names = [
  "mcp__ymir-privileged__get_failed_pipeline_jobs_from_merge_request_of_project",
  "mcp__ymir-privileged__get_failed_pipeline_jobs_from_merge_request_of_person",
  "files.read",
  "files:read",
  "1c_reload",
  "look up",
  "look_up",
];
const [long = ""] = names;

const argument = { city: "Rome" };
const call = (name: string) => ({ id: "call_1", name, arguments: argument });
const asking: Talk = { turns: [{ user: "Look." }], tools: names, toolChoice: { name: long } };

/** What the vendor understood of the newest call. */
function lastAsked({ vendor }: Way): Asked {
  const asked = vendors.doubles[vendor].asked.at(-1);
  if (!asked) throw new Error("The vendor was asked nothing.");
  return asked;
}

const foreign = ways.filter(({ spoken, vendor }) => spoken !== vendor);

describe("a tool whose name the vendor refuses is told it under another, and the caller hears its own", () => {
  test.each(foreign.map((way) => [nameOf(way), way] as const))("%s", async (_, way) => {
    const account = await gateway.openAccount();
    vendors.script.reply = { text: "Yes." };
    const first = await ask(account, way, asking);
    expect([first.status, first.ok ? "" : await first.text()]).toEqual([200, ""]);
    await first.text();
    const { tools: told, toolChoice } = lastAsked(way);
    expect(new Set(told).size).toBe(names.length);
    expect(told).toContain("look_up");
    expect(toolChoice).toEqual({ name: told[0] ?? "" });

    vendors.script.reply = {
      toolCalls: told.map((name, at) => ({ id: `call_${at}`, name, arguments: JSON.stringify(argument) })),
    };
    const called = await hear(await ask(account, way, { ...asking, toolChoice: "auto" }), way);
    expect(called.calls).toEqual(names.map((name) => ({ name, arguments: argument })));

    vendors.script.reply = { text: "Yes." };
    const answered = await ask(account, way, {
      ...asking,
      toolChoice: "auto",
      turns: [{ user: "Look." }, { calls: [call(long)] }, { results: [{ ...call(long), result: "Sunny." }] }],
    });
    expect([answered.status, answered.ok ? "" : await answered.text()]).toEqual([200, ""]);
    await answered.text();
    const { tools, turns } = lastAsked(way);
    expect(turns[1]?.toolCalls).toMatchObject([{ name: told[0] }]);
    expect(tools).toEqual(told);
  });
});

test.each(foreign.map((way) => [nameOf(way), way] as const))(
  "a name longer than twice what any vendor takes is refused, for it would be said with every call and result: %s",
  async (_, way) => {
    const account = await gateway.openAccount();
    const answerTo = async (talk: Partial<Talk>): Promise<readonly [status: number, text: string]> => {
      const response = await ask(account, way, { turns: [{ user: "Look." }], ...talk });
      return [response.status, await response.text()];
    };
    vendors.script.reply = { text: "Yes." };
    const longest = `files.${"x".repeat(250)}`;
    const [status] = await answerTo({ tools: [longest] });
    expect(status).toBe(200);
    expect(lastAsked(way).tools[0]).toHaveLength(64);

    const { asked } = vendors.doubles[way.vendor];
    const before = asked.length;
    const longer = call(`${longest}x`);
    for (const talk of [
      { tools: [longer.name] },
      { turns: [{ user: "Look." }, { calls: [longer] }, { results: [{ ...longer, result: "Sunny." }] }] },
    ]) {
      const [refused, why] = await answerTo(talk);
      expect(refused).toBe(400);
      expect(why).toContain("the name of a tool may have at most 256 characters");
    }
    expect(asked).toHaveLength(before);
  },
);

test("tokens are counted of such tools, too", async () => {
  const account = await gateway.openAccount();
  const contents = [{ role: "user", parts: [{ text: "Look." }] }];
  const functionDeclarations = names.map((name) => ({ name, parameters: { type: "OBJECT" } }));
  const counted = await gateway.post(account, "/v1beta/models/claude-x:countTokens", {
    generateContentRequest: { contents, tools: [{ functionDeclarations }] },
  });
  expect([counted.status, await counted.json()]).toEqual([
    200,
    { totalTokens: expect.any(Number) as number },
  ]);
});
