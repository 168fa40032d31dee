import type { Quantities } from "../../prices/quantities.ts";
import { allTokenUnits } from "../../prices/token-units.ts";
import type { CallPrice } from "../call-price.ts";

/**
 * What was heard or spoken though it has no price: a call that says so is refused, but a video, or a file that its vendor
 * has, does not show that it can be heard. Then it is sold as if it were written, and the operator hears of it.
 */
export function soldAsWritten(used: Quantities, { terms }: Pick<CallPrice, "terms">): Quantities {
  // Nearly no call has audio, and every call comes by here: no table is walked to find out.
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
