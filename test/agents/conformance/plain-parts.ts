// What several fixtures are made of.

import { z } from "zod";

export const text = (words: string) => ({ content: [{ type: "text" as const, text: words }] });
/** The arguments of a tool that takes none. */
export const nothing = z.object({});

/** The schema of a form with one field. */
export const oneString = (name: string) => ({
  type: "object" as const,
  properties: { [name]: { type: "string" as const } },
  required: [name],
});

export const png =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
