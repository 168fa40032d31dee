import type { Arguments } from "../../../../../client/src/operation-facts.ts";
import { objectOrEmpty } from "../../../platform/json.ts";
import type { CliParts } from "../cli-parts.ts";
import { CommandFailed, defineCommand, optional, toggle, WrongUsage, type Answer } from "../command.ts";
import { fieldLines } from "../output.ts";
import { microsAsUsd } from "./micros.ts";
import { withOperation, type LearnedClient } from "./open-client.ts";
import { argumentFlags, readArguments, withTheOtherFlag } from "./operation-arguments.ts";
import { textOf } from "./text-of.ts";

export const call = defineCommand({
  words: ["call"],
  operand: "OPERATION_ID",
  summary: "makes a call with the key in TOLLGATE_KEY and shows its answer and its cost",
  flags: {
    ...argumentFlags,
    "max-price-usd": optional("X", "refuse the call when it could cost more"),
    "idempotency-key": optional("K", "make the call at most once under this key; one is made when absent"),
    stream: toggle("show the answer as it comes"),
  },
  run: async ({ operand: id, flags }, parts) => {
    const args = readArguments(flags);
    const options = { maxPriceUsd: flags["max-price-usd"], idempotencyKey: flags["idempotency-key"] };
    return withOperation(parts, id, async (client) =>
      flags.stream ? streamed(client, id, args, options, parts) : whole(client, id, args, options),
    ).catch((error: unknown) => {
      throw inOurWords(withTheOtherFlag(error, flags), id);
    });
  },
});

/** The client names its own functions where a call was asked for in the wrong way; here it is a flag. */
function inOurWords(error: unknown, id: string): unknown {
  const code = error instanceof CommandFailed && "code" in error.details ? error.details.code : undefined;
  if (code === "would_stream") return new WrongUsage(`${id} would stream here; ask for it with --stream.`);
  if (code === "does_not_stream") return new WrongUsage(`${id} does not stream; leave --stream out.`);
  if (code === "invalid_max_price") return new WrongUsage("--max-price-usd takes USD, like 0.05.");
  if (code === "invalid_idempotency_key")
    return new WrongUsage("--idempotency-key takes 1 to 255 visible ASCII characters.");
  if (code === "takes_no_idempotency_key")
    return new WrongUsage(`${id} takes no idempotency key; leave --idempotency-key out.`);
  return error;
}

type Options = { readonly maxPriceUsd: string | undefined; readonly idempotencyKey: string | undefined };

async function whole(client: LearnedClient, id: string, args: Arguments, options: Options): Promise<Answer> {
  const result = await client.call(id, args, options);
  return {
    lines: [
      typeof result.data === "string" ? result.data : JSON.stringify(result.data, undefined, 2),
      ...costLines(result),
      ...taskLines(result.data),
    ],
    json: {
      data: result.data,
      status: result.status,
      request_id: result.requestId ?? null,
      idempotency_key: result.idempotencyKey ?? null,
      charged_micros_usd: result.chargedMicrosUsd ?? null,
      attempts: result.attempts,
    },
    exitCode: 0,
  };
}

async function streamed(
  client: LearnedClient,
  id: string,
  args: Arguments,
  options: Options,
  parts: CliParts,
): Promise<Answer> {
  const stream = await client.stream(id, args, options);
  const events: unknown[] = [];
  let isMidLine = false;
  let isHeard = true;
  try {
    for await (const event of stream) {
      const data = parsed(event.data);
      // A program gets everything at the end, in one piece it can parse.
      events.push(event.event === undefined ? { data } : { event: event.event, data });
      const text = textOf(data);
      if (text === "") continue;
      isHeard = parts.write(text);
      isMidLine = true;
      if (!isHeard) break;
    }
  } catch (error) {
    // What went wrong is not the end of the sentence that it broke off.
    if (isMidLine) parts.write("\n");
    throw error;
  }
  // Whoever read it has gone, and nobody is left to be told what it cost.
  if (!isHeard) return { lines: [], json: undefined, exitCode: 0 };
  const { costMicrosUsd } = await stream.end();
  const { requestId, idempotencyKey } = stream;
  return {
    lines: ["", ...costLines({ chargedMicrosUsd: costMicrosUsd, requestId })],
    json: {
      events,
      request_id: requestId ?? null,
      idempotency_key: idempotencyKey ?? null,
      charged_micros_usd: costMicrosUsd ?? null,
    },
    exitCode: 0,
  };
}

function costLines(paid: {
  readonly chargedMicrosUsd: number | undefined;
  readonly requestId: string | undefined;
}): string[] {
  const { chargedMicrosUsd: charged, requestId } = paid;
  const cost = charged === undefined ? "not yet; the receipt will say" : microsAsUsd(charged);
  return fieldLines({ charged: cost, ...(requestId === undefined ? {} : { request: requestId }) });
}

/** What a call began and did not wait for is charged at its end. */
function taskLines(data: unknown): string[] {
  const { task_id: id, task_status: status } = objectOrEmpty(objectOrEmpty(data)["output"]);
  if (typeof id !== "string" || (status !== "PENDING" && status !== "RUNNING")) return [];
  return [`The task goes on, and is charged when it has succeeded: tollgate watch ${id}`];
}

function parsed(data: string): unknown {
  try {
    return JSON.parse(data) as unknown;
  } catch {
    return data;
  }
}
