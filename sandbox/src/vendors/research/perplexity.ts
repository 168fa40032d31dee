// Perplexity's agent API: searches, an answer with numbered sources, and what it cost in USD.

import { fragmentsOf } from "../../model/fragments.ts";
import { fingerprint } from "../../seeded.ts";
import { countTokens, cutToTokens } from "../../tokens.ts";
import {
  bearerOf,
  type Billed,
  type JsonObject,
  type StreamEvent,
  type Vendor,
  type VendorAnswer,
  type VendorCall,
  type VendorStream,
} from "../../vendor.ts";
import { readAgentRequest } from "./perplexity-request.ts";
import { answerFrom, findSources } from "./sources.ts";

export function createPerplexity({ key }: { key: string }): Vendor {
  const answer: Vendor["answer"] = (call) => {
    if (bearerOf(call.headers) !== key) return refuse(401, "Invalid API key provided.");
    if (call.path !== "/v1/agent" && call.path !== "/v1/responses") return refuse(404, "Not found.");
    return call.method === "POST" ? research(call) : refuse(405, "Method not allowed.");
  };
  return { answer, refuse };
}

const resultsPerSearch = 3;

function research({ body, nowMs }: VendorCall): VendorAnswer | VendorStream {
  const request = readAgentRequest(body);
  if ("refused" in request) return error(400, request.refused.message, request.refused.param);
  const { model, query, prompt, searches, tokensMax, stream } = request;

  const sources = findSources(query, searches * resultsPerSearch);
  const { text, cut } = cutToTokens(answerFrom(query, sources), tokensMax);
  // The model reads what it found before it answers.
  const input = countTokens(prompt) + sources.reduce((sum, source) => sum + countTokens(source.text), 0);
  const bill = (output: number) => billOf({ input, output, searches });
  const seed = fingerprint(`${nowMs} ${body}`);
  const head = { id: `resp_${seed}`, object: "response", created_at: Math.floor(nowMs / 1000), model };
  const results = {
    type: "search_results",
    queries: Array.from({ length: searches }, (_, n) => (n === 0 ? query : `${query} (${n + 1})`)),
    results: sources.map(({ title, url, snippet, date }, n) => ({
      id: n + 1,
      url,
      title,
      snippet,
      date,
      last_updated: date,
      source: "web",
    })),
  };
  const message = messageOf(seed, text);
  const { usage, billed } = bill(countTokens(text));
  const status = cut ? "incomplete" : "completed";
  const whole = { ...head, status, error: null, output: [results, message], usage };
  if (!stream) return { status: 200, body: whole, billed };

  return {
    status: 200,
    framing: "sse",
    billed: bill(0).billed,
    events: eventsOf({ head, whole, text, itemId: `msg_${seed}`, billed: (output) => bill(output).billed }),
    fail: (message) => ({ data: { type: "response.failed", error: errorOf(500, message) } }),
  };
}

const messageOf = (seed: string, text: string): JsonObject => ({
  id: `msg_${seed}`,
  type: "message",
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text, annotations: [] }],
});

// Millionths of a USD: 2 and 8 USD per million tokens, 5 USD per thousand searches.
const prices = { input: 2, output: 8, search: 5000 } as const;

function billOf({ input, output, searches }: { input: number; output: number; searches: number }): {
  usage: JsonObject;
  billed: Billed;
} {
  const micros = {
    input: input * prices.input,
    output: output * prices.output,
    search: searches * prices.search,
  };
  const total = micros.input + micros.output + micros.search;
  return {
    usage: {
      input_tokens: input,
      output_tokens: output,
      total_tokens: input + output,
      tool_calls_details: { search_web: { invocation: searches } },
      cost: {
        currency: "USD",
        input_cost: micros.input / 1e6,
        output_cost: micros.output / 1e6,
        tool_calls_cost: micros.search / 1e6,
        total_cost: total / 1e6,
      },
    },
    billed: { input_tokens: input, output_tokens: output, searches, cost_micros_usd: total },
  };
}

interface StreamedResearch {
  readonly head: JsonObject;
  readonly whole: JsonObject;
  readonly text: string;
  readonly itemId: string;
  readonly billed: (output: number) => Billed;
}

/** Without names of events, and without a word at the end. */
function* eventsOf({ head, whole, text, itemId, billed }: StreamedResearch): Generator<StreamEvent> {
  let sequence = 0;
  let output = 0;
  const event = (type: string, data: JsonObject): StreamEvent => ({
    data: { type, sequence_number: sequence++, ...data },
    billed: billed(output),
  });
  const at = { item_id: itemId, output_index: 1, content_index: 0 };

  yield event("response.created", { response: { ...head, status: "in_progress", output: [] } });
  for (const fragment of fragmentsOf(text)) {
    output += fragment.tokens;
    yield event("response.output_text.delta", { ...at, delta: fragment.text });
  }
  yield event("response.output_text.done", { ...at, text });
  yield event(`response.${String(whole["status"])}`, { response: whole });
}

const refuse = (status: number, message: string): VendorAnswer => error(status, message);

const error = (status: number, message: string, param?: string): VendorAnswer => ({
  status,
  body: { error: { ...errorOf(status, message), ...(param === undefined ? {} : { param }) } },
  billed: null,
});

const errorOf = (status: number, message: string) => ({
  message,
  type: types[status] ?? (status >= 500 ? "internal_server_error" : "invalid_request"),
  code: status,
});

const types: Readonly<Record<number, string>> = {
  401: "forbidden",
  403: "forbidden",
  404: "not_found",
  429: "request_rate_limit_exceeded",
};
