// What a message continues and Anthropic has kept: the thread of an earlier answer, which later calls name by its id.

import { z, type CallInput, type GoesOn } from "../../gateway/src/for-catalogues.ts";

/** Other types may name a thread in members that are not known here, and so are refused. */
export const threadMember = z
  .looseObject({
    type: z.enum(["create", "continue"], "expected create or continue"),
    previous_message_id: z.string().nullish(),
  })
  .nullish();

interface MessageBody {
  readonly thread?: z.infer<typeof threadMember>;
}

export const keptThreads: GoesOn<Pick<CallInput<unknown, MessageBody>, "body">> = {
  refersTo: ({ body: { thread } }) => {
    const previous = thread?.previous_message_id;
    return typeof previous === "string" ? [{ id: previous, field: "thread.previous_message_id" }] : [];
  },
  // Anthropic's own clients recognise these words, and send the whole conversation again.
  notFound: (_reference, callId) => ({
    status: 404,
    json: {
      type: "error",
      error: {
        type: "not_found_error",
        message: "No usable thread state was found for `previous_message_id`.",
        details: { error_code: "thread_not_found" },
      },
      request_id: `req_${callId.replaceAll("-", "")}`,
    },
  }),
};
