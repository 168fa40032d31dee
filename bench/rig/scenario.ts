import type { LoadRequest } from "./wrk.ts";

/** What is asked, and what the upstream answers. */
export interface Scenario {
  readonly request: LoadRequest;
  readonly answer: { readonly contentType: string; readonly body: string };
}
