import { objectOrEmpty } from "../../platform/json.ts";
import type { Protocol } from "../protocol.ts";
import { forwardBody } from "../exchanges/forward-body.ts";

/** The platform's API, version 2. Writes are made in the name of a linked account, with that account's token. */
export const x: Protocol = {
  // A 403 may speak of the person (blocked, suspended) or of our application and its plan; only the problem's type tells.
  isAboutOperator: (status, json) => {
    if (status === 402) return true;
    const type = objectOrEmpty(json)["type"];
    return status === 403 && typeof type === "string" && /\/(client-forbidden|usage-capped)$/.test(type);
  },
  exchanges: { forward_body: forwardBody },
};
