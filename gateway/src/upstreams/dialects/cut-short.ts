// What the caller of a stream is told where it ends before its answer does: one thing in the same words, whichever dialect
// puts them into an event of its own.

/** With the code that a call without any output would have been refused with. */
export interface CutShort {
  readonly code: "provider_request_failed" | "provider_unavailable";
  readonly message: string;
}

/** Half an answer must not look like a whole one. */
export const brokenOff: CutShort = {
  code: "provider_request_failed",
  message: "The provider's answer broke off before its end.",
};

export const stopped: CutShort = {
  code: "provider_request_failed",
  message: "The gateway stopped before the end of the answer.",
};

/** Where a vendor speaks of the operator's key or credit in the middle of its answer. */
export const withheld: CutShort = {
  code: "provider_unavailable",
  message: "The provider cannot go on with this answer.",
};
