/** The words in one event of a stream, whichever dialect it speaks; empty where it brings none. */
export function textOf(event: unknown): string {
  const { choices, candidates, delta, type } = membersOf(event);
  if (type === "response.output_text.delta" && typeof delta === "string") return delta;
  const spoken = [
    membersOf(membersOf(first(choices))["delta"])["content"],
    membersOf(delta)["text"],
    ...partsOf(first(candidates)),
  ];
  return spoken.filter((word) => typeof word === "string").join("");
}

function partsOf(candidate: unknown): unknown[] {
  const { parts } = membersOf(membersOf(candidate)["content"]);
  return Array.isArray(parts) ? parts.map((part) => membersOf(part)["text"]) : [];
}

const first = (list: unknown): unknown => (Array.isArray(list) ? (list as unknown[])[0] : undefined);

const membersOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
