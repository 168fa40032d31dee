import { compareContracts } from "../../contract/compare-contracts.ts";
import { documentOf, pickOperation } from "../../contract/contract-document.ts";
import { refuseWithoutContract, type ContractShelf } from "../../contract/contract-shelf.ts";
import type { Contract } from "../../contract/create-contract.ts";
import { toldOfLimit } from "../../limits/hit-limit.ts";
import type { Limiter } from "../../limits/limiter.ts";
import { contractReadings } from "../../limits/visitor-limits.ts";
import type { JsonObject } from "../../platform/json.ts";
import { refuse } from "../../platform/refusals.ts";
import { isoTime, type Clock } from "../../platform/clock.ts";
import { createRecent } from "./recent.ts";
import type { SiteRequest, SitePage } from "./site-page.ts";

interface Parts {
  readonly contracts: ContractShelf;
  readonly limiter: Limiter;
  readonly clock: Clock;
}

/** Contracts asked for by hash are few, large to parse, and asked for again. */
const documentsMax = 4;
const diffsMax = 32;
const historyMax = 100;

/** Contracts by their hash: which one is current, its bytes, one operation of it, and what changed since another. */
export function createContractPages(parts: Parts): Readonly<Record<string, SitePage>> {
  const { contracts } = parts;
  const documents = createRecent<JsonObject>(documentsMax);
  const diffs = createRecent<string>(diffsMax);

  const load = async (contentHash: string): Promise<Contract> => {
    const loaded = await contracts.load(contentHash);
    if (loaded === "unknown") {
      refuse(
        "contract_hash_mismatch",
        "This is not the hash of any contract here; /api/contracts/version tells it.",
      );
    }
    return loaded === "unavailable" ? refuseWithoutContract() : loaded;
  };
  const read = (contract: Contract): JsonObject =>
    documents.get(contract.contentHash, () => documentOf(contract));

  return {
    "/api/contracts/version": async (asked) => {
      const current = (await contracts.current()) ?? refuseWithoutContract();
      asked.isAbout(current);
      const { contentHash, docsRevision } = current;
      return Response.json({ contentHash, docsRevision }, { headers: noCache });
    },

    "/api/contracts/source": async (asked) => {
      const contentHash = hashIn(asked, "hash");
      const operationId = operationIn(asked);
      const contract = await load(contentHash);
      asked.isAbout(contract);
      if (operationId === undefined) return cached(asked, contentHash, contract.bytes, forEver);
      if (!documents.has(contentHash)) await countReading(asked, parts);
      const picked = pickOperation(read(contract), operationId);
      if (!picked) refuse("unknown_operation", "This contract has no such operation.");
      return cached(asked, `${contentHash}.${operationId}`, `${JSON.stringify(picked, null, 1)}\n`, forEver);
    },

    "/api/contracts/diff": async (asked) => {
      const [from, to] = [hashIn(asked, "from"), hashIn(asked, "to")];
      const [before, after] = [await load(from), await load(to)];
      asked.isAbout(after);
      const pair = `${from} ${to}`;
      if (!diffs.has(pair)) await countReading(asked, parts);
      const text = diffs.get(pair, () =>
        JSON.stringify({
          object: "contract_diff",
          from,
          to,
          ...compareContracts(read(before), read(after)),
        }),
      );
      return cached(asked, `${from}.${to}`, text, forEver);
    },

    "/api/contracts/history": async () => {
      const versions = (await contracts.history(historyMax)).map((one) => ({
        contentHash: one.contentHash,
        docsRevision: one.revision,
        last_current_at: isoTime(one.publishedAtMs),
      }));
      return Response.json({ object: "list", data: versions }, { headers: noCache });
    },

    // What generators of clients, and programs that import an API, are given once and ask again.
    "/openapi.json": async (asked) => {
      const current = (await contracts.current()) ?? refuseWithoutContract();
      asked.isAbout(current);
      return cached(asked, current.contentHash, current.bytes, noCache);
    },

    "/openapi/account.json": async (asked) => {
      const contract = contracts.account() ?? refuseWithoutContract();
      return cached(asked, contract.contentHash, contract.bytes, noCache);
    },
  };
}

/** Anybody may ask, so nobody may ask for all the work they like. */
async function countReading({ visitor }: SiteRequest, { limiter, clock }: Parts): Promise<void> {
  const take = await limiter.take(contractReadings(visitor.address()));
  if (take.kind === "taken") return;
  const { limit, remaining } = take.standing;
  refuse(
    "rate_limit_exceeded",
    "Too many contracts were read or compared anew in the last minute; wait, then ask again.",
    toldOfLimit({ name: "contract_readings", limit, remaining, retryInMs: take.retryInMs }, clock.wallMs()),
  );
}

const noCache = { "cache-control": "no-cache" } as const;
/** What a hash names never changes. */
const forEver = { "cache-control": "public, max-age=31536000, immutable" } as const;

/** A hash as we write them, and once: anything else was not copied from here. */
function hashIn({ query }: SiteRequest, name: string): string {
  const value = onlyOne(query, name);
  if (value === undefined || !/^[0-9a-f]{64}$/.test(value)) {
    refuse("invalid_parameters", `${name}: expected 64 lower-case hexadecimal digits`, { field: name });
  }
  return value;
}

/** Undefined for the whole bundle. */
function operationIn({ query }: SiteRequest): string | undefined {
  const operationId = onlyOne(query, "operation_id");
  const bundled = onlyOne(query, "bundled");
  if (bundled !== undefined && bundled !== "1") refuse("invalid_parameters", "bundled: expected 1");
  if ((bundled === undefined) === (operationId === undefined)) {
    refuse("invalid_parameters", "expected exactly one of bundled, operation_id");
  }
  return operationId;
}

function onlyOne(query: URLSearchParams, name: string): string | undefined {
  const [value, another] = query.getAll(name);
  if (another !== undefined) refuse("invalid_parameters", `${name}: given more than once`, { field: name });
  return value;
}

function cached(
  { headers: sent }: SiteRequest,
  tag: string,
  body: Uint8Array | string,
  headers: Readonly<Record<string, string>>,
): Response {
  const etag = `"${tag}"`;
  const known = (sent.get("if-none-match") ?? "").split(",").map((one) => one.trim().replace(/^W\//, ""));
  if (known.includes(etag) || known.includes("*")) {
    return new Response(null, { status: 304, headers: { ...headers, etag } });
  }
  return new Response(body, { headers: { ...headers, etag, "content-type": "application/json" } });
}
