import type { Forwarder } from "../../gateway/src/operation/forwarder.ts";
import { createForwarder } from "../../gateway/src/upstreams/forwarder.ts";
import { createHttpClient } from "../../gateway/src/upstreams/http/http-client.ts";
import { protocols } from "../../gateway/src/upstreams/protocols.ts";

/** Forwards as shipped, but nothing leaves for a vendor before what a test does first is done. */
export function sendAfter(first: (callId: string) => Promise<void>): Forwarder {
  const forwarder = createForwarder(createHttpClient(), protocols);
  return {
    prepare: (wanted) => {
      const prepared = forwarder.prepare(wanted);
      if (prepared.kind !== "ready") return prepared;
      const send: typeof prepared.send = async (actingFor) => {
        await first(wanted.callId);
        return prepared.send(actingFor);
      };
      return { ...prepared, send };
    },
  };
}
