import { defineOperation, free } from "../gateway/src/operation/define-operation.ts";

export const modelsList = defineOperation({
  id: "models.list",
  title: "List models",
  summary: "Every model that can be called, with its price per 1,000,000 tokens.",
  category: "models",
  method: "GET",
  path: "/v1/models",
  price: free,
  answer: async (_input, _asker, books) => ({
    object: "list",
    data: books.models().map((model) => ({ object: "model", created: 0, ...model })),
  }),
});
