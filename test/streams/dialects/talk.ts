// What is said in every dialect, and heard of every answer, in plain words; and what their files share.

import { objectOf } from "../../doubles/json-read.ts";
import type { JsonObject } from "../../doubles/vendor-checks.ts";

export interface Talk {
  readonly system?: string;
  readonly turns: readonly TalkTurn[];
  /** Tools of one text argument each, by name. */
  readonly tools?: readonly string[];
  readonly toolChoice?: "auto" | "none" | "required" | { readonly name: string };
  readonly maxTokens?: number;
  readonly temperature?: number;
  readonly stop?: readonly string[];
  readonly schema?: JsonObject;
  /** An effort to OpenAI, a budget of 2,048 tokens to the others. */
  readonly thinks?: boolean;
}

export type TalkTurn =
  | { readonly user: string; readonly image?: string }
  | { readonly calls: readonly TalkCall[] }
  | { readonly results: readonly (TalkCall & { readonly result: string })[] };

interface TalkCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: JsonObject;
}

/** What a caller gets out of an answer. Usage is disjoint: what was cached is not input. */
export interface Heard {
  readonly text: string;
  readonly reasoning: string;
  readonly calls: readonly { readonly name: string; readonly arguments: unknown }[];
  readonly stop: string | null;
  readonly usage: { readonly input: number; readonly output: number; readonly cacheRead: number } | undefined;
  readonly error: string | undefined;
}

export interface Dialect {
  readonly path: (model: string, stream: boolean) => string;
  readonly body: (talk: Talk, model: string, stream: boolean) => JsonObject;
  readonly hear: (json: JsonObject) => Heard;
  /** `frames` are events as text. */
  readonly hearStream: (frames: readonly string[]) => Heard;
}

export const budgetTokens = 2048;
export const toolSchema = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
} as const;

export const described = (name: string): string => `Looks up ${name}.`;

export const nothing: Heard = {
  text: "",
  reasoning: "",
  calls: [],
  stop: null,
  usage: undefined,
  error: undefined,
};

/** The JSON of every event, and what stands in a `data:` line without being JSON. */
export const dataOf = (frames: readonly string[]): readonly string[] =>
  frames.flatMap((frame) =>
    frame
      .split(/\r\n|\n|\r/)
      .filter((line) => line.startsWith("data:"))
      .map((line) => line.slice("data:".length).trim()),
  );

export const eventsOf = (frames: readonly string[]): readonly JsonObject[] =>
  dataOf(frames)
    .filter((data) => data !== "[DONE]")
    .map((data) => objectOf(JSON.parse(data)));

export const given = (members: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));

export const errorOf = (json: JsonObject): string | undefined => {
  const { message } = objectOf(json["error"]);
  return typeof message === "string" ? message : undefined;
};

export const dataUrl = (url: string): { readonly mimeType: string; readonly data: string } | undefined => {
  const [, mimeType = "", data = ""] = /^data:([^;]+);base64,(.*)$/.exec(url) ?? [];
  return data === "" ? undefined : { mimeType, data };
};
