// A bug of ours, or of what we stand on, is told to whoever runs the gateway under the id that its caller was given.

import { afterAll, expect, test } from "bun:test";
import { askModern } from "../agents/agent-client.ts";
import { openTestGateway } from "../support/test-gateway.ts";

const bug = "a bug that somebody planted";
const failing = (): never => {
  throw new Error(bug);
};

const gateway = await openTestGateway({
  wrap: (parts) => ({
    ...parts,
    limiter: { ...parts.limiter, take: failing },
    store: {
      ...parts.store,
      publications: { ...parts.store.publications, list: failing },
      links: { ...parts.store.links, findAttempt: failing },
    },
  }),
});
afterAll(() => gateway.close());
const account = await gateway.openAccount();

const asked: Readonly<Record<string, () => Promise<{ status: number; headers: Headers }>>> = {
  "a call": () => gateway.call(account, "/v1/models"),
  "an agent": () => askModern(`${gateway.url}/mcp`, account.key, "tools/list"),
  "a page of the site": () => fetch(`${gateway.url}/api/contracts/history`),
  "a link page": () => fetch(`${gateway.url}/apis/v1/social_a/link_confirm?state=any`),
  "a page of an account": () => fetch(`${gateway.url}/account`),
  "a page of a sign-in": () => fetch(`${gateway.url}/oauth/grants`),
  "a client that signs in": () => fetch(`${gateway.url}/token`, { method: "POST" }),
};

for (const [who, ask] of Object.entries(asked)) {
  test(`what goes wrong unexpectedly for ${who} is in the log by the id of its answer`, async () => {
    const loggedBefore = gateway.logged.length;
    const { status, headers } = await ask();
    expect(status).toBe(500);
    const lines = gateway.logged.slice(loggedBefore).map((line) => JSON.parse(line) as Line);
    expect(lines.filter(({ level }) => level === "error")).toEqual([
      expect.objectContaining({ request_id: headers.get("x-request-id"), error: `Error: ${bug}` }) as Line,
    ]);
  });
}

interface Line {
  readonly level: string;
}
