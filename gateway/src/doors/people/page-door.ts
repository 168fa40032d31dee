import type { SplitTarget } from "../../platform/http-request.ts";

/** A door that browsers come to: it knows its own paths, and answers every request for them with a page. */
export interface PageDoor {
  readonly owns: (path: string) => boolean;
  readonly answer: (request: Request, target: SplitTarget, address: string | undefined) => Promise<Response>;
}
