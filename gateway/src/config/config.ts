import { z } from "zod";
import { specifiedTiers, tierNames, type TierLimits, type TierName } from "../limits/tiers.ts";
import { picoFromUsd, ppmFromMultiplier, type Micros, type Pico } from "../platform/money.ts";
import { modelName, modelOrOff, type ModelConfig } from "./model-config.ts";
import { mcp, mcpUsual, type McpConfig } from "./mcp-config.ts";
import { isNetwork } from "../platform/caller-address.ts";
import { defaultNames, placeholders, type Names } from "../operation/names.ts";
import { amount, count, usdAmount, usdAtOnce } from "./numbers.ts";
import { httpBase, httpUrl } from "./http-url.ts";
import { upstream, type UpstreamConfig } from "./upstream-config.ts";

/** Everything an operator can set in tollgate.yaml, parsed. Defaults stand beside the field they belong to. */
export interface Config {
  /** What it was read from, as whoever finds it wanting names it. */
  readonly file: string;
  /** A file that is empty, or has comments and headings only: everything is as it ships. */
  readonly setsNothing: boolean;
  readonly names: Names;
  readonly upstreams: ReadonlyMap<string, UpstreamConfig>;
  readonly models: ReadonlyMap<string, ModelConfig>;
  /** Models that ship and are not for sale here. */
  readonly modelsOff: ReadonlySet<string>;
  readonly operations: ReadonlyMap<string, OperationConfig>;
  readonly tiers: Readonly<Record<TierName, TierLimits>>;
  readonly signupCreditMicros: Micros;
  /** The agent door and its sign-in. */
  readonly mcp: McpConfig;
  readonly sandbox: "on" | "off" | { readonly url: string };
  readonly links: LinkConfig;
  /** Folders with operations of the operator's own, beside the catalogue that ships. */
  readonly catalogueFolders: readonly string[];
  /** Addresses and networks of the proxies in front of us: their X-Forwarded-For is believed, nobody else's. */
  readonly trustedProxies: readonly string[];
  /** Where sales data comes from, instead of the price list that is served. */
  readonly sales: SalesConfig | undefined;
}

export interface SalesConfig {
  readonly url: string;
  /** What the bytes there must hash to; anything else is not believed. */
  readonly sha256: string;
}

/** How people link their platform accounts. */
export interface LinkConfig {
  /** Sends them by a page of ours first, which says who asks, and lets only the browser that saw it finish. */
  readonly confirm: boolean;
  /** Asks for `offline.access` beside what the caller wants, so that links outlive their first hours. */
  readonly offlineAccess: boolean;
}

export interface OperationConfig {
  readonly priceUsdPico: Pico | undefined;
  /** For an operation that passes on what its vendor charges: times what, in parts per million, and the most that is charged. */
  readonly costFactorPpm: bigint | undefined;
  readonly maxCostMicros: Micros | undefined;
  /** Requests per minute of each key, instead of what the operation came with; the key's own limit holds beside it. */
  readonly rpm: number | undefined;
  readonly via: readonly string[] | undefined;
  readonly defaultModel: string | undefined;
}

const pathWord = z.string().regex(/^[A-Za-z0-9_-]{1,40}$/, "expected 1 to 40 letters, digits, _ or -");

const operation = z
  .strictObject({
    price_usd: amount(picoFromUsd, "USD, at most 12 decimals").optional(),
    cost_factor: amount(ppmFromMultiplier, "a factor, at most 6 decimals").optional(),
    max_cost_usd: usdAmount.optional(),
    rpm: count.optional(),
    via: z.array(z.string()).min(1).optional(),
    default_model: z.string().optional(),
  })
  .transform((written): OperationConfig => ({
    priceUsdPico: written.price_usd,
    costFactorPpm: written.cost_factor,
    maxCostMicros: written.max_cost_usd,
    rpm: written.rpm,
    via: written.via,
    defaultModel: written.default_model,
  }));

/** What is not written stays the tier's own. */
const tier = z.strictObject({
  rpm: count.optional(),
  tpm: count.optional(),
  concurrency: count.optional(),
});

const whatSandboxIs = "expected on, off, or the address of a running sandbox, without ? or #";

/** A section whose lines are all comments is empty, which YAML calls null: it says nothing. */
export const configSchema = z
  .strictObject({
    names: z.partialRecord(z.enum(placeholders), pathWord).nullish(),
    upstreams: z.record(pathWord, upstream).nullish(),
    models: z.record(modelName, modelOrOff).nullish(),
    operations: z.record(z.string(), operation).nullish(),
    tiers: z.partialRecord(z.enum(tierNames), tier.nullable()).nullish(),
    signup_credit_usd: usdAtOnce.optional(),
    mcp: mcp.nullish(),
    sandbox: z
      .union([z.boolean(), z.string()], whatSandboxIs)
      .refine((written) => isOnOrOff(written) || httpBase.safeParse(written).success, whatSandboxIs)
      .optional(),
    links: z
      .strictObject({ confirm: z.boolean().optional(), offline_access: z.boolean().optional() })
      .nullish(),
    catalogue_folders: z.array(z.string()).nullish(),
    trusted_proxies: z
      .array(z.string().refine(isNetwork, { error: "expected an address, or a network such as 10.0.0.0/8" }))
      .nullish(),
    sales: z
      .strictObject({
        url: httpUrl,
        sha256: z.string().regex(/^[0-9a-f]{64}$/, "expected 64 lower-case hexadecimal digits"),
      })
      .nullish(),
  })
  .transform((written): Omit<Config, "file"> => ({
    setsNothing: Object.values(written).every((section) => section === null || section === undefined),
    names: { ...defaultNames, ...written.names },
    upstreams: new Map(Object.entries(written.upstreams ?? {})),
    ...modelsOf(written.models ?? {}),
    operations: new Map(Object.entries(written.operations ?? {})),
    tiers: tiersOf(written.tiers ?? {}),
    signupCreditMicros: written.signup_credit_usd ?? 2_000_000n,
    mcp: written.mcp ?? mcpUsual,
    sandbox: sandboxOf(written.sandbox),
    links: {
      confirm: written.links?.confirm ?? false,
      offlineAccess: written.links?.offline_access ?? true,
    },
    catalogueFolders: written.catalogue_folders ?? [],
    trustedProxies: written.trusted_proxies ?? [],
    sales: written.sales ?? undefined,
  }));

function tiersOf(written: Partial<Record<TierName, z.infer<typeof tier> | null>>): Config["tiers"] {
  const of = (name: TierName): TierLimits => {
    const { rpm, tpm, concurrency } = specifiedTiers[name];
    const own = written[name];
    return {
      rpm: own?.rpm ?? rpm,
      tpm: own?.tpm ?? tpm,
      concurrency: own?.concurrency ?? concurrency,
    };
  };
  return { free: of("free"), starter: of("starter"), growth: of("growth"), enterprise: of("enterprise") };
}

function modelsOf(
  written: Readonly<Record<string, ModelConfig | "off">>,
): Pick<Config, "models" | "modelsOff"> {
  const models = new Map<string, ModelConfig>();
  const modelsOff = new Set<string>();
  for (const [id, one] of Object.entries(written)) {
    if (one === "off") modelsOff.add(id);
    else models.set(id, one);
  }
  return { models, modelsOff };
}

const isOnOrOff = (written: boolean | string): boolean =>
  typeof written === "boolean" || written === "on" || written === "off";

function sandboxOf(written: boolean | string | undefined): Config["sandbox"] {
  if (written === undefined || written === true || written === "on") return "on";
  if (written === false || written === "off") return "off";
  return { url: written.replace(/\/+$/, "") };
}
