import type { Dispatch } from "../../operation/forwarder.ts";
import { objectOrEmpty, type JsonObject } from "../../platform/json.ts";
import { objectIn } from "../answers/answer-text.ts";
import { failureIn } from "./chat-failure.ts";
import { oddUsage } from "./chat-tokens.ts";
import { keptIdOf } from "./kept-ids.ts";
import type { ChatEvent } from "../dialects/chat.ts";
import { brokenOff, stopped, withheld, type CutShort } from "../dialects/cut-short.ts";
import type { SpokenDialect, SseEvent, WriteContext } from "../dialects/dialect.ts";
import type { ShownEnding, StreamRules } from "../streams/frame-passer.ts";
import { saysError } from "../answers/hidden-error.ts";
import { eventWithoutLimits, toldInstead } from "../answers/own-limits.ts";
import type { NativeChat } from "./native-chat.ts";
import type { OperatorWords } from "../protocol.ts";
import { withheldRefusal } from "../answers/refusal-subject.ts";
import { eventsShownTo } from "./shown-thoughts.ts";
import { callersNames, withCallersName } from "./tool-names.ts";
import { sseText, type SseFrame } from "../streams/sse.ts";

/** Between whom, and how both speak. */
interface Conversation {
  readonly callers: SpokenDialect;
  readonly native: NativeChat;
  readonly words: OperatorWords;
  readonly context: WriteContext;
}

/**
 * How the events of a conversation are read and shown. Nothing in here holds on to the dispatch: the request has left, and
 * a stream may last much longer than it is needed.
 */
export function chatStream(
  { callers, native, words, context }: Conversation,
  dispatch: Dispatch,
): StreamRules {
  const read = native.dialect.createEventReader();
  const oddFigures = (frame: SseFrame): readonly string[] => {
    if (frame.event === undefined || !frame.event.data.includes("sage")) return [];
    const json = objectIn(frame.event.data);
    return json === undefined ? [] : oddUsage(native.usageOf(json));
  };
  const form = streamForm(callers, dispatch);
  const common = {
    oddFigures,
    contentType: form.contentType,
    read: ({ event }: SseFrame) => (event ? withheldFrom(read(event), event, words) : []),
  };
  if (callers === native.dialect) {
    const sayError = (error: StreamError): string =>
      callers.createEventWriter(context).write(error).map(form.say).join("");
    return {
      ...common,
      ...(native.keepsAnswer?.(dispatch) && keepingId(common.read)),
      readEnd: read.end,
      alike: form === serverSent,
      write: (frame, events) => {
        if (events.some(isWithheld)) return sayError(errorOf(withheld));
        const told = frame.event && eventWithoutLimits(frame.event);
        return told ? form.say(told) : (native.showFrame?.(frame, context) ?? form.sayFrame(frame));
      },
      // A vendor that ended in good order but never said that it had finished is booked as having failed, so it is told
      // as that: official clients take a stream that just ends for a whole answer.
      end: (ending) => (ending === "whole" ? "" : sayError(cutBy(ending))) + form.end(),
    };
  }
  const writer = callers.createEventWriter(context);
  const shown = eventsShownTo(callers, dispatch);
  const names = callersNames(dispatch.input.body, callers, native.dialect);
  return {
    ...common,
    alike: false,
    write: (_frame, events) =>
      figuresFirst(events)
        .flatMap(shown)
        .flatMap((event) => writer.write(withCallersName(event, names)))
        .map(form.say)
        .join(""),
    end: (ending) =>
      (ending === "whole" ? writer.end() : writer.write(cutBy(ending))).map(form.say).join("") + form.end(),
  };
}

/** What comes with figures is shown after them: Anthropic's callers get some in their first event, which the first words make. */
function figuresFirst(events: readonly ChatEvent[]): readonly ChatEvent[] {
  if (!events.some(isUsage)) return events;
  return [...events.filter(isUsage), ...events.filter((event) => !isUsage(event))];
}

const isUsage = (event: ChatEvent): boolean => event.kind === "usage";

/** Remembers the id under which the vendor keeps the answer, as the stream begins by saying it. */
function keepingId(read: StreamRules["read"]): Pick<StreamRules, "read" | "keptIds"> {
  let ids: readonly string[] = [];
  return {
    read: (frame) => {
      const events = read(frame);
      if (events.some(isStart)) ids = keptIdOf(objectIn(frame.event?.data ?? ""));
      return events;
    },
    keptIds: () => ids,
  };
}

const isStart = (event: ChatEvent): boolean => event.kind === "start";

type StreamError = Extract<ChatEvent, { readonly kind: "error" }>;

const errorOf = (cut: CutShort): StreamError => ({ kind: "error", type: "server_error", ...cut });

const cutBy = (ending: ShownEnding): StreamError =>
  errorOf(ending === "gateway_stopped" ? stopped : brokenOff);

function withheldFrom(
  events: readonly ChatEvent[],
  { data }: SseEvent,
  words: OperatorWords,
): readonly ChatEvent[] {
  if (!events.some(isError)) return events;
  const json = objectIn(data);
  const said = json && errorSaidIn(json);
  if (said === undefined) return events;
  const refused = withheldRefusal(said, words);
  const instead = refused ? { ...errorOf(withheld), refused } : toldInstead(said);
  return events.map((event) => (isError(event) ? { ...event, ...instead } : event));
}

/** OpenAI's responses say it in the event itself, or inside of the response that failed. */
function errorSaidIn(json: JsonObject): JsonObject | undefined {
  const said = [json, objectOrEmpty(json["response"])].find(saysError);
  return said ?? (json["type"] === "error" ? { error: json } : failureIn(json));
}

const isError = (event: ChatEvent): event is StreamError => event.kind === "error";
const isWithheld = (event: ChatEvent): boolean => isError(event) && event.refused !== undefined;

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

function streamForm(callers: SpokenDialect, { input }: Dispatch): StreamForm {
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
