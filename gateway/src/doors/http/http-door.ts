import { jsonAnswer, type Answer } from "../../call/call.ts";
import type { Gate } from "../../call/gate.ts";
import { noteAnswered, noteRefused, refusalOf } from "../../call/news/note-end.ts";
import { runCall } from "../../call/run-call.ts";
import { seeTokens } from "../../call/limits/see-tokens.ts";
import type { Offer } from "../../offer/offer.ts";
import type { InFlight } from "../../platform/in-flight.ts";
import type { CallRefused, RefusalCode } from "../../platform/refusals.ts";
import type { HttpRequest, SplitTarget } from "../../platform/http-request.ts";
import type { Reply } from "../../platform/reply.ts";
import type { Located } from "../../platform/visitor.ts";
import { answerHeaders } from "./answer-headers.ts";
import { HttpCall } from "./http-call.ts";
import type { BodyReader } from "../wire/read-body.ts";
import { refusalBody } from "./refusal-body.ts";

interface Parts {
  readonly gate: Gate;
  readonly offer: () => Offer;
  readonly bodies: BodyReader;
  readonly newId: () => string;
  readonly inFlight: InFlight;
}

/** Turns HTTP into calls and their ends back into HTTP. Knows headers and shapes; decides nothing about money. */
export interface HttpDoor {
  readonly answer: (request: HttpRequest, target: SplitTarget, visitor: Located) => Promise<Reply>;
  /** Under the id that its request has already, or one of its own. */
  readonly refuse: (refusal: CallRefused, path: string, id?: string) => Reply;
}

export function createHttpDoor({ gate, offer, bodies, newId, inFlight }: Parts): HttpDoor {
  const respond = (
    call: HttpCall,
    { status, contentType, body, ended, retryAfterSeconds: askedByUpstream, retryable }: Answer,
    refusal?: CallRefused,
  ): Reply => {
    const retryAfterSeconds = refusal?.details.retryAfterSeconds ?? askedByUpstream;
    const closes = refusal !== undefined && isClosing(refusal.code, call);
    const headerLines = answerHeaders(call, {
      nowMs: gate.clock.wallMs(),
      contentType,
      streams: ended !== undefined,
      retryAfterSeconds,
      retryable: refusal === undefined ? retryable : mayRepeat(refusal),
      crossesOrigins: call.crossesOrigins,
    });
    return { status, headerLines, body, closes, owner: call.known.caller?.accountId };
  };

  const refused = (call: HttpCall, refusal: CallRefused): Reply => {
    noteRefused(call, refusal, gate);
    const body = refusalBody(refusal, {
      conventions: call.conventions,
      requestId: call.id,
      quoting: call.costMode !== undefined,
      keyPresented: call.presented.kind !== "none",
    });
    return respond(call, jsonAnswer(refusal.status, body), refusal);
  };

  const open = (
    id: string,
    request: HttpRequest | undefined,
    { path, rawQuery }: SplitTarget,
    visitor: Located,
  ): HttpCall =>
    new HttpCall({
      id,
      receivedAtMs: gate.clock.wallMs(),
      request,
      path,
      rawQuery,
      visitor,
      offer: offer(),
      bodies,
    });

  return {
    answer: async (request, target, visitor) => {
      const call = open(newId(), request, target, visitor);
      inFlight.calls++;
      try {
        const answer = await runCall(call, gate);
        noteAnswered(call, answer, gate);
        return respond(call, answer);
      } catch (error) {
        const refusal = refusalOf(error, call, gate);
        const seeing = refusal.code === "internal" ? undefined : seeTokens(call, gate);
        if (seeing) await seeing;
        return refused(call, refusal);
      } finally {
        inFlight.calls--;
        call.leaveBody();
      }
    },
    refuse: (refusal, path, id = newId()) =>
      refused(open(id, undefined, { path, rawQuery: "" }, nowhere), refusal),
  };
}

/** The rest of such a request is not worth reading, and must not be mistaken for the next one. */
const isClosing = (code: RefusalCode, call: HttpCall): boolean =>
  closing.has(code) || (code === "payload_too_large" && !call.letsRestPass);

const closing: ReadonlySet<RefusalCode> = new Set(["request_timeout", "method_not_allowed"]);

/** Claude Code repeats a 401 for minutes unless it is told not to, and its user waits for a word about the key. */
const mayRepeat = ({ status, details }: CallRefused): boolean | undefined =>
  status === 401 ? false : details.retryable;

const nowhere: Located = { address: () => undefined };
