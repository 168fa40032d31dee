import { expect, test } from "bun:test";
import { chat } from "../scenarios/chat.ts";
import { streamedChat } from "../scenarios/streamed-chat.ts";
import { anyKeys, type RunningContestant } from "./contestant.ts";
import { probe } from "./probe.ts";
import type { Scenario } from "./scenario.ts";

/** Asks a server that answers so, and returns what it was left out for; undefined when it stayed. */
async function leftOutFor(
  answer: { readonly body: string; readonly status?: number },
  scenario: Scenario = chat,
  wish: Partial<RunningContestant> = {},
): Promise<string | undefined> {
  using server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: () => new Response(answer.body, { status: answer.status ?? 200 }),
  });
  const url = `http://127.0.0.1:${server.port}`;
  const contestant = { url, pid: undefined, keys: anyKeys, close: async () => {}, ...wish };
  let left: string | undefined;
  const stayed = await probe(new Map([["it", contestant]]), scenario, (_, why) => (left = why));
  expect(stayed.has("it")).toBe(left === undefined);
  return left;
}

const { body } = chat.answer;
const { body: stream } = streamedChat.answer;

test("whoever tells what the upstream said takes part, and may say more", async () => {
  expect(await leftOutFor({ body })).toBeUndefined();
  expect(await leftOutFor({ body: body.replace("{", '{"provider":"openai",') })).toBeUndefined();
  expect(await leftOutFor({ body: `${stream}: it cost nothing\n\n` }, streamedChat)).toBeUndefined();
});

test("the right status with another answer is not enough", async () => {
  expect(await leftOutFor({ body: "{}" })).toBe("asked once, it answered 200 and {}");
  expect(await leftOutFor({ body: "" })).toBe("asked once, it answered 200 and nothing");
  const other = body.replace('"prompt_tokens":112', '"prompt_tokens":0');
  expect(await leftOutFor({ body: other })).toStartWith("asked once, it answered 200 and {");
  expect(await leftOutFor({ body, status: 500 })).toStartWith("asked once, it answered 500");
});

test("a stream that lost an event or its end is none", async () => {
  const events = stream.split("\n\n");
  for (const kept of [events.toSpliced(50, 1), events.slice(0, -2)])
    expect(await leftOutFor({ body: kept.join("\n\n") }, streamedChat)).toStartWith(
      "asked once, it answered 200 and data: {",
    );
});

test("whoever is to refuse must refuse for that reason", async () => {
  const wish = { status: 402, told: { error: { code: "insufficient_balance" } } };
  const refusal = '{"error":{"code":"insufficient_balance","message":"no"}}';
  expect(await leftOutFor({ body: refusal, status: 402 }, chat, wish)).toBeUndefined();
  const other = '{"error":{"code":"other"}}';
  expect(await leftOutFor({ body: other, status: 402 }, chat, wish)).toBe(
    `asked once, it answered 402 and ${other}`,
  );
});
