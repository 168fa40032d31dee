import { anyKeys, type Contestant } from "../rig/contestant.ts";

/** Nobody between: what the upstream and the load generator can do. */
export const direct: Contestant = {
  name: "direct",
  // There is no process whose CPU or memory could be looked at.
  sitsOut: ["streams", "open-streams", "soak"],
  open: async ({ port }) => ({
    url: `http://127.0.0.1:${port}`,
    pid: undefined,
    keys: anyKeys,
    close: async () => {},
  }),
};
