import type { CallToolResult, ImageContent, InputRequiredResult } from "@modelcontextprotocol/server";
import { isJsonObject, objectOrEmpty } from "../../../platform/json.ts";
import type { CallRefused } from "../../../platform/refusals.ts";
import { toolError } from "./tool-errors.ts";
import type { BatchResult, UseResult } from "./tool-shapes.ts";
import type { ToolName } from "./tools.ts";

/** What a tool comes back with: its result, or a question to its person first. */
export type ToolAnswer = CallToolResult | InputRequiredResult;

/** As long as the tools' schema lets it be: what is longer names nothing and need not be said back. */
const operationIdCharactersMax = 128;

/**
 * The same JSON twice, as the protocol wants it: for programs, and as text for models whose client shows only that. Images
 * follow, for whoever can look at them.
 */
export function toolAnswer(
  content: object,
  failed: boolean,
  images: readonly ImageContent[] = [],
): CallToolResult {
  return {
    content: [{ type: "text", text: JSON.stringify(content) }, ...images],
    structuredContent: { ...content },
    ...(failed ? { isError: true } : {}),
  };
}

/**
 * A tool that was refused before it did anything. Some clients check the shape of errors too, so structured content is
 * given where the tool's own shape has a place for an error, and plain text elsewhere.
 */
export function refusedTool(name: ToolName, given: unknown, refusal: CallRefused): CallToolResult {
  const error = toolError(refusal, "no");
  if (name === "use") {
    const { operation_id, max_price_usd } = objectOrEmpty(given);
    const told: UseResult = {
      status: "refused",
      operation_id: typeof operation_id === "string" ? operation_id.slice(0, operationIdCharactersMax) : "",
      // A figure beyond all numbers is read as infinite, for which JSON has no word.
      max_price_usd: Number.isFinite(max_price_usd) ? Math.max(0, Number(max_price_usd)) : 0,
      error,
    };
    return toolAnswer(told, true);
  }
  if (name === "batch_use") {
    const none = { completed: 0, accepted: 0, refused: 0, failed: 0, not_started: 0, estimate_usd: 0 };
    return toolAnswer({ results: [], totals: none, error } satisfies BatchResult, true);
  }
  return { content: [{ type: "text", text: JSON.stringify({ error }) }], isError: true };
}

/** Whether a use or a batch was refused before anything was bought or begun, and before its person was asked. */
export function leftNothing(answer: ToolAnswer): boolean {
  if (!isJsonObject(answer["structuredContent"])) return false;
  // Both tools answer in these shapes and no others.
  const told = answer["structuredContent"] as Partial<UseResult> & Partial<BatchResult>;
  const { results = [] } = told;
  return (results.length > 0 ? results : [told]).every(isRefusal);
}

/**
 * A failure is none: it had begun, and must not begin again for the same request. Nor is a no to an approval: that person is
 * not asked again.
 */
const isRefusal = ({ status = "refused", error }: Partial<UseResult>): boolean =>
  status === "refused" && error?.charged === "no" && !error.code.startsWith("approval_");
