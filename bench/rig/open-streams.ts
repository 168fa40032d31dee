// A thousand callers who each open one stream and read it to its end. wrk opens the next stream as soon as one ends
// and breaks off when its time is over; here everybody is there at the same moment, and that is when memory is looked
// at. Run as a program it is the callers; imported it starts them.

import type { RunningContestant } from "./contestant.ts";
import { endingWithUs, tied } from "./leftovers.ts";
import type { LoadRequest } from "./wrk.ts";

export interface OpenStreams {
  /** Resolves when every stream has brought its first event, with how many are open at that moment. */
  readonly begun: Promise<number>;
  /** Resolves when every stream has ended, with how many of them brought all their events. */
  readonly ended: Promise<number>;
}

export function openStreams(count: number, contestant: RunningContestant, request: LoadRequest): OpenStreams {
  const { eventsMin = 0 } = request;
  const plan: Plan = { count, eventsMin, requests: requestsOf(contestant, request) };
  const child = tied(
    Bun.spawn([...endingWithUs, process.execPath, import.meta.path], {
      env: { ...process.env, STREAMS: JSON.stringify(plan) },
      stdout: "pipe",
      stderr: "inherit",
    }),
  );
  const begun = Promise.withResolvers<number>();
  const read = async (): Promise<number> => {
    let said = "";
    const decoder = new TextDecoder();
    for await (const bytes of child.stdout) {
      said += decoder.decode(bytes);
      const open = /^begun (\d+)$/m.exec(said)?.[1];
      if (open !== undefined) begun.resolve(Number(open));
    }
    begun.resolve(0);
    return Number(/^whole (\d+)$/m.exec(said)?.[1] ?? 0);
  };
  return { begun: begun.promise, ended: read() };
}

interface Plan {
  readonly count: number;
  readonly eventsMin: number;
  readonly requests: { readonly hostname: string; readonly port: number; readonly texts: readonly string[] };
}

function requestsOf({ url, keys, headers = {} }: RunningContestant, request: LoadRequest): Plan["requests"] {
  const { hostname, port } = new URL(url);
  const all = Object.entries({ ...request.headers, ...headers, host: `${hostname}:${port}` });
  const body = request.body ?? "";
  const texts = keys.map((key) =>
    [
      `${request.method} ${request.path} HTTP/1.1`,
      ...all.map(([name, value]) => `${name}: ${value}`),
      `authorization: Bearer ${key}`,
      `content-length: ${Buffer.byteLength(body)}`,
      "",
      body,
    ].join("\r\n"),
  );
  return { hostname, port: Number(port), texts };
}

if (import.meta.main) await run();

async function run(): Promise<void> {
  const eventStart = "data: ";
  const { count, eventsMin, requests } = JSON.parse(process.env["STREAMS"] ?? "{}") as Plan;
  let [begun, open, whole] = [0, 0, 0];
  const all = Promise.withResolvers<void>();
  const end = (): void => {
    open--;
    if (open === 0 && begun === count) all.resolve();
  };
  for (let at = 0; at < count; at++) {
    let [received, events] = ["", 0];
    await Bun.connect({
      hostname: requests.hostname,
      port: requests.port,
      socket: {
        open: (socket) => void socket.write(requests.texts[at % requests.texts.length] ?? ""),
        data: (socket, bytes) => {
          const first = received === "";
          // The tail is enough to recognise an end, or the beginning of an event, that is cut in two.
          received = (first ? "" : received.slice(1 - eventStart.length)) + bytes.toString("latin1");
          events += received.split(eventStart).length - 1;
          if (first) {
            open++;
            if (++begun === count) console.log(`begun ${open}`);
            if (!received.startsWith("HTTP/1.1 200")) socket.end();
          }
          if (!received.endsWith("0\r\n\r\n")) return;
          if (events >= eventsMin) whole++;
          socket.end();
        },
        close: () => (received === "" ? all.reject(new Error("A stream was refused.")) : end()),
        error: () => {},
      },
    });
    // Callers do not all come in the same millisecond.
    if (at % 10 === 9) await Bun.sleep(10);
  }
  await all.promise;
  console.log(`whole ${whole}`);
}
