import { expect, test } from "bun:test";
import { parseConfig } from "./load-config.ts";

const parse = (text: string) => parseConfig(text, "tollgate.yaml", { SECRET: "a-secret-of-16-letters" });

test("what is not set about agents has a cautious default", () => {
  expect(parse("").mcp).toEqual({
    autoApproveMicros: 1_000_000n,
    grantPerDayMicros: 10_000_000n,
    grantDays: 30,
    allowedHosts: [],
    registration: "open",
    clients: new Map(),
  });
});

test("everything about agents can be set", () => {
  const { mcp } = parse(`
mcp:
  auto_approve_usd: 0.000001
  grant_per_day_usd: "5"
  grant_days: 7
  allowed_hosts: ["gateway.internal:8787"]
  registration: off
  clients: { desk: { name: Desk, redirect_uris: ["https://desk.example/cb"], secret: "\${SECRET}" } }
`);
  expect(mcp).toEqual({
    autoApproveMicros: 1n,
    grantPerDayMicros: 5_000_000n,
    grantDays: 7,
    allowedHosts: ["gateway.internal:8787"],
    registration: "off",
    clients: new Map([
      ["desk", { name: "Desk", redirectUris: ["https://desk.example/cb"], secret: "a-secret-of-16-letters" }],
    ]),
  });
});

test("clients go back to pages under https, and to programs on the person's own machine", () => {
  const redirectUris = ["https://desk.example/cb?x=1", "http://127.0.0.1:4711/cb", "http://localhost/cb"];
  const { mcp } = parse(
    `mcp: { clients: { desk: { name: D, redirect_uris: ${JSON.stringify(redirectUris)} } } }`,
  );
  expect(mcp.clients.get("desk")).toMatchObject({ redirectUris });
});

test.each<string[]>([
  ["mcp: { auto_approve_usd: lots }", "mcp.auto_approve_usd"],
  ["mcp: { auto_approve_usd: -1 }", "mcp.auto_approve_usd"],
  ["mcp: { grant_days: 0 }", "mcp.grant_days"],
  ["mcp: { grant_days: 1000 }", "mcp.grant_days"],
  ["mcp: { allowed_hosts: ['https://x/'] }", "mcp.allowed_hosts"],
  ["mcp: { clients: { desk: { name: Desk, redirect_uris: [] } } }", "mcp.clients.desk.redirect_uris"],
  [
    "mcp: { clients: { desk: { name: D, redirect_uris: ['https://x/'], secret: short } } }",
    "mcp.clients.desk.secret",
  ],
  ...[
    "cursor://callback",
    "https://x/#here",
    "javascript:alert(1)",
    "http://other.example/cb",
    "https://a:b@x/",
  ].map((uri) => [
    `mcp: { clients: { desk: { name: D, redirect_uris: ['https://x/', '${uri}'] } } }`,
    "mcp.clients.desk.redirect_uris.1: expected a redirect URI that sign-in accepts; it ",
  ]),
  [
    "mcp: { clients: { desk: { name: D, redirect_uris: ['https://x/'], secret: 'sechzehn Buchstaben für' } } }",
    "mcp.clients.desk.secret: expected ASCII characters alone",
  ],
  ["mcp: { surprise: 1 }", "mcp"],
])("%s is refused by its path in the file", (text = "", path = "") => {
  expect(() => parse(text)).toThrow(path);
});
