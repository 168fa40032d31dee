import { afterAll, describe, expect, test } from "bun:test";

import type { TestAccount } from "../support/test-gateway.ts";
import { contentLength, goodRerank, openBadInputGateway } from "./bad-input-gateway.ts";
import { expectNothingHappened } from "./nothing-happened.ts";
import { rawRequest, sendForOne } from "./raw-request.ts";

const { gateway, close } = await openBadInputGateway();
afterAll(close);

describe("paths", () => {
  const variants = [
    "/v1//rerank",
    "/v1/%72erank",
    "/V1/rerank",
    "/v1/RERANK",
    "/v1/rerank/",
    "/v1/rerank.",
    "/v1/rerank;x=1",
    "/v1/rerank%00",
    "/v1/rerank%20",
    "/v1%2frerank",
    "//v1/rerank",
    "/%761/rerank",
    "/v1/%2e/rerank",
    "/v1/./rerank",
    "/v1/x/../rerank",
    "/v1/x/%2e%2e/rerank",
    "/x/../v1/rerank",
    "/v1\\rerank",
  ];
  const asPath = (path: string, key: TestAccount | undefined) =>
    rawRequest({
      line: `POST ${path} HTTP/1.1`,
      key,
      lines: ["Content-Type: application/json", contentLength],
      body: goodRerank,
    });

  test("a variant of a path is that path or none, never a way around the key", async () => {
    await expectNothingHappened(gateway, async () => {
      for (const path of variants) {
        const { status, body } = await sendForOne(gateway.port, asPath(path, undefined));
        expect([401, 404]).toContain(status ?? 0);
        expect(JSON.parse(body)).toHaveProperty(
          "code",
          status === 401 ? "missing_api_key" : "unknown_endpoint",
        );
      }
    });
  });

  test("a variant of a path is no way around the limits of the key", async () => {
    const free = await gateway.openAccount({ tier: "free" });
    const statuses: (number | undefined)[] = [];
    for (let round = 0; round < 8; round++) {
      for (const path of variants.filter((variant) => variant.startsWith("/v1/"))) {
        statuses.push((await sendForOne(gateway.port, asPath(path, free))).status);
      }
    }
    expect(new Set(statuses.slice(0, 60))).toEqual(new Set([200, 404]));
    expect(new Set(statuses.slice(60))).toEqual(new Set([429]));
    expect(statuses.length).toBeGreaterThan(60);
  });
});
