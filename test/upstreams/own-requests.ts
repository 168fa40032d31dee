// Upstreams to whose requests the operator adds something, and what of it arrived.

import { expect } from "bun:test";
import { createKeeper } from "../doubles/exchange.ts";
import type { RecordedRequest } from "../doubles/vendor-double.ts";
import { openTestGateway, type TestAccount, type TestGateway } from "../support/test-gateway.ts";

export const key = "an-operator-key-of-tests";
export const gateToken = "canary-gate-token-9f8e7d6c5b4a";
export const price = "price: { input: 1, output: 2 }, max_output_tokens: 100";

/** To be called once in a file of tests; what one of them opened or keeps is closed after it. */
export function useOwnRequests() {
  const keep = createKeeper();
  return {
    keep,
    /** A gateway whose books are audited, and whose log is searched for secrets, before it is closed. */
    open: (config: string, options: Parameters<typeof openTestGateway>[0] = {}): Promise<TestGateway> =>
      keep(
        openTestGateway({ ...options, config }).then((gateway) => ({
          ...gateway,
          close: async () => {
            expect(await gateway.audit()).toEqual([]);
            const logged = gateway.logged.join("\n");
            for (const secret of [key, gateToken]) expect(logged).not.toContain(secret);
            await gateway.close();
          },
        })),
      ),
  };
}

/** All headers of a request but those that every request to every vendor has. */
export const ownHeaders = ({ headers }: RecordedRequest): Record<string, string> =>
  Object.fromEntries(
    headers.map(([name, value]) => [name.toLowerCase(), value] as const).filter(([name]) => !usual.has(name)),
  );

const usual: ReadonlySet<string> = new Set([
  "host",
  "accept",
  "accept-encoding",
  "user-agent",
  "content-type",
  "content-length",
  "x-request-id",
]);

export const post = async (
  gateway: TestGateway,
  account: TestAccount,
  body: object,
  headers: Readonly<Record<string, string>> = {},
): Promise<[status: number, text: string]> => {
  const response = await gateway.post(account, "/v1/chat/completions", body, headers);
  return [response.status, await response.text()];
};
