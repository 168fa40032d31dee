import type { Answer, Call } from "../../../call/call.ts";
import type { Gate } from "../../../call/gate.ts";
import { noteAnswered, noteRefused, refusalOf } from "../../../call/news/note-end.ts";
import { runCall } from "../../../call/run-call.ts";
import { tighter } from "../../../limits/call-limits.ts";
import { isAboutTask } from "../../../operation/operation.ts";
import { isSuccessStatus } from "../../../operation/exchanged.ts";
import type { JsonObject } from "../../../platform/json.ts";
import type { Micros } from "../../../platform/money.ts";
import type { CallRefused } from "../../../platform/refusals.ts";
import { asRefusal } from "../caught-refusal.ts";
import { openCall, type AgentCall, type OpenedCall, type RunParts } from "./agent-call.ts";
import { readAnswer } from "./read-answer.ts";
import { taskHandleOf } from "./task-handle.ts";
import { toolError } from "../tools/tool-errors.ts";
import { usdNumber, type ToolError, type UseResult } from "../tools/tool-shapes.ts";

/** How it ended: what the agent is told, and the refusal behind it where there was one. */
export interface AgentOutcome {
  readonly told: UseResult;
  readonly refusal: CallRefused | undefined;
  /** What it costs, where it came so far that this was known. */
  readonly cost: Cost | undefined;
}

/** What a call will probably cost, and the most it can. */
export interface Cost {
  readonly expectedMicros: Micros;
  readonly atMostMicros: Micros;
}

/** Walks the life of a call for an agent. Whatever happens becomes a result that says whether money moved. */
export async function runOperation(wanted: AgentCall, parts: RunParts): Promise<AgentOutcome> {
  const { gate } = parts;
  const { call: asked } = wanted;
  const head = { operation_id: asked.operation_id, max_price_usd: asked.max_price_usd };
  const done = gate.begin();
  let call: OpenedCall | undefined;
  try {
    call = await openCall(wanted, undefined, parts);
    const answer = await runCall(call, gate);
    noteLimit(call, wanted);
    noteAnswered(call, answer, gate);
    const told = { ...head, ...(await tell(call, answer, wanted)) };
    return { told, refusal: undefined, cost: costOf(call) };
  } catch (error) {
    const refusal = refusalOf(error, call, gate);
    noteRefused(call, refusal, gate);
    if (refusal.code === "approval_required" && call) await handBack(call, wanted, gate);
    else if (call) noteLimit(call, wanted);
    const told = { ...head, ...facts(call), ...receiptOf(refusal), ...refusedAs(refusal, call) };
    return { told, refusal, cost: call && costOf(call) };
  } finally {
    call?.leaveBody();
    done();
  }
}

/** Whoever made the request is told of the tightest limit that any of its calls met. */
function noteLimit(call: Call, { known }: AgentCall): void {
  if (call.known.requests) known.requests = tighter(known.requests, call.known.requests);
}

/** Free operations are never priced. */
const costOf = ({ known: { atMostMicros = 0n, expectedMicros = atMostMicros } }: Call): Cost => ({
  expectedMicros,
  atMostMicros,
});

/**
 * An operation's own limit is for what it does; a call that was only quoted, or waits for its person, did nothing and
 * comes again. Where it comes again in the same request, as in a session, that request has been counted already.
 */
async function handBack(call: Call, { known }: AgentCall, gate: Gate): Promise<void> {
  const [request, ...own] = call.known.counted;
  for (const { wants, takenAt } of own) await gate.limiter.giveBack(wants, takenAt);
  if (request) known.counted.push(request);
}

/**
 * What the call would cost; a refusal where it would be refused before its price is known. To ask takes nothing
 * of any limit: the request it came with was counted, and the call itself counts when it is made.
 */
export async function quoteOperation(wanted: AgentCall, parts: RunParts): Promise<Cost | CallRefused> {
  let call: OpenedCall | undefined;
  try {
    call = await openCall(wanted, "quote", parts);
    await runCall(call, parts.gate);
    return costOf(call);
  } catch (error) {
    return asRefusal(error);
  } finally {
    call?.leaveBody();
    if (call) await handBack(call, wanted, parts.gate);
  }
}

async function tell(
  call: Call,
  answer: Answer,
  { offer, call: asked, images }: AgentCall,
): Promise<Omit<UseResult, Head>> {
  const { result, truncated } = await readAnswer(answer, images);
  const succeeded = isSuccessStatus(answer.status);
  const operation = offer.operations.get(asked.operation_id)?.operation;
  const task = operation && succeeded ? taskHandleOf(operation, offer, result) : undefined;
  return {
    ...facts(call),
    ...(task ? begunBy(result) : {}),
    // A look at a task is free, but the task is what its caller wants to know the price of.
    ...(operation?.price.kind === "free" && !isAboutTask(operation) ? settled(0n) : {}),
    status: task ? "accepted" : succeeded ? "completed" : "failed",
    http_status: answer.status,
    ...(answer.contentType === undefined ? {} : { content_type: answer.contentType }),
    result,
    ...(truncated ? { truncated } : {}),
    ...(task ? { task } : {}),
    ...(succeeded ? {} : { error: upstreamError(answer.status, chargedOf(call)) }),
  };
}

type Head = "operation_id" | "max_price_usd";

/** A creation that is repeated is answered with the task of the first one, which alone has a receipt. */
const begunBy = ({ request_id: id }: JsonObject): Pick<UseResult, "request_id"> =>
  typeof id === "string" ? { request_id: id } : {};

const settled = (micros: Micros): Pick<UseResult, "settled_usd" | "settled_micros_usd"> => ({
  settled_usd: usdNumber(micros),
  settled_micros_usd: Number(micros),
});

/** What the books know about the call by now. */
function facts(call: Call | undefined): Partial<UseResult> {
  if (!call) return {};
  const { atMostMicros, chargedMicros } = call.known;
  return {
    request_id: call.id,
    ...(atMostMicros === undefined ? {} : { estimate_usd: usdNumber(atMostMicros) }),
    ...(chargedMicros === undefined ? {} : settled(chargedMicros)),
  };
}

/** A repetition has no receipt; the call that its key belongs to has. */
function receiptOf({ details: { beside } }: CallRefused): Pick<UseResult, "request_id"> {
  return beside?.original ? { request_id: beside.original.request_id } : {};
}

function refusedAs(refusal: CallRefused, call: Call | undefined): Pick<UseResult, "status" | "error"> {
  const begun = call?.known.held === true || refusal.code === "provider_request_failed";
  return { status: begun ? "failed" : "refused", error: toolError(refusal, chargedOf(call)) };
}

/** What the books say. Once money was held, only its end can tell. */
function chargedOf(call: Call | undefined): ToolError["charged"] {
  const { held, chargedMicros } = call?.known ?? {};
  if (chargedMicros !== undefined) return chargedMicros > 0n ? "yes" : "no";
  return held === true ? "unknown" : "no";
}

const upstreamError = (status: number, charged: ToolError["charged"]): ToolError => ({
  code: "upstream_error",
  message: `The upstream answered with status ${status}; its answer is in result.${charged === "no" ? " Nothing was charged." : ""}`,
  retryable: false,
  charged,
});
