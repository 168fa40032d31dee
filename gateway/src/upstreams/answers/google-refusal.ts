import { objectOrEmpty, objectsIn, type JsonObject } from "../../platform/json.ts";
import { errorBodyOf, readErrorMessage } from "../dialects/dialect-errors.ts";

/** Google says 400 about a key that it does not know, or no longer, and about a place that it does not serve, which is ours. */
export const isAboutGoogleAccount = (status: number, json: unknown): boolean =>
  status === 400 &&
  (googleDetailsIn(json).some(({ reason }) => reason === "API_KEY_INVALID") ||
    /^user location is not supported\b/i.test(readErrorMessage(json)));

export function googleDetailsIn(json: unknown): readonly JsonObject[] {
  const { error } = errorBodyOf(json);
  const details = objectOrEmpty(error)["details"];
  return objectsIn(details);
}
