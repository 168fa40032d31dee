import type { Config, LinkConfig } from "../config/config.ts";
import type { Names } from "../operation/names.ts";
import type { TierLimits, TierName } from "../limits/tiers.ts";
import type { RecordedPrice } from "../ledger/ledger.ts";
import type { Catalogue } from "../operation/catalogue.ts";
import type { Operation } from "../operation/operation.ts";
import type { ModelFacts } from "../operation/price-contract.ts";
import type { Terms } from "../prices/terms.ts";
import type { Upstream } from "../operation/upstream.ts";
import type { Micros } from "../platform/money.ts";
import type { Gap } from "./advice/gap.ts";
import type { Conventions } from "./conventions.ts";
import type { Routes } from "./routes.ts";
import type { TaskUpstream } from "../tasks/task-desk.ts";

/**
 * What is on sale at one moment: the catalogue as the configuration binds it. Made whole at start and at each
 * reload, never changed; a call keeps the offer it began with, so a reload cannot re-price or re-route it.
 */
export interface Offer {
  readonly names: Names;
  readonly headers: HeaderNames;
  readonly routes: Routes;
  /** Also of paths where nothing is on sale. */
  readonly conventionsOf: (path: string) => Conventions;
  /** The headers of clients' own for a key, and how the paths begin where each is read. */
  readonly keyRoots: ReadonlyMap<string, readonly string[]>;
  readonly operations: ReadonlyMap<string, OfferedOperation>;
  readonly tiers: Readonly<Record<TierName, TierLimits>>;
  /** Where the sandbox listens; undefined when it is off. */
  readonly sandboxUrl: string | undefined;
  readonly links: LinkConfig;
  /** Upstreams that may have open tasks: those that serve them now, and those that could have before. */
  readonly taskUpstreams: readonly TaskUpstream[];
  /** Every price a call can be held under. */
  readonly prices: readonly RecordedPrice[];
  /** What was left out and why, for the operator. */
  readonly gaps: readonly Gap[];
  /** What is on offer in a way that the operator may not have meant. */
  readonly notes: readonly string[];
}

/** What an offer is made of, as it was read at the start or at a reload. */
export interface OfferSources {
  readonly catalogue: Catalogue;
  readonly config: Config;
  /** Undefined when there is no sandbox to fall back on. */
  readonly sandboxUrl: string | undefined;
}

export interface OfferedOperation {
  readonly operation: Operation;
  /** The path with the configured names in it. */
  readonly path: string;
  readonly conventions: Conventions;
  /** The price of an operation that has one price; undefined when nobody set one, or when models have it. */
  readonly terms: Terms | undefined;
  /** The most that is charged, at list price, for an operation whose vendor says afterwards what it cost. */
  readonly mostCostMicros: Micros | undefined;
  readonly upstreams: readonly Upstream[];
  /** The upstreams stand in the order of `via`; otherwise their weights choose. */
  readonly ordered: boolean;
  readonly models: ReadonlyMap<string, OfferedModel>;
  /** Models that would be served here if they had a price. */
  readonly unpricedModels: ReadonlySet<string>;
  readonly defaultModel: OfferedModel | undefined;
  /** For an operation that describes models instead of calling them: the models that it can describe. */
  readonly toldModels: readonly string[];
}

export interface OfferedModel {
  readonly id: string;
  /** Its name at upstreams that know it by another one. */
  readonly namesAt: ReadonlyMap<string, string>;
  readonly terms: Terms;
  /** Whether somebody wrote a price for writing to a cache; otherwise that costs what input does. */
  readonly hasCacheWritePrice: boolean;
  readonly facts: ModelFacts;
  readonly upstreams: readonly Upstream[];
  readonly ordered: boolean;
}

/** Header names with the configured provider word in them, lower case as they are looked up. */
export interface HeaderNames {
  readonly costMode: string;
  readonly maxPriceUsd: string;
  readonly costMicrosUsd: string;
  readonly upstream: string;
  /** Must say `enable` where an operation answers with a task. */
  readonly asyncMode: string;
}

/** The names of all upstreams that serve something. */
export const listUpstreams = ({ operations }: Offer): string[] => [
  ...new Set([...operations.values()].flatMap(({ upstreams }) => upstreams.map(({ name }) => name))),
];
