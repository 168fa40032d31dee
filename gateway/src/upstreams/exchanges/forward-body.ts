import type { Exchange } from "../protocol.ts";

/** The caller's body travels as it came, to the vendor's own path; the answer comes back as it is. */
export const forwardBody: Exchange = {
  request: ({ service, input }) => ({ method: "POST", path: service.path, body: input.rawBody }),
  read: () => ({}),
};
