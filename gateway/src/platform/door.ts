import type { HttpRequest, SplitTarget } from "./http-request.ts";
import type { CallRefused } from "./refusals.ts";
import type { OwnedPage } from "./reply.ts";
import type { Located } from "./visitor.ts";

/** Every door but that for HTTP calls: agents, clients that sign in, people at their browsers. */
export interface Door {
  /** What the log calls it when something goes wrong: "a page failed unexpectedly". */
  readonly name: string;
  /** What answers a request; undefined when it is for another door. Calls pass by here on their way, so it is quick. */
  readonly find: (request: HttpRequest, path: string) => AnswerVisit | undefined;
  /**
   * Says no in the form that is read at this door; without it, callers' form is used. A bug of ours is said as the refusal
   * `internal`, and whoever answers need not catch it.
   */
  readonly refuse?: (refusal: CallRefused, visit: DoorVisit) => Response;
}

export type AnswerVisit = (visit: DoorVisit) => Promise<Response | OwnedPage>;

/** A request at the door that it is for. */
export interface DoorVisit {
  readonly request: Request;
  readonly target: SplitTarget;
  readonly visitor: Located;
  /** The name by which its answer can be asked about. */
  readonly id: string;
}
