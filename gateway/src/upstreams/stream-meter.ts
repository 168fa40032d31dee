import type { Quantities } from "../operation/quantities.ts";
import type { TokenReading } from "../operation/upstream.ts";
import type { ChatEvent, ChatUsage } from "./dialects/chat.ts";

export type StreamMeter = ReturnType<typeof createStreamMeter>;

/** Adds up what passes in a stream, and what the vendor says it used. */
export function createStreamMeter() {
  let usage: ChatUsage | undefined;
  let outputBytes = 0;
  let stopped = false;
  let failed = false;
  /** Figures told before the end are not the last word: some vendors count one token at the start. */
  let usageIsFinal = false;
  const anomalies: string[] = [];
  return {
    add: (events: readonly ChatEvent[], odd: readonly string[]): void => {
      stopped ||= events.some(({ kind }) => kind === "stop");
      for (const event of events) {
        if (event.kind === "usage") {
          usage = event.usage;
          usageIsFinal = stopped;
        } else if (event.kind === "error") failed = true;
        else if ("text" in event) outputBytes += Buffer.byteLength(event.text);
        else if (event.kind === "tool_call") outputBytes += Buffer.byteLength(event.name);
      }
      anomalies.push(...odd);
    },
    /** Output that was seen to pass without having been read. */
    addOutput: (bytes: number): void => {
      outputBytes += bytes;
    },
    stopped: () => stopped,
    /** Whether the vendor itself said how its answer ended. */
    told: () => stopped || failed,
    tokens: (): TokenReading => {
      const output = Math.max(usage?.output ?? 0, Math.ceil(outputBytes / 4));
      const passed = { ...(usage ? quantitiesOf(usage) : {}), output_tokens: output };
      return {
        used: usage && usageIsFinal ? quantitiesOf(usage) : undefined,
        // A stream that broke off never told its final figures: what was seen to pass is what was used.
        estimate: outputBytes === 0 ? undefined : passed,
        anomalies,
      };
    },
  };
}

export const quantitiesOf = (usage: ChatUsage): Quantities => ({
  input_tokens: usage.input,
  output_tokens: usage.output,
  ...(usage.cacheRead > 0 ? { cache_read_tokens: usage.cacheRead } : {}),
  ...(usage.cacheWrite > 0 ? { cache_write_tokens: usage.cacheWrite } : {}),
  ...(usage.cacheWrite1h > 0 ? { cache_write_1h_tokens: usage.cacheWrite1h } : {}),
});
