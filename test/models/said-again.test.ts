// A response says again what it was asked for: three times in a stream. Some of that costs nothing, for no vendor is told of it,
// so how long an answer becomes must not be the caller's to choose.

import { expect, test } from "bun:test";
import { dialects } from "../streams/dialects.ts";
import { models } from "../streams/model-vendors.ts";
import { useDialects } from "./dialect-ways.ts";

const { gateway } = await useDialects();
const account = await gateway.openAccount({ creditUsd: "1000" });

const askWith = async (stream: boolean, members: object): Promise<string> => {
  const talk = { turns: [{ user: "Hi." }], maxTokens: 20 };
  const body = { ...dialects.responses.body(talk, models.anthropic, stream), ...members };
  const response = await gateway.post(account, "/v1/responses", body);
  expect(response.status).toBe(200);
  return response.text();
};

test.each([false, true])(
  "what was asked for is said again as far as it is short, streamed: %p",
  async (stream) => {
    const short = await askWith(stream, { instructions: "Be short.", metadata: { project: "one" } });
    expect(short).toContain('"instructions":"Be short."');
    expect(short).toContain('"metadata":{"project":"one"}');

    const long = await askWith(stream, {
      instructions: "Be short.",
      metadata: { project: "one".repeat(1_000_000) },
    });
    expect(long).toContain('"instructions":"Be short."');
    expect(long).toContain('"metadata":{}');
    expect(long.length).toBeLessThan(10_000);

    const tools = Array.from({ length: 100 }, (_, at) => ({
      type: "function",
      name: `f${at}`,
      output_schema: { type: "string", description: "long ".repeat(20_000) },
    }));
    const many = await askWith(stream, { tools });
    expect(many).toContain('"tools":[]');
    expect(many.length).toBeLessThan(10_000);
  },
);
