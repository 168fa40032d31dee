// A person's yes in a form that the client shows: what stands in it, what it allows, and that it is good for one call.

import { describe, expect, setSystemTime, test } from "bun:test";
import {
  askModern,
  errorOf,
  openOldClient,
  useTool,
  type OldClient,
  type ToolResult,
} from "./agent-client.ts";
import { canAsk, cheap, creditUsd, dear, useApprovals, yes, type Handle } from "./approvals.ts";
import { expectNothingHappened } from "../bad-inputs/nothing-happened.ts";
import { createPerson } from "../sign-in/oauth-person.ts";
import { snapshotMicros } from "../support/purchases.ts";

const { gateway, account, mcp, spent, askElsewhere, decide, askInForm, answerForm } = await useApprovals();

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

  test("a client that was to open a page and says that its person declined is heard; that it was closed decides nothing", async () => {
    const pages = { capabilities: { elicitation: { url: {} } } };
    const ask = async () => {
      const { requestState, inputRequests } = await useTool(mcp, account.key, "use", dear(), pages);
      const { params } = inputRequests?.["approval"] ?? {};
      const { url } = params as { url: string };
      const answer = (action: string) => {
        const round = { requestState, inputResponses: { approval: { action } } };
        return useTool(mcp, account.key, "use", dear(), { ...pages, round });
      };
      return { url, answer };
    };
    const first = await ask();
    expect((await first.answer("cancel")).structuredContent["status"]).toBe("approval_required");
    expect(errorOf(await first.answer("decline"))).toMatchObject({
      code: "approval_declined",
      charged: "no",
    });
    expect((await first.answer("accept")).structuredContent["status"]).toBe("refused");

    const second = await ask();
    await decide(second.url, "approve");
    expect(errorOf(await second.answer("decline"))["code"]).toBe("approval_declined");
    expect(await spent()).toBe(0);
  });

  test("a client of an older revision is asked through its session", async () => {
    const text = await askOldClient(({ old, id }) =>
      old.open({ jsonrpc: "2.0", id, result: { action: "accept", content: { approve: true } } }),
    );
    expect(text).toContain('"status":"completed"');
    expect(await spent()).toBe(snapshotMicros);
  });

  test.each([
    { name: "use", arguments: dear() },
    { name: "batch_use", arguments: { calls: [cheap, dear()] } },
  ])(
    "a transport that repeats a $name whose person was asked gets its answer; nobody is asked again",
    async (call) => {
      let session: OldClient | undefined;
      const text = await askOldClient(
        ({ old, id }) => {
          session = old;
          return old.open({ jsonrpc: "2.0", id, result: { action: "accept", content: { approve: true } } });
        },
        {},
        { elicitation: {} },
        call,
      );
      const paid = await spent();
      expect(paid).toBeGreaterThanOrEqual(snapshotMicros);
      const again = await session?.ask("tools/call", { ...call, _meta: {} }, 5);
      expect(again).toMatchObject({ message: { result: resultIn(text) }, before: [] });
      expect(await spent()).toBe(paid);
    },
    10_000,
  );

  test("a client of an older revision that can only open pages is sent to one", async () => {
    const text = await askOldClient(
      async ({ old, id, params }) => {
        expect(params).toMatchObject({ mode: "url" });
        expect(params["elicitationId"]).toBeString();
        await decide(params["url"] as string, "approve");
        await old.open({ jsonrpc: "2.0", id, result: { action: "accept" } });
      },
      {},
      { elicitation: { url: {} } },
    );
    expect(text).toContain('"status":"completed"');
    expect(await spent()).toBe(snapshotMicros);
  });

  test.each([
    ["has nobody to ask after all", { error: { code: -32601, message: "Method not found" } }],
    ["answers what is no answer", { result: { action: "whatever" } }],
  ])(
    "a client of an older revision that %s gets an address, like any that cannot ask",
    async (_how, said) => {
      const text = await askOldClient(({ old, id }) => old.open({ jsonrpc: "2.0", id, ...said }));
      const result = resultIn(text);
      expect(result.isError).toBe(true);
      expect(result.structuredContent).toMatchObject({
        status: "approval_required",
        error: { code: "approval_required", charged: "no" },
      });
      const { approval_id, url } = result.structuredContent["approval"] as Handle;
      expect(await spent()).toBe(0);
      await decide(url, "approve");
      const used = await useTool(mcp, account.key, "use", { ...dear(), approval_id });
      expect(used.structuredContent["status"]).toBe("completed");
      expect(await spent()).toBe(snapshotMicros);
    },
  );

  test("a client that asked for progress hears of it while its person is asked", async () => {
    const text = await askOldClient(
      async ({ old, id }) => {
        await Bun.sleep(6_500);
        await old.open({ jsonrpc: "2.0", id, result: { action: "accept", content: { approve: true } } });
      },
      { progressToken: "mine" },
    );
    expect(text).toContain('"status":"completed"');
    const told = [...text.matchAll(/"progressToken":"mine","progress":(\d+)/g)].map(([, figure]) => figure);
    expect(told).toEqual(["3", "6"]);
  }, 15_000);

  test("a yes, or a cancellation, is heard also when the key is at its limit meanwhile", async () => {
    await account.reopen({ creditUsd, tier: "free" });
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

  test("a yes that comes too late buys nothing, and says so like any other refusal", async () => {
    const text = await askOldClient(async ({ old, id }) => {
      setSystemTime(Date.now() + 16 * 60_000);
      await old.open({ jsonrpc: "2.0", id, result: { action: "accept", content: { approve: true } } });
    }).finally(() => setSystemTime());
    const { structuredContent } = resultIn(text);
    expect(structuredContent).toMatchObject({
      status: "refused",
      error: { code: "approval_required", charged: "no" },
    });
    expect(errorOf(resultIn(text))["message"]).toStartWith("Nobody answered in time; ask again");
    expect(await spent()).toBe(0);
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
  readonly params: Readonly<Record<string, unknown>>;
}

/** Lets a client with a session begin a dear call, and reacts once to the question; answers with all that came. */
async function askOldClient(
  react: (asked: Asked) => Promise<unknown>,
  meta: object = {},
  capabilities: object = { elicitation: {} },
  call: object = { name: "use", arguments: dear() },
): Promise<string> {
  const old = await openOldClient(mcp, account.key, capabilities);
  const params = { ...call, _meta: meta };
  const response = await old.open({ jsonrpc: "2.0", id: 5, method: "tools/call", params });
  let text = "";
  let asked = false;
  for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
    text += new TextDecoder().decode(chunk);
    const question = text.split("\n").find((line) => line.includes('"elicitation/create"'));
    if (question === undefined || asked) continue;
    asked = true;
    const message = JSON.parse(question.slice("data: ".length)) as Omit<Asked, "old">;
    if ((await react({ old, ...message })) === "leave") break;
  }
  expect(asked).toBe(true);
  return text;
}

/** What the request was answered with, after everything that was asked and told on its way. */
function resultIn(text: string): ToolResult {
  const answer = text.split("\n").findLast((line) => line.startsWith("data: ")) ?? "";
  return (JSON.parse(answer.slice("data: ".length)) as { result: ToolResult }).result;
}
