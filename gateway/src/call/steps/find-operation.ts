import type { FoundRoute } from "../../offer/routes.ts";
import { refuse } from "../../platform/refusals.ts";
import type { Call } from "../call.ts";

export function findOperation(call: Call): FoundRoute {
  const found = call.offer.routes.find(call.method, call.path);
  if (!found && call.offer.routes.isUnsupported(call.method, call.path, call.rawQuery)) {
    return refuse("unsupported_uri", "unsupported uri");
  }
  if (!found) return refuse("unknown_endpoint", "api endpoint not found");
  call.known.offered = found.offered;
  return found;
}
