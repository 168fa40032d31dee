// What a key may call is changed while the server runs, and while a call of the key is under way.

import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { nested, read } from "../bad-inputs/error-shapes.ts";
import { expectNothingHappened } from "../bad-inputs/nothing-happened.ts";
import { callerAt } from "../support/caller.ts";
import { openGatewayProcess } from "../support/gateway-process.ts";
import { chatBody, chatPath } from "../support/purchases.ts";
import { runTollgate, toldIn } from "../support/run-tollgate.ts";
import { openTestGateway } from "../support/test-gateway.ts";
import { until } from "../support/until.ts";
import { createVirtualClock } from "../support/virtual-clock.ts";

test("a change by the command line holds within 5 s, for both secrets of a rotated key", async () => {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-limited-"));
  const server = await openGatewayProcess({ dataFolder: folder });
  try {
    const environment = { TOLLGATE_DATA: folder };
    const tollgate = async (...words: string[]): Promise<Record<string, unknown>> =>
      toldIn(await runTollgate([...words, "--json"], { folder, environment }));
    const account = await tollgate("account", "create", "--name", "Ada", "--tier", "enterprise");
    const of = ["--account", String(account["account_id"])];
    await tollgate("topup", ...of, "--usd", "1");
    const issued = await tollgate("key", "issue", ...of, "--models", "gpt-4o", "--operations", "chat.*");
    const keyId = String(issued["key_id"]);
    const rotated = await tollgate("key", "rotate", keyId);
    const keys = [issued, rotated].map(({ key }) => ({ key: String(key) }));
    const statuses = (model: string): Promise<number[]> =>
      Promise.all(
        keys.map(
          async (key) =>
            (await callerAt(server.url).post(key, chatPath, chatBody({ model, max_tokens: 16 }))).status,
        ),
      );
    expect([await statuses("gpt-4o"), await statuses("gpt-4o-mini")]).toEqual([
      [200, 200],
      [403, 403],
    ]);
    await tollgate("key", "update", keyId, "--models", "gpt-4o-mini");
    await until(async () => (await statuses("gpt-4o")).every((status) => status === 403), 5_000);
    expect(await statuses("gpt-4o-mini")).toEqual([200, 200]);
    await tollgate("key", "update", keyId, "--all-models");
    await until(async () => (await statuses("gpt-4o")).every((status) => status === 200), 5_000);
    await tollgate("key", "update", keyId, "--operations", "rerank.create");
    await until(async () => (await statuses("gpt-4o")).every((status) => status === 403), 5_000);
  } finally {
    server.signal("SIGKILL");
    await server.exited;
    rmSync(folder, { recursive: true, force: true });
  }
}, 60_000);

test("a key that lost an operation while its body came is refused it", async () => {
  const clock = createVirtualClock();
  const slow = await openTestGateway({ clock });
  try {
    const account = await slow.openAccount();
    const [begin, end] = ['{"query": "a", ', '"documents": ["b"]}'];
    const body = new ReadableStream<Uint8Array>({
      async start(controller) {
        controller.enqueue(new TextEncoder().encode(begin));
        // The call is let in before its body is whole.
        await until(() => slow.gateway.callsInFlight() > 0);
        await Bun.sleep(50);
        await slow.store.keys.update(account.keyId, { allowedOperations: ["chat.*"] });
        clock.advance(3_000);
        controller.enqueue(new TextEncoder().encode(end));
        controller.close();
      },
    });
    await expectNothingHappened(slow, async () => {
      const answered = await slow.call(account, "/v1/rerank", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body,
      });
      nested(403, "not_allowed_for_key", {
        operation_id: "rerank.create",
        allowed_operations: ["chat.*"],
      })(await read(answered));
    });
  } finally {
    await slow.close();
  }
});
