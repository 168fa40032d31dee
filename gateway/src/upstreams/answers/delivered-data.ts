import { isJsonObject, type JsonObject } from "../../platform/json.ts";
import { saysError } from "./hidden-error.ts";

/** Whether an answer of OpenAI's that lists what was made has anything in its list; of some vendors an error may stand there. */
export const hasDelivered = ({ data }: JsonObject): boolean =>
  Array.isArray(data) && data.some((made) => !isJsonObject(made) || !saysError(made));
