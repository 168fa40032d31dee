import { PROTOCOL_VERSION_META_KEY, type AuthInfo } from "@modelcontextprotocol/server";
import type { Known } from "../../call/call.ts";
import type { Gate } from "../../call/gate.ts";
import { returnCounted } from "../../call/limits/return-counted.ts";
import { checkCredential } from "../../call/steps/authenticate.ts";
import { countRequest } from "../../call/steps/count-request.ts";
import type { Offer } from "../../offer/offer.ts";
import type { DoorVisit } from "../../platform/door.ts";
import { isJsonObject, objectOrEmpty, parseJson, type JsonObject } from "../../platform/json.ts";
import { CallRefused } from "../../platform/refusals.ts";
import { presentedKey } from "../wire/presented-key.ts";
import type { BodyReader } from "../wire/read-body.ts";
import { asRefusal, caughtRefusal } from "./caught-refusal.ts";
import { protocolError } from "./protocol-error.ts";
import { refusePayingHeaders } from "./refuse-paying-headers.ts";
import { introduce } from "./visit.ts";

/** What is known of a request from its beginning, and what becomes known of it on the way. */
export interface Arrival {
  readonly visit: DoorVisit;
  readonly known: Known;
  readonly receivedAtMs: number;
  /** The door's address, by the name that the client used for it. */
  readonly mcpUrl: string;
}

/** A message, and who sent it. */
interface LetIn {
  readonly body: unknown;
  readonly introduced: AuthInfo;
}

interface Parts {
  readonly gate: Gate;
  readonly offer: () => Offer;
  readonly bodies: BodyReader;
}

/** The protocol library's own usual bound. */
const bodyBytesMax = 4 * 1024 * 1024;
/** Above the limit only so much is read as it takes to tell a tool call from anything else. */
const limitedBytesMax = 64 * 1024;

/**
 * Who asks, how often, and what. Somebody over the limit is let in with a message that must be heard all the same; a
 * message that nobody could handle is answered here.
 */
export async function letAgentIn(
  { visit: { request, target, visitor }, known, receivedAtMs, mcpUrl }: Arrival,
  { gate, offer, bodies }: Parts,
): Promise<LetIn | Response> {
  const { rawQuery } = target;
  const presented = presentedKey(request.headers, {
    path: new URL(mcpUrl).pathname,
    rawQuery,
    offer: offer(),
  });
  const caller = await checkCredential({ presented, receivedAtMs, address: () => visitor.address() }, gate);
  known.caller = caller;
  const limited = await caughtRefusal(() => countRequest({ known, offer: offer() }, caller, gate));
  const unheard = refusePayingHeaders(request, offer());
  if (unheard) {
    if (limited) throw limited;
    return unheard;
  }
  const bytesMax = limited ? limitedBytesMax : bodyBytesMax;
  const sent =
    request.method === "POST"
      ? await readBytes(request, bodies, { bytesMax, accountId: caller.accountId }).catch(asRefusal)
      : undefined;
  const body = sent instanceof Uint8Array ? readMessage(sent) : sent;
  if (limited && !isHeardBeyondLimit(body)) throw limited;
  if (body instanceof CallRefused) {
    if (body.status === 429) await returnCounted({ known }, gate);
    throw body;
  }
  if (body instanceof Response) return body;
  // checkCredential lets nobody pass who presented nothing.
  const value = presented.kind === "key" ? presented.value : "";
  const messageBytes = sent instanceof Uint8Array ? sent.byteLength : 0;
  return { body, introduced: introduce({ caller, known, limited, messageBytes }, value, mcpUrl) };
}

const readBytes = async (
  request: Request,
  bodies: BodyReader,
  { bytesMax, accountId }: { readonly bytesMax: number; readonly accountId: string },
): Promise<Uint8Array> => bodies.read(request, bytesMax, accountId);

function readMessage(sent: Uint8Array): unknown {
  const parsed = parseJson(sent);
  if (!parsed.ok) return protocolError(400, -32700, `Parse error: ${parsed.why}`);
  // Batches were taken out of the protocol; one message is one request.
  if (!isJsonObject(parsed.value)) return protocolError(400, -32600, "Invalid Request: expected one message");
  if (isNamedTooLong(parsed.value)) return namedTooLong();
  return hasTooMuchBeside(parsed.value) ? tooMuchBeside() : parsed.value;
}

/**
 * Clients count their requests, or name them by a UUID. What they chose is kept while a request runs and said back to them, a
 * token for progress every few seconds. Of a method, a tool or a revision that does not fit, the protocol's library says the
 * name back twice.
 */
const nameCharactersMax = 256;

function isNamedTooLong({ id, method, params }: JsonObject): boolean {
  const { name, _meta: meta } = objectOrEmpty(params);
  const { progressToken, [PROTOCOL_VERSION_META_KEY]: revision } = objectOrEmpty(meta);
  return [id, method, name, progressToken, revision].some(
    (said) => typeof said === "string" && said.length > nameCharactersMax,
  );
}

const namedTooLong = (): Response =>
  protocolError(
    400,
    -32600,
    `Invalid Request: id, method, name, progressToken and protocolVersion may have ${nameCharactersMax} characters`,
  );

/**
 * What a tool is given may be as large as an operation takes it. All else that clients say is a few dozen values, and the
 * protocol's library looks at each several times: a hundred thousand would keep everybody waiting for half a second.
 */
const valuesBesideMax = 1_000;

function hasTooMuchBeside(message: JsonObject): boolean {
  const given = objectOrEmpty(message["params"])["arguments"];
  let values = 0;
  const count = (value: unknown): void => {
    values++;
    if (typeof value !== "object" || value === null || value === given) return;
    for (const inner of Object.values(value)) {
      if (values > valuesBesideMax) return;
      count(inner);
    }
  };
  count(message);
  return values > valuesBesideMax;
}

const tooMuchBeside = (): Response =>
  protocolError(
    400,
    -32600,
    `Invalid Request: beside what a tool is given, a message may have ${valuesBesideMax} values`,
  );

/**
 * A model that called a tool can wait and try again, so it is told; anything else is its client's to handle. But nobody
 * sends a person's answer or a cancellation twice, and neither begins anything: they count, and are heard.
 */
function isHeardBeyondLimit(message: unknown): boolean {
  if (!isJsonObject(message)) return false;
  const { method } = message;
  if (method === undefined) return "result" in message || "error" in message;
  return method === "tools/call" || method === "notifications/cancelled";
}
