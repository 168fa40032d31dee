import { describe, expect, test } from "bun:test";
import {
  billedGet,
  billedPost,
  fine,
  freeGet,
  refused,
  type Scripted,
  type ScriptedGateway,
} from "../scripted-gateway.ts";
import { useScriptedGateway } from "../use-scripted-gateway.ts";
import type { TollgateError } from "./errors.ts";
import { readWhole, sendCall } from "./send-call.ts";

const scripted = useScriptedGateway();
const { run } = scripted;

describe("what must change before it is asked again is never sent twice", () => {
  const never: readonly (readonly [number, string, TollgateError["kind"]])[] = [
    [400, "invalid_parameters", "parameters"],
    [401, "invalid_api_key", "credentials"],
    [402, "insufficient_balance", "budget"],
    [402, "estimated_price_exceeds_max_price", "budget"],
    [403, "link_required", "forbidden"],
    [403, "approval_required", "forbidden"],
    [404, "unknown_endpoint", "parameters"],
    [413, "payload_too_large", "parameters"],
    [415, "unsupported_media_type", "parameters"],
    [422, "unprocessable", "parameters"],
    [409, "idempotency_key_reused", "conflict"],
    [500, "unsupported_uri", "unavailable"],
    [503, "billing_config_invalid", "unavailable"],
  ];
  for (const [status, code, kind] of never) {
    test(`${status} ${code}`, async () => {
      for (const call of [billedPost("k"), billedGet, freeGet]) {
        const error = await run({ answers: [refused(status, code)] }, call);
        expect(error).toMatchObject({ kind, code, status, moneyMoved: "no", attempts: 1 });
        expect(scripted.gateway.calls).toHaveLength(1);
        expect(scripted.gateway.waitsMs).toEqual([]);
        await scripted.gateway.close();
      }
    });
  }

  test("503 that says it is not retryable", async () => {
    const error = await run(
      { answers: [refused(503, "provider_unavailable", { retryable: false })] },
      freeGet,
    );
    expect(error).toMatchObject({ kind: "unavailable", attempts: 1 });
  });

  test("429 that says it is not to be sent again, such as of a vendor's account without credit", async () => {
    const empty: Scripted = {
      status: 429,
      body: { error: { code: "upstream_rate_limit", message: "busy" } },
      headers: { "retry-after": "60", "x-should-retry": "false" },
    };
    for (const call of [billedPost("k"), billedGet, freeGet]) {
      const error = await run({ answers: [empty] }, call);
      expect(error).toMatchObject({
        kind: "rate_limit",
        moneyMoved: "no",
        attempts: 1,
        retryAfterSeconds: 60,
      });
      expect(scripted.gateway.waitsMs).toEqual([]);
      await scripted.gateway.close();
    }
  });
});

describe("a limit is waited for", () => {
  const busy: Scripted = {
    ...(refused(429, "rate_limit_exceeded") as object),
    status: 429,
    headers: { "retry-after": "2" },
  };

  test("Retry-After first, then doubling, with the same key each time", async () => {
    expect(await run({ answers: [busy, busy, busy, fine] }, billedPost("one"))).toBe("answered");
    expect(scripted.gateway.waitsMs).toEqual([2_000, 4_000, 8_000]);
    expect(scripted.gateway.calls.map((call) => call.idempotencyKey)).toEqual(["one", "one", "one", "one"]);
    expect(new Set(scripted.gateway.calls.map((call) => call.body)).size).toBe(1);
    expect(scripted.gateway.lookUps).toEqual([]);
  });

  test("jitter stays within a quarter and never below Retry-After", async () => {
    for (const [random, expected] of [
      [() => 0, [2_000, 3_000, 6_000]],
      [() => 0.999_999, [2_500, 5_000, 10_000]],
    ] as const) {
      await run({ answers: [busy, busy, busy, fine], random }, billedPost("one"));
      expect(scripted.gateway.waitsMs).toEqual([...expected]);
      await scripted.gateway.close();
    }
  });

  test("no delay of ours is longer than thirty seconds", async () => {
    const slow: Scripted = { status: 429, body: {}, headers: { "retry-after": "20" } };
    const error = await run({ answers: [slow], random: () => 0.999_999 }, freeGet);
    expect(error).toMatchObject({ kind: "rate_limit", moneyMoved: "no", attempts: 5, retryAfterSeconds: 20 });
    expect(scripted.gateway.waitsMs).toEqual([25_000, 30_000, 30_000, 30_000]);
  });

  test("a wait the caller did not agree to is handed to the caller", async () => {
    const error = await run(
      { answers: [{ status: 429, body: {}, headers: { "retry-after": "3600" } }] },
      freeGet,
    );
    expect(error).toMatchObject({ kind: "rate_limit", retryAfterSeconds: 3600, attempts: 1 });
    expect(scripted.gateway.waitsMs).toEqual([]);
  });
});

describe("a gateway whose certificate is not trusted", () => {
  const untrusted = () => Promise.reject(Object.assign(new Error("no"), { code: "CERT_HAS_EXPIRED" }));
  const send = (transport: ScriptedGateway["transport"]): Promise<unknown> =>
    sendCall(billedPost("k"), transport, readWhole).catch((error: unknown) => error);

  test("is asked once, and nothing is spent", async () => {
    await scripted.open({ answers: [fine] });
    const error = await send({ ...scripted.gateway.transport, fetch: untrusted });
    expect(error).toMatchObject({
      kind: "connection",
      code: "connection",
      moneyMoved: "no",
      chargedMicrosUsd: 0,
      attempts: 1,
    });
    expect(String(error)).toContain("CERT_HAS_EXPIRED");
    expect(scripted.gateway.waitsMs).toEqual([]);
  });

  test("leaves an earlier attempt that was in doubt in doubt", async () => {
    await scripted.open({ answers: ["gone"] });
    const { fetch } = scripted.gateway.transport;
    let sent = 0;
    const once: typeof fetch = (url, init) => {
      if (init.method === "POST") sent++;
      return sent < 2 ? fetch(url, init) : untrusted();
    };
    const error = await send({ ...scripted.gateway.transport, fetch: once });
    expect(error).toMatchObject({ kind: "connection", moneyMoved: "unknown", attempts: 2 });
  });
});

describe("a caller that stops", () => {
  const stopOn = async (signal: AbortSignal, answers: readonly Scripted[]): Promise<unknown> => {
    await scripted.open({ answers });
    const stopped = sendCall({ ...billedPost("k"), signal }, scripted.gateway.transport, readWhole);
    return stopped.catch((error: unknown) => error);
  };

  test("in the middle of a call is let go at once, and told that money may have moved", async () => {
    const error = await stopOn(AbortSignal.timeout(30), ["never"]);
    expect(error).toMatchObject({ kind: "aborted", moneyMoved: "unknown", idempotencyKey: "k" });
  });

  test("before the call began has spent nothing", async () => {
    const error = await stopOn(AbortSignal.abort(), [fine]);
    expect(error).toMatchObject({ kind: "aborted", moneyMoved: "no" });
    expect(scripted.gateway.calls).toEqual([]);
  });

  test("while a limit is waited for has spent nothing", async () => {
    await scripted.open({ answers: [refused(429, "rate_limit_exceeded")] });
    const stop = new AbortController();
    const sleep = (): Promise<void> => {
      stop.abort();
      return Promise.reject(new Error("stopped"));
    };
    const transport = {
      ...scripted.gateway.transport,
      clock: { ...scripted.gateway.transport.clock, sleep },
    };
    const stopped = sendCall({ ...billedPost("k"), signal: stop.signal }, transport, readWhole);
    expect(await stopped.catch((error: unknown) => error)).toMatchObject({
      kind: "aborted",
      moneyMoved: "no",
      attempts: 1,
    });
  });
});
