import type { Limiter } from "../../limits/limiter.ts";
import { addressBlock } from "../../platform/caller-address.ts";

/** Everything at once from one address, before anybody is known: a person needs a dozen for a sign-in. */
const requestsPerMinuteMax = 600;

/** Whether one more request from there is looked at, at whichever of the doors that people sign in at. */
export async function mayCome(address: string | undefined, limiter: Limiter): Promise<boolean> {
  const name = `sign-in ${addressBlock(address)}`;
  const taken = await limiter.take([
    { kind: "rate", of: "requests", name, amount: 1, limit: requestsPerMinuteMax },
  ]);
  return taken.kind === "taken";
}
