import type { ProtocolWord } from "../operation/vendors.ts";
import type { Protocol } from "./protocol.ts";
import { anthropic } from "./protocols/anthropic.ts";
import { dataVendor } from "./protocols/data-vendor.ts";
import { dashscope } from "./protocols/dashscope.ts";
import { gemini } from "./protocols/gemini.ts";
import { exa } from "./protocols/exa.ts";
import { openai } from "./protocols/openai.ts";
import { perplexity } from "./protocols/perplexity.ts";
import { cohere, jina, voyage } from "./protocols/rerank.ts";
import { similarweb } from "./protocols/similarweb.ts";
import { tavily } from "./protocols/tavily.ts";
import { tikhub } from "./protocols/tikhub.ts";
import { x } from "./protocols/x.ts";

/** The vendors the gateway can speak to, by the word that selects them in the configuration. */
export const protocols: Readonly<Record<ProtocolWord, Protocol>> = {
  openai,
  anthropic,
  gemini,
  jina,
  cohere,
  voyage,
  dashscope,
  tikhub,
  scrapecreators: dataVendor,
  twitterapi: dataVendor,
  x,
  financialdatasets: dataVendor,
  similarweb,
  perplexity,
  tavily,
  exa,
};

/** What can be asked for in each of them. */
export const exchanges: Readonly<Record<string, readonly string[]>> = Object.fromEntries(
  Object.entries(protocols).map(([word, protocol]) => [word, Object.keys(protocol.exchanges)]),
);
