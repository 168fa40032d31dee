import type { Dispatch, HiddenFailure, TokenReading } from "../operation/upstream.ts";
import { isJsonObject, type JsonObject } from "../platform/json.ts";
import { eventsOf } from "./dialects/answer-events.ts";
import type { ChatAnswer, ChatEvent } from "./dialects/chat.ts";
import { Inexpressible, type Dialect, type SseEvent, type WriteContext } from "./dialects/dialect.ts";
import { withExactArguments } from "./dialects/exact-json.ts";
import { writeDialectError, readErrorMessage } from "./dialects/dialect-errors.ts";
import { createThoughtSieve } from "./dialects/unasked-thoughts.ts";
import { hiddenErrorStatus, type Exchange, type VendorRequest } from "./protocol.ts";
import { saysError, statusSaidIn } from "./hidden-error.ts";
import { choiceError } from "./dialects/openai/answer-members.ts";
import { isPlainCount, readCount } from "./protocols/read-count.ts";
import { sseText, type SseFrame } from "./sse.ts";
import type { StreamRules } from "./frame-passer.ts";
import { oddStop, quantitiesOf } from "./stream-meter.ts";

/** What is particular about speaking to one vendor in its own dialect. */
export interface NativeChat {
  readonly dialect: Dialect;
  /** The vendor's address for this call. */
  readonly path: (dispatch: Dispatch) => string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The caller's own body, changed as little as possible; for callers that speak this dialect. */
  readonly nativeBody: (dispatch: Dispatch) => string | Uint8Array;
  /** A body we wrote, completed with what belongs to the request and not to the conversation. */
  readonly completeBody: (body: JsonObject, dispatch: Dispatch) => JsonObject;
  /** What the caller sees of a frame of its own dialect; undefined passes it as it came. */
  readonly showFrame?: (frame: SseFrame, context: WriteContext) => string | undefined;
  /** Where this dialect reports usage. */
  readonly usageOf: (json: JsonObject) => unknown;
}

/** A conversation with this vendor, for callers of any dialect: passed through where both speak the same, translated elsewhere. */
export function chatExchange(native: NativeChat, dialects: Readonly<Record<string, Dialect>>): Exchange {
  const own = native.dialect;
  const callersOf = (dispatch: Dispatch): Dialect => dialects[dispatch.service.dialect ?? own.name] ?? own;

  const request = (dispatch: Dispatch): VendorRequest => {
    const callers = callersOf(dispatch);
    const body =
      callers === own
        ? native.nativeBody(dispatch)
        : JSON.stringify(translate(callers, own, native, dispatch));
    return {
      method: "POST",
      path: native.path(dispatch),
      body,
      headers: headersOf(native, callers === own ? dispatch.forwarded : undefined),
    };
  };

  return {
    request,
    translates: (dispatch) => callersOf(dispatch) !== own,
    hiddenFailure: hiddenFailureIn,
    read: (json, dispatch) => {
      const callers = callersOf(dispatch);
      // Where nothing is translated, the answer is read only for what must be paid; of an error that is nothing.
      if (callers === own) return isOnlyError(json) ? {} : { tokens: readTokens(json, native, undefined) };
      const failure = failureIn(json);
      if (failure !== undefined) {
        const status = isOnlyError(json) ? statusSaidIn(json) : hiddenErrorStatus;
        return {
          error: { status, json: writeDialectError(callers.name, status, readErrorMessage(failure)) },
        };
      }
      const answer = own.readAnswer(json);
      const tokens = readTokens(json, native, answer);
      const shown = asShownTo(callers, answer, dispatch);
      return { tokens, json: callers.writeAnswer(shown, contextOf(dispatch)) };
    },
    readError: (status, json, dispatch) => {
      const callers = callersOf(dispatch);
      return callers === own ? undefined : writeDialectError(callers.name, status, readErrorMessage(json));
    },
    asEvents: (json, dispatch) =>
      canBeSaidInEvents(json, native) ? saidInEvents(own, json, contextOf(dispatch)) : undefined,
    stream: (dispatch) => streamRules(callersOf(dispatch), native, dispatch),
  };
}

/** Some compatible vendors answer 200 whatever happens; an answer must not be made of it, empty or begun. */
function failureIn(json: unknown): JsonObject | undefined {
  if (isOnlyError(json)) return json;
  const choices = isJsonObject(json) ? json["choices"] : undefined;
  const error = Array.isArray(choices) ? choiceError(choices[0]) : undefined;
  return error === undefined ? undefined : { error };
}

/** Every answer of these dialects is an object; a page of HTML comes from a wrong address or a proxy in between. */
function hiddenFailureIn(json: unknown): HiddenFailure | undefined {
  if (!isJsonObject(json)) return "malformed";
  return isOnlyError(json) ? statusSaidIn(json) : undefined;
}

const isOnlyError = (json: unknown): json is JsonObject => saysError(json) && !answers(json);

const answers = (json: unknown): boolean =>
  isJsonObject(json) &&
  ["choices", "content", "candidates"].some((name) => {
    const said = json[name];
    return Array.isArray(said) && said.length > 0;
  });

/** One answer that says what it used: of events that did not say it nobody could tell, and several would become one. */
function canBeSaidInEvents(json: unknown, { dialect, usageOf }: NativeChat): boolean {
  if (!isJsonObject(json) || !answers(json) || failureIn(json) || !dialect.readUsage(usageOf(json)))
    return false;
  const choices = json["choices"] ?? json["candidates"];
  return !Array.isArray(choices) || choices.length === 1;
}

/** What the answer used is said too, as it is in every stream that is asked for here. */
function saidInEvents(dialect: Dialect, json: unknown, context: WriteContext): string {
  const writer = dialect.createEventWriter({ ...context, includeUsage: true });
  const said = eventsOf(dialect.readAnswer(json)).flatMap((event) => writer.write(event));
  return [...said, ...writer.end()].map(sseText).join("");
}

/** The vendor's own and the caller's; copied only where there are both. */
const headersOf = ({ headers = none }: NativeChat, forwarded: Headers = none): Headers =>
  headers === none ? forwarded : { ...headers, ...forwarded };

type Headers = Readonly<Record<string, string>>;
const none: Headers = Object.freeze({});

function translate(from: Dialect, to: Dialect, native: NativeChat, dispatch: Dispatch): JsonObject {
  const asked = { model: dispatch.model ?? "", stream: dispatch.streaming };
  const written = withExactArguments(dispatch.input.body, Buffer.from(dispatch.input.rawBody).toString());
  const body = isJsonObject(written) ? written : {};
  const read = from.readRequest(body, asked);
  if (from.name === "anthropic" && read.messages.at(-1)?.role === "assistant") {
    throw new Inexpressible("messages", "only a model of Anthropic's goes on with what the assistant began");
  }
  // A caller who speaks to another vendor's model asks for what theirs can write; more than it can, none does.
  const { maxOutputTokens: usual, outputTokensMax: most = Number.POSITIVE_INFINITY } = dispatch;
  const wanted = read.maxOutputTokens ?? usual;
  const maxOutputTokens = wanted === undefined ? undefined : Math.min(wanted, most);
  return native.completeBody(to.writeRequest({ ...read, maxOutputTokens }), dispatch);
}

function asShownTo(callers: Dialect, answer: ChatAnswer, { input }: Dispatch): ChatAnswer {
  if (asksForThoughts(callers, input.body)) return answer;
  const mayCall = answer.parts.some(({ kind }) => kind === "tool_call");
  return { ...answer, parts: answer.parts.flatMap(createThoughtSieve({ mayCall })) };
}

/** What of a stream is shown. Whether a call follows a thought nobody knows yet, but without tools none does. */
function eventsShownTo(callers: Dialect, { input }: Dispatch): (event: ChatEvent) => readonly ChatEvent[] {
  if (asksForThoughts(callers, input.body)) return (event) => [event];
  const tools = isJsonObject(input.body) ? input.body["tools"] : undefined;
  return createThoughtSieve<ChatEvent>({ mayCall: Array.isArray(tools) && tools.length > 0 });
}

const asksForThoughts = (callers: Dialect, body: unknown): boolean =>
  isJsonObject(body) && callers.asksForThoughts(body);

/** Nothing in here holds on to the dispatch: the request has left, and a stream may last much longer than it is needed. */
function streamRules(callers: Dialect, native: NativeChat, dispatch: Dispatch): StreamRules {
  const context = contextOf(dispatch);
  const read = native.dialect.createEventReader();
  const oddFigures = (frame: SseFrame): readonly string[] => {
    if (frame.event === undefined || !frame.event.data.includes("sage")) return [];
    const json = parse(frame.event.data);
    return json === undefined ? [] : oddUsage(native.usageOf(json));
  };
  const form = streamForm(callers, dispatch);
  const common = {
    oddFigures,
    contentType: form.contentType,
    read: ({ event }: SseFrame) => (event ? read(event) : []),
  };
  if (callers === native.dialect) {
    const brokeOff = (): string => callers.createEventWriter(context).write(brokenOff).map(form.say).join("");
    return {
      ...common,
      alike: form === serverSent,
      write: (frame) => native.showFrame?.(frame, context) ?? form.sayFrame(frame),
      // A vendor that ended in good order but never said that it had finished is booked as having failed, so it is told
      // as that: official clients take a stream that just ends for a whole answer.
      end: (ending) => (ending === "whole" ? "" : brokeOff()) + form.end(),
    };
  }
  const writer = callers.createEventWriter(context);
  const shown = eventsShownTo(callers, dispatch);
  const brokeOff = (): string => writer.write(brokenOff).map(form.say).join("");
  return {
    ...common,
    alike: false,
    write: (_frame, events) =>
      events
        .flatMap(shown)
        .flatMap((event) => writer.write(event))
        .map(form.say)
        .join(""),
    end: (ending) => (ending === "whole" ? writer.end().map(form.say).join("") : brokeOff()) + form.end(),
  };
}

/** Half an answer must not look like a whole one. */
const brokenOff = {
  kind: "error",
  type: "server_error",
  code: "provider_request_failed",
  message: "The provider's answer broke off.",
} as const;

/** How events are put on the wire: as server-sent events, or as the JSON array that Gemini's callers get without alt=sse. */
interface StreamForm {
  readonly contentType: string;
  readonly say: (event: SseEvent) => string;
  readonly sayFrame: (frame: SseFrame) => string;
  readonly end: () => string;
}

const serverSent: StreamForm = {
  contentType: "text/event-stream; charset=utf-8",
  say: sseText,
  sayFrame: ({ text }) => text,
  end: () => "",
};

function streamForm(callers: Dialect, { input }: Dispatch): StreamForm {
  const wantsArray = callers.name === "gemini" && !/(^|&)alt=sse(&|$)/.test(input.rawQuery);
  if (!wantsArray) return serverSent;
  let begun = false;
  const say = ({ data }: SseEvent): string => {
    const before = begun ? ",\r\n" : "[";
    begun = true;
    return before + data;
  };
  return {
    contentType: "application/json; charset=utf-8",
    say,
    sayFrame: ({ event }) => (event ? say(event) : ""),
    end: () => (begun ? "]" : "[]"),
  };
}

const contextOf = (dispatch: Dispatch): WriteContext => ({
  id: dispatch.callId.replaceAll("-", ""),
  model: dispatch.modelAsked ?? "",
  createdSeconds: dispatch.createdSeconds,
  includeUsage: asksForUsage(dispatch.input.body),
});

/** Only the OpenAI dialect lets a caller ask for usage at the end of a stream. */
export const asksForUsage = (body: unknown): boolean => {
  const options = isJsonObject(body) ? body["stream_options"] : undefined;
  return isJsonObject(options) && options["include_usage"] === true;
};

/** An answer that was not read yet is read only where it does not say what was used. */
function readTokens(json: unknown, native: NativeChat, answer: ChatAnswer | undefined): TokenReading {
  const reported = isJsonObject(json) ? native.usageOf(json) : undefined;
  const usage = native.dialect.readUsage(reported);
  const anomalies = oddUsage(reported);
  if (answer?.oddStop !== undefined) anomalies.push(oddStop(answer.oddStop));
  const model = modelIn(json);
  if (usage) return { used: quantitiesOf(usage), estimate: undefined, model, anomalies };
  const { parts } = answer ?? native.dialect.readAnswer(json);
  const bytes = parts.reduce((sum, part) => sum + Buffer.byteLength(textOf(part)), 0);
  return {
    used: undefined,
    estimate: bytes > 0 ? { output_tokens: Math.ceil(bytes / 4) } : undefined,
    model,
    anomalies,
  };
}

/** Google calls it a version. */
function modelIn(json: unknown): string | undefined {
  const model = isJsonObject(json) ? (json["model"] ?? json["modelVersion"]) : undefined;
  return typeof model === "string" ? model : undefined;
}

function textOf(part: ChatAnswer["parts"][number]): string {
  if (part.kind === "text" || part.kind === "reasoning") return part.text;
  return part.kind === "tool_call" ? part.name + part.arguments : "";
}

/** Names every figure of a usage report, nested ones too, that cannot be meant. */
function oddUsage(usage: unknown, anomalies: string[] = []): string[] {
  if (!isJsonObject(usage)) return anomalies;
  for (const name in usage) {
    const value = usage[name];
    if (isPlainCount(value)) continue;
    if (isJsonObject(value)) oddUsage(value, anomalies);
    else if (countsTokens.test(name)) readCount(value, name, anomalies);
  }
  if (cachedBeyondInput(usage)) anomalies.push("more tokens are cached than were sent");
  return anomalies;
}

const countsTokens = /tokens?(_?count)?$/i;

/** OpenAI and Gemini count cached tokens among the prompt's; Anthropic counts them apart. */
function cachedBeyondInput(usage: JsonObject): boolean {
  const details = usage["prompt_tokens_details"];
  const cached = isJsonObject(details) ? details["cached_tokens"] : usage["cachedContentTokenCount"];
  const prompt = usage["prompt_tokens"] ?? usage["promptTokenCount"];
  return typeof cached === "number" && typeof prompt === "number" && cached > prompt;
}

function parse(text: string): JsonObject | undefined {
  try {
    const json: unknown = JSON.parse(text);
    return isJsonObject(json) ? json : undefined;
  } catch {
    return undefined;
  }
}
