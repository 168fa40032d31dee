import type { Want } from "../../limits/limiter.ts";
import type { TakenAt } from "../../limits/taken-at.ts";
import { allTokens, type Quantities } from "../../prices/quantities.ts";
import type { Gate } from "../gate.ts";

/** What a call took of its key's limits. It is kept as long as a stream lasts; the turn, which holds the whole request, is not. */
export class Share {
  readonly wants: readonly Want[];
  readonly #tokensMax: number;
  readonly #takenAt: TakenAt;
  readonly #limiter: Gate["limiter"];
  #tokensUsed = 0;

  constructor(
    wants: readonly Want[],
    tokensMax: number,
    { takenAt }: { readonly takenAt: TakenAt },
    limiter: Gate["limiter"],
  ) {
    this.wants = wants;
    this.#tokensMax = tokensMax;
    this.#takenAt = takenAt;
    this.#limiter = limiter;
  }

  /** Notes what was really used, for the end of the call: never more than the call could use, whatever an upstream says. */
  used(quantities: Quantities): void {
    this.#tokensUsed = Math.min(allTokens(quantities), this.#tokensMax);
  }

  /** Returns the slot. May be repeated: a caller who leaves a stream returns it before the stream has ended. */
  freeSlot(): void | Promise<void> {
    for (const want of this.wants) {
      if (want.kind === "slot") return this.#limiter.freeSlot(want.name, want.holder);
    }
  }

  /** Returns the slot, and replaces the estimated tokens by the real ones. */
  end(): void | Promise<void> {
    const freed = this.freeSlot();
    return freed instanceof Promise ? freed.then(() => this.#correct()) : this.#correct();
  }

  /** Returns everything, because the call does not happen. */
  giveBack(): void | Promise<void> {
    return this.#limiter.giveBack(this.wants, this.#takenAt);
  }

  /** Tokens are the only rate that a call takes a share of. */
  #correct(): void | Promise<void> {
    for (const want of this.wants) {
      if (want.kind === "rate") {
        return this.#limiter.correct(want, this.#tokensUsed, this.#takenAt);
      }
    }
  }
}
