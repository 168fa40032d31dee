import { usualKeyHeader, usualTransport } from "../operation/vendors.ts";
import type { Upstream } from "../operation/upstream.ts";

/** The sandbox is as strict as the vendor it stands for. */
const sandboxPollQps = 20;

export const sandboxUpstream = (protocol: string, sandboxUrl: string): Upstream => ({
  name: `sandbox-${protocol}`,
  protocol,
  ...(protocol === "x"
    ? sandboxPlatform(`${sandboxUrl}/x/2`)
    : { url: `${sandboxUrl}/${protocol}`, link: undefined }),
  key: "sandbox",
  keyHeader: usualKeyHeader(protocol),
  headers: undefined,
  query: undefined,
  secrets: [],
  transport: usualTransport(protocol),
  timeoutMs: undefined,
  quotaRpm: undefined,
  pollQps: sandboxPollQps,
  weight: 1,
  onCallerLeft: "drain",
  hostedTools: "refuse",
  outputLimit: undefined,
  streamUsage: "ask",
  responses: "native",
  models: undefined,
  sandbox: true,
});

/** The stand-in platform: people meet it under our own address, we ask it for tokens where it listens. */
const sandboxPlatform = (url: string): Pick<Upstream, "url" | "link"> => ({
  url,
  link: {
    authorizeUrl: "/sandbox/x/oauth2/authorize",
    tokenUrl: `${url}/oauth2/token`,
    revokeUrl: `${url}/oauth2/revoke`,
    clientId: "tollgate-sandbox",
    clientSecret: "tollgate-sandbox-secret",
    issuer: "/sandbox/x",
    saysIssuer: true,
  },
});
