/** Which of these types the reader likes best, by its Accept header; undefined when it names none of them. */
export function preferred<Type extends string>(
  accept: string | null,
  types: readonly Type[],
): Type | undefined {
  const ranges = (accept ?? "").split(",").map((range) => {
    const [type = "", ...parameters] = range.split(";").map((part) => part.trim().toLowerCase());
    const quality = parameters.find((parameter) => parameter.startsWith("q="));
    return { type, quality: quality === undefined ? 1 : Number(quality.slice(2)) || 0 };
  });
  const best = ranges
    .filter(({ type, quality }) => quality > 0 && types.some((known) => known === type))
    .toSorted((a, b) => b.quality - a.quality)[0];
  return types.find((known) => known === best?.type);
}
