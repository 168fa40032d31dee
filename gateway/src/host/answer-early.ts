import type { HttpRequest } from "../platform/http-request.ts";
import type { Peer } from "../platform/peer.ts";
import type { Answered } from "../platform/reply.ts";

interface Starting {
  /** Who answers once everything stands. */
  readonly opening: Promise<Answering>;
  readonly newId: () => string;
  /** How long anybody waits for it. */
  readonly patienceMs?: number;
}

interface Answering {
  readonly answer: (request: HttpRequest, peer: Peer) => Promise<Answered>;
}

/** A start takes less than a second, and longer where much is to be recovered; probes and clients wait for some seconds. */
const patienceUsualMs = 5_000;

/**
 * Callers who come during the start wait, though not for ever, and are answered like everybody else. A request whose caller
 * did not wait is not carried out: it would be paid for now, and again when the caller comes back.
 */
export async function answerEarly(
  request: HttpRequest,
  peer: Peer,
  { opening, newId, patienceMs = patienceUsualMs }: Starting,
): Promise<Answered> {
  const gateway = await Promise.race([opening, Bun.sleep(patienceMs)]);
  if (gateway && !peer.hasLeft()) return gateway.answer(request, peer);
  const headers = { "x-request-id": newId(), "retry-after": "1" };
  return Response.json({ status: "not ready", failing: "starting" }, { status: 503, headers });
}
