import type { Quantities } from "../../prices/quantities.ts";
import { allTokenUnits } from "../../prices/token-units.ts";
import type { CallPrice } from "../call-price.ts";

/**
 * Audio without a price is sold as if it were text, and the operator is told. A call with visible audio has been refused
 * earlier, but a video, or a file that lies at the vendor, does not show that it has sound.
 */
export function soldAsWritten(used: Quantities, { terms }: Pick<CallPrice, "terms">): Quantities {
  // Every call passes here and nearly none has audio, so finding out must not walk a table.
  if (!hasAudio(used)) return used;
  let sold: Record<string, number> | undefined;
  for (const [heard, written] of audioUnits) {
    const tokens = used[heard];
    if (tokens === undefined || terms.unitPricesPico[heard] !== undefined) continue;
    sold ??= { ...used };
    sold[written] = (sold[written] ?? 0) + tokens;
    delete sold[heard];
  }
  return sold ?? used;
}

const hasAudio = (used: Quantities): boolean =>
  used["input_audio_tokens"] !== undefined ||
  used["cache_read_audio_tokens"] !== undefined ||
  used["output_audio_tokens"] !== undefined;

const audioUnits = allTokenUnits.flatMap(({ unit, soldAs }) => (soldAs ? [[unit, soldAs] as const] : []));
