// A gateway with room for everybody, and the ways to send it what it must refuse.

import { expect } from "bun:test";

import { openTestGateway, type TestAccount, type TestGateway } from "../support/test-gateway.ts";
import { flat, openai, read, type Answered } from "./error-shapes.ts";
import { expectNothingHappened } from "./nothing-happened.ts";
import { rawRequest, sendUntilClosed } from "./raw-request.ts";

export const goodRerank = JSON.stringify({ query: "a", documents: ["b"] });
export const contentLength = `Content-Length: ${goodRerank.length}`;
export const roomyTiers = "tiers: { enterprise: { rpm: 1000000, tpm: 1000000000, concurrency: 10000 } }";
export const json = { "content-type": "application/json" };

export const invalid = flat(400, "invalid_parameters");
export const invalidChat = (param: string | null) =>
  openai(400, "invalid_parameters", { type: "invalid_request_error", param });

interface BadInputGateway {
  readonly gateway: TestGateway;
  readonly account: TestAccount;
  /** A billed POST as bytes, good in all but what the test breaks. */
  readonly rerankBytes: (
    lines: readonly string[],
    request?: { readonly body?: string; readonly line?: string },
  ) => string;
  readonly post: (
    path: string,
    body: unknown,
    headers?: Readonly<Record<string, string>>,
  ) => Promise<Response>;
  /** Sends each and expects the same end for all: this status, one answer at most, connection closed. */
  readonly expectClosedWith: (
    statuses: readonly number[],
    inputs: Readonly<Record<string, string>>,
  ) => Promise<void>;
  /** Each request must be answered exactly as its check says, and leave no trace. */
  readonly expectEach: (
    inputs: readonly (readonly [() => Promise<Response>, (answered: Answered) => void])[],
  ) => Promise<void>;
  readonly close: () => Promise<void>;
}

export async function openBadInputGateway(): Promise<BadInputGateway> {
  const gateway = await openTestGateway({ config: roomyTiers });
  const account = await gateway.openAccount({ tier: "enterprise" });
  return {
    gateway,
    account,
    rerankBytes: (lines, { body = goodRerank, line = "POST /v1/rerank HTTP/1.1" } = {}) =>
      rawRequest({ line, key: account, lines: ["Content-Type: application/json", ...lines], body }),
    post: (path, body, headers) => gateway.post(account, path, body, headers),
    expectClosedWith: (statuses, inputs) =>
      expectNothingHappened(gateway, async () => {
        for (const [name, bytes] of Object.entries(inputs)) {
          const { status, answers, closed } = await sendUntilClosed(gateway.port, bytes, 2_000);
          expect({ name, status: statuses.includes(status ?? 0), answers, closed }).toEqual({
            name,
            status: true,
            answers: 1,
            closed: true,
          });
        }
      }),
    expectEach: (inputs) =>
      expectNothingHappened(gateway, async () => {
        for (const [ask, check] of inputs) check(await read(ask()));
      }),
    close: async () => {
      // Whatever was sent, and however wrongly: the key is in no line of the log.
      expect(gateway.logged.join("")).not.toContain(account.key);
      await gateway.close();
    },
  };
}
