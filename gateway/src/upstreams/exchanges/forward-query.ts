import type { OwnQuery } from "../../operation/upstream.ts";
import type { Exchange } from "../protocol.ts";

/** The caller's query travels as it came, to the vendor's own path; the answer comes back as it is. */
export const forwardQuery: Exchange = {
  request: ({ service, input, upstream }) => {
    const query = upstream.query ? without(upstream.query, input.rawQuery) : input.rawQuery;
    return { method: "GET", path: query === "" ? service.path : `${service.path}?${query}` };
  },
  read: () => ({}),
};

/** What the operator set for every request, a caller cannot set as well: vendors differ in which of two they heed. */
const without = ({ names }: OwnQuery, rawQuery: string): string =>
  rawQuery
    .split("&")
    .filter(
      (written) => ![...new URLSearchParams(written).keys()].some((name) => names.has(name.toLowerCase())),
    )
    .join("&");
