import { Inexpressible } from "../dialect.ts";
import { elementsOf, membersOf, textOf, type Member } from "./members.ts";

/** These ask for no blocking, or leave it to the vendor; nobody is promised anything by them. */
const promisesNothing: ReadonlySet<string> = new Set([
  "BLOCK_NONE",
  "OFF",
  "HARM_BLOCK_THRESHOLD_UNSPECIFIED",
]);

/** Other vendors have no filters to set. Who asks for an answer to be blocked must not get it unblocked in silence. */
export function checkSafety(settings: Member | undefined): void {
  for (const setting of elementsOf(settings)) {
    const threshold = membersOf(setting).take("threshold");
    const level = textOf(threshold);
    if (threshold === undefined || level === undefined || promisesNothing.has(level)) continue;
    throw new Inexpressible(threshold.path, "blocks by category, which only Google's own models can");
  }
}
