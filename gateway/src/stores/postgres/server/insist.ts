import { InDoubt } from "../../../ledger/store-errors.ts";
import { isPassing, toldAs } from "./failures.ts";

type Insist = <Result>(
  attempt: (deadlineMs: number) => Promise<Result>,
  patienceMs: number,
  mayPass?: (error: unknown) => boolean,
) => Promise<Result>;

/**
 * Tries again what may pass, after pauses that grow, for as long as there is patience. What was in doubt once stays so until
 * a later try tells: the commit that broke off may still be on its way.
 */
export const createInsist =
  (monotonicMs: () => number): Insist =>
  async (attempt, patienceMs, mayPass = isPassing) => {
    const deadlineMs = monotonicMs() + patienceMs;
    let doubt: InDoubt | undefined;
    for (let waitMs: number = pauseMs.least; ; waitMs = Math.min(waitMs * 2, pauseMs.most)) {
      try {
        return await attempt(deadlineMs);
      } catch (error) {
        if (error instanceof InDoubt) doubt = error;
        if (!mayPass(error) || monotonicMs() + waitMs > deadlineMs) throw doubt ?? toldAs(error);
        await Bun.sleep(waitMs);
      }
    }
  };

const pauseMs = { least: 5, most: 200 } as const;
