// Writers name what they cannot say as OpenAI does. Whoever asked in another dialect is told the name that it has there.

import { Inexpressible, type SpokenDialect } from "./dialect.ts";

/** What a writer makes of a request that came in the dialect of `callers`. */
export function writeFor<Written>(callers: SpokenDialect, write: () => Written): Written {
  try {
    return write();
  } catch (error) {
    if (!(error instanceof Inexpressible)) throw error;
    // Turns may have been joined since the caller counted them.
    const name = names[callers.name][error.field.replace(/^messages\[\d+\]$/, "messages")];
    throw name === undefined ? error : new Inexpressible(name, error.why, error.details);
  }
}

const names: Readonly<Record<SpokenDialect["name"], Readonly<Record<string, string>>>> = {
  openai: {},
  anthropic: {
    messages: "messages",
    parallel_tool_calls: "tool_choice.disable_parallel_tool_use",
    response_format: "output_config.format",
    "response_format.json_schema": "output_config.format.schema",
    stop: "stop_sequences",
  },
  gemini: {
    frequency_penalty: "generationConfig.frequencyPenalty",
    messages: "contents",
    presence_penalty: "generationConfig.presencePenalty",
    reasoning_effort: "generationConfig.thinkingConfig.thinkingLevel",
    response_format: "generationConfig.responseMimeType",
    "response_format.json_schema": "generationConfig.responseSchema",
    seed: "generationConfig.seed",
    stop: "generationConfig.stopSequences",
    temperature: "generationConfig.temperature",
    thinking_budget: "generationConfig.thinkingConfig.thinkingBudget",
    tool_choice: "toolConfig.functionCallingConfig",
    top_k: "generationConfig.topK",
    top_p: "generationConfig.topP",
  },
  responses: {
    messages: "input",
    reasoning_effort: "reasoning.effort",
    response_format: "text.format",
    "response_format.json_schema": "text.format.schema",
  },
};
