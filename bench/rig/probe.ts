import { inTurns, type LeaveOut, type Runners } from "./in-turns.ts";
import type { RunningContestant } from "./contestant.ts";
import type { Scenario } from "./scenario.ts";

/**
 * Asks everybody once, and reads the answer: a load generator looks at statuses only, and an empty answer with the
 * right one is cheap. Returns those who said what they had to.
 */
export async function probe(
  running: Runners,
  { request, told: toldByUpstream }: Pick<Scenario, "request" | "told">,
  leaveOut: LeaveOut,
): Promise<Runners> {
  const right = await inTurns(running, { rounds: 1, leaveOut }, async (contestant) => {
    const { status: wanted = 200, told = toldByUpstream } = contestant;
    const { status, text } = await askOnce(contestant, request);
    if (status === wanted && says(read(text), told)) return;
    throw new Error(`asked once, it answered ${status} and ${text.slice(0, 200) || "nothing"}`);
  });
  return new Map([...running].filter(([name]) => right.has(name)));
}

export async function askOnce(
  { url, keys, headers = {} }: Pick<RunningContestant, "url" | "keys" | "headers">,
  { method, path, headers: own, body }: Scenario["request"],
): Promise<{ readonly status: number; readonly text: string }> {
  const response = await fetch(url + path, {
    method,
    headers: { ...own, ...headers, authorization: `Bearer ${keys[0] ?? ""}` },
    ...(body === undefined ? {} : { body }),
    signal: AbortSignal.timeout(answerMsMax),
  });
  return { status: response.status, text: await response.text() };
}

/** A stream of the slowest upstream lasts a quarter of a minute. */
const answerMsMax = 30_000;

/** A JSON body, or the events of a stream that came to its end; undefined when it is neither. */
function read(text: string): unknown {
  try {
    if (!text.startsWith("data: ")) return JSON.parse(text) as unknown;
    // A line that begins with a colon is a comment, which is nobody's event.
    const events = text
      .trim()
      .split("\n\n")
      .filter((event) => !event.startsWith(":"));
    if (events.pop() !== "data: [DONE]") return undefined;
    return events.map((event) => JSON.parse(event.replace("data: ", "")) as unknown);
  } catch {
    return undefined;
  }
}

/** Whether all that was to be told is there; lists must have the same length, objects may have more. */
function says(answer: unknown, told: unknown): boolean {
  if (typeof told !== "object" || told === null) return answer === told;
  if (typeof answer !== "object" || answer === null) return false;
  if (Array.isArray(told) && (!Array.isArray(answer) || answer.length !== told.length)) return false;
  const said: Readonly<Record<string, unknown>> = { ...answer };
  return Object.entries(told).every(([name, value]) => says(said[name], value));
}
