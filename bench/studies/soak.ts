import { bareBun } from "../contestants/bare-bun.ts";
import { tollgate } from "../contestants/tollgate.ts";
import { readable } from "../report/chapter.ts";
import { residentMegabytes } from "../rig/memory.ts";
import { openUpstream } from "../rig/upstream.ts";
import { withContestants } from "../rig/with-contestants.ts";
import { load } from "../rig/wrk.ts";
import { chat } from "../scenarios/chat.ts";
import type { Study } from "./study.ts";

const requestsWanted = 500_000;
/** Between two looks at memory. */
const sliceSeconds = 2;
const looks = [0.1, 0.5, 1];

/** Whether memory settles: a bounded number of calls, with looks on the way. */
export const soakStudy: Study = {
  name: "soak",
  inShort: false,
  run: (settings) => {
    const contestants = settings.contestants.filter(
      ({ name }) => name === bareBun.name || name === tollgate.name,
    );
    return withContestants(openUpstream(chat.answer), contestants, async (running) => {
      const rows: string[][] = [];
      for (const [name, contestant] of running) {
        const { pid = 0 } = contestant;
        const seen = [residentMegabytes(pid)];
        let done = 0;
        for (const share of looks) {
          while (done < share * requestsWanted) {
            const { requests } = await load({
              ...contestant,
              request: chat.request,
              connections: 64,
              seconds: sliceSeconds,
            });
            if (requests === 0) throw new Error(`${name} stopped answering after ${done} requests.`);
            done += requests;
          }
          seen.push(residentMegabytes(pid));
        }
        rows.push([name, ...seen.map(readable)]);
      }
      const counts = looks.map((share) => `after ${(share * requestsWanted).toLocaleString("en-US")}`);
      const table = {
        title: "Memory over a soak",
        note: "MB resident after so many chat calls at 64 connections.",
        columns: ["", "at start", ...counts],
        rows,
      };
      return { tables: [table], bars: [] };
    });
  },
};
