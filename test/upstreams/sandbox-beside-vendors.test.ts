// The sandbox serves where no vendor is, says so, and never stands in for one.

import { describe, expect, test } from "bun:test";
import { openJinaDouble } from "../doubles/jina.ts";
import { snapshotPath } from "../support/purchases.ts";
import { openTestGateway } from "../support/test-gateway.ts";
import { configFor, keys, ranking, vendors } from "./every-vendor.ts";

describe("the sandbox", () => {
  test("an operation with a real upstream never falls back to it, not even when that upstream is down", async () => {
    // A port no system hands out, so that nobody can have taken it meanwhile.
    const down = await openTestGateway({ config: configFor(() => "http://127.0.0.1:9") });
    const account = await down.openAccount();
    for (const vendor of vendors) {
      const init = { method: vendor.method, ...(vendor.body ? { body: JSON.stringify(vendor.body) } : {}) };
      const response = await down.call(account, vendor.path, init);
      expect(response.status).toBe(vendor.name === "tikhub" ? 503 : 502);
      expect(response.headers.has("x-tollgate-upstream")).toBe(false);
      expect(await down.receipt(account, response)).toMatchObject({
        status: "released",
        outcome: "failed",
        attempts: [{ outcome: "unreachable" }],
      });
    }
    expect(await down.sandbox.book()).toEqual([]);
    expect(await down.balance(account)).toEqual({ balance: 2_000_000, held: 0 });
    await down.close();
  });

  test("what it served says so, and a real upstream beside it does not change that", async () => {
    const jina = await openJinaDouble({ key: keys.jina });
    const mixed = await openTestGateway({
      config: `upstreams: { jina: { protocol: jina, url: "${jina.url}", key: "${keys.jina}" } }`,
    });
    const account = await mixed.openAccount();
    const fromSandbox = await mixed.call(account, snapshotPath);
    expect([fromSandbox.status, fromSandbox.headers.get("x-tollgate-upstream")]).toEqual([200, "sandbox"]);
    const fromJina = await mixed.post(account, "/v1/rerank", ranking);
    expect([fromJina.status, fromJina.headers.get("x-tollgate-upstream")]).toEqual([200, null]);
    // A model that only the sandbox would know is not on offer beside a real upstream.
    const other = await mixed.post(account, "/v1/rerank", { ...ranking, model: "rerank-v3.5" });
    expect(other.status).toBe(404);
    expect((await mixed.sandbox.book()).map(({ vendor }) => vendor)).toEqual(["financialdatasets"]);
    expect(jina.violations).toEqual([]);
    await mixed.close();
    await jina.close();
  });
});
