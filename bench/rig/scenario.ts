import type { LoadRequest } from "./wrk.ts";

/** What is asked, and what the upstream answers. */
export interface Scenario {
  readonly request: LoadRequest;
  readonly answer: { readonly contentType: string; readonly body: string };
  /** What of the answer must reach whoever asked, event by event when it streams; a gate may say more. */
  readonly told: unknown;
}
