// What the sandbox's own tests start from: a fixed clock, and short ways to ask and to look.

import { afterAll, afterEach, expect } from "bun:test";
import { openListener } from "./listener.ts";
import { createSandbox, type SandboxOptions } from "./sandbox.ts";

export const startMs = Date.UTC(2026, 10, 15, 10, 12, 50);

interface Sent {
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
}

export function createTestSandbox(options: Partial<SandboxOptions> = {}) {
  const clock = { ms: startMs };
  const sandbox = createSandbox({
    now: () => clock.ms,
    publicUrl: "http://gate.test/s",
    secret: "secret",
    ...options,
  });

  const ask = async (method: string, path: string, { body, headers = keyFor(path) }: Sent = {}) => {
    const text = typeof body === "string" ? body : JSON.stringify(body);
    const sent = body === undefined ? {} : { body: text };
    const response = await sandbox.fetch(
      new Request(`http://sandbox.test${path}`, { method, headers, ...sent }),
    );
    const answer = await response.text();
    const isEvents = response.headers.get("content-type")?.startsWith("text/event-stream") === true;
    const json: unknown = answer === "" || isEvents ? null : JSON.parse(answer);
    return { status: response.status, headers: response.headers, json, text: answer };
  };
  return { ...sandbox, clock, ask };
}

/** To be called once in a file of tests: a sandbox behind its socket, without faults and with an empty book before each. */
export async function useListeningSandbox() {
  const sandbox = createTestSandbox();
  const listener = await openListener({ port: 0 });
  listener.serve((request) => sandbox.fetch(request));
  afterAll(() => listener.close());
  afterEach(async () => {
    await control("DELETE", "/faults");
    await control("DELETE", "/book");
  });

  const control = (method: string, where: string, body?: unknown): Promise<Response> =>
    fetch(`${listener.url}/_control${where}`, {
      method,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  return {
    sandbox,
    listener,
    control,
    inject: async (fault: unknown): Promise<void> => {
      const { status } = await control("POST", "/faults", fault);
      expect(status).toBe(204);
    },
  };
}

export interface SeenEvent {
  readonly event: string | undefined;
  readonly data: unknown;
}

/** The events of a stream; a word that is no JSON stays a text. */
export const eventsIn = (text: string): SeenEvent[] =>
  text
    .split("\n\n")
    .filter((block) => block !== "")
    .map((block) => {
      const data = /^data: (.*)$/m.exec(block)?.[1] ?? "";
      const json: unknown = data.startsWith("{") ? JSON.parse(data) : data;
      return { event: /^event: (.*)$/m.exec(block)?.[1], data: json };
    });

/** Digs: at(json, "choices", 0, "message"). */
export const at = (value: unknown, ...steps: readonly (string | number)[]): unknown =>
  steps.reduce<unknown>((reached, step) => Reflect.get(Object(reached) as object, step), value);

/** The error of a promise that must fail; undefined when it does not. */
export const failureOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => undefined,
    (error: unknown) => error,
  );

// Bun types its matchers as any; as unknown they stand in an expected value all the same.
export const anyString: unknown = expect.any(String);
export const anyNumber: unknown = expect.any(Number);
export const anyObject: unknown = expect.any(Object);
export const anyList: unknown = expect.any(Array);
export const matching = (pattern: RegExp): unknown => expect.stringMatching(pattern);
export const containing = (text: string): unknown => expect.stringContaining(text);

function keyFor(path: string): Record<string, string> {
  const vendor = path.split("/")[1] ?? "";
  if (["financialdatasets", "exa", "scrapecreators", "twitterapi"].includes(vendor)) {
    return { "x-api-key": "sandbox" };
  }
  if (vendor === "similarweb") return { "api-key": "sandbox" };
  if (vendor === "anthropic") return { "x-api-key": "sandbox", "anthropic-version": "2023-06-01" };
  if (vendor === "gemini") return { "x-goog-api-key": "sandbox" };
  return { authorization: "Bearer sandbox" };
}
