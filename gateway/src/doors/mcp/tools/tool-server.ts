import {
  isInputRequiredResult,
  McpServer,
  requireScopes,
  type ScopeChallengeHandler,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { checkUsable } from "../../../call/steps/check-allowed.ts";
import { grantScopes } from "../../../grants/grants.ts";
import { limitsOfCaller } from "../../../offer/limits-of-caller.ts";
import { unbooked, whyUnwritten } from "../../../call/refusals/refuse-unbooked.ts";
import { describeError } from "../../../platform/log.ts";
import { CallRefused, refuse } from "../../../platform/refusals.ts";
import { askInSession } from "../approval/ask-in-session.ts";
import type { Offer } from "../../../offer/offer.ts";
import { useBatch } from "./batch-tool.ts";
import { listCategories } from "./categories-tool.ts";
import { operationDetails, type DetailsArguments } from "./details-tool.ts";
import { onlyReads } from "./only-reads.ts";
import { withProgress } from "../sessions/progress.ts";
import { searchOperations, type SearchArguments } from "./search-tool.ts";
import { refusedTool, toolAnswer, type ToolAnswer } from "./tool-answer.ts";
import type { BatchArguments, UseArguments } from "./tool-shapes.ts";
import { loadTool, toolNames, type Tool, type ToolName } from "./tools.ts";
import { useOperation } from "./use-tool.ts";
import { visitOf, type ToolParts, type Visit } from "../visit.ts";

const instructions =
  "Find operations with search or list_categories and read get_details before use; these are free. use and batch_use " +
  "cost money: agree with the user on the operation, its rate and the most it may cost, and pass that as max_price_usd.";

/** The version of the five tools. Which program serves them is the operator's business, so its version is not told. */
const toolsVersion = "1.0.0";

/** The five tools never change while the server runs, for anybody. */
const listedForMs = 60 * 60_000;
const listing = { ttlMs: listedForMs, cacheScope: "public" } as const;

const tools = new Map(toolNames.map((name) => [name, loadTool(name)]));

/** The five tools for one request or one session; never shared between clients. */
export function createToolServer(parts: ToolParts): McpServer {
  const server = new McpServer(
    { name: "tollgate", title: "Tollgate", version: toolsVersion },
    {
      instructions,
      capabilities: { tools: { listChanged: false } },
      requestState: { verify: (state, ctx) => parts.states.verify(state, ctx) },
      cacheHints: { "tools/list": listing, "server/discover": listing },
    },
  );
  for (const [name, { read, whyNot, ...shown }] of tools) {
    server.registerTool(
      name,
      { ...shown, scopeChallenge: spends(name) ? challengeSpending : requireScopes("tools:read") },
      (given, ctx) => answerAsking({ name, given: read(given), whyNot }, ctx, server, parts),
    );
  }
  return server;
}

const spends = (name: unknown): boolean => name === "use" || name === "batch_use";

/** A client asks for exactly what a challenge names, so one that may only read must not lose that by asking to spend. */
const challengeSpending: ScopeChallengeHandler = ({ authInfo }) =>
  authInfo === undefined || authInfo.scopes.includes("tools:spend") ? undefined : { scopes: grantScopes };

/** A tool, and the arguments that somebody gave it. */
interface ToolUse extends Pick<Tool, "whyNot"> {
  readonly name: ToolName;
  readonly given: unknown;
}

/**
 * What a tool asks the person behind a session is asked here, and the tool goes on with the answer. Both are one request:
 * whoever repeats it is not to be asked, nor to pay, again.
 */
function answerAsking(
  use: ToolUse,
  ctx: ServerContext,
  server: McpServer,
  parts: ToolParts,
): Promise<ToolAnswer> {
  const onceAs = onceNameOf(use, ctx, parts.offer());
  const visitIn = (round: ServerContext): Visit => ({ ...visitOf(round, server, parts.offer()), onceAs });
  const answerWhole = async (): Promise<ToolAnswer> => {
    const visit = visitIn(ctx);
    const told = await answerTool(use, visit, parts);
    if (ctx.sessionId === undefined || !isInputRequiredResult(told)) return told;
    return answerTool(use, visitIn(await askInSession(told, visit, parts)), parts);
  };
  return onceAs === undefined ? answerWhole() : parts.memory.once(onceAs, answerWhole);
}

/** Names a request of a session that is to be answered once; undefined for all others. */
function onceNameOf({ name, given }: ToolUse, ctx: ServerContext, offer: Offer): string | undefined {
  // The later rounds of a request carry its id too, and are not repetitions of it.
  const laterRound = ctx.mcpReq.inputResponses !== undefined || ctx.mcpReq.requestState() !== undefined;
  if (ctx.sessionId === undefined || laterRound || !spends(name) || onlyReads(given, offer)) return undefined;
  const request = JSON.stringify([ctx.sessionId, ctx.mcpReq.id, name, given]);
  return new Bun.CryptoHasher("sha256").update(request).digest("base64url");
}

async function answerTool(
  { name, given, whyNot }: ToolUse,
  visit: Visit,
  parts: ToolParts,
): Promise<ToolAnswer> {
  const { log, metrics } = parts.gate;
  metrics.count("tollgate_agent_tools_total", { tool: name });
  try {
    // Checking the arguments costs more than refusing, so whoever asks too often is refused first.
    if (visit.limited) return refusedTool(name, given, visit.limited);
    const why = whyNot(given);
    if (why !== undefined) return refusedTool(name, given, new CallRefused("invalid_parameters", why));
    return await withProgress(visit.ctx, () => run(name, given, visit, parts));
  } catch (error) {
    if (error instanceof CallRefused) return refusedTool(name, given, error);
    log.error("a tool failed unexpectedly", { tool: name, ...describeError(error) });
    return refusedTool(name, given, failure(error));
  }
}

/** A question that could not be written down was not asked; everything else is a bug of ours. */
function failure(error: unknown): CallRefused {
  const told = whyUnwritten(error);
  return told ? unbooked(error, told) : new CallRefused("internal", "internal error");
}

/** What is given has passed the tool's own schema, which says the same as these types. */
async function run(name: ToolName, given: unknown, visit: Visit, parts: ToolParts): Promise<ToolAnswer> {
  const { offer, caller } = visit;
  switch (name) {
    case "list_categories":
      return toolAnswer({ categories: listCategories(offer, caller) }, false);
    case "search": {
      const page = searchOperations(given as SearchArguments, parts.index(offer), caller);
      return page
        ? toolAnswer(page, false)
        : refuse("invalid_parameters", "cursor: not a next_cursor of this tool");
    }
    case "get_details": {
      const wanted = given as DetailsArguments;
      const offered = offer.operations.get(wanted.operation_id);
      if (!offered) {
        return refuse("unknown_endpoint", "There is no such operation; find its id with search.");
      }
      checkUsable(offered, caller);
      const limits = limitsOfCaller(offer, caller);
      const { planMultiplierPpm: multiplierPpm } = caller;
      return toolAnswer(operationDetails(offered, wanted, { limits, multiplierPpm, allowed: caller }), false);
    }
    case "use": {
      const used = await useOperation(given as UseArguments, visit, parts);
      return isInputRequiredResult(used) ? used : toolAnswer(used, used.error !== undefined, visit.images);
    }
    case "batch_use": {
      const used = await useBatch(given as BatchArguments, visit, parts);
      if (isInputRequiredResult(used)) return used;
      // Calls that were refused or failed say so themselves; the batch as a whole failed only when nothing went well.
      const { completed, accepted } = used.totals;
      return toolAnswer(used, used.error !== undefined || completed + accepted === 0, visit.images);
    }
  }
}
