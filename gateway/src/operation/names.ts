/** The placeholder words of the specification, bound in one place. */
export const placeholders = [
  "social_a",
  "social_b",
  "social_c",
  "reseller",
  "traffic_analytics",
  "provider",
] as const;

export type Names = Readonly<Record<(typeof placeholders)[number], string>>;

export const defaultNames: Names = {
  social_a: "social_a",
  social_b: "social_b",
  social_c: "social_c",
  reseller: "reseller",
  traffic_analytics: "traffic_analytics",
  provider: "Tollgate",
};

/** Puts the configured words into a path of the catalogue; other braces are path parameters and stay. */
export const bindNames = (path: string, names: Names): string =>
  path.replace(/\{(\w+)\}/g, (whole, word: string) =>
    word !== "provider" && Object.hasOwn(names, word) ? names[word as keyof Names] : whole,
  );
