import { inputRequired, inputResponse, type InputRequiredResult } from "@modelcontextprotocol/server";
import { approvalTtlMs, type Approval, type ApprovalItem } from "../../../approvals/approvals.ts";
import { capMicrosFromNumber, usdFromMicros, type Micros } from "../../../platform/money.ts";
import { CallRefused } from "../../../platform/refusals.ts";
import { isoTime } from "../../../platform/clock.ts";
import type { AskedState } from "./request-state.ts";
import { usdNumber, type ApprovalHandle } from "../tools/tool-shapes.ts";
import type { ToolParts, Visit } from "../visit.ts";

/** How a tool call stands with its person. */
export type PersonStanding =
  | { readonly kind: "not_asked" }
  | { readonly kind: "claimable"; readonly approval: Approval }
  | { readonly kind: "waiting"; readonly approval: ApprovalHandle }
  | { readonly kind: "refused"; readonly refusal: CallRefused };

/** What is asked: the calls, and what names exactly these arguments and caps. */
export interface Question {
  readonly items: readonly ApprovalItem[];
  readonly digest: string;
}

/** Reads what came back: a sealed state with the person's answer, or the id of an approval given elsewhere. */
export async function readStanding(
  visit: Visit,
  came: { readonly approvalId: string | undefined; readonly digest: string },
  parts: ToolParts,
): Promise<PersonStanding> {
  const state = visit.ctx.mcpReq.requestState<AskedState>();
  if (state) {
    if (state.question !== came.digest)
      return refused("This was approved for other arguments or another cap.");
    const no = await recordAnswer(visit, state, parts);
    if (no) return no;
  }
  const id = state?.approval ?? came.approvalId;
  return id === undefined ? { kind: "not_asked" } : standingOf(id, visit, parts);
}

/**
 * A form's answer becomes the decision. A no is returned: it refuses this request, whatever was said elsewhere before. A
 * person who closed the form, or wrote a maximum that cannot be read, has not decided. Whoever was sent to a page says yes
 * there, and can say no without opening it.
 */
async function recordAnswer(
  visit: Visit,
  { approval: id, mode }: AskedState,
  parts: ToolParts,
): Promise<PersonStanding | undefined> {
  const { approvals, gate } = parts;
  const { accountId } = visit.caller;
  const answer = inputResponse(visit.ctx.mcpReq.inputResponses, questionName);
  if (answer.kind !== "elicit" || answer.action === "cancel") return undefined;
  if (mode === "url" && answer.action === "accept") return undefined;

  const agreed = answer.action === "accept" && answer.content?.["approve"] === true;
  const most = readMost(answer.content?.["max_usd"]);
  if (agreed && most === "unreadable") return undefined;

  const asked = await approvals.find(id, accountId);
  const enough = typeof most !== "bigint" || !asked || exposureOf(asked) <= most;
  const decision = agreed && enough ? "approved" : "denied";
  await approvals.decide({ id, accountId, decision, nowMs: gate.clock.wallMs() });
  if (!agreed) return saidNo();
  return enough
    ? undefined
    : refused("The person asked allows less than this may cost.", "approval_declined");
}

/** What the person wrote as the most that all of it may cost. Clients check it against the form, or do not. */
function readMost(given: unknown): Micros | "as_asked" | "unreadable" {
  if (given === undefined || given === null) return "as_asked";
  const isAmount = typeof given === "number" && given >= 0 && Number.isFinite(given);
  return isAmount ? capMicrosFromNumber(given) : "unreadable";
}

async function standingOf(id: string, visit: Visit, parts: ToolParts): Promise<PersonStanding> {
  const { accountId, keyId, grant } = visit.caller;
  const approval = await parts.approvals.find(id, accountId);
  if (approval?.keyId !== keyId || approval.grantId !== grant?.id)
    return refused("There is no such approval.");
  if (approval.decision === "denied") return saidNo();
  if (approval.decision === "approved") return { kind: "claimable", approval };
  if (approval.expiresAtMs <= parts.gate.clock.wallMs()) {
    return refused("Nobody answered in time; ask again without approval_id.");
  }
  return { kind: "waiting", approval: handleOf(approval, parts) };
}

const refused = (
  message: string,
  code: "approval_required" | "approval_declined" = "approval_required",
): PersonStanding => ({ kind: "refused", refusal: new CallRefused(code, message) });

const saidNo = (): PersonStanding => refused("The person asked said no.", "approval_declined");

/** Opens the question and puts it to the person as far as the client can reach them. */
export async function askApproval(
  question: Question,
  visit: Visit,
  parts: ToolParts,
): Promise<InputRequiredResult | ApprovalHandle> {
  const { caller, canAsk, ctx } = visit;
  const nowMs = parts.gate.clock.wallMs();
  const approval = await parts.approvals.open({
    id: `apr_${parts.newSecretId()}`,
    accountId: caller.accountId,
    keyId: caller.keyId,
    grantId: caller.grant?.id,
    asker: caller.grant?.clientName ?? "An agent",
    items: question.items,
    createdAtMs: nowMs,
    expiresAtMs: nowMs + approvalTtlMs,
  });
  const handle = handleOf(approval, parts);
  if (canAsk === "no") return handle;
  const state: AskedState = { approval: approval.id, mode: canAsk, question: question.digest };
  return inputRequired({
    inputRequests: { [questionName]: canAsk === "form" ? form(question, handle) : page(question, handle) },
    // In a session it never leaves this process: there is nothing to seal, and it must not end while a person thinks.
    requestState: ctx.sessionId === undefined ? await parts.states.mint(state, ctx) : JSON.stringify(state),
  });
}

const questionName = "approval";

const form = (question: Question, { url }: ApprovalHandle) =>
  inputRequired.elicit({
    message: `${inWords(question)}${isShortened(question) ? `\nThe arguments are shortened here; all of them: ${url}` : ""}`,
    requestedSchema: {
      type: "object",
      properties: {
        approve: { type: "boolean", title: "Approve", description: "Run and pay for this." },
        max_usd: {
          type: "number",
          title: "At most (USD)",
          description: "Less than all of this may cost refuses it; leave empty to keep the maximum.",
          minimum: 0,
        },
      },
      required: ["approve"],
    },
  });

const page = (question: Question, { url }: ApprovalHandle) =>
  inputRequired.elicitUrl({ message: inWords(question), url });

const isShortened = ({ items }: Question): boolean => items.some((item) => item.summary !== item.arguments);

function inWords(question: Question): string {
  const lines = question.items.map(
    ({ operationId, expectedMicros, capMicros, summary }) =>
      `${operationId}, expected to cost ${usdFromMicros(expectedMicros)} USD, at most ${usdFromMicros(capMicros)} USD, ` +
      `with ${summary}`,
  );
  return `Allow an agent to spend at most ${usdFromMicros(exposureOf(question))} USD?\n${lines.join("\n")}`;
}

function handleOf(approval: Approval, { approvalPage }: ToolParts): ApprovalHandle {
  const rate = approval.items.reduce(
    (most: Micros, { expectedMicros: one }) => (one > most ? one : most),
    0n,
  );
  return {
    approval_id: approval.id,
    operation_ids: approval.items.map(({ operationId }) => operationId),
    rate_usd: usdNumber(rate),
    max_exposure_usd: usdNumber(exposureOf(approval)),
    expires_at: isoTime(approval.expiresAtMs),
    url: approvalPage(approval.id),
  };
}

/** The most that everything asked for may cost together. */
const exposureOf = ({ items }: Pick<Question, "items">): Micros =>
  items.reduce((sum, { capMicros }) => sum + capMicros, 0n);
