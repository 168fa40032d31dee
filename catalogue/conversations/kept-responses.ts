// What a response continues and OpenAI has kept: an earlier response, or items of one. Conversations, stored prompts and files
// are left out: no caller can make one here, so those that exist are the operator's, given to callers on purpose.

import {
  DecidingNames,
  isJsonObject,
  type CallInput,
  type GoesOn,
  type JsonObject,
  type Reference,
} from "../../gateway/src/for-catalogues.ts";
import { isKeptByVendor } from "./kept-items.ts";

interface ResponseBody {
  readonly previous_response_id?: string | null | undefined;
  readonly input?: string | readonly unknown[] | null | undefined;
}

export const keptResponses: GoesOn<Pick<CallInput<unknown, ResponseBody>, "body" | "plainNames">> = {
  refersTo: ({ body: { previous_response_id: previous, input }, plainNames }) => {
    const items = typeof input === "object" && input !== null ? input.filter(isReference) : [];
    if (plainNames !== true) for (const item of items) itemNames.checkAll(item);
    const ids = items.map(({ id }) => id).filter((id) => typeof id === "string");
    return [
      ...(typeof previous === "string" ? [{ id: previous, field: "previous_response_id" }] : []),
      ...[...new Set(ids)].map((id) => ({ id, field: "input" })),
    ];
  },
  notFound: ({ id, field }) =>
    field === "input"
      ? { status: 404, json: errorOf(`Item with id '${id}' not found.`, field, null) }
      : {
          status: 400,
          json: errorOf(`Previous response with id '${id}' not found.`, field, "previous_response_not_found"),
        },
};

/** An item of which only the id is given, or whose content OpenAI has kept. */
function isReference(item: unknown): item is JsonObject {
  if (!isJsonObject(item)) return false;
  const { type, role } = item;
  if (typeof type !== "string") return role === undefined || role === null;
  return type === "item_reference" || isKeptByVendor(type, item);
}

const itemNames = new DecidingNames(["id"]);

const errorOf = (message: string, param: Reference["field"], code: string | null): JsonObject => ({
  error: { message, type: "invalid_request_error", param, code },
});
