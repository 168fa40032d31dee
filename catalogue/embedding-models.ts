// List prices, USD per 1,000,000 tokens; only input is paid for.

import { defineModel } from "../gateway/src/operation/define-model.ts";

export const textEmbedding3Small = defineModel({
  id: "text-embedding-3-small",
  kind: "embedding",
  protocols: ["openai"],
  price: { input: "0.02" },
});

export const textEmbedding3Large = defineModel({
  id: "text-embedding-3-large",
  kind: "embedding",
  protocols: ["openai"],
  price: { input: "0.13" },
});
