export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? upper) + upper) / 2;
}

export const spread = (values: readonly number[]): { readonly least: number; readonly most: number } => ({
  least: Math.min(...values),
  most: Math.max(...values),
});

/** Round by round, because neighbours in time met the same machine. */
export const ratiosOf = (of: readonly number[], to: readonly number[]): number[] =>
  of.flatMap((value, round) => (to[round] === undefined ? [] : [value / to[round]]));
