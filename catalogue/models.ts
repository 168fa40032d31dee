import { defineOperation, free, refuse, type ModelListing } from "../gateway/src/for-catalogues.ts";
import { geminiModel, geminiModelList, model as modelAnswer, modelList } from "./answers/own-answers.ts";

export const modelsList = defineOperation({
  id: "models.list",
  title: "List models",
  summary:
    "Every model that this key may call, with its price, as OpenAI's and Anthropic's clients read them.",
  keywords: ["llm", "catalogue", "available", "all models"],
  category: "models",
  method: "GET",
  path: "/v1/models",
  dialects: ["openai", "anthropic"],
  response: modelList,
  example: {},
  price: free,
  answer: async (_input, asker, selfService) => {
    const data = selfService.models(asker).map(inOpenAiAndAnthropic);
    const [first, last] = [data.at(0), data.at(-1)];
    return { object: "list", data, has_more: false, first_id: first?.id ?? null, last_id: last?.id ?? null };
  },
});

export const modelsGet = defineOperation({
  id: "models.get",
  title: "Get a model",
  summary: "One model that this key may call, with its price.",
  keywords: ["llm", "details"],
  category: "models",
  method: "GET",
  path: "/v1/models/{id}",
  dialects: ["openai", "anthropic"],
  params: { id: "The model's name; a slash in it may be escaped or not." },
  slashesAtEnd: true,
  tellsOfModel: { param: "id" },
  response: modelAnswer,
  refuses: ["model_not_found"],
  example: { params: { id: "gpt-4o-mini" } },
  price: free,
  answer: async ({ params }, asker, selfService) => {
    const model = selfService.models(asker).find(({ id }) => id === params["id"]);
    return model ? inOpenAiAndAnthropic(model) : noSuchModel();
  },
});

export const modelsListGemini = defineOperation({
  id: "models.list_gemini",
  title: "List models (Gemini)",
  summary: "Every model that this key may call in the Gemini dialect, in its shape.",
  keywords: ["google", "available"],
  category: "models",
  method: "GET",
  path: "/v1beta/models",
  dialects: ["gemini"],
  response: geminiModelList,
  example: {},
  price: free,
  answer: async (_input, asker, selfService) => ({
    models: selfService.models(asker).filter(converses).map(inGemini),
  }),
});

export const modelsGetGemini = defineOperation({
  id: "models.get_gemini",
  title: "Get a model (Gemini)",
  summary: "One model that this key may call in the Gemini dialect, in its shape.",
  keywords: ["google", "details"],
  category: "models",
  method: "GET",
  path: "/v1beta/models/{id}",
  dialects: ["gemini"],
  params: { id: "The model's name; a slash in it may be escaped or not." },
  slashesAtEnd: true,
  tellsOfModel: { param: "id", kind: "chat" },
  response: geminiModel,
  refuses: ["model_not_found", "unknown_endpoint"],
  example: { params: { id: "gemini-2.5-flash" } },
  price: free,
  answer: async ({ params }, asker, selfService) => {
    const { id: wanted = "" } = params;
    const model = selfService.models(asker).find(({ id }) => id === wanted);
    if (model && converses(model)) return inGemini(model);
    // What follows a colon is a verb in this dialect, unless it belongs to a model's name.
    return wanted.includes(":") ? refuse("unknown_endpoint", "api endpoint not found") : noSuchModel();
  },
});

/** The two dialects have this path in common, and each passes over the other's members. */
const inOpenAiAndAnthropic = (model: ModelListing) => ({
  object: "model",
  type: "model",
  created: 0,
  created_at: new Date(0).toISOString(),
  display_name: model.id,
  ...model,
});

const converses = ({ kind }: ModelListing): boolean => kind === "chat";

const inGemini = ({ id, context_tokens: contextTokens, max_output_tokens: outputTokens }: ModelListing) => ({
  name: `models/${id}`,
  displayName: id,
  ...(contextTokens === null ? {} : { inputTokenLimit: contextTokens }),
  outputTokenLimit: outputTokens,
  supportedGenerationMethods: ["generateContent", "countTokens"],
});

const noSuchModel = (): never =>
  refuse(
    "model_not_found",
    "There is no such model here for this key; GET /v1/models lists those there are.",
    { field: "model" },
  );
