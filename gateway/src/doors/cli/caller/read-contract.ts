import { createTransport } from "../../../../../client/src/create-transport.ts";
import { TollgateError } from "../../../../../client/src/errors.ts";
import { usualNames } from "../../../../../client/src/operation-facts.ts";
import { sendCall } from "../../../../../client/src/send-call.ts";
import { operationsOf } from "../../../contract/contract-document.ts";
import { sha256 } from "../../../contract/create-contract.ts";
import { isJsonObject, type JsonObject } from "../../../platform/json.ts";
import { CommandFailed } from "../command.ts";

/** The contract of a gateway, as anybody can read it. */
export interface PublicContract {
  readonly contentHash: string;
  readonly docsRevision: string;
  /** Its bytes, which have that hash. */
  readonly whole: () => Promise<Uint8Array>;
  /** The part about one operation; undefined when the gateway has none of this id. */
  readonly pick: (operationId: string) => Promise<JsonObject | undefined>;
  readonly ids: () => Promise<readonly string[]>;
}

/** Fails as a call would: with what went wrong and that no money moved. */
export async function readContract(baseUrl: string): Promise<PublicContract> {
  const transport = createTransport(
    {
      apiKey: "none",
      baseUrl,
      attemptTimeoutMs,
      // Contracts are public: whoever reads them shows no key.
      fetch: (url, init) => fetch(url, { ...init, headers: {} }),
    },
    usualNames,
  );
  const get = async (path: string): Promise<Uint8Array> => {
    const asked = { method: "GET", path, headers: {}, billed: false, idempotencyKey: undefined } as const;
    const signal = new AbortController().signal;
    return (await sendCall({ ...asked, signal }, transport, async (answer) => answer.bytes())).value;
  };

  const { contentHash, docsRevision } = parse(await get("/api/contracts/version"), baseUrl);
  if (typeof contentHash !== "string" || typeof docsRevision !== "string") throw noContract(baseUrl);
  const source = `/api/contracts/source?hash=${encodeURIComponent(contentHash)}`;

  const whole = async (): Promise<Uint8Array> => {
    const bytes = await get(`${source}&bundled=1`);
    if (sha256(bytes) !== contentHash) {
      throw new CommandFailed(`What ${baseUrl} tells as its contract does not have the hash it says.`);
    }
    return bytes;
  };
  return {
    contentHash,
    docsRevision,
    whole,
    pick: async (operationId) => {
      try {
        return parse(await get(`${source}&operation_id=${encodeURIComponent(operationId)}`), baseUrl);
      } catch (error) {
        if (error instanceof TollgateError && error.code === "unknown_operation") return undefined;
        throw error;
      }
    },
    ids: async () => operationsOf(parse(await whole(), baseUrl)).map(({ id }) => id),
  };
}

/** A running gateway answers at once, one that starts within seconds. */
const attemptTimeoutMs = 30_000;

function parse(bytes: Uint8Array, baseUrl: string): JsonObject {
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(bytes));
    if (isJsonObject(value)) return value;
  } catch {
    // Said below, like whatever else is no contract.
  }
  throw noContract(baseUrl);
}

const noContract = (baseUrl: string): CommandFailed =>
  new CommandFailed(`What answers at ${baseUrl} tells no contract; is it a gateway of Tollgate?`);
