import type { ImageContent } from "@modelcontextprotocol/server";
import type { ApprovalClaim } from "../../../approvals/approvals.ts";
import type { Call, Known, PresentedKey } from "../../../call/call.ts";
import { countRequest } from "../../../call/steps/count-request.ts";
import type { Gate } from "../../../call/gate.ts";
import type { Credential } from "../../../keys/keys.ts";
import { idempotencyKeyPattern } from "../../../ledger/idempotency-key.ts";
import type { Offer } from "../../../offer/offer.ts";
import { writeRequest, type WrittenRequest } from "../../../operation/call-arguments.ts";
import { type Micros, usdFromMicros } from "../../../platform/money.ts";
import { refuse } from "../../../platform/refusals.ts";
import type { UseArguments } from "../tools/tool-shapes.ts";
import { sortMembers } from "../../../platform/sort-members.ts";
import type { BodyReader } from "../../wire/read-body.ts";

export interface RunParts {
  readonly gate: Gate;
  readonly newId: () => string;
  readonly bodies: Pick<BodyReader, "keepRoom">;
}

/** One operation as an agent wants it run. */
export interface AgentCall {
  readonly call: Pick<UseArguments, "operation_id" | "arguments" | "max_price_usd">;
  readonly presented: PresentedKey;
  readonly caller: Credential;
  /** What the door counted for the request. The first call takes the count over; every call writes down how limits stand. */
  readonly known: Pick<Known, "counted" | "requests">;
  readonly offer: Offer;
  readonly capMicros: Micros;
  readonly idempotencyKey: string | undefined;
  /** For how long a call that ended has the key, where its agent brought none; a day where it is not said. */
  readonly keyKeptMs?: number | undefined;
  /** What needs no approval, where the credential itself does not say. */
  readonly autoApproveMicros: Micros;
  readonly claim: ApprovalClaim | undefined;
  /** What the message shows beside its JSON; the call adds its own. */
  readonly images: ImageContent[];
}

export interface OpenedCall extends Call {
  /** The call is answered, and its body needs no room any more. */
  readonly leaveBody: () => void;
}

/** A use of a tool as a call like any other. */
export async function openCall(
  wanted: AgentCall,
  costMode: "quote" | undefined,
  parts: RunParts,
): Promise<OpenedCall> {
  const { gate } = parts;
  const { offer, caller } = wanted;
  const opened = {
    known: { counted: wanted.known.counted.splice(0) },
    receivedAtMs: gate.clock.wallMs(),
    offer,
  };
  let request: WrittenRequest;
  try {
    request = requestOf(wanted);
  } catch (error) {
    // A request that cannot even be written was still a request, and counts like the others.
    await countRequest(opened, caller, gate);
    if (costMode === "quote") wanted.known.counted.push(...opened.known.counted);
    throw error;
  }
  const { body } = request;
  let giveBackRoom: (() => void) | undefined;
  return {
    ...opened,
    id: parts.newId(),
    method: request.method,
    path: request.path,
    rawQuery: request.rawQuery,
    presented: wanted.presented,
    // The address is for guessers, and the door has let this caller in.
    address: () => undefined,
    costMode,
    // A tool's answer says that it is a task, so no header has to agree to that.
    asyncMode: "enable",
    confirmsLinks: true,
    maxPriceUsd: usdFromMicros(wanted.capMicros),
    idempotencyKey: wanted.idempotencyKey === undefined ? undefined : headerKey(wanted.idempotencyKey),
    keyKeptMs: wanted.keyKeptMs,
    keysHoldForAll: true,
    // A model writes its arguments anew each time: told to take another key for another order, it would pay twice.
    bodyKnownAs: () => (request.content ? JSON.stringify(sortMembers(request.content)) : ""),
    forwarded: {},
    approval: { coveredMicros: wanted.autoApproveMicros, claim: wanted.claim },
    readBody: async (bytesMax) => {
      if (body.byteLength > bytesMax)
        refuse("payload_too_large", `The arguments are larger than ${bytesMax} bytes.`);
      giveBackRoom = parts.bodies.keepRoom(body.byteLength, caller.accountId);
      return body;
    },
    leaveBody: () => giveBackRoom?.(),
  };
}

/** An agent may write any text as its key; what could not stand in a header is named by its digest. */
const headerKey = (key: string): string =>
  idempotencyKeyPattern.test(key) ? key : new Bun.CryptoHasher("sha256").update(key).digest("base64url");

function requestOf({ offer, call: asked }: AgentCall): WrittenRequest {
  const offered = offer.operations.get(asked.operation_id);
  if (!offered) {
    return refuse("unknown_endpoint", "There is no such operation; find its id with search.");
  }
  if (offered.operation.definition === "pending") {
    return refuse(
      "definition_pending",
      "The definition of this operation is incomplete, so it cannot be used through this tool.",
    );
  }
  return writeRequest(offered.operation, offered.path, asked.arguments);
}
