// Thoughts come signed, and are taken back only as they were given.

import { fingerprint } from "../../seeded.ts";

export const signatureOf = (thoughts: string): string =>
  Buffer.from(fingerprint(`thinking ${thoughts}`)).toString("base64");
