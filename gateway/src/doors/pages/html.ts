/** Markup in which every value that was put in is escaped. */
export interface Html {
  readonly markup: string;
}

type Value = string | number | Html | undefined | readonly Html[];

/** Markup as it is written; values are escaped unless they are markup themselves, and nothing stands for undefined. */
export const html = (strings: TemplateStringsArray, ...values: readonly Value[]): Html => ({
  markup: String.raw({ raw: strings }, ...values.map(markupOf)),
});

function markupOf(value: Value): string {
  if (value === undefined) return "";
  if (typeof value === "string") return Bun.escapeHTML(value);
  if (typeof value === "number") return String(value);
  return "markup" in value ? value.markup : value.map(({ markup }) => markup).join("");
}
