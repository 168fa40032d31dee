import type { JsonObject } from "../../../platform/json.ts";
import type { ChatRequest } from "../chat.ts";
import { Inexpressible } from "../dialect.ts";
import { opaqueEndUser } from "../end-user.ts";
import { withoutUndefined } from "../without-undefined.ts";
import { withEarlierTools } from "./earlier-tools.ts";
import { writeOutputFormat } from "./output-format.ts";
import { writeSampling } from "./sampling.ts";
import { writeReasoning } from "./thinking.ts";
import { writeToolChoice, writeTools } from "./tools.ts";
import { writeConversation } from "./write-messages.ts";

/** Anthropic demands a limit. The gateway has set one before; this is for callers that have not. */
const maxTokensDefault = 4096;

export function writeRequest(request: ChatRequest): JsonObject {
  checkStop(request.stop);
  const sampling = writeSampling(request);
  const maxTokens = request.outputTokensMax ?? maxTokensDefault;
  const { system, messages } = writeConversation(request);
  const { thinking, effort } = writeReasoning(request.reasoning, {
    ...request,
    maxTokens,
    messages,
  });
  const equipped = withEarlierTools(request);
  const endUser = opaqueEndUser(request.endUser);
  const outputConfig = withoutUndefined({ effort, format: writeOutputFormat(request.output) });

  return withoutUndefined({
    model: request.model,
    max_tokens: maxTokens,
    system,
    messages,
    tools: writeTools(equipped.tools),
    tool_choice: writeToolChoice(equipped),
    ...sampling,
    stop_sequences: request.stop.length === 0 ? undefined : request.stop,
    thinking,
    output_config: Object.keys(outputConfig).length === 0 ? undefined : outputConfig,
    metadata: endUser === undefined ? undefined : { user_id: endUser },
    stream: request.stream ? true : undefined,
  });
}

function checkStop(stop: readonly string[]): void {
  if (stop.some((sequence) => sequence.trim() === "")) {
    throw new Inexpressible("stop", "with this model, a stop sequence must have a visible character");
  }
}
