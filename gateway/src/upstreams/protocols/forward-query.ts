import type { Exchange } from "../protocol.ts";

/** The caller's query travels as it came, to the vendor's own path; the answer comes back as it is. */
export const forwardQuery: Exchange = {
  request: ({ service, input }) => ({
    method: "GET",
    path: input.rawQuery === "" ? service.path : `${service.path}?${input.rawQuery}`,
  }),
  read: () => ({}),
};
