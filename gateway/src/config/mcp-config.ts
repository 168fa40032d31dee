import { z } from "zod";
import { whyNotRedirect } from "../grants/redirect-policy.ts";
import type { Micros } from "../platform/money.ts";
import { numeric, usdAtOnce } from "./numbers.ts";

/** What an operator can set about the agent door and the sign-in in front of it. */
export interface McpConfig {
  /** A call of an agent that may cost more needs a person's approval, unless its grant says otherwise. */
  readonly autoApproveMicros: Micros;
  /** What the consent page proposes as the most a client may spend in a day. */
  readonly grantPerDayMicros: Micros;
  /** What the consent page proposes as the life of a grant. */
  readonly grantDays: number;
  /** Hosts besides those of our own addresses under which sign-in answers. */
  readonly allowedHosts: readonly string[];
  /** Whether clients nobody knows may register themselves. */
  readonly registration: "open" | "off";
  /** Clients known beforehand, by client id. */
  readonly clients: ReadonlyMap<string, StaticClient>;
}

export interface StaticClient {
  readonly name: string;
  readonly redirectUris: readonly string[];
  /** A client that can keep a secret has one; others prove themselves by PKCE alone. */
  readonly secret: string | undefined;
}

export const grantDaysMax = 365;

/** The rule of registration: sign-in accepts no other, so a client with another would be known and never come in. */
const redirectUri = z.string().refine((written) => whyNotRedirect(written) === undefined, {
  error: ({ input }) => `expected a redirect URI that sign-in accepts; ${whyNotRedirect(input)}`,
});

const staticClient = z
  .strictObject({
    name: z.string().min(1).max(80),
    redirect_uris: z.array(redirectUri).min(1).max(20),
    secret: z
      .string()
      .min(16, "expected at least 16 characters")
      .regex(/^[ -~]*$/, "expected ASCII characters alone, as OAuth allows no others")
      .optional(),
  })
  .transform((written): StaticClient => ({
    name: written.name,
    redirectUris: written.redirect_uris,
    secret: written.secret,
  }));

export const mcp = z
  .strictObject({
    auto_approve_usd: usdAtOnce.optional(),
    grant_per_day_usd: usdAtOnce.optional(),
    grant_days: numeric(z.number().int().min(1).max(grantDaysMax)).optional(),
    allowed_hosts: z.array(z.string().regex(/^[a-z0-9.:[\]-]+$/, "expected host or host:port")).nullish(),
    registration: z
      .union([z.boolean(), z.enum(["open", "on", "off"])], "expected open or off")
      .transform((written) => (written === false || written === "off" ? "off" : "open"))
      .optional(),
    clients: z.record(z.string().regex(/^[\w.-]{1,100}$/, "expected a client id"), staticClient).nullish(),
  })
  .transform((written): McpConfig => ({
    autoApproveMicros: written.auto_approve_usd ?? mcpUsual.autoApproveMicros,
    grantPerDayMicros: written.grant_per_day_usd ?? mcpUsual.grantPerDayMicros,
    grantDays: written.grant_days ?? mcpUsual.grantDays,
    allowedHosts: written.allowed_hosts ?? [],
    registration: written.registration ?? "open",
    clients: new Map(Object.entries(written.clients ?? {})),
  }));

export const mcpUsual: McpConfig = {
  autoApproveMicros: 1_000_000n,
  grantPerDayMicros: 10_000_000n,
  grantDays: 30,
  allowedHosts: [],
  registration: "open",
  clients: new Map(),
};
