import { defineOperation, free, refuse } from "../gateway/src/operation/define-operation.ts";
import { geminiModelList, model as modelAnswer, modelList } from "./own-answers.ts";

export const modelsList = defineOperation({
  id: "models.list",
  title: "List models",
  summary: "Every model that can be called, with its price.",
  keywords: ["llm", "catalogue", "available"],
  category: "models",
  method: "GET",
  path: "/v1/models",
  response: modelList,
  example: {},
  price: free,
  answer: async (_input, _asker, books) => ({
    object: "list",
    data: books.models().map((model) => ({ object: "model", created: 0, ...model })),
  }),
});

export const modelsGet = defineOperation({
  id: "models.get",
  title: "Get a model",
  summary: "One model that can be called, with its price.",
  keywords: ["llm", "details"],
  category: "models",
  method: "GET",
  path: "/v1/models/{id}",
  params: { id: "The model's name; a slash in it is escaped." },
  response: modelAnswer,
  refuses: ["model_not_found"],
  example: { params: { id: "gpt-4o-mini" } },
  price: free,
  answer: async ({ params }, _asker, books) => {
    const model = books.models().find(({ id }) => id === params["id"]);
    if (!model) {
      return refuse("model_not_found", "There is no such model here; GET /v1/models lists those there are.", {
        field: "model",
      });
    }
    return { object: "model", created: 0, ...model };
  },
});

export const modelsListGemini = defineOperation({
  id: "models.list_gemini",
  title: "List models (Gemini)",
  summary: "Every model that can be called in the Gemini dialect, in its shape.",
  keywords: ["google", "available"],
  category: "models",
  method: "GET",
  path: "/v1beta/models",
  response: geminiModelList,
  example: {},
  price: free,
  answer: async (_input, _asker, books) => ({
    models: books
      .models()
      .filter(({ kind }) => kind === "chat")
      .map((model) => ({
        name: `models/${model.id}`,
        displayName: model.id,
        ...(model.context_tokens === null ? {} : { inputTokenLimit: model.context_tokens }),
        outputTokenLimit: model.max_output_tokens,
        supportedGenerationMethods: ["generateContent", "countTokens"],
      })),
  }),
});
