import { objectOrEmpty } from "../../platform/json.ts";
import { isErrorStatus } from "../answers/hidden-error.ts";
import type { Protocol } from "../protocol.ts";
import { forwardQuery } from "../exchanges/forward-query.ts";

/** A vendor that says in the body, with the status of a success, whether it has succeeded. */
export const tikhub: Protocol = {
  exchanges: {
    forward_query: {
      ...forwardQuery,
      hiddenFailure: (json) => {
        const code = objectOrEmpty(json)["code"];
        return typeof code === "number" && isErrorStatus(code) ? code : undefined;
      },
    },
  },
};
