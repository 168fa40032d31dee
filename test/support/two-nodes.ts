// Two gateways over one store, behind one address, as a balancer without any memory would send their visitors.

import { completeAddresses } from "../../gateway/src/config/addresses.ts";
import type { GatewayParts } from "../../gateway/src/gateway.ts";
import { createListen } from "../../gateway/src/host/listen.ts";
import { systemClock, type Clock } from "../../gateway/src/platform/clock.ts";
import { openSandbox } from "./sandbox.ts";
import { openTestGateway, type TestGateway } from "./test-gateway.ts";
import { openTestData, type TestData } from "./test-data.ts";

export interface TwoNodes {
  /** The address both are known by. Requests to it go to one and the other in turn. */
  readonly url: string;
  readonly first: TestGateway;
  readonly second: TestGateway;
  /** What both work on. */
  readonly data: TestData;
  /** From now on everybody is sent to this one; to both in turn again when none is named. */
  readonly sendTo: (node?: "first" | "second") => void;
  readonly close: () => Promise<void>;
}

interface Options {
  readonly clock?: Clock;
  /** tollgate.yaml of both, or of each. */
  readonly config?: string | { readonly first: string; readonly second: string };
  readonly wrap?: (parts: GatewayParts, node: "first" | "second") => GatewayParts;
}

export async function openTwoNodes({
  clock = systemClock,
  config = "",
  wrap,
}: Options = {}): Promise<TwoNodes> {
  const data = await openTestData();
  // One for both: its book is what tests look at, and its tasks are in its memory.
  const sandbox = await openSandbox();
  const nodes: TestGateway[] = [];
  let turns = 0;
  let always: number | undefined;
  const balancer = createListen()({
    host: "127.0.0.1",
    port: 0,
    answer: async (request, peer) =>
      nodes[always ?? turns++ % 2]?.gateway.answer(request, peer) ??
      new Response("not ready", { status: 503 }),
  });
  const url = `http://127.0.0.1:${balancer.port}`;
  const addresses = completeAddresses(url);

  /** Each has a connection of its own to the data, as processes have. */
  const open = async (node: "first" | "second"): Promise<TestGateway> => {
    const opened = await openTestGateway({
      data,
      sandbox,
      clock,
      config: typeof config === "string" ? config : config[node],
      parts: { addresses },
      ...(wrap ? { wrap: (parts) => wrap(parts, node) } : {}),
    });
    nodes.push(opened);
    return opened;
  };
  const first = await open("first");
  const second = await open("second");

  return {
    url,
    first,
    second,
    data,
    sendTo: (node) => (always = node === undefined ? undefined : node === "first" ? 0 : 1),
    close: async () => {
      await balancer.stop(true);
      for (const node of nodes) await node.close();
      sandbox.stop();
      await data.close();
    },
  };
}
