import type { FoundRoute } from "../../offer/routes.ts";
import { refuse } from "../../platform/refusals.ts";
import type { Call } from "../call.ts";

export function findOperation(call: Call): FoundRoute {
  const found = call.offer.routes.find(call.method, call.path);
  if (!found && call.offer.routes.isUnsupported(call.method, call.path, call.rawQuery)) {
    return refuse("unsupported_uri", "unsupported uri");
  }
  if (!found && isSocketBeside(call)) {
    return refuse("websocket_unsupported", "no WebSocket is spoken here; send the call as a POST", {
      retryable: false,
    });
  }
  if (!found) return refuse("unknown_endpoint", "api endpoint not found");
  call.known.offered = found.offered;
  return found;
}

/**
 * Codex opens a WebSocket first where it takes the address for OpenAI's. By this status it knows to send a POST there;
 * any other is a failure to it, and repeated for a while.
 */
const isSocketBeside = ({ wantsWebSocket = false, offer, path }: Call): boolean =>
  wantsWebSocket && offer.routes.find("POST", path) !== undefined;
