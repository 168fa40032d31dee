// Requests of this dialect as its tests read them: a greeting, and whatever a test adds.

import type { JsonObject } from "../../../platform/json.ts";
import type { ChatRequest } from "../chat.ts";
import { refusedField } from "../test-requests.ts";
import { geminiDialect } from "./gemini-dialect.ts";

const hello = [{ role: "user", parts: [{ text: "hello" }] }];

export const read = (body: JsonObject): ChatRequest =>
  geminiDialect.readRequest({ contents: hello, ...body }, { model: "m", stream: false });

export const fieldRefused = (body: JsonObject): string => refusedField(() => read(body)) ?? "nothing";
