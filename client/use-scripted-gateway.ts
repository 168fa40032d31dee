import { afterEach } from "bun:test";
import {
  clientOf,
  endOf,
  openScriptedGateway,
  type Script,
  type ScriptedGateway,
} from "./scripted-gateway.ts";
import type { Client } from "./src/client.ts";
import type { TollgateError } from "./src/errors.ts";
import type { OutgoingCall } from "./src/transport.ts";

interface ScriptedTests {
  /** The one that the running test opened last. */
  readonly gateway: ScriptedGateway;
  readonly open: (script: Script) => Promise<ScriptedGateway>;
  readonly openClient: (script: Script) => Promise<Client>;
  /** How a call ends at a gateway that follows the script. */
  readonly run: (script: Script, call: OutgoingCall) => Promise<TollgateError | "answered">;
}

/** To be called once in a file of tests, each of which opens a gateway of its own; it is closed after the test. */
export function useScriptedGateway(): ScriptedTests {
  let gateway: ScriptedGateway;
  afterEach(() => gateway.close());
  const open = async (script: Script): Promise<ScriptedGateway> =>
    (gateway = await openScriptedGateway(script));
  return {
    get gateway() {
      return gateway;
    },
    open,
    openClient: async (script) => clientOf(await open(script)),
    run: async (script, call) => endOf(call, (await open(script)).transport),
  };
}
