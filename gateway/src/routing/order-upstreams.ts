import type { Upstream } from "../operation/upstream.ts";

interface UpstreamChoice {
  readonly upstreams: readonly Upstream[];
  /** The operator named them in order (`via`); otherwise their weights decide. */
  readonly ordered: boolean;
}

/**
 * The order in which the upstreams of one call are asked. `via` is an order; without it each call draws one, in
 * which an upstream comes first as often as its weight says. One that rests at the moment comes last.
 */
export function orderUpstreams(
  { upstreams, ordered }: UpstreamChoice,
  isResting: (name: string) => boolean,
  random: () => number,
): readonly Upstream[] {
  if (upstreams.length < 2) return upstreams;
  const order = ordered ? [...upstreams] : drawByWeight(upstreams, random);
  // The sort is stable, so both groups keep their order.
  return order.sort((a, b) => Number(isResting(a.name)) - Number(isResting(b.name)));
}

function drawByWeight(upstreams: readonly Upstream[], random: () => number): Upstream[] {
  const left = [...upstreams];
  const drawn: Upstream[] = [];
  while (left.length > 0) {
    const total = left.reduce((sum, { weight }) => sum + weight, 0);
    let point = random() * total;
    const found = left.findIndex(({ weight }) => (point -= weight) < 0);
    // Adding and subtracting fractions may miss the end by a hair.
    drawn.push(...left.splice(found === -1 ? left.length - 1 : found, 1));
  }
  return drawn;
}
