// List prices, USD per 1,000,000 tokens: of the text that is read and of the image that is drawn.

import { defineModel } from "../gateway/src/operation/define-model.ts";

export const gptImage1 = defineModel({
  id: "gpt-image-1",
  kind: "image",
  protocols: ["openai"],
  price: { input: "5", output: "40" },
});

export const gptImage1Mini = defineModel({
  id: "gpt-image-1-mini",
  kind: "image",
  protocols: ["openai"],
  price: { input: "2", output: "8" },
});
