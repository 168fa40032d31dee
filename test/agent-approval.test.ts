// A person's yes before a dear call: asked for where the client can ask, by an address where it cannot, and good for
// exactly one call. Each replay here once bought twice somewhere.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { askModern, openOldClient, useTool, type OldClient, type ToolResult } from "./agent-client.ts";
import { expectNothingHappened } from "./bad-inputs/nothing-happened.ts";
import { openTestGateway, type TestAccount, type TestGateway } from "./harness.ts";
import { createPerson, signInWith } from "./oauth-person.ts";
import { createVirtualClock } from "./virtual-clock.ts";

// What may cost more than 4 cents needs a person here; a snapshot costs 4.8.
const config = "mcp: { auto_approve_usd: 0.04 }";
const creditUsd = "5";
const snapshotMicros = 48_000;
const tagMicros = 1_450;
const dear = (ticker = "AAPL", max = 0.1) => ({
  operation_id: "financial.metrics.snapshot",
  arguments: { ticker },
  max_price_usd: max,
});
const cheap = {
  operation_id: "reseller.social_c.tag_detail",
  arguments: { tag_name: "cats" },
  max_price_usd: 0.01,
};
const canAsk = { capabilities: { elicitation: { form: {} } } };
const yes = { approval: { action: "accept", content: { approve: true } } };

let gateway: TestGateway;
let account: TestAccount;
let mcp: string;

beforeAll(async () => {
  gateway = await openTestGateway({ config });
  mcp = `${gateway.url}/mcp`;
});
beforeEach(async () => {
  account = await gateway.openAccount({ creditUsd });
});
afterAll(async () => {
  expect(await gateway.audit()).toEqual([]);
  await gateway.close();
});

const spent = async (): Promise<number> => 5_000_000 - (await gateway.balance(account)).balance;
const errorOf = ({ structuredContent }: ToolResult): Record<string, unknown> =>
  structuredContent["error"] as Record<string, unknown>;

interface Handle {
  readonly approval_id: string;
  readonly url: string;
}

/** Asks without being able to show anything: an address comes back. */
async function askElsewhere(given: object = dear(), name = "use"): Promise<Handle> {
  const { structuredContent } = await useTool(mcp, account.key, name, given);
  return structuredContent["approval"] as Handle;
}

async function decide(url: string, action: "approve" | "deny"): Promise<void> {
  const person = createPerson(gateway.url, account.key);
  let page = await person.open(url);
  if (page.html.includes('name="key"'))
    page = await person.submit(page, { action: "sign_in", key: account.key });
  await person.submit(page, { action });
}

/** Asks with a form: the question and the sealed state come back. */
async function askInForm(given: object = dear(), name = "use"): Promise<{ state: string; message: string }> {
  const asked = await useTool(mcp, account.key, name, given, canAsk);
  expect(asked.resultType).toBe("input_required");
  const { params } = asked.inputRequests?.["approval"] ?? {};
  return { state: asked.requestState ?? "", message: (params as { message?: string })?.message ?? "" };
}

const answerForm = (
  given: object,
  state: string,
  inputResponses: object = yes,
  name = "use",
): Promise<ToolResult> =>
  useTool(mcp, account.key, name, given, { ...canAsk, round: { requestState: state, inputResponses } });

describe("where the client cannot ask", () => {
  test("nothing runs; the answer names operation, rate, the most it can cost and where to approve", async () => {
    const asked = await useTool(mcp, account.key, "use", dear());
    expect(asked.isError).toBe(true);
    expect(asked.structuredContent).toMatchObject({
      status: "approval_required",
      error: { code: "approval_required", charged: "no" },
      approval: { operation_ids: ["financial.metrics.snapshot"], rate_usd: 0.048, max_exposure_usd: 0.048 },
    });
    expect(await spent()).toBe(0);
  });

  test("the rate is what this very call is expected to cost, not what a usual one does", async () => {
    const call = {
      model: "claude-opus-4-5",
      max_tokens: 4_000,
      messages: [{ role: "user", content: "Tell me a story." }],
    };
    const response = await gateway.post(account, "/v1/messages", call, { "x-tollgate-cost-mode": "quote" });
    const quoted = (await response.json()) as Record<string, number>;
    const used = { operation_id: "messages.create", arguments: call, max_price_usd: 2 };
    const rate_usd = (quoted["estimated_cost_micros_usd"] ?? 0) / 1e6;
    const max_exposure_usd = (quoted["max_cost_micros_usd"] ?? 0) / 1e6;
    expect(rate_usd).toBeGreaterThan(0);
    expect(rate_usd).toBeLessThan(max_exposure_usd);
    const first = await askElsewhere(used);
    expect(first).toMatchObject({ rate_usd, max_exposure_usd });
    // The same when asked about while it waits, in a batch, and in words.
    const { approval_id } = first;
    const waiting = await useTool(mcp, account.key, "use", { ...used, approval_id });
    expect(waiting.structuredContent["approval"]).toMatchObject({ rate_usd, max_exposure_usd });
    const batch = { calls: [dear(), used] };
    expect(await askElsewhere(batch, "batch_use")).toMatchObject({
      rate_usd: Math.max(rate_usd, 0.048),
      max_exposure_usd: Math.round((max_exposure_usd + 0.048) * 1e6) / 1e6,
    });
    const { message } = await askInForm(used);
    expect(message).toContain(`expected to cost ${rate_usd} USD, at most ${max_exposure_usd} USD`);
  });

  test("the approved call runs once; the same approval a second time buys nothing", async () => {
    const { approval_id, url } = await askElsewhere();
    const waiting = await useTool(mcp, account.key, "use", { ...dear(), approval_id });
    expect(waiting.structuredContent).toMatchObject({
      status: "approval_required",
      approval: { approval_id },
    });
    await decide(url, "approve");
    const used = await useTool(mcp, account.key, "use", { ...dear(), approval_id });
    expect(used.structuredContent).toMatchObject({ status: "completed", settled_micros_usd: snapshotMicros });
    const again = await useTool(mcp, account.key, "use", { ...dear(), approval_id });
    expect(again.structuredContent).toMatchObject({
      status: "refused",
      error: { code: "approval_required", charged: "no" },
    });
    expect(await spent()).toBe(snapshotMicros);
  });

  test("twenty uses of one approval at once buy once", async () => {
    const { approval_id, url } = await askElsewhere();
    await decide(url, "approve");
    const all = await Promise.all(
      Array.from({ length: 20 }, () => useTool(mcp, account.key, "use", { ...dear(), approval_id })),
    );
    expect(all.filter(({ isError }) => isError !== true)).toHaveLength(1);
    expect(await spent()).toBe(snapshotMicros);
  });

  test("an approval allows neither other arguments nor a raised cap", async () => {
    const { approval_id, url } = await askElsewhere();
    await decide(url, "approve");
    for (const other of [
      dear("MSFT"),
      dear("AAPL", 0.2),
      { ...dear(), operation_id: "research.deep_search" },
    ]) {
      const refused = await useTool(mcp, account.key, "use", { ...other, approval_id });
      expect(refused.isError).toBe(true);
    }
    expect(await spent()).toBe(0);
    // It is still good for what it was given for, whatever the order of the members.
    const used = await useTool(mcp, account.key, "use", { approval_id, ...dear() });
    expect(used.structuredContent["status"]).toBe("completed");
  });

  test("an approval of one operation allows no other that takes the same, nor the same as part of a batch", async () => {
    const given = {
      operation_id: "chat.completions.create",
      arguments: {
        model: "gpt-4o",
        messages: [{ role: "user", content: "hello" }],
        input: "hello",
        max_tokens: 10_000,
        max_output_tokens: 10_000,
      },
      max_price_usd: 0.2,
    };
    const { approval_id, url } = await askElsewhere(given);
    await decide(url, "approve");
    const elsewhere = { ...given, operation_id: "responses.create", approval_id };
    expect((await useTool(mcp, account.key, "use", elsewhere)).isError).toBe(true);
    const batch = await useTool(mcp, account.key, "batch_use", { calls: [given], approval_id });
    expect(JSON.stringify(batch.structuredContent)).not.toContain('"completed":1');
    expect(await spent()).toBe(0);
    const used = await useTool(mcp, account.key, "use", { ...given, approval_id });
    expect(used.structuredContent["status"]).toBe("completed");
  });

  test("a no is a no", async () => {
    const { approval_id, url } = await askElsewhere();
    await decide(url, "deny");
    const refused = await useTool(mcp, account.key, "use", { ...dear(), approval_id });
    expect(errorOf(refused)).toMatchObject({ code: "approval_declined", charged: "no" });
    expect(await spent()).toBe(0);
  });

  test("another account's approval does not exist, approved or not", async () => {
    const { approval_id, url } = await askElsewhere();
    await decide(url, "approve");
    const other = await gateway.openAccount({ creditUsd });
    const foreign = await useTool(mcp, other.key, "use", { ...dear(), approval_id });
    const random = await useTool(mcp, other.key, "use", {
      ...dear(),
      approval_id: `apr_${crypto.randomUUID()}`,
    });
    expect(errorOf(foreign)).toEqual(errorOf(random));
    expect((await gateway.balance(other)).balance).toBe(5_000_000);
  });

  test("one client's questions keep nobody else from asking, and the same call is one question", async () => {
    const { access_token } = await signInWith(gateway.url, account.key, { per_call_usd: "0.01" });
    const flood = async (ticker: string): Promise<Handle> => {
      const asked = await useTool(mcp, access_token, "use", dear(ticker));
      return asked.structuredContent["approval"] as Handle;
    };
    const first = await flood("A0");
    expect((await flood("A0")).approval_id).toBe(first.approval_id);
    for (let n = 1; n < 105; n++) await flood(`A${n}`);
    expect((await askElsewhere()).approval_id).toStartWith("apr_");
    // Its own oldest gave way; nobody told another key even that a question waits.
    const gone = await useTool(mcp, access_token, "use", { ...dear("A0"), approval_id: first.approval_id });
    expect(errorOf(gone)["message"]).toContain("There is no such approval");
    const { approval_id } = await flood("A104");
    const foreign = await useTool(mcp, account.key, "use", { ...dear("A104"), approval_id });
    expect(foreign.structuredContent).toMatchObject({ status: "refused" });
    expect(errorOf(foreign)["message"]).toContain("There is no such approval");
  });

  test("another key of the same account cannot use it either", async () => {
    const { approval_id, url } = await askElsewhere();
    await decide(url, "approve");
    const { access_token } = await signInWith(gateway.url, account.key, { per_call_usd: "0.01" });
    const refused = await useTool(mcp, access_token, "use", { ...dear(), approval_id });
    expect(refused.isError).toBe(true);
    expect(await spent()).toBe(0);
  });
});

describe("where the client can show a form", () => {
  test("the person sees operation, rate, arguments and the most it can cost; yes buys once", async () => {
    const { state, message } = await askInForm();
    for (const part of ["financial.metrics.snapshot", "0.048 USD", "AAPL"]) expect(message).toContain(part);
    expect(await spent()).toBe(0);
    const used = await answerForm(dear(), state);
    expect(used.structuredContent).toMatchObject({ status: "completed", settled_micros_usd: snapshotMicros });
    expect(await spent()).toBe(snapshotMicros);
  });

  test("nothing of the arguments can be pushed out of sight, and what is shortened says so", async () => {
    const say = (content: string) => ({ role: "user", content });
    const given = {
      operation_id: "messages.create",
      arguments: {
        model: "claude-opus-4-5",
        max_tokens: 4_000,
        system: "x".repeat(5_000),
        messages: [...Array.from({ length: 200 }, () => say("so")), say("LAST")],
        stop_sequences: ["delete \u202Eeverything"],
        metadata: { user_id: "SEEN" },
      },
      max_price_usd: 2,
    };
    const { message } = await askInForm(given);
    for (const part of ['"max_tokens":4000', '"system":"xxx', '"messages":[{"role"', "more", "(shortened)"])
      expect(message).toContain(part);
    for (const part of ["delete \\u202eeverything", '"user_id":"SEEN"']) expect(message).toContain(part);
    expect(message).not.toContain("LAST");
    expect(message.length).toBeLessThan(2_000);
    const { url } = await askElsewhere(given);
    expect(message).toContain(
      `The arguments are shortened here; all of them: ${gateway.url}/oauth/approvals/`,
    );
    const person = createPerson(gateway.url, account.key);
    const page = await person.submit(await person.open(url), { action: "sign_in", key: account.key });
    expect(page.html).toMatch(/<details>[^]*LAST[^]*<\/details>/);
    expect(page.html).not.toContain("longer than what you see");
    const much = { ...given, arguments: { ...given.arguments, system: "x".repeat(50_000) } };
    expect((await person.open((await askElsewhere(much)).url)).html).toContain("longer than what you see");
  });

  test("a state that is played back buys nothing more, also twenty times at once", async () => {
    const { state } = await askInForm();
    const all = await Promise.all(Array.from({ length: 20 }, () => answerForm(dear(), state)));
    expect(all.filter(({ isError }) => isError !== true)).toHaveLength(1);
    expect((await answerForm(dear(), state)).isError).toBe(true);
    expect(await spent()).toBe(snapshotMicros);
  });

  test("a state is refused when it was changed, when it is somebody else's, and when it is none", async () => {
    const { state } = await askInForm();
    const other = await gateway.openAccount({ creditUsd });
    const [version, body = "", seal] = state.split(".");
    const payload = JSON.parse(Buffer.from(body, "base64url").toString()) as { p: object; exp: number };
    const forge = (change: object): string =>
      [version, Buffer.from(JSON.stringify({ ...payload, ...change })).toString("base64url"), seal].join(".");
    await expectNothingHappened(gateway, async () => {
      for (const [key, bent] of [
        [account.key, `${state.slice(0, -2)}AA`],
        [account.key, forge({ p: { ...payload.p, mode: "form", approval: "apr_other" } })],
        [account.key, forge({ exp: payload.exp + 1_000_000 })],
        [account.key, "nothing"],
        [other.key, state],
      ] as const) {
        const { message } = await askModern(
          mcp,
          key,
          "tools/call",
          { name: "use", arguments: dear(), requestState: bent, inputResponses: yes },
          canAsk,
        );
        expect(message.error?.code).toBe(-32602);
      }
    });
  });

  test("a state allows neither other arguments nor a raised cap, nor another tool", async () => {
    const { state } = await askInForm();
    for (const other of [dear("MSFT"), dear("AAPL", 0.2)]) {
      expect((await answerForm(other, state)).isError).toBe(true);
    }
    expect((await answerForm({ calls: [dear()] }, state, yes, "batch_use")).isError).toBe(true);
    expect(await spent()).toBe(0);
    // Nor is an answer that comes with other arguments one to the question.
    const no = { approval: { action: "decline" } };
    const other = await askInForm();
    expect((await answerForm(dear("MSFT"), other.state, no)).isError).toBe(true);
    expect((await answerForm(dear(), other.state)).structuredContent["status"]).toBe("completed");
  });

  test("a lower maximum binds: a call that may cost more is refused", async () => {
    const { state } = await askInForm();
    const lowered = { approval: { action: "accept", content: { approve: true, max_usd: 0.01 } } };
    const refused = await answerForm(dear(), state, lowered);
    expect(refused.structuredContent).toMatchObject({ status: "refused", error: { charged: "no" } });
    expect(await spent()).toBe(0);
  });

  test("a maximum that cannot be read decides nothing: nothing runs, and the person can still answer", async () => {
    for (const max_usd of ["0.01", "abc", "", -1, true]) {
      const { state } = await askInForm();
      const unread = { approval: { action: "accept", content: { approve: true, max_usd } } };
      const waiting = await answerForm(dear(), state, unread);
      expect(waiting.structuredContent["status"]).toBe("approval_required");
      expect(await spent()).toBe(0);
    }
    const { state } = await askInForm();
    expect((await answerForm(dear(), state)).structuredContent["status"]).toBe("completed");
    const other = await askInForm();
    const no = { approval: { action: "accept", content: { approve: false, max_usd: "abc" } } };
    expect(errorOf(await answerForm(dear(), other.state, no))["code"]).toBe("approval_declined");
  });

  test("a maximum left empty, or above what was asked for, keeps what was asked for", async () => {
    for (const max_usd of [null, 0.048, 1e15, 1e300]) {
      const { state } = await askInForm();
      const agreed = { approval: { action: "accept", content: { approve: true, max_usd } } };
      expect((await answerForm(dear(), state, agreed)).structuredContent["status"]).toBe("completed");
    }
    expect(await spent()).toBe(4 * snapshotMicros);
  });

  test("no, or an unchecked box, is a no; a closed form decides nothing", async () => {
    for (const answer of [{ action: "decline" }, { action: "accept", content: { approve: false } }]) {
      const { state } = await askInForm();
      expect(errorOf(await answerForm(dear(), state, { approval: answer }))).toMatchObject({
        code: "approval_declined",
      });
      // Saying yes afterwards does not undo it.
      expect((await answerForm(dear(), state)).isError).toBe(true);
    }
    const { state } = await askInForm();
    const closed = await answerForm(dear(), state, { approval: { action: "cancel" } });
    expect(closed.structuredContent["status"]).toBe("approval_required");
    expect(await spent()).toBe(0);
    expect((await answerForm(dear(), state)).structuredContent["status"]).toBe("completed");
  });

  test("a no in the form refuses its call, even if the same question got a yes on its page", async () => {
    const lowered = { action: "accept", content: { approve: true, max_usd: 0.01 } };
    for (const answer of [{ action: "decline" }, lowered]) {
      const { url } = await askElsewhere();
      const { state } = await askInForm();
      await decide(url, "approve");
      const refused = await answerForm(dear(), state, { approval: answer });
      expect(refused.structuredContent["status"]).toBe("refused");
      expect(errorOf(refused)).toMatchObject({ code: "approval_declined", charged: "no" });
    }
    expect(await spent()).toBe(0);
  });

  test("a client that can only open pages is sent to one, and its word is not taken for the person's", async () => {
    const pages = { capabilities: { elicitation: { url: {} } } };
    const asked = await useTool(mcp, account.key, "use", dear(), pages);
    const { params } = asked.inputRequests?.["approval"] ?? {};
    const { url } = params as { url: string };
    const round = { requestState: asked.requestState, inputResponses: yes };
    const early = await useTool(mcp, account.key, "use", dear(), { ...pages, round });
    expect(early.structuredContent["status"]).toBe("approval_required");
    await decide(url, "approve");
    const used = await useTool(mcp, account.key, "use", dear(), { ...pages, round });
    expect(used.structuredContent["status"]).toBe("completed");
    expect(await spent()).toBe(snapshotMicros);
  });

  test("a client of an older revision is asked through its session", async () => {
    const text = await askOldClient(({ old, id }) =>
      old.open({ jsonrpc: "2.0", id, result: { action: "accept", content: { approve: true } } }),
    );
    expect(text).toContain('"status":"completed"');
    expect(await spent()).toBe(snapshotMicros);
  });

  test("a yes, or a cancellation, is heard also when the key is at its limit meanwhile", async () => {
    account = await gateway.openAccount({ creditUsd, tier: "free" });
    const reachLimit = async (): Promise<void> => {
      let status = 200;
      while (status === 200) status = (await gateway.call(account, "/v1/credits/balance")).status;
      expect(status).toBe(429);
    };
    const text = await askOldClient(async ({ old, id }) => {
      await reachLimit();
      const cancelled = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 77 } };
      expect((await old.open(cancelled)).status).toBe(202);
      expect((await old.open({ jsonrpc: "2.0", id: 6, method: "tools/list" })).status).toBe(429);
      const yesToIt = { jsonrpc: "2.0", id, result: { action: "accept", content: { approve: true } } };
      expect((await old.open(yesToIt)).status).toBe(202);
    });
    expect(text).toContain('"status":"completed"');
    expect(await spent()).toBe(snapshotMicros);
  });

  test("a request that is cancelled while its person is asked buys nothing, even if the yes comes later", async () => {
    await askOldClient(async ({ old, id }) => {
      await old.open({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 5 } });
      await old.open({ jsonrpc: "2.0", id, result: { action: "accept", content: { approve: true } } });
      await Bun.sleep(100);
      return "leave";
    });
    expect(await spent()).toBe(0);
    expect(await gateway.balance(account)).toMatchObject({ held: 0 });
  });
});

interface Asked {
  readonly old: OldClient;
  /** The id under which the server asked. */
  readonly id: number;
}

/** Lets a client with a session begin a dear call, and reacts once to the question; answers with all that came. */
async function askOldClient(react: (asked: Asked) => Promise<unknown>): Promise<string> {
  const old = await openOldClient(mcp, account.key, { elicitation: {} });
  const params = { name: "use", arguments: dear() };
  const response = await old.open({ jsonrpc: "2.0", id: 5, method: "tools/call", params });
  let text = "";
  let asked = false;
  for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
    text += new TextDecoder().decode(chunk);
    const question = text.split("\n").find((line) => line.includes('"elicitation/create"'));
    if (question === undefined || asked) continue;
    asked = true;
    const { id } = JSON.parse(question.slice("data: ".length)) as { id: number };
    if ((await react({ old, id })) === "leave") break;
  }
  expect(asked).toBe(true);
  return text;
}

describe("what covers a call", () => {
  test("a key: up to the operator's limit per call", async () => {
    expect((await useTool(mcp, account.key, "use", cheap)).structuredContent["status"]).toBe("completed");
    // The price decides, not the cap: a generous cap on a cheap call needs nobody.
    const generous = await useTool(mcp, account.key, "use", { ...cheap, max_price_usd: 100 });
    expect(generous.structuredContent["status"]).toBe("completed");
  });

  test("a token: what its person allowed per call, more or less than a key", async () => {
    const more = await signInWith(gateway.url, account.key, { per_call_usd: "0.05" });
    expect((await useTool(mcp, more.access_token, "use", dear())).structuredContent["status"]).toBe(
      "completed",
    );
    const less = await signInWith(gateway.url, account.key, { per_call_usd: "0.001" });
    const asked = await useTool(mcp, less.access_token, "use", cheap);
    expect(asked.structuredContent["status"]).toBe("approval_required");
  });

  test("HTTP with a key needs no approval: nobody there could be asked", async () => {
    const response = await gateway.call(account, "/apis/v1/financial/financial-metrics/snapshot?ticker=AAPL");
    expect(response.status).toBe(200);
  });
});

describe("a batch", () => {
  const batch = { calls: [cheap, dear(), cheap, dear()] };

  test("asks once for all its dear calls, before any of them or of the cheap ones runs", async () => {
    const asked = await useTool(mcp, account.key, "batch_use", batch);
    expect(asked.structuredContent).toMatchObject({
      approval: {
        operation_ids: ["financial.metrics.snapshot", "financial.metrics.snapshot"],
        max_exposure_usd: 0.096,
      },
      totals: { completed: 0, not_started: 4, settled_usd: 0 },
    });
    expect(await spent()).toBe(0);
    const { approval_id, url } = asked.structuredContent["approval"] as Handle;
    await decide(url, "approve");
    const done = await useTool(mcp, account.key, "batch_use", { ...batch, approval_id });
    expect(done.structuredContent["totals"]).toMatchObject({ completed: 4 });
    expect(await spent()).toBe(2 * snapshotMicros + 2 * tagMicros);
  });

  test("is bound as a whole by the person's maximum: below what all of it may cost, none of it runs", async () => {
    const three = { calls: [dear("AAPL"), dear("MSFT"), dear("TSLA")] };
    const atMost = (max_usd: number) => ({
      approval: { action: "accept", content: { approve: true, max_usd } },
    });
    const first = await askInForm(three, "batch_use");
    const refused = await answerForm(three, first.state, atMost(0.05), "batch_use");
    expect(refused.structuredContent).toMatchObject({
      totals: { completed: 0, settled_usd: 0 },
      error: { code: "approval_declined", charged: "no" },
    });
    expect(await spent()).toBe(0);
    const second = await askInForm(three, "batch_use");
    await answerForm(three, second.state, atMost(0.144), "batch_use");
    expect(await spent()).toBe(3 * snapshotMicros);
  });

  test("that could not be paid is refused before anybody is asked, whatever stands in its way", async () => {
    const both = { calls: [dear("AAPL"), dear("MSFT"), cheap] };
    const budget = { limitMicros: 97_000n, window: "day" } as const;
    const poor = await gateway.openAccount({ creditUsd: "0.097" });
    const bounded = await gateway.openAccount({ creditUsd, budget });
    const limits = { per_call_usd: "0.01", per_day_usd: "0.097" };
    const { access_token: guest } = await signInWith(gateway.url, account.key, limits);
    for (const [key, code] of [
      [poor.key, "insufficient_balance"],
      [bounded.key, "budget_exceeded"],
      [guest, "budget_exceeded"],
    ] as const) {
      const refused = await useTool(mcp, key, "batch_use", both, canAsk);
      expect(refused.structuredContent).toMatchObject({
        totals: { completed: 0, not_started: 3, settled_usd: 0 },
        error: { code, charged: "no", retryable: false },
      });
      // Together they may cost 97,450; without the cheap one each of these can pay.
      expect(errorOf(refused)["message"]).toContain("The calls together may cost 97450 micro-USD");
      const asked = await useTool(mcp, key, "batch_use", { calls: both.calls.slice(0, 2) }, canAsk);
      expect(asked.resultType).toBe("input_required");
    }
    expect(await spent()).toBe(0);
  });

  test("played back with its approval or its state it buys nothing more, not even the cheap calls", async () => {
    const { approval_id, url } = await askElsewhere(batch, "batch_use");
    await decide(url, "approve");
    await useTool(mcp, account.key, "batch_use", { ...batch, approval_id });
    const once = await spent();
    const again = await useTool(mcp, account.key, "batch_use", { ...batch, approval_id });
    expect(again.structuredContent["totals"]).toMatchObject({ completed: 0, refused: 4 });
    expect(await spent()).toBe(once);

    const { state } = await askInForm(batch, "batch_use");
    await Promise.all(Array.from({ length: 5 }, () => answerForm(batch, state, yes, "batch_use")));
    expect(await spent()).toBe(2 * once);
  });

  test("an approval of one batch allows no other", async () => {
    const { approval_id, url } = await askElsewhere(batch, "batch_use");
    await decide(url, "approve");
    const other = { calls: [dear("MSFT"), dear("MSFT")], approval_id };
    const refused = await useTool(mcp, account.key, "batch_use", other);
    expect(refused.structuredContent["totals"]).toMatchObject({ completed: 0 });
    expect(await spent()).toBe(0);
  });
});

test("a yes that nobody gave in time, or that came to be used too late, is none", async () => {
  const clock = createVirtualClock();
  const timed = await openTestGateway({ config, clock });
  const { key, accountId } = await timed.openAccount({ creditUsd });
  const url = `${timed.url}/mcp`;
  const ask = async (ticker: string): Promise<string> => {
    const { structuredContent } = await useTool(url, key, "use", dear(ticker));
    return (structuredContent["approval"] as Handle).approval_id;
  };
  const [unanswered, approved] = [await ask("AAPL"), await ask("MSFT")];
  await timed.store.approvals.decide({
    id: approved,
    accountId,
    decision: "approved",
    nowMs: clock.wallMs(),
  });
  clock.advance(15 * 60_000 + 1);
  for (const [approval_id, ticker] of [
    [unanswered, "AAPL"],
    [approved, "MSFT"],
  ] as const) {
    const late = await useTool(url, key, "use", { ...dear(ticker), approval_id });
    expect(errorOf(late)).toMatchObject({ code: "approval_required", charged: "no" });
  }
  expect(await timed.store.accounts.find(accountId)).toMatchObject({
    postedMicros: 5_000_000n,
    heldMicros: 0n,
  });
  await timed.close();
});

test("no approval, state or key is ever logged", () => {
  const logged = gateway.logged.join("\n");
  expect(logged).not.toMatch(/apr_[0-9a-f-]{36}/);
  expect(logged).not.toMatch(/v1\.[\w-]{40,}\.[\w-]{40,}/);
  expect(logged).not.toMatch(/tg[a-z]_[0-9A-Za-z]{20}/);
});
