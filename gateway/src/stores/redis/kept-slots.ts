import type { SlotWant, Want } from "../../limits/limiter.ts";

/** A slot that this node has in Redis, and how much of its lease is left. */
export interface KeptSlot extends Pick<SlotWant, "kind" | "name" | "holder"> {
  readonly leftMs: number;
}

/**
 * What this node has in Redis of places, by its own memory: Redis may come back with what it knew some time ago, and then
 * it is this node that knows which of its calls still run.
 */
export interface KeptSlots {
  readonly keep: (wants: readonly Want[]) => void;
  /** Whether it was kept. */
  readonly drop: (name: string, holder: string) => boolean;
  /** Should ever a holder not return its slot, it is not remembered for longer than its lease. */
  readonly dropEnded: () => void;
  /** All, so many at a time; what is dropped meanwhile is in none that follow. */
  readonly inParts: (sizeMax: number) => Iterable<readonly KeptSlot[]>;
}

interface Leased {
  readonly slot: SlotWant;
  readonly endMs: number;
}

export function createKeptSlots(monotonicMs: () => number): KeptSlots {
  const kept = new Map<string, Leased>();

  const keep = (slot: SlotWant): void =>
    void kept.set(idOf(slot.name, slot.holder), { slot, endMs: monotonicMs() + slot.leaseMs });

  return {
    keep: (wants) => {
      for (const want of wants) if (want.kind === "slot") keep(want);
    },
    drop: (name, holder) => kept.delete(idOf(name, holder)),
    dropEnded: () => {
      const nowMs = monotonicMs();
      for (const [id, { endMs }] of kept) if (endMs <= nowMs) kept.delete(id);
    },
    inParts: function* (sizeMax) {
      let part: KeptSlot[] = [];
      for (const { slot, endMs } of kept.values()) {
        const leftMs = Math.max(1, Math.ceil(endMs - monotonicMs()));
        part.push({ kind: "slot", name: slot.name, holder: slot.holder, leftMs });
        if (part.length < sizeMax) continue;
        yield part;
        part = [];
      }
      if (part.length > 0) yield part;
    },
  };
}

const idOf = (name: string, holder: string): string => `${name} ${holder}`;
