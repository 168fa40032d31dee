// The invoice of a vendor of models: by tokens, and for a stream by what was generated of it.

import type { Asked } from "./asked.ts";
import type { StreamProgress } from "./scripted-answer.ts";
import { spentAt } from "./token-usage.ts";
import type { PlannedUsage, TokenUsage } from "./token-usage.ts";
import type { BookEntry, JsonValue } from "./vendor-checks.ts";
import type { RecordedRequest, VendorDouble } from "./vendor-double.ts";

export interface ModelBilled {
  readonly model: string;
  /** What the vendor charges for, of a stream up to where it got. */
  readonly tokens: TokenUsage;
  /** The usage as the answer states it, lies included; that of `tokens` where it states none. */
  readonly usage: JsonValue;
}

export interface ModelBookEntry extends BookEntry<ModelBilled> {
  /** How a stream went; null before it began and where the answer was no stream. */
  readonly stream: StreamRecord | null;
}

interface StreamRecord {
  /** Events sent. */
  readonly events: number;
  /** The caller went away after that many. */
  readonly left: boolean;
  readonly whole: boolean;
}

export type ModelDouble = VendorDouble & {
  readonly book: readonly ModelBookEntry[];
  /** Conversations that were accepted, in order. */
  readonly asked: readonly Asked[];
};

export interface ModelBook {
  readonly entries: readonly ModelBookEntry[];
  /** Charges the whole; a stream, once it is played, reports and is charged by that. */
  readonly charge: (charge: Charge) => (progress: StreamProgress) => void;
}

interface Charge {
  readonly request: RecordedRequest;
  readonly requestId: string | null;
  readonly model: string;
  readonly usage: PlannedUsage;
  /** How usage would be stated if it were. */
  readonly say: (tokens: TokenUsage) => JsonValue;
}

export function createModelBook(): ModelBook {
  const entries: ModelBookEntry[] = [];
  return {
    entries,
    charge: ({ request, requestId, model, usage, say }) => {
      const billed = (tokens: TokenUsage): ModelBilled => ({
        model,
        tokens,
        usage: usage.stated(tokens) ?? say(tokens),
      });
      const line = entries.push({ request, requestId, billed: billed(usage.tokens), stream: null }) - 1;
      return ({ events, share, extra, left, whole }) => {
        entries[line] = {
          request,
          requestId,
          billed: billed(spentAt(usage.tokens, { share, extra })),
          stream: { events, left, whole },
        };
      };
    },
  };
}
