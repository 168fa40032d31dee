import type { JsonObject } from "../../../platform/json.ts";
import type { ChatRequest, OutputFormat } from "../chat.ts";
import { Inexpressible } from "../dialect.ts";
import { withoutUndefined } from "../without-undefined.ts";
import { checkResolution } from "./media.ts";
import { integerOf, membersOf, numberOf, objectOf, textOf, textsOf } from "./members.ts";
import type { Member, Members } from "./members.ts";
import { readThinking, writeThinking } from "./reasoning.ts";
import { toJsonSchema } from "./schema.ts";

type Generation = Pick<
  ChatRequest,
  | "outputTokensMax"
  | "temperature"
  | "topP"
  | "topK"
  | "stop"
  | "seed"
  | "frequencyPenalty"
  | "presencePenalty"
  | "output"
  | "reasoning"
>;

export function readGeneration(config: Member | undefined): Generation {
  const members = membersOf(config ?? { value: {}, path: "generationConfig" });
  refuseManyCandidates(members.take("candidateCount"));
  refuseOtherModalities(members.take("responseModalities"));
  checkResolution(members.take("mediaResolution"));
  const generation = {
    outputTokensMax: integerOf(members.take("maxOutputTokens")),
    temperature: numberOf(members.take("temperature")),
    topP: unlessUsual("topP", numberOf(members.take("topP"))),
    topK: unlessUsual("topK", numberOf(members.take("topK"))),
    stop: textsOf(members.take("stopSequences")),
    seed: integerOf(members.take("seed")),
    frequencyPenalty: numberOf(members.take("frequencyPenalty")),
    presencePenalty: numberOf(members.take("presencePenalty")),
    output: readOutput(members),
    reasoning: readThinking(members.take("thinkingConfig")),
  };
  members.refuseRest();
  return generation;
}

function refuseManyCandidates(count: Member | undefined): void {
  if (count !== undefined && (integerOf(count) ?? 1) > 1) {
    throw new Inexpressible(count.path, "only one candidate can be translated");
  }
}

function refuseOtherModalities(modalities: Member | undefined): void {
  const other = textsOf(modalities).find((modality) => modality.toUpperCase() !== "TEXT");
  if (modalities !== undefined && other !== undefined) {
    throw new Inexpressible(modalities.path, `only TEXT can be translated, not ${other}`);
  }
}

/** The other dialects name their schemas; this one does not. */
const schemaName = "response";

function readOutput(members: Members): OutputFormat | undefined {
  const mimeType = members.take("responseMimeType");
  const openApi = objectOf(members.take("responseSchema"));
  const jsonSchema = objectOf(members.take("responseJsonSchema"));
  const schema = jsonSchema ?? (openApi === undefined ? undefined : toJsonSchema(openApi, { isKept: true }));
  const type = textOf(mimeType);
  if (mimeType !== undefined && type !== "application/json" && (type !== "text/plain" || schema)) {
    throw new Inexpressible(mimeType.path, "only application/json, or text/plain without a schema");
  }
  // Google always holds the model to it.
  if (schema !== undefined) return { kind: "json_schema", name: schemaName, schema, strict: true };
  if (type === undefined) return undefined;
  return type === "text/plain" ? { kind: "text" } : { kind: "json" };
}

export function writeGeneration(request: Generation & Pick<ChatRequest, "model">): JsonObject | undefined {
  const written = withoutUndefined({
    maxOutputTokens: request.outputTokensMax,
    temperature: request.temperature,
    topP: request.topP,
    topK: request.topK,
    stopSequences: request.stop.length === 0 ? undefined : request.stop,
    seed: request.seed,
    frequencyPenalty: request.frequencyPenalty,
    presencePenalty: request.presencePenalty,
    ...writeOutput(request.output),
    thinkingConfig: writeThinking(request.reasoning, request.model),
  });
  return Object.keys(written).length === 0 ? undefined : written;
}

function writeOutput(output: OutputFormat | undefined): JsonObject {
  switch (output?.kind) {
    case undefined:
      return {};
    case "text":
      return { responseMimeType: "text/plain" };
    case "json":
      return { responseMimeType: "application/json" };
    case "json_schema":
      return { responseMimeType: "application/json", responseJsonSchema: output.schema };
  }
}

/**
 * What they are at Google where nothing is said. Google's own clients always send them, and models of others refuse them or
 * know nothing like them.
 */
const usual = { topP: 0.95, topK: 64 } as const;

const unlessUsual = (name: keyof typeof usual, value: number | undefined): number | undefined =>
  value === usual[name] ? undefined : value;
