import { defineOperation, z } from "../gateway/src/operation/define-operation.ts";
import { modelResponse } from "./model-answers.ts";
import { conversationEstimate } from "./conversations.ts";

const tokensMax = 10_000_000;

/** Only what is priced or decided here is checked; every other member travels to the upstream untouched. */
const responsesBody = z.looseObject({
  model: z.string().min(1).max(200).describe("A model of `GET /v1/models`."),
  input: z.union([z.string(), z.array(z.unknown())]).nullish(),
  max_output_tokens: z.int().min(1).max(tokensMax).nullish(),
  stream: z.boolean().nullish(),
  // A response that is fetched later could not be metered when it is answered.
  background: z.literal(false, "responses in the background are not served here").nullish(),
  previous_response_id: z.string().nullish(),
  tools: z.array(z.looseObject({ type: z.string() })).nullish(),
});

export const responsesCreate = defineOperation({
  id: "responses.create",
  title: "Response",
  summary: "Answers with a model through OpenAI's Responses interface, tools and stored context included.",
  keywords: ["openai", "gpt", "llm", "agent", "ask a question", "write", "summarize"],
  category: "models",
  method: "POST",
  path: "/v1/responses",
  body: responsesBody,
  response: modelResponse,
  example: { body: { model: "gpt-4o-mini", input: "Say hello.", max_output_tokens: 64 } },
  bodyBytesMax: 32 * 1024 * 1024,
  firstByteTimeoutMs: 120_000,
  limits: { slot: "streaming" },
  streams: ({ body }) => body.stream === true,
  price: {
    kind: "per_token",
    modelKind: "chat",
    estimate: ({ body, rawBody }, model) => {
      const asked = { outputTokens: body.max_output_tokens ?? 0, choices: 1 };
      const estimate = conversationEstimate(rawBody, model, asked);
      if (!readsMore(body)) return estimate;
      const inputTokens = Math.max(rawBody.byteLength, model.contextTokens ?? contextTokensUnknown);
      return { ...estimate, atMost: { ...estimate.atMost, [model.dearestInputUnit]: inputTokens } };
    },
  },
  servedBy: { openai: { exchange: "responses", path: "/responses" } },
});

/** Held for a model whose context nobody wrote down: no model on sale reads more. */
const contextTokensUnknown = 1_050_000;

/** What brings tokens into the conversation that are not in the body: then only the model's context bounds them. */
const fromElsewhere: ReadonlySet<string> = new Set(["file_id", "file_url", "image_url", "item_reference"]);

function readsMore(body: z.infer<typeof responsesBody>): boolean {
  const stored = [body.previous_response_id, body["conversation"], body["prompt"]];
  if (stored.some((member) => member !== undefined && member !== null)) return true;
  // A function is answered by the caller; any other tool is run by the vendor, which then reads what it found.
  const hosted = (body.tools ?? []).some(({ type }) => type !== "function" && type !== "custom");
  return hosted || refersElsewhere(body.input);
}

function refersElsewhere(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(refersElsewhere);
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(value).some(([name, inner]: [string, unknown]) => {
    if (typeof inner !== "string") return refersElsewhere(inner);
    // An image that comes with the body is bounded by its own length.
    return fromElsewhere.has(name === "type" ? inner : name) && !inner.startsWith("data:");
  });
}
