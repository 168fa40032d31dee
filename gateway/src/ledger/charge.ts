import { attoPerMicro, picoPerMicro, type Atto, type Micros, type Pico } from "../platform/money.ts";

/** What an account carries from call to call: the parts of a micro not charged, or not reported, yet. */
export interface Carry {
  readonly chargeAtto: Atto;
  readonly valuePico: Pico;
}

export interface Charge {
  readonly chargedMicros: Micros;
  readonly valueMicros: Micros;
  /** Metered above the hold: recorded, and the operator's loss. */
  readonly writtenOffMicros: Micros;
  readonly carry: Carry;
}

/**
 * Turns an exact value into whole micros. The remainder goes to the account's next call, so tiny calls are
 * neither free nor rounded up twenty-fold, and over a lifetime the error stays below one micro.
 */
export function chargeFor(call: {
  readonly valuePico: Pico;
  readonly multiplierPpm: bigint;
  readonly heldMicros: Micros;
  readonly carry: Carry;
}): Charge {
  const exactAtto = call.carry.chargeAtto + call.valuePico * call.multiplierPpm;
  const dueMicros = exactAtto / attoPerMicro;
  const chargedMicros = dueMicros < call.heldMicros ? dueMicros : call.heldMicros;
  const valuePico = call.carry.valuePico + call.valuePico;
  return {
    chargedMicros,
    valueMicros: valuePico / picoPerMicro,
    writtenOffMicros: dueMicros - chargedMicros,
    carry: { chargeAtto: exactAtto % attoPerMicro, valuePico: valuePico % picoPerMicro },
  };
}
