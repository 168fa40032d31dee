import type { Protocol } from "./protocol.ts";
import { financialdatasets, tikhub } from "./protocols/data-vendors.ts";
import { openai } from "./protocols/openai.ts";
import { cohere, jina, voyage } from "./protocols/rerank.ts";

/** The vendors the gateway can speak to, by the word that selects them in the configuration. */
export const protocols: Readonly<Record<string, Protocol>> = {
  openai,
  jina,
  cohere,
  voyage,
  tikhub,
  financialdatasets,
};
