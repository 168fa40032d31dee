import type { Protocol } from "../protocol.ts";
import { forwardQuery } from "./forward-query.ts";

// Vendors whose data passes through untouched; they differ in where their key goes.

export const tikhub: Protocol = {
  keyHeader: (key) => ["authorization", `Bearer ${key}`],
  exchanges: { forward_query: forwardQuery },
};

export const financialdatasets: Protocol = {
  keyHeader: (key) => ["x-api-key", key],
  exchanges: { forward_query: forwardQuery },
};

export const scrapecreators: Protocol = {
  keyHeader: (key) => ["x-api-key", key],
  exchanges: { forward_query: forwardQuery },
};

export const twitterapi: Protocol = {
  keyHeader: (key) => ["x-api-key", key],
  exchanges: { forward_query: forwardQuery },
};

export const similarweb: Protocol = {
  keyHeader: (key) => ["api-key", key],
  exchanges: { forward_query: forwardQuery },
};
