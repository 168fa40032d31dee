import type { Protocol } from "../protocol.ts";
import { forwardQuery } from "../exchanges/forward-query.ts";

/** A vendor whose data passes through untouched; such vendors differ only in the header that takes their key. */
export const dataVendor: Protocol = { exchanges: { forward_query: forwardQuery } };
