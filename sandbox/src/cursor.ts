// Where the next page of a list begins, as a word that callers hand back.

export const cursorOf = (position: number): string => Buffer.from(`after ${position}`).toString("base64url");

/** Undefined when it is no cursor of ours. */
export function positionOf(cursor: string | null): number | undefined {
  if (cursor === null || cursor === "") return 0;
  const position = /^after (\d{1,9})$/.exec(Buffer.from(cursor, "base64url").toString())?.[1];
  return position === undefined ? undefined : Number(position);
}
