import type { HttpRequest } from "../../platform/http-request.ts";
import type { Peer } from "../../platform/peer.ts";
import type { Answered } from "../../platform/reply.ts";
import type { HttpConnection } from "./http-connection.ts";

/** Whoever owns the connections and answers their requests. */
export interface ConnectionHost {
  readonly answer: (request: HttpRequest, peer: Peer) => Promise<Answered>;
  /** For a request, or for a peer that does not read its answer. A call that waits for its upstream is not idle. */
  readonly idleSeconds: number;
  /** For the next request on a connection that has had one. */
  readonly keptSeconds: number;
  /** For a peer that does not read its stream. */
  readonly stalledSeconds: number;
  /** The `date` header, as a line. */
  readonly dateLine: string;
  readonly isStopping: boolean;
  openRequests: number;
  /** The peer is further behind with its answer than before. */
  readonly onBehind: (connection: HttpConnection) => void;
  readonly onGone: (connection: HttpConnection) => void;
  readonly newId: () => string;
  /** Hears of an unexpected error, and of the request id that its caller was told, where an answer could still tell one. */
  readonly onBug: (error: unknown, requestId?: string) => void;
}
