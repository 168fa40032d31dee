/** Ids of calls begin with the millisecond they were made in (UUIDv7), so a moment is a place in their list. */
export function placeOfMoment(ms: number): string {
  const hex = ms.toString(16).padStart(12, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8)}`;
}
